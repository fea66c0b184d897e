/** A computer's requests to a cloud that does not know it yet: for a code, and whether it was approved. Must not know files. */
import type { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { beginPairing, PairingGrant, pollPairing } from '../../contracts/link/pairings.ts';

/** `remainingMs`: how long the code is valid from now on, whatever the clocks show. `aheadMs`: of the cloud's clock; null: unknown. */
type Begun = z.infer<(typeof beginPairing.answers)[201]> & {
  readonly remainingMs: number;
  readonly aheadMs: number | null;
};
type Polled =
  | { readonly is: 'pending' | 'unreachable' }
  | { readonly is: 'granted'; readonly grant: PairingGrant }
  | { readonly is: 'over'; readonly why: string };

export interface AskCloud {
  /** Throws the cloud's error, or `transport`. */
  begin(cloudUrl: string, about: { computerId: string; name: string; version: string }): Promise<Begun>;
  /** Never throws. */
  poll(cloudUrl: string, deviceCode: string): Promise<Polled>;
}

const timeoutMs = 15_000;
const largestAnswer = 64 * 1024;
/** A newer cloud may send more fields than this computer knows. */
const Begin = beginPairing.answers[201].strip();
const Grant = PairingGrant.strip();

export function createAskCloud({
  fetch,
  now,
}: {
  readonly now: () => number;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}): AskCloud {
  async function post(url: string, body: unknown): Promise<{ status: number; body: unknown; date: number }> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    if (text.length > largestAnswer) throw new Error('The answer is too large.');
    return { status: response.status, body: parse(text), date: Date.parse(response.headers.get('date') ?? '') };
  }

  return {
    async begin(cloudUrl, about) {
      let answer: { status: number; body: unknown; date: number };
      try {
        answer = await post(cloudUrl + beginPairing.path, about);
      } catch (cause) {
        throw new AppError('transport', `${cloudUrl} does not answer (${reason(cause)}).`, 'Check the address.', {
          cause,
        });
      }
      const parsed = Begin.safeParse(answer.body);
      if (answer.status === 201 && parsed.success) {
        const { expiresAt, expiresIn } = parsed.data;
        const heard = Number.isNaN(answer.date) ? null : answer.date;
        // An older cloud sends only the end time, by its own clock, whose time comes with its answer.
        const remainingMs = expiresIn === undefined ? Date.parse(expiresAt) - (heard ?? now()) : expiresIn * 1000;
        return { ...parsed.data, remainingMs, aheadMs: heard === null ? null : heard - now() };
      }
      const { message } = said(answer.body);
      if (message === null) {
        throw new AppError(
          'transport',
          `The server at ${cloudUrl} is not a Gantry cloud (${answer.status}).`,
          'Check the address.',
        );
      }
      throw new AppError('refused', `${cloudUrl} refused this computer: ${message}`, '', {
        ...(answer.status === 429 ? { status: 429 as const, wireCode: 'rate_limited' } : {}),
      });
    },
    async poll(cloudUrl, deviceCode) {
      try {
        const { status, body } = await post(cloudUrl + pollPairing.path, { deviceCode });
        if (status === 200) {
          const grant = Grant.safeParse(body);
          if (grant.success) return { is: 'granted', grant: grant.data };
          if ((body as { status?: unknown } | null)?.status === 'pending') return { is: 'pending' };
          return { is: 'over', why: 'The cloud’s answer is unknown to this version of Gantry.' };
        }
        if (status === 429 || status >= 500) return { is: 'unreachable' };
        return { is: 'over', why: said(body).message ?? `The cloud answered ${status}.` };
      } catch {
        return { is: 'unreachable' };
      }
    },
  };
}

function said(body: unknown): { message: string | null } {
  const message = (body as { message?: unknown } | null)?.message;
  return { message: typeof message === 'string' ? message.slice(0, 500) : null };
}

function reason(cause: unknown): string {
  const inner = (cause as { cause?: { code?: unknown } }).cause?.code;
  return typeof inner === 'string' ? inner : String((cause as Error).message ?? cause);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
