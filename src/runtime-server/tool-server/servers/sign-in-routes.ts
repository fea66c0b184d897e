/** The route to which a person's browser returns after signing in at an attached server: a page that shows the result. Must not know OAuth. */
import { AppError } from '../../../contracts/common/errors.ts';
import { oauthCallback } from '../../../contracts/tool-server/mcp.ts';
import { pageHeaders, plainPage } from '../../../kit/http/plain-page.ts';
import { type BoundRoute, bind } from '../../../kit/http/types.ts';
import type { OAuthClient } from '../../../kit/oauth/oauth-client.ts';
import type { AuthServer } from './auth.ts';

const wayOn = { href: '/tools', text: 'Go to Tools' };

export function signInRoutes({
  oauth,
  find,
}: {
  readonly oauth: Pick<OAuthClient, 'finish'>;
  /** The attached server of this id; null: unknown. */
  readonly find: (id: string) => AuthServer | null | Promise<AuthServer | null>;
}): BoundRoute[] {
  return [
    bind(oauthCallback, async ({ query, response }) => {
      const { status, page } = await oauth.finish(query, find).then(
        ({ name }) => ({
          status: 200,
          page: plainPage(`Signed in at ${name}`, ['Gantry can now use it for you. You can close this page.'], wayOn),
        }),
        (error: unknown) => {
          if (!(error instanceof AppError)) throw error;
          return { status: 403, page: plainPage('Not signed in', [error.fact, error.action], wayOn) };
        },
      );
      response.writeHead(status, pageHeaders);
      response.end(page);
    }),
  ];
}
