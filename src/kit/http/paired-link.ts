/**
 * Authenticates the cloud that this computer is paired with: by the bearer that the runtime gave away with its link, only for the one person of the
 * pairing, and only over the link. Must not know how the link is made.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { newToken, tokenHash, tokenMatches } from '../secrets/token-file.ts';
import { bearerOf, everyScope, linkHeaders, localUserId, passedClient, surfaceName } from './principals.ts';
import type { Authenticator } from './types.ts';

interface LinkTokens {
  /** A new one, for the next connection. */
  next(): string;
  matches(bearer: string): boolean;
}

/** A request takes the bearer when it begins, and may arrive after the next connection was made. */
const kept = 4;

export function createLinkTokens(): LinkTokens {
  let digests: readonly Buffer[] = [];
  return {
    next() {
      const token = newToken();
      digests = [tokenHash(token), ...digests].slice(0, kept);
      return token;
    },
    matches: (bearer) => digests.some((digest) => tokenMatches(digest, bearer)),
  };
}

/** The person of the pairing is the owner of this computer; nobody else is known here. */
export function createPairedLinkAuthenticator({
  tokens,
  user,
}: {
  readonly tokens: Pick<LinkTokens, 'matches'>;
  /** The person of the pairing, by the cloud's id; null: not paired. */
  readonly user: () => string | null;
}): Authenticator {
  return {
    name: 'paired-link',
    authenticate(request) {
      const bearer = bearerOf(request);
      if (bearer === null || !tokens.matches(bearer)) return null;
      const named = request.headers[linkHeaders.user];
      const surface = request.headers[linkHeaders.surface];
      if (typeof named !== 'string' || typeof surface !== 'string' || !surfaceName.test(surface)) {
        throw new AppError('refused', 'The link names no user.', 'This is a fault of Gantry.', { status: 401 });
      }
      if (named !== user()) {
        throw new AppError('refused', `The user ${named} has no computer here.`, 'Sign in as the one who paired it.');
      }
      const via = `link:${surface}`;
      return { kind: 'link', userId: localUserId, scopes: everyScope, via, ...passedClient(request) };
    },
  };
}
