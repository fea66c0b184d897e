/** Requests and answers of a scripted model, in vendor-neutral terms. A test writes one script; every wire speaks it. */
export type WireName = 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini';

export interface ModelRequest {
  readonly wire: WireName;
  readonly model: string;
  readonly stream: boolean;
  readonly system: string;
  /** Text of the user's last message; '' when the turn continues with only tool results. */
  readonly lastUser: string;
  /** Names of the tools on offer. */
  readonly tools: readonly string[];
  /** Results of tools in the last message, by call id. */
  readonly toolResults: readonly { readonly callId: string; readonly text: string }[];
  /** Pictures in the whole conversation. */
  readonly pictures: number;
  /** How many messages the conversation has. */
  readonly depth: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ToolCall {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Of a toolset in the vendor's own form: `computer` or `browser`; of OpenAI `computer`, whose input has the actions. */
  readonly toolset?: string;
}

export type ModelReply =
  /** `pieces`: how many parts a stream has (default 4); `pauseMs` between them. */
  | { readonly kind: 'text'; readonly text: string; readonly pieces?: number; readonly pauseMs?: number }
  | { readonly kind: 'tools'; readonly text?: string; readonly calls: readonly ToolCall[] }
  | { readonly kind: 'refusal'; readonly text: string }
  /** Cut off at the greatest length, also in the middle of a call. */
  | { readonly kind: 'length'; readonly text: string; readonly calls?: readonly ToolCall[] }
  /** Status 200 with something that is no answer of this wire. */
  | { readonly kind: 'garbage'; readonly body: string; readonly type?: string }
  /** 429 rate limit, 529 overloaded (503 where a wire has no 529), or any other status. */
  | { readonly kind: 'error'; readonly status: number; readonly message?: string; readonly retryAfter?: number }
  /** The connection ends after the first pieces of a stream, without an end mark. */
  | { readonly kind: 'cut'; readonly text: string };

export type Script = (request: ModelRequest) => ModelReply | Promise<ModelReply>;

export const text = (words: string, rest: { pieces?: number; pauseMs?: number } = {}): ModelReply => ({
  kind: 'text',
  text: words,
  ...rest,
});
export const tools = (...calls: ToolCall[]): ModelReply => ({ kind: 'tools', calls });

/** Replies in order; the last one for ever. */
export function inOrder(...replies: readonly [ModelReply, ...ModelReply[]]): Script {
  let next = 0;
  return () => replies[Math.min(next++, replies.length - 1)] ?? replies[0];
}

export function inPieces(words: string, count = 4): string[] {
  const size = Math.max(1, Math.ceil(words.length / count));
  const pieces: string[] = [];
  for (let at = 0; at < words.length; at += size) pieces.push(words.slice(at, at + size));
  return pieces.length === 0 ? [''] : pieces;
}
