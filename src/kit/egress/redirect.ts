/**
 * The request after a redirect (RFC 9110, 15.4), for clients that follow by hand so that each step is checked like the first. Possible credentials
 * stay with the origin that they were meant for. Pure. Must not know who follows.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { EgressAnswer, EgressRequest } from './egress.ts';

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Any other header may carry a key: some services invent their own names. */
const harmless: ReadonlySet<string> = new Set(['accept', 'accept-language', 'accept-encoding', 'user-agent', 'range']);
const aboutBody: ReadonlySet<string> = new Set(['content-type', 'content-encoding', 'content-language']);

/** The request that a redirect leads to; null if the answer is no redirect. Throws `refused` for a scheme other than http and https. */
export function redirectOf(
  request: EgressRequest,
  answer: Pick<EgressAnswer, 'status' | 'headers'>,
): EgressRequest | null {
  const { location } = answer.headers;
  if (!redirects.has(answer.status) || typeof location !== 'string') return null;
  if (!URL.canParse(location, request.url)) throw nowhere(location);
  const to = new URL(location, request.url);
  if (to.protocol !== 'http:' && to.protocol !== 'https:') throw nowhere(location);
  const sameOrigin = to.origin === new URL(request.url).origin;
  const keepsBody =
    answer.status === 307 || answer.status === 308 || request.method === 'GET' || request.method === 'HEAD';
  const headers = Object.entries(request.headers).filter(([name]) => {
    const lower = name.toLowerCase();
    if (aboutBody.has(lower)) return keepsBody;
    return sameOrigin || harmless.has(lower);
  });
  const { body, ...rest } = request;
  return {
    ...rest,
    ...(keepsBody && body !== undefined ? { body } : {}),
    method: keepsBody ? request.method : 'GET',
    url: to.href,
    headers: Object.fromEntries(headers),
  };
}

function nowhere(location: string): AppError {
  const fact = `It redirects to ${JSON.stringify(location.slice(0, 120))}, which is not a web address.`;
  return new AppError('refused', fact, 'Use another address.', { wireCode: 'address_refused' });
}
