/**
 * What a harness's hook runs: reads the event from stdin, posts it to the engine, prints the engine's answer. It must never harm
 * the harness: without Gantry, with an engine that is down or slow, it prints nothing and ends with 0 within its deadline.
 * Imports only Node, because it starts for every event of every bot.
 */
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { addAbortSignal, type Readable } from 'node:stream';

/** Shorter than the harness's own timeout for a hook, so that no harness ever reports a hook of ours as failed. */
const deadlineMs = 4000;
const mostBytes = 4 * 1024 * 1024;

export interface HookProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable;
  readonly stdout: { write(text: string): unknown };
}

/**
 * The engine's address and the bot's token are read from their files now, not kept in the environment: the engine may have
 * moved to another port since the bot was started. Resolves to the exit code, always 0.
 */
export async function runHook(event: string, { env, stdin, stdout }: HookProcess): Promise<0> {
  const { GANTRY_URL_FILE: urlFile, GANTRY_TOKEN_FILE: tokenFile } = env;
  if (!/^[A-Za-z]{1,64}$/.test(event) || !urlFile || !tokenFile) return 0;
  try {
    const signal = AbortSignal.timeout(deadlineMs);
    const [url, token, body] = await Promise.all([
      readFile(urlFile, 'utf8'),
      readFile(tokenFile, 'utf8'),
      readAll(addAbortSignal(signal, stdin)),
    ]);
    const answer = await post(new URL(`/api/factory/hooks/${event}`, url.trim()), token.trim(), body, signal);
    if (answer !== null && answer !== '{}') stdout.write(`${answer}\n`);
  } catch {
    // The engine is down, moved or slow: the harness goes on as if there were no hook.
  }
  return 0;
}

async function readAll(stdin: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of stdin) {
    pieces.push(Buffer.from(piece));
    length += piece.length;
    if (length > mostBytes) throw new Error('The event is too large.');
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** The body of a 200 answer, else null. */
function post(url: URL, token: string, body: string, signal: AbortSignal): Promise<string | null> {
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
      answer.on('end', () => resolve(answer.statusCode === 200 ? Buffer.concat(pieces).toString('utf8') : null));
    });
    call.on('error', reject);
    call.end(body);
  });
}
