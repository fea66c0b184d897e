/**
 * One conversation with a model, independent of vendors: messages, called tools, cost, possible failures. Each adapter (`anthropic.ts`, `openai.ts`,
 * `google.ts`) translates this to one wire and back, and does nothing else. Used by hosted bots and computer-use runs. Must not know bots, tools or
 * stores.
 */
import type { Toolset } from '../../contracts/computer-use/members.ts';
import type { BrowserState } from '../../contracts/computer-use/toolset.ts';

const wires = ['anthropic', 'openai', 'google'] as const;
export type Wire = (typeof wires)[number];

export interface ToolOffer {
  /** With a dot (`file.read`); adapters write `_` for it where a wire takes no dots. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** Why the input could not be read: then it is never carried out. */
  readonly problem?: string;
  /** For a toolset in the vendor's own form: its name there, which the result must carry. */
  readonly toolset?: string;
}

export interface Picture {
  readonly mediaType: 'image/png' | 'image/jpeg';
  /** Base64. */
  readonly data: string;
}

/** A check that a vendor wants a person to confirm before a call of its model is carried out. */
export interface SafetyCheck {
  readonly id: string;
  readonly code: string | null;
  readonly message: string | null;
}

export interface ToolResult {
  readonly callId: string;
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
  /** As in its call. */
  readonly toolset?: string;
  readonly pictures?: readonly Picture[];
  readonly browserState?: BrowserState;
  /** Checks of the call that a person has allowed. Absent: it had none; empty: they were not allowed. */
  readonly acknowledged?: readonly SafetyCheck[];
}

export type Message =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      /** As the wire gave it: signatures in it must come back unchanged, and only on the same wire. */
      readonly native?: { readonly wire: Wire; readonly content: unknown };
    }
  | { readonly role: 'tools'; readonly results: readonly ToolResult[] };

/** Tokens. `input` excludes those read from or written to a cache. */
export interface Usage {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly output: number;
}

export const noUsage: Usage = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0 };

export interface Ask {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolOffer[];
  /** Offered in the vendor's own form, beside `tools`. */
  readonly toolsets?: readonly Toolset[];
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
  /** The model has taken the request: its answer has begun. */
  readonly onStart: () => void;
}

export interface Answer {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** `length`: cut off at the longest answer; its calls may be incomplete and are never carried out. */
  readonly stop: 'end' | 'tools' | 'length' | 'refusal';
  /** Null where the server did not report it. */
  readonly usage: Usage | null;
  readonly native: unknown;
}

/**
 * One vendor's wire. Tries once: the caller decides about a retry. Fails with {@link ModelFault}.
 *
 * @example
 * ```ts
 * import { ModelFault, type ModelPort } from './model.ts';
 *
 * // A server that takes the messages as JSON and answers plain text.
 * export function createPlainModel(url: string): ModelPort {
 *   return {
 *     async ask({ system, messages, signal, onStart }) {
 *       const body = JSON.stringify({ system, messages });
 *       const answer = await fetch(url, { method: 'POST', body, signal }).catch((cause) => {
 *         throw new ModelFault(signal.aborted ? 'stopped' : 'unreachable', `${url} does not answer.`, { cause });
 *       });
 *       if (answer.status === 429) throw new ModelFault('limit', 'Too many requests.');
 *       if (!answer.ok) throw new ModelFault('overloaded', `${url} answers ${answer.status}.`);
 *       onStart();
 *       return { text: await answer.text(), calls: [], stop: 'end', usage: null, native: null };
 *     },
 *   };
 * }
 * ```
 */
export interface ModelPort {
  ask(ask: Ask): Promise<Answer>;
}

/**
 * key: refused or missing credential · limit: 429 · overloaded: the service cannot now · unreachable: no connection, no answer ·
 * cut: the answer ended in its middle · garbage: not this wire · unknown_model · invalid: this request can never be taken ·
 * stopped: by us.
 */
export type FaultKind =
  | 'key'
  | 'limit'
  | 'overloaded'
  | 'unreachable'
  | 'cut'
  | 'garbage'
  | 'unknown_model'
  | 'invalid'
  | 'stopped';

export class ModelFault extends Error {
  readonly kind: FaultKind;
  /** When the service accepts requests again, by its own answer, milliseconds since the epoch. */
  readonly retryAt: number | null;

  constructor(kind: FaultKind, fact: string, options: { retryAt?: number | null; cause?: unknown } = {}) {
    super(fact, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ModelFault';
    this.kind = kind;
    this.retryAt = options.retryAt ?? null;
  }
}

export const wireName = (name: string): string => name.replaceAll('.', '_');

/** The offered name behind a name on the wire; an unknown one stays as it came, and is answered as unknown. */
export function offeredName(tools: readonly ToolOffer[], onWire: string): string {
  return tools.find((tool) => wireName(tool.name) === onWire)?.name ?? onWire;
}
