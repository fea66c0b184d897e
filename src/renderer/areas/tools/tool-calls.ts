/**
 * Calls that a person makes from the page: the last one of each tool, with its typed arguments. They outlive the tool's page: a person who goes to
 * the inbox to say yes returns to the same call. Must not know how a call is shown.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { WorkProgress } from '../../../contracts/common/work-progress.ts';
import type { ToolResult } from '../../../contracts/tool-server/tools.ts';

/** What stands in the form of a tool. */
export interface ToolDraft {
  readonly texts: Readonly<Record<string, string>>;
  /** The arguments as JSON instead of fields; null: the fields are meant. */
  readonly json: string | null;
}

export type ToolCall =
  | { readonly state: 'running'; readonly startedAt: string; readonly progress: WorkProgress | null }
  | { readonly state: 'done'; readonly startedAt: string; readonly tookMs: number; readonly result: ToolResult }
  /** Nobody answered the approval in time. The same call runs once after it is approved. */
  | { readonly state: 'waits'; readonly startedAt: string; readonly approvalId: string | null }
  | { readonly state: 'cancelled'; readonly startedAt: string; readonly tookMs: number }
  | { readonly state: 'failed'; readonly startedAt: string; readonly tookMs: number; readonly error: unknown };

type Call = (signal: AbortSignal, onProgress: (progress: WorkProgress) => void) => Promise<ToolResult>;

interface ToolCalls {
  callOf(key: string): ToolCall | null;
  draftOf(key: string): ToolDraft | null;
  keepDraft(key: string, draft: ToolDraft): void;
  /** Does nothing while one of the same key runs. */
  start(key: string, call: Call): void;
  cancel(key: string): void;
  subscribe(listener: () => void): () => void;
}

export function createToolCalls(now: () => number = Date.now): ToolCalls {
  const calls = new Map<string, ToolCall>();
  const drafts = new Map<string, ToolDraft>();
  const running = new Map<string, AbortController>();
  const listeners = new Set<() => void>();

  function put(key: string, call: ToolCall): void {
    calls.set(key, call);
    for (const listener of listeners) listener();
  }

  async function run(key: string, call: Call): Promise<void> {
    const began = now();
    const startedAt = new Date(began).toISOString();
    const stop = new AbortController();
    running.set(key, stop);
    put(key, { state: 'running', startedAt, progress: null });
    let end: ToolCall;
    try {
      const result = await call(stop.signal, (progress) => put(key, { state: 'running', startedAt, progress }));
      end = { state: 'done', startedAt, tookMs: now() - began, result };
    } catch (error) {
      end = endOf(error, startedAt, now() - began, stop.signal.aborted);
    }
    running.delete(key);
    put(key, end);
  }

  return {
    callOf: (key) => calls.get(key) ?? null,
    draftOf: (key) => drafts.get(key) ?? null,
    keepDraft: (key, draft) => void drafts.set(key, draft),
    start(key, call) {
      if (!running.has(key)) void run(key, call);
    },
    cancel: (key) => running.get(key)?.abort(),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function endOf(error: unknown, startedAt: string, tookMs: number, aborted: boolean): ToolCall {
  if (aborted) return { state: 'cancelled', startedAt, tookMs };
  if (error instanceof AppError && error.options.wireCode === 'approval_required') {
    const id = error.options.extra?.approvalId;
    return { state: 'waits', startedAt, approvalId: typeof id === 'string' ? id : null };
  }
  return { state: 'failed', startedAt, tookMs, error };
}
