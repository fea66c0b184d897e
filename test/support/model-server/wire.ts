/** What one wire gives: how it reads a request and how it says a reply. Knows no HTTP beyond status, body and stream events. */
import type { ModelReply, ModelRequest, ToolCall, WireName } from './script.ts';

export type Json = Readonly<Record<string, unknown>>;
export type SpokenReply = Exclude<ModelReply, { kind: 'error' | 'garbage' }>;

export interface StreamEvent {
  /** Name of the SSE event; absent where the wire has none. */
  readonly event?: string;
  readonly data: Json | '[DONE]';
  /** Waited before it is sent. */
  readonly pauseMs?: number;
  /** The last event that a cut stream still sends. */
  readonly cutAfter?: true;
}

export interface Wire {
  readonly name: WireName;
  /** null: another path. `stream` is known from path or body. */
  match(path: string, body: Json): { readonly model: string; readonly stream: boolean } | null;
  read(body: Json): Pick<ModelRequest, 'system' | 'lastUser' | 'tools' | 'toolResults' | 'pictures' | 'depth'>;
  whole(reply: SpokenReply, model: string, id: string): Json;
  events(reply: SpokenReply, model: string, id: string): StreamEvent[];
  /** `retryAfter`: seconds, where a wire says it in its body. */
  error(status: number, message: string, retryAfter?: number): { readonly status: number; readonly body: Json };
}

/** Text of a content that is a string or a list of blocks with `text`. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block: unknown) => (isJson(block) && typeof block.text === 'string' ? block.text : ''))
    .filter((part) => part !== '')
    .join('\n');
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}

/** How many objects anywhere inside have this field with this value (or any). */
export function countOf(value: unknown, field: string, wanted?: string): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + countOf(one, field, wanted), 0);
  if (!isJson(value)) return 0;
  const own = Object.hasOwn(value, field) && (wanted === undefined || value[field] === wanted) ? 1 : 0;
  return own + Object.values(value).reduce<number>((sum, one) => sum + countOf(one, field, wanted), 0);
}

/** What a reply says in words and which tools it calls, whatever its kind. */
export function spoken(reply: SpokenReply): {
  words: string;
  calls: readonly ToolCall[];
  pieces: number;
  pauseMs: number;
} {
  return {
    words: reply.text ?? '',
    calls: reply.kind === 'tools' || reply.kind === 'length' ? (reply.calls ?? []) : [],
    pieces: reply.kind === 'text' ? (reply.pieces ?? 4) : 4,
    pauseMs: reply.kind === 'text' ? (reply.pauseMs ?? 0) : 0,
  };
}
