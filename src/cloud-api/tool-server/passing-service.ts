/**
 * An MCP server whose tools, prompts and resources are those of the caller's computer: requests and answers pass unchanged. Owns the response while
 * the computer is away. Must not know a single tool.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { mcpServer, rpcCodes, tasksVersion } from '../../contracts/tool-server/mcp.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { McpRequest, McpService, RpcAnswer } from '../../kit/mcp/service.ts';
import { taskCapabilities } from '../../kit/mcp/tasks.ts';
import { Unanswered } from '../link/ask.ts';
import type { EngineQuestion, Engines } from '../link/engines.ts';
import type { Link } from '../link/link.ts';
import { readAnswer } from '../link/read-answer.ts';
import type { LastLists } from './last-lists.ts';

/** Longer answers are cut off: a computer must not fill the memory of a cloud of many. Bytes. */
const maxAnswerLength = 64 * 1024 * 1024;
const theirs = /^(?:tools|prompts|resources|completion|tasks)\//;
const acting: ReadonlySet<string> = new Set(['tools/call', 'tasks/cancel', 'tasks/update']);
/** Methods without effects, which may be repeated. */
const changesNothing = (method: string) => !acting.has(method);
/** Lists that are the same for all clients of a person, as tasks are not. */
const isList = (method: string) => method.endsWith('/list') && method !== 'tasks/list';

export function createPassingService({
  engines,
  link,
  lists,
  advice,
  version,
  callerOf,
}: {
  readonly engines: Pick<Engines, 'targetOf' | 'ask'>;
  readonly link: Pick<Link, 'state'>;
  readonly lists: LastLists;
  /** As whom the computer is asked; absent: as the caller. */
  readonly callerOf?: (request: McpRequest) => Principal;
  /** What to do when a computer does not answer. */
  readonly advice: string;
  readonly version: string;
}): McpService {
  /** The cache key of this caller's list; only for a first page. */
  function placeOf(
    { principal, method, version, era, names, params }: McpRequest,
    computerId: string,
  ): string[] | null {
    if (!isList(method) || params.cursor !== undefined) return null;
    return [principal.userId, computerId, method, version === tasksVersion ? version : era, names];
  }

  async function pass(request: McpRequest, computerId: string): Promise<RpcAnswer> {
    const answer = await engines.ask({
      context: callerOf === undefined ? request : contextAs(request, callerOf(request)),
      computerId,
      path: request.names === 'safe' ? `${mcpServer.path}?names=safe` : mcpServer.path,
      body: request.raw,
      reads: changesNothing(request.method),
    });
    const { statusCode: status = 502 } = answer;
    const text = await readAnswer(answer, maxAnswerLength);
    // The computer refused the link's own credential or its word, which the caller cannot mend.
    if (status === 401 || status === 403 || status === 421) throw unreadable(status);
    const place = status === 200 ? placeOf(request, computerId) : null;
    if (place !== null) keep(place, text);
    return { text, status };
  }

  function keep(place: readonly string[], text: Buffer): void {
    const { result } = JSON.parse(text.toString()) as { result?: unknown };
    if (result !== undefined) lists.keep(place, JSON.stringify(result));
  }

  async function whileAway(request: McpRequest, computerId: string, fault: AppError): Promise<RpcAnswer> {
    const place = placeOf(request, computerId);
    const last = place === null ? null : lists.find(place);
    if (last !== null) return { json: last };
    const { linked, since } = await link.state(computerId);
    const sinceWhen = linked || since === 0 ? null : iso(since);
    const data = { error: 'computer_unavailable', since: sinceWhen };
    const said = `${fault.fact} ${fault.action}`;
    if (request.method === 'tools/call') {
      return { result: { content: [{ type: 'text', text: said }], structuredContent: data, isError: true } };
    }
    const message = isList(request.method) ? `${said} It has sent no list since this cloud started.` : said;
    return { error: { code: rpcCodes.internal, message, data } };
  }

  return {
    info: { name: 'gantry', title: 'Gantry', version },
    capabilities: (_era, version) => ({ tools: {}, prompts: {}, resources: {}, ...taskCapabilities(version) }),
    async handle(request) {
      if (!theirs.test(request.method)) return null;
      let computerId: string;
      try {
        ({ computerId } = await engines.targetOf(request));
      } catch (thrown) {
        if (!(thrown instanceof AppError) || thrown.code !== 'not_found') throw thrown;
        const data = { error: thrown.options.wireCode ?? thrown.code };
        return { error: { code: rpcCodes.invalidParams, message: wordsOf(thrown), data, status: thrown.status } };
      }
      try {
        return await pass(request, computerId);
      } catch (thrown) {
        const fault = thrown instanceof Unanswered ? cutOff(request.method, thrown) : thrown;
        if (!(fault instanceof AppError) || fault.code !== 'transport') throw fault;
        return whileAway(request, computerId, fault);
      }
    },
  };

  function cutOff(method: string, { cause }: Unanswered): AppError {
    const why = cause.code ?? 'the connection broke';
    return method === 'tools/call'
      ? new AppError(
          'transport',
          `The connection to the computer ended before it answered (${why}): whether the tool ran is not known.`,
          'Check what it may have changed before you call it again.',
          { cause },
        )
      : new AppError('transport', `The computer does not answer (${why}).`, advice, { cause });
  }

  function unreadable(status: number): AppError {
    return new AppError('transport', `The computer refused the credential of this cloud (HTTP ${status}).`, advice);
  }
}

/** The same request of another caller. A getter: only who uses the signal has it made. */
function contextAs(asked: McpRequest, principal: Principal): EngineQuestion['context'] {
  const { request, response } = asked;
  return {
    principal,
    request,
    response,
    get signal() {
      return asked.signal;
    },
  };
}

const wordsOf = ({ fact, action }: AppError) => `${fact} ${action}`;
