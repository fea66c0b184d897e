/**
 * One call of a tool of an attached server: checks arguments, sets a deadline, asks the person what the server asks, and reports every failure in words
 * that name the server and the time it took. Never throws, never repeats what may have been done. Must not know rows or lists.
 */
import { doesNotTake, type ToolResult } from '../../../contracts/tool-server/tools.ts';
import type { Clock } from '../../../kit/clock/clock.ts';
import type { ForeignPort } from '../foreign-tools.ts';
import { type ArgumentCheck, createArgumentCheck } from './arguments.ts';
import { isUnsent, type UpstreamFault } from './fault.ts';
import { askPerson, type Follow, type FollowedServer, sentence } from './follow.ts';
import { readRequests } from './input.ts';
import type { ListedTool } from './listing.ts';
import { failure, readResult } from './results.ts';
import type { CallAnswer } from './upstream.ts';

type CallTool = (
  server: FollowedServer,
  tool: ListedTool,
  args: Readonly<Record<string, unknown>>,
  options: ForeignPort & { readonly signal: AbortSignal },
) => Promise<ToolResult>;

type Again = { readonly inputResponses: Readonly<Record<string, unknown>>; readonly requestState?: string };

/** A server that asks again and again is not answered for ever. */
const maxRounds = 10;

export function createCallTool({ clock, follow }: { readonly clock: Clock; readonly follow: Follow }): CallTool {
  const checks = new WeakMap<ListedTool, Promise<ArgumentCheck>>();

  function checkOf(tool: ListedTool): Promise<ArgumentCheck> {
    const known = checks.get(tool) ?? createArgumentCheck(tool.inputSchema);
    checks.set(tool, known);
    return known;
  }

  /** One request, within the server's deadline. */
  async function once(
    server: FollowedServer,
    tool: ListedTool,
    args: Readonly<Record<string, unknown>>,
    { signal, began, ask }: ForeignPort & { readonly signal: AbortSignal },
    again: Again | null,
  ): Promise<CallAnswer | { readonly is: 'fault'; readonly failed: ToolResult }> {
    const name = `${server.name}.${tool.tool}`;
    const started = clock.monotonic();
    const late = AbortSignal.timeout(server.timeoutMs);
    const stop = AbortSignal.any([signal, late]);
    let begun = false;
    const fault = (text: string) => ({ is: 'fault', failed: failure(text) }) as const;
    try {
      return await server.connection.use(stop, (upstream) => {
        begun = true;
        const { taskSupport } = tool;
        const called = { name: tool.tool, inputSchema: tool.sentSchema ?? tool.inputSchema };
        return upstream.call({ ...called, ...(taskSupport === undefined ? {} : { taskSupport }) }, args, {
          signal: stop,
          timeoutMs: server.timeoutMs,
          may: { task: began !== undefined, ask: ask !== undefined },
          ...(again === null ? {} : { again }),
        });
      });
    } catch (error) {
      const took = `${((clock.monotonic() - started) / 1000).toFixed(1)} s`;
      const doubt = begun && !isUnsent(error) ? 'Whether it ran is unknown.' : 'Nothing ran.';
      const who = `The attached server "${server.name}"`;
      if (signal.aborted) return fault(`${name} was stopped after ${took}. ${doubt}`);
      if (late.aborted || (error as UpstreamFault).kind === 'timeout') {
        return fault(
          `${who} did not answer ${name} within ${server.timeoutMs / 1000} s, and was asked to stop. ${doubt}`,
        );
      }
      const why = sentence(server.clean((error as Error).message));
      const { kind } = error as UpstreamFault;
      const refused = begun && (kind === 'unauthorized' || kind === 'session');
      if (refused) return fault(`${who} refused ${name} after ${took}: ${why}`);
      if (kind === 'answer') return fault(`${who} answered ${name} with an error after ${took}: ${why}`);
      if (!begun || isUnsent(error)) return fault(`${who} cannot be reached (${took}): ${why} ${doubt}`);
      return fault(`${who} was lost while ${name} ran, after ${took}: ${why} ${doubt}`);
    }
  }

  return async (server, tool, args, options) => {
    const name = `${server.name}.${tool.tool}`;
    const wrong = (await checkOf(tool))(args);
    if (wrong !== null) return failure(`${name}${doesNotTake}${wrong}`);
    let again: Again | null = null;
    for (let round = 0; round < maxRounds; round += 1) {
      const answer = await once(server, tool, args, options, again);
      if (answer.is === 'fault') return answer.failed;
      if (answer.is === 'result') return readResult(answer.result);
      if (answer.is === 'task') return become(server, name, answer.taskId, options);
      const asked = await answersTo(server, answer.requests, options);
      if (typeof asked === 'string') return failure(`${name} did not run: ${asked}`);
      const { requestState } = answer;
      again = { inputResponses: asked, ...(requestState === undefined ? {} : { requestState }) };
    }
    return failure(`The attached server "${server.name}" asked ${maxRounds} times before ${name} ran. It was ended.`);
  };

  /** Whoever cannot wait for a task gets its result within the deadline of a call, or has it cancelled. */
  async function become(
    server: FollowedServer,
    name: string,
    taskId: string,
    options: ForeignPort & { readonly signal: AbortSignal },
  ): Promise<ToolResult> {
    const task = { server: server.id, taskId, place: server.place };
    const { began, signal } = options;
    if (began === undefined) {
      const within = AbortSignal.any([signal, AbortSignal.timeout(server.timeoutMs)]);
      return follow(server, name, task, { ...options, signal: within });
    }
    try {
      await began(task);
    } catch (error) {
      const why = sentence(error instanceof Error ? error.message : String(error));
      const cancelled = await follow(server, name, task, { signal: AbortSignal.abort() });
      return failure(`${why} ${cancelled.content.map(({ text }) => String(text ?? '')).join(' ')}`);
    }
    return follow(server, name, task, options);
  }

  /** By key; a sentence where nothing can be answered. */
  async function answersTo(
    server: FollowedServer,
    sent: unknown,
    { ask, signal }: ForeignPort & { readonly signal: AbortSignal },
  ): Promise<Readonly<Record<string, unknown>> | string> {
    const requests = sent === undefined ? {} : readRequests(sent);
    if (typeof requests === 'string') return requests;
    if (ask === undefined) return 'The server asks the person, and nobody can be asked here.';
    const responses: Record<string, unknown> = {};
    for (const [key, request] of Object.entries(requests)) {
      const answer = await askPerson(server.name, request, ask, signal);
      if (answer.ended !== null) return answer.ended;
      responses[key] = answer.response;
    }
    return responses;
  }
}
