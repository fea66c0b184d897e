/** Requests to providers: guarded and bounded, with a record of the providers that are away. Must not know what is asked. */
import type { Egress } from '../egress/egress.ts';

/** Time limit of one request to a provider, milliseconds. */
export const answerMs = 10_000;
/** Metadata and tokens are small. Bytes. */
const largestAnswer = 256 * 1024;

export type ProviderFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** The guarded client with the interface that the SDK expects. */
export function fetchThrough(egress: Pick<Egress, 'request'>): ProviderFetch {
  return async (url, init = {}) => {
    const { body } = init;
    const {
      status,
      headers,
      body: bytes,
    } = await egress.request({
      method: init.method ?? 'GET',
      url: String(url),
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      timeoutMs: answerMs,
      largestAnswer,
      ...(init.signal ? { signal: init.signal } : {}),
    });
    const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    );
    const empty = status === 204 || status === 304 || bytes.length === 0;
    return new Response(empty ? null : new Uint8Array(bytes), { status, headers: pairs });
  };
}

/** Whether the grant can be renewed is unknown: the provider did not answer. */
export class ProviderAway extends Error {}

/** `away`: why the provider could not be reached at the last request for a new token, or at all; null: it answered. */
export function watchProvider(fetch: ProviderFetch): { readonly fetch: ProviderFetch; away(): string | null } {
  let why: string | null = null;
  return {
    away: () => why,
    async fetch(url, init) {
      try {
        const answer = await fetch(url, init);
        const { status } = answer;
        const renews = String(init?.body ?? '').includes('grant_type=refresh_token');
        if (renews) why = status >= 500 || status === 429 ? `its provider answered ${status}.` : null;
        return answer;
      } catch (error) {
        why = (error as Error).message;
        throw error;
      }
    },
  };
}
