/**
 * One signed POST to an app (Standard Webhooks): signed with every valid secret, a new timestamp each attempt, no redirects, only public addresses.
 * Reports the outcome in the few words that the protocol has. Must not know rows.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { webhookHeaders } from '../../contracts/tool-server/mcp-events.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Egress } from '../../kit/egress/egress.ts';
import { signWebhook } from '../../kit/signing/webhook.ts';

/** Never contains anything that the other side wrote, or what an address leads to in our network. */
export type PostFault = 'connection_refused' | 'timeout' | 'tls_error' | 'http_4xx' | 'http_5xx';

type Posted =
  | { readonly answered: true; readonly status: number; readonly body: Buffer }
  | { readonly answered: false; readonly fault: Exclude<PostFault, 'http_4xx' | 'http_5xx'> };

interface Post {
  readonly url: string;
  readonly subscriptionId: string;
  /** Constant over the attempts of one message; without dots. */
  readonly messageId: string;
  readonly keys: readonly Buffer[];
  readonly body: unknown;
  readonly signal?: AbortSignal;
}

export interface Poster {
  /** Never throws for the other side's behaviour. */
  post(post: Post): Promise<Posted>;
}

const timeoutMs = 10_000;
/** Room for an echoed challenge and a little more; the rest is not read. */
const largestAnswer = 4096;

export function createPoster({ clock, egress }: { clock: Clock; egress: Pick<Egress, 'request'> }): Poster {
  return {
    async post({ url, subscriptionId, messageId, keys, body, signal }) {
      const text = JSON.stringify(body);
      const timestamp = Math.floor(clock.now() / 1000);
      const headers = {
        'content-type': 'application/json',
        [webhookHeaders.id]: messageId,
        [webhookHeaders.timestamp]: String(timestamp),
        [webhookHeaders.signature]: keys.map((key) => signWebhook(key, messageId, timestamp, text)).join(' '),
        [webhookHeaders.subscription]: subscriptionId,
      };
      const request = { method: 'POST', url, headers, body: text, timeoutMs, largestAnswer, longer: 'cut' } as const;
      try {
        const { status, body: came } = await egress.request({
          ...request,
          ...(signal === undefined ? {} : { signal }),
        });
        return { answered: true, status, body: came };
      } catch (error) {
        return { answered: false, fault: faultOf(error) };
      }
    },
  };
}

/** Redirects are not followed, so one counts as a refusal. */
export function faultOfStatus(status: number): PostFault {
  return status >= 500 ? 'http_5xx' : 'http_4xx';
}

function faultOf(error: unknown): Exclude<PostFault, 'http_4xx' | 'http_5xx'> {
  // A private address is reported like one where nobody listens, so that nobody can map our network.
  if (!(error instanceof AppError) || error.code !== 'transport') return 'connection_refused';
  const cause = error.cause as { name?: unknown; code?: unknown } | undefined;
  const code = String(cause?.code ?? '');
  if (cause?.name === 'TimeoutError' || cause?.name === 'AbortError' || /TIMEOUT|TIMEDOUT/.test(code)) return 'timeout';
  return /^(ERR_SSL|ERR_TLS|CERT_|EPROTO)|CERT|SIGNATURE/.test(code) ? 'tls_error' : 'connection_refused';
}
