/**
 * The internal service token: for other programs of this installation, and for `gantry admin` on the server's own machine. `x-platform-user-id` names
 * the user they act for; outside callers that send it are refused. Must not know routes.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { bearerOf, everyScope, linkHeaders } from '../../kit/http/principals.ts';
import type { Authenticator } from '../../kit/http/types.ts';
import { tokenHash, tokenMatches } from '../../kit/secrets/token-file.ts';
import type { Users } from './users.ts';

export function createInternalAuthenticator(token: string, users: Pick<Users, 'find'>): Authenticator {
  const digest = tokenHash(token);
  return {
    name: 'internal',
    async authenticate(request) {
      const bearer = bearerOf(request);
      if (bearer === null || !tokenMatches(digest, bearer)) return null;
      const named = request.headers[linkHeaders.user];
      const principal = { kind: 'internal', scopes: everyScope, via: 'internal' } as const;
      if (named === undefined) return { ...principal, userId: '' };
      const user = typeof named === 'string' ? await users.find(named) : null;
      if (user === null) {
        throw new AppError(
          'refused',
          `There is no user ${JSON.stringify(String(named).slice(0, 200))} to act for.`,
          `Name one in ${linkHeaders.user}, or leave it out.`,
          { wireCode: 'unknown_user' },
        );
      }
      return { ...principal, userId: user.id };
    },
  };
}
