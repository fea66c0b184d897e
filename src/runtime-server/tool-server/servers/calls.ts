/**
 * One call of a tool of an attached server: checks arguments, sets a deadline, and reports every failure in words that name the
 * server and the time it took. Never throws, never repeats what may have been done. Must not know rows or lists.
 */
import { doesNotTake, type ToolResult } from '../../../contracts/tool-server/tools.ts';
import type { Clock } from '../../../kit/clock/clock.ts';
import { type ArgumentCheck, createArgumentCheck } from './arguments.ts';
import type { Connection } from './connection.ts';
import { isUnsent, type UpstreamFault } from './fault.ts';
import type { ListedTool } from './listing.ts';
import { failure, readResult } from './results.ts';

interface CallServer {
  readonly name: string;
  readonly timeoutMs: number;
  readonly connection: Pick<Connection, 'use'>;
  /** A text of the server without the secrets that it was given. */
  readonly clean: (text: string) => string;
}

type CallTool = (
  server: CallServer,
  tool: ListedTool,
  args: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
) => Promise<ToolResult>;

export function createCallTool({ clock }: { readonly clock: Clock }): CallTool {
  const checks = new WeakMap<ListedTool, Promise<ArgumentCheck>>();

  function checkOf(tool: ListedTool): Promise<ArgumentCheck> {
    const known = checks.get(tool) ?? createArgumentCheck(tool.inputSchema);
    checks.set(tool, known);
    return known;
  }

  return async (server, tool, args, signal) => {
    const name = `${server.name}.${tool.tool}`;
    const wrong = (await checkOf(tool))(args);
    if (wrong !== null) return failure(`${name}${doesNotTake}${wrong}`);
    const started = clock.monotonic();
    const late = AbortSignal.timeout(server.timeoutMs);
    const stop = AbortSignal.any([signal, late]);
    let begun = false;
    try {
      const sent = await server.connection.use(stop, (upstream) => {
        begun = true;
        const inputSchema = tool.sentSchema ?? tool.inputSchema;
        return upstream.call({ name: tool.tool, inputSchema }, args, { signal: stop, timeoutMs: server.timeoutMs });
      });
      return readResult(sent);
    } catch (error) {
      const took = `${((clock.monotonic() - started) / 1000).toFixed(1)} s`;
      const doubt = begun && !isUnsent(error) ? 'Whether it ran is unknown.' : 'Nothing ran.';
      const who = `The attached server "${server.name}"`;
      if (signal.aborted) return failure(`${name} was stopped after ${took}. ${doubt}`);
      if (late.aborted || (error as UpstreamFault).kind === 'timeout') {
        return failure(
          `${who} did not answer ${name} within ${server.timeoutMs / 1000} s, and was asked to stop. ${doubt}`,
        );
      }
      const why = sentence(server.clean((error as Error).message));
      const { kind } = error as UpstreamFault;
      const refused = begun && (kind === 'unauthorized' || kind === 'session');
      if (refused) return failure(`${who} refused ${name} after ${took}: ${why}`);
      if (kind === 'answer') {
        return failure(`${who} answered ${name} with an error after ${took}: ${why}`);
      }
      if (!begun || isUnsent(error)) return failure(`${who} cannot be reached (${took}): ${why} ${doubt}`);
      return failure(`${who} was lost while ${name} ran, after ${took}: ${why} ${doubt}`);
    }
  };
}

const sentence = (text: string) => text.trim().replace(/(?<![.!?…])$/, '.');
