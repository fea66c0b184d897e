/** A raw reader of event streams for tests: every event as it was sent, nothing dropped, nothing reconnected. */
import { createSseParser } from '../../src/contracts/common/sse-parser.ts';
import { type Engine, ownerToken, waitFor } from './engine.ts';

export interface RawEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: { type?: string; at?: string; data?: Record<string, unknown> } & Record<string, unknown>;
}

export interface Reader {
  readonly status: number;
  readonly events: RawEvent[];
  /** Waits for the first event that fits. */
  next(fits: (event: RawEvent) => boolean): Promise<RawEvent>;
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  close(): void;
}

export async function openStream(engine: Engine, path: string, headers: Record<string, string> = {}): Promise<Reader> {
  const abort = new AbortController();
  const response = await fetch(`${engine.url}/api/factory${path}`, {
    headers: { authorization: `Bearer ${ownerToken}`, ...headers },
    signal: abort.signal,
  });
  const events: RawEvent[] = [];
  const parser = createSseParser();
  const decoder = new TextDecoder();
  const read = async () => {
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return;
    for await (const bytes of response.body ?? []) {
      for (const message of parser.push(decoder.decode(bytes, { stream: true }))) {
        events.push({ ...message, data: JSON.parse(message.data) });
      }
    }
  };
  const ended = read().catch(() => {});
  return {
    status: response.status,
    events,
    ended,
    next: async (fits) => {
      const found = await waitFor(
        () => events.find(fits),
        (event) => event !== undefined,
      );
      return found as RawEvent;
    },
    close: () => abort.abort(),
  };
}
