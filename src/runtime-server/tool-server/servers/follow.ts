/**
 * Follows a task of an attached server to its end: asks how far it is at the server's pace, outlasts times in which the server is away, and brings the
 * person what it asks. Never throws. Must not know whose task it is or where that is kept.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { ToolResult } from '../../../contracts/tool-server/tools.ts';
import { pause } from '../../../kit/clock/timers.ts';
import type { Base } from '../../base/base.ts';
import {
  type ForeignAnswer,
  type ForeignPort,
  type ForeignQuestion,
  type ForeignTask,
  leaves,
} from '../foreign-tools.ts';
import type { Connection } from './connection.ts';
import { saidBy, UpstreamFault } from './fault.ts';
import { type InputRequest, type InputResponse, questionOf, readRequests, responseTo } from './input.ts';
import { failure, readResult } from './results.ts';
import type { SeenTask } from './upstream-tasks.ts';

/** The server of a call or a task. */
export interface FollowedServer {
  readonly id: string;
  readonly name: string;
  /** Its program or address, as `placeOf` says it. */
  readonly place: string;
  /** Of one request. */
  readonly timeoutMs: number;
  readonly connection: Pick<Connection, 'use'>;
  /** A text of the server without the secrets that it was given. */
  readonly clean: (text: string) => string;
}

export type Follow = (
  server: FollowedServer,
  name: string,
  task: ForeignTask,
  options: ForeignPort & { readonly signal: AbortSignal },
) => Promise<ToolResult>;

/** However slow a server says that it is, or away. Milliseconds. */
const maxPollMs = 60_000;
const defaultPollMs = 2_000;
/** A task that has run for an hour is looked at once a minute. */
const slowerBy = 60;
/** Codes of JSON-RPC and MCP: wrong parameters, no such method, no such thing. */
const final: ReadonlySet<number> = new Set([-32602, -32601, -32002]);
/** A cancelled task is reported as such whether or not its server is there to hear it. */
const cancelWithinMs = 5_000;
/** The person may mistype. */
const maxTries = 5;

export function createFollow({
  clock,
  timers,
  minPollMs,
}: Pick<Base, 'clock' | 'timers'> & {
  /** However fast a server says that it is. Milliseconds. */
  readonly minPollMs: number;
}): Follow {
  return async (server, name, task, options) => {
    const { signal } = options;
    const { taskId } = task;
    const inputs = createInputs(server, taskId, options);
    const began = clock.monotonic();
    try {
      for (let waitMs = minPollMs; ; ) {
        const answer = signal.aborted ? null : await look(server, taskId, signal);
        if (answer === null || signal.aborted) {
          if (signal.reason === leaves) return failure(`${name} continues at the attached server "${server.name}".`);
          return failure(await cancel(server, name, taskId));
        }
        if (answer.is === 'result') return readResult(answer.result);
        if (answer.is === 'failed') {
          const why = sentence(server.clean(answer.message));
          return failure(`The attached server "${server.name}" did not finish ${name}: ${why}`);
        }
        if (answer.is === 'away') {
          waitMs = Math.min(maxPollMs, waitMs * 2);
          options.says?.(`The attached server "${server.name}" does not answer: ${answer.why} Gantry keeps asking.`);
        } else {
          // A client may have thousands of tasks that take days.
          const byAge = (clock.monotonic() - began) / slowerBy;
          waitMs = Math.min(maxPollMs, Math.max(minPollMs, answer.pollMs ?? defaultPollMs, byAge));
          if (answer.message !== null) options.says?.(server.clean(answer.message));
          inputs.wanted(answer.is === 'input' ? answer.requests : {});
        }
        await Promise.race([pause(timers, waitMs, signal), inputs.answered()]);
        await inputs.send(signal);
      }
    } finally {
      inputs.close();
    }
  };
}

/** How far it is; `away`: the server cannot say now. */
async function look(
  { connection, timeoutMs, clean }: FollowedServer,
  taskId: string,
  signal: AbortSignal,
): Promise<SeenTask | { readonly is: 'away'; readonly why: string }> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    return await connection.use(stop, (upstream) => upstream.tasks.get(taskId, { signal: stop, timeoutMs }));
  } catch (error) {
    const why = sentence(clean(error instanceof Error ? error.message : String(error)));
    const detached = error instanceof AppError && error.code === 'not_found';
    return refusesForGood(error) || detached ? { is: 'failed', message: why } : { is: 'away', why };
  }
}

