/**
 * The program that a harness's hook runs: reads the event from stdin, posts it to the engine, prints the engine's answer. It must never harm the
 * harness: without Gantry, or with an engine that is down or slow, it prints nothing and ends with 0 within its deadline; what it reports is kept in the
 * bot's spool until the engine is back. A question that nobody could answer ends with a no and its reason. Imports only Node and what only imports
 * Node, because it starts for every event of every bot.
 */
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { keepReport, waitingEvents } from '../../kit/spool/bot-spool.ts';

/** Shorter than the harness's own timeout for a hook, so that no harness ever reports a hook of ours as failed. */
const deadlineMs = 4000;
/**
 * Of an event that a person answers: the harness shows its own dialog at the same time, so the hook waits as long as an approval can live, and across a
 * restart of the engine.
 */
const waitingDeadlineMs = 25 * 60 * 60_000;
/** An engine that starts does not know its bots at once: a refusal counts once every answer was one for so long. */
const refusedForMs = 30_000;
/** How often a question that waits looks whether the engine has moved to another port. */
const movedCheckMs = 2000;
const firstRetryMs = 250;
const maxRetryMs = 2000;
const maxBytes = 4 * 1024 * 1024;

interface HookProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable;
  readonly stdout: { write(text: string): unknown };
  /** Absent: nothing is kept. */
  readonly now?: () => number;
  /** How long a question waits; default a little longer than an approval lives. Milliseconds. */
  readonly questionMs?: number;
}

interface HookCall {
  readonly urlFile: string;
  readonly tokenFile: string;
  readonly event: string;
  readonly body: string;
}

/**
 * The engine's address and the bot's token are read from their files now, not kept in the environment: the engine may have
 * moved to another port since the bot was started. Resolves to the exit code, always 0.
 */
export async function runHook(event: string, hookProcess: HookProcess): Promise<0> {
  const { env, stdin, stdout, now, questionMs = waitingDeadlineMs } = hookProcess;
  const { GANTRY_URL_FILE: urlFile, GANTRY_TOKEN_FILE: tokenFile } = env;
  if (!/^[A-Za-z]{1,64}$/.test(event) || !urlFile || !tokenFile) return 0;
  try {
    const signal = AbortSignal.timeout(deadlineMs);
    const body = await readAll(addAbortSignal(signal, stdin));
    const hook = { urlFile, tokenFile, event, body };
    const answer = waitingEvents.has(event)
      ? await waitForAnswer(hook, questionMs)
      : env.GANTRY_SPOOL && now
        ? await report(hook, env.GANTRY_SPOOL, now(), signal)
        : answerOf(await postHook(hook, signal));
    if (answer !== null && answer !== '{}') stdout.write(`${answer}\n`);
  } catch {
    // The engine is down, moved or slow: the harness continues as if there were no hook.
  }
  return 0;
}

/** Asks until the engine answers; retries when the connection is cut or the engine is away. When the time is over, the answer is no. */
async function waitForAnswer(hook: HookCall, forMs: number): Promise<string | null> {
  const signal = AbortSignal.timeout(forMs);
  let refusedSince: number | null = null;
  for (let pause = firstRetryMs; ; pause = Math.min(2 * pause, maxRetryMs)) {
    const since = performance.now();
    const answer = await knockUntilMoved(hook, signal).catch(() => null);
    if (answer?.status === 200) return answer.body;
    // A token that is void stays void: the bot was stopped.
    if (answer?.status === 401 || answer?.status === 403) refusedSince ??= since;
    else refusedSince = null;
    if (refusedSince !== null && performance.now() - refusedSince >= refusedForMs) return null;
    if (performance.now() - since > maxRetryMs) pause = firstRetryMs;
    const isOver = await delay(pause, undefined, { signal }).then(
      () => false,
      () => true,
    );
    if (isOver) return nobodyAnswered(hook.event);
  }
}

/** As the programs that ask by a hook read a decision. */
const nobodyAnswered = (hookEventName: string): string =>
  JSON.stringify({
    hookSpecificOutput: {
      hookEventName,
      decision: {
        behavior: 'deny',
        message: 'Not allowed: Gantry was away, and nobody could be asked. Ask again once it runs.',
      },
    },
  });

/** The call ends when the address in the file changes: what listens at the old one is not the engine any more. */
async function knockUntilMoved(hook: HookCall, signal: AbortSignal): Promise<Answer> {
  const url = await readFile(hook.urlFile, 'utf8');
  const over = new AbortController();
  const watching = untilChanged(hook.urlFile, url, AbortSignal.any([signal, over.signal]));
  const moved = watching.then(() => Promise.reject(new Error('The runtime has moved to another port.')));
  try {
    return await Promise.race([postHook(hook, AbortSignal.any([signal, over.signal])), moved]);
  } finally {
    over.abort();
  }
}

async function untilChanged(file: string, text: string, signal: AbortSignal): Promise<void> {
  for (let now = text; now === text; now = await readFile(file, 'utf8').catch(() => text)) {
    await delay(movedCheckMs, undefined, { signal });
  }
}

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
}

const refusals: ReadonlySet<number> = new Set([400, 404, 409, 413]);

/** Kept first, so that nothing is lost while the engine is away. */
async function report(hook: HookCall, spool: string, at: number, signal: AbortSignal): Promise<string | null> {
  const token = (await readFile(hook.tokenFile, 'utf8')).trim();
  const { event, body } = hook;
  let kept: ReturnType<typeof keepReport>;
  try {
    kept = keepReport(spool, token, { op: 'agentHook', params: { event }, body: JSON.parse(body) }, at);
  } catch {
    // The spool is full or cannot be written: the engine may be there all the same.
    return answerOf(await postHook(hook, signal));
  }
  const url = (await readFile(hook.urlFile, 'utf8')).trim();
  const asked = JSON.stringify({ id: kept.id });
  const { status, body: text } = await post(new URL('/api/factory/reports', url), token, asked, signal);
  if (status === 200) return JSON.stringify((JSON.parse(text) as { answer: unknown }).answer ?? {});
  // Refused for what it says. Anything else is over soon, a busy engine and one that does not know its bots yet too, and the report is taken then.
  if (status !== undefined && refusals.has(status)) kept.remove();
  return null;
}

const answerOf = ({ status, body }: Answer): string | null => (status === 200 ? body : null);

async function postHook({ urlFile, tokenFile, event, body }: HookCall, signal: AbortSignal): Promise<Answer> {
  const [url, token] = await Promise.all([readFile(urlFile, 'utf8'), readFile(tokenFile, 'utf8')]);
  return post(new URL(`/api/factory/hooks/${event}`, url.trim()), token.trim(), body, signal);
}

async function readAll(stdin: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of stdin) {
    pieces.push(Buffer.from(piece));
    length += piece.length;
    if (length > maxBytes) throw new Error('The event is too large.');
  }
  return Buffer.concat(pieces).toString('utf8');
}

function post(url: URL, token: string, body: string, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      authorization: `Bearer ${token}`,
    };
    const call = request(url, { method: 'POST', headers, signal, agent: false }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('error', reject);
      answer.on('end', () => resolve({ status: answer.statusCode, body: Buffer.concat(pieces).toString('utf8') }));
    });
    call.on('error', reject);
    call.end(body);
  });
}
