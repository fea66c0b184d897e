/** A cloud's refusal of a computer that dials in. Must not know what follows from it. */
import type { IncomingMessage } from 'node:http';

/** Facts from a refusal that help the next try succeed. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly serverTime: number | null;
  readonly epoch: number | null;
  readonly retryAfterMs: number;
}

const largest = 64 * 1024;
const latestEpoch = 1e14;
/** The longest wait: that between two tries of our own. */
const maxWaitMs = 30_000;

/** Calls `done` exactly once, also when a proxy in front sends its own response, or breaks off. */
export function readRefusal(response: IncomingMessage, done: (refusal: Refusal) => void): void {
  let text = '';
  let told = false;
  const tell = () => {
    if (told) return;
    told = true;
    const body = parse(text);
    const retryAfter = Number(response.headers['retry-after'] ?? 0);
    done({
      status: response.statusCode ?? 0,
      message: typeof body.message === 'string' ? body.message.slice(0, 300) : 'no message',
      serverTime: typeof body.serverTime === 'number' ? body.serverTime : null,
      epoch: isEpoch(body.epoch) ? body.epoch : null,
      retryAfterMs: retryAfter > 0 ? Math.min(retryAfter * 1000, maxWaitMs) : 0,
    });
  };
  response.setEncoding('utf8');
  response.on('data', (part: string) => {
    text += part;
    if (text.length > largest) tell();
  });
  response.on('end', tell);
  response.on('error', tell);
  response.on('close', tell);
}

/** Milliseconds of some clock; one from far beyond would be taken by no other cloud. */
function isEpoch(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) < latestEpoch;
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
