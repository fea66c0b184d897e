/**
 * Carries MCP over lines of text on to HTTP (modelcontextprotocol.io, "stdio"; "Streamable HTTP"): each line is one message, posted unchanged, and
 * its answer is one line. Owns the HTTP headers beside the message and the answer to a line whose post failed. Must not know streams, sockets or
 * credentials.
 */
import { AppError, rpcCode } from '../../contracts/common/errors.ts';
import { mcpHeaders, mcpMeta } from '../../contracts/tool-server/mcp.ts';

interface BridgeDeps {
  /** Posts a message. Rejects when nobody answers. */
  post(body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Reply>;
  /** Writes a line, without its end. */
  write(line: string): void;
}

export interface Reply {
  readonly status: number;
  readonly text: string;
}

interface Bridge {
  /** Resolves when the line has its answer, or needs none. Never rejects. */
  take(line: string): Promise<void>;
}

interface Message {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: {
    readonly protocolVersion?: unknown;
    readonly requestId?: unknown;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

export function createBridge({ post, write }: BridgeDeps): Bridge {
  const running = new Map<unknown, AbortController>();
  /** What the handshake agreed on: over HTTP each later request says it. */
  let agreed: string | null = null;

  function headersOf({ method, params }: Message): Record<string, string> {
    const said = params?._meta?.[mcpMeta.version];
    const version = typeof said === 'string' ? said : method === 'initialize' ? null : agreed;
    return version === null ? {} : { [mcpHeaders.version]: version };
  }

  async function ask(message: Message, line: string): Promise<string | null> {
    const { id, method } = message;
    const leaving = new AbortController();
    if (id !== undefined) running.set(id, leaving);
    try {
      const reply = await post(line, headersOf(message), leaving.signal);
      // A notification: nobody waits for an answer.
      if (id === undefined && method !== undefined) return null;
      if (method === 'initialize') agreed = versionIn(reply.text) ?? agreed;
      return answered(reply, id ?? null);
    } catch (thrown) {
      if (leaving.signal.aborted || (id === undefined && method !== undefined)) return null;
      const fault = thrown instanceof AppError ? thrown : new AppError('transport', String(thrown), '');
      return refusal(id ?? null, rpcCode[fault.code], `${fault.fact} ${fault.action}`.trim());
    } finally {
      if (id !== undefined) running.delete(id);
    }
  }

  return {
    async take(line) {
      if (line.trim() === '') return;
      const message = parsed(line);
      if (message.method === 'notifications/cancelled') running.get(message.params?.requestId)?.abort();
      const answer = await ask(message, line);
      if (answer !== null) write(answer);
    },
  };
}

/** What cannot be read is posted all the same: the server says what is wrong with it. */
function parsed(line: string): Message {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Message) : {};
  } catch {
    return {};
  }
}

function versionIn(text: string): string | null {
  const version = (parsed(text) as { result?: { protocolVersion?: unknown } }).result?.protocolVersion;
  return typeof version === 'string' ? version : null;
}

/** One line that belongs to the request: refusals from before the message was read know no id, and some are no JSON-RPC at all. */
function answered({ status, text }: Reply, id: string | number | null): string {
  const body = parsed(text) as { jsonrpc?: unknown; id?: unknown };
  if (body.jsonrpc !== '2.0') return refusal(id, rpcCode.transport, `The server answered with HTTP ${status}.`);
  if ((body.id ?? null) === null && id !== null) return JSON.stringify({ ...body, id });
  return text.includes('\n') ? JSON.stringify(body) : text;
}

function refusal(id: string | number | null, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}