/** It knows no such task, or no such request. Any other error may be one of this moment: it is busy, or has just started again. */
function refusesForGood(error: unknown): boolean {
  if (!(error instanceof UpstreamFault) || error.kind !== 'answer' || error.doubtsSession) return false;
  return final.has(saidBy(error)?.code ?? 0);
}

async function cancel({ name: server, connection }: FollowedServer, name: string, taskId: string): Promise<string> {
  const stop = AbortSignal.timeout(cancelWithinMs);
  const options = { signal: stop, timeoutMs: cancelWithinMs };
  const heard = await connection
    .use(stop, (upstream) => upstream.tasks.cancel(taskId, options))
    .then(
      () => true,
      () => false,
    );
  const told = heard ? 'has been asked to stop' : 'could not be asked to stop';
  return `${name} was cancelled before it finished. The attached server "${server}" ${told}; part of it may be done.`;
}

interface Asked {
  readonly stop: AbortController;
  answer: InputResponse | null;
  sent: boolean;
}

/** The questions of one task: each is asked once, withdrawn when the server wants it no more, and sent when it is answered. */
function createInputs(server: FollowedServer, taskId: string, { ask, says }: Pick<ForeignPort, 'ask' | 'says'>) {
  const asked = new Map<string, Asked>();
  let fresh = false;
  let wake = () => {};

  function begin(key: string, request: InputRequest): void {
    const stop = new AbortController();
    const one: Asked = { stop, answer: null, sent: false };
    asked.set(key, one);
    const whom = ask ?? (async (): Promise<ForeignAnswer> => ({ kind: 'ended', why: 'Nobody can be asked here.' }));
    askPerson(server.name, request, whom, stop.signal).then(
      ({ response }) => {
        if (stop.signal.aborted) return;
        one.answer = response;
        fresh = true;
        wake();
      },
      // It could not be asked, as when the disk is full: the next look asks again.
      () => asked.delete(key),
    );
  }

  return {
    wanted(sent: unknown): void {
      const requests = readRequests(sent);
      if (typeof requests === 'string') {
        says?.(requests);
        return;
      }
      for (const [key, { stop }] of asked) {
        if (Object.hasOwn(requests, key)) continue;
        stop.abort();
        asked.delete(key);
      }
      for (const [key, request] of Object.entries(requests)) if (!asked.has(key)) begin(key, request);
    },
    /** Resolves with the next answer. */
    answered: () =>
      new Promise<void>((resolve) => {
        wake = resolve;
        if (fresh) resolve();
      }),
    /** What the server does not take now is sent with its next look. */
    async send(signal: AbortSignal): Promise<void> {
      fresh = false;
      const open = [...asked].filter(([, { answer, sent }]) => answer !== null && !sent);
      if (open.length === 0 || signal.aborted) return;
      const responses = Object.fromEntries(open.map(([key, { answer }]) => [key, answer]));
      const { timeoutMs } = server;
      const stop = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const options = { signal: stop, timeoutMs };
      await server.connection
        .use(stop, (upstream) => upstream.tasks.answer(taskId, responses, options))
        .then(
          () => {
            for (const [, one] of open) one.sent = true;
          },
          () => {},
        );
    },
    close(): void {
      for (const { stop } of asked.values()) stop.abort();
    },
  };
}

/** Until the answer is one that the server takes. `ended`: there was none, and why. */
export async function askPerson(
  server: string,
  request: InputRequest,
  ask: (question: ForeignQuestion, signal: AbortSignal) => Promise<ForeignAnswer>,
  signal: AbortSignal,
): Promise<{ readonly response: InputResponse; readonly ended: string | null }> {
  let problem: string | null = null;
  for (let tries = 0; tries < maxTries; tries += 1) {
    const answer = await ask(questionOf(server, request, problem), signal);
    const read = responseTo(request, answer);
    if ('response' in read) return { ...read, ended: answer.kind === 'ended' ? answer.why : null };
    ({ problem } = read);
  }
  return { response: { action: 'cancel' }, ended: `The answer was not one that the server takes: ${problem}` };
}

export const sentence = (text: string) => text.trim().replace(/(?<![.!?…])$/, '.');
