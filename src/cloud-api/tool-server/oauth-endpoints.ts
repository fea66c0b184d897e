/**
 * The OAuth endpoints that a provider uses when a person signs in for an attached server: the client's metadata document, and the redirect back to
 * the computer that began (RFC 6749; OAuth Client ID Metadata Document). Must not know codes or tokens: the computer reads them.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { login } from '../../contracts/identity/routes.ts';
import { oauthCallback, oauthClientDocument, oauthClientMetadata } from '../../contracts/tool-server/mcp.ts';
import { pageHeaders, plainPage } from '../../kit/http/plain-page.ts';
import { type BoundRoute, bind, bindPassThrough, type Context } from '../../kit/http/types.ts';
import type { Engines } from '../link/engines.ts';
import type { Link } from '../link/link.ts';
import { passToEngine } from '../link/pass-to-engine.ts';

/** Shows that our own page led the browser here. */
const ledHere = '&led=1';
/** A state begins with the id of the computer that made it. */
const stateForm = /^([A-Za-z0-9_-]{1,200})\.[\x21-\x7e]+$/;

export function createOAuthEndpoints({
  engines,
  link,
  advice,
  origin,
  ownerOf,
}: {
  readonly engines: Pick<Engines, 'ask'>;
  readonly link: Pick<Link, 'state'>;
  readonly advice: string;
  readonly origin: string;
  /** The person of a computer, in a cloud of many people; absent for one person on their own computer. */
  readonly ownerOf?: (computerId: string) => Promise<string | null>;
}): {
  readonly routes: readonly BoundRoute[];
} {
  const document = { client_id: `${origin}${oauthClientDocument.path}`, ...oauthClientMetadata(origin) };

  /**
   * The person who comes back must be the one who began: the provider's code is for the computer's owner, not for anybody who was sent the address. A
   * navigation from another site does not send the session's cookie, so our own page leads the browser here a second time.
   */
  async function isOwner(context: Context<Route>, computerId: string): Promise<boolean> {
    const { principal, request, response } = context;
    if (ownerOf === undefined) return true;
    if (principal.kind !== 'public') return (await ownerOf(computerId)) === principal.userId;
    const { url = '/' } = request;
    if (!url.endsWith(ledHere)) {
      const again = `${url}${ledHere}`;
      response.writeHead(200, { ...pageHeaders, refresh: `0; url=${again}` });
      response.end(plainPage('One moment', ['Gantry is checking who you are.'], { href: again, text: 'Continue' }));
    } else {
      const words = ['Sign in to Gantry in this browser as the owner of the computer. Then start again from Tools.'];
      response.writeHead(403, pageHeaders);
      response.end(plainPage('You are not signed in here', words, { href: login.path, text: 'Sign in' }));
    }
    return false;
  }

  async function comeBack(context: Context<Route>): Promise<void> {
    const { url: path = '/' } = context.request;
    const state = new URLSearchParams(path.split('?', 2)[1] ?? '').get('state') ?? '';
    const computerId = stateForm.exec(state)?.[1] ?? null;
    const mine = computerId !== null && (await isOwner(context, computerId));
    if (context.response.headersSent) return;
    const known = mine && (await link.state(computerId));
    // Nobody learns here which computers exist: an absent one and another person's look like an unknown one.
    if (computerId === null || known === false || !known.linked) {
      throw new AppError(
        'not_found',
        'None of your linked computers started this sign-in.',
        'Check that Gantry runs on it, and start again.',
      );
    }
    await passToEngine(engines, advice, { context, computerId, path });
  }

  return {
    routes: [bindPassThrough(oauthCallback, comeBack), bind(oauthClientDocument, () => ({ body: document }))],
  };
}
