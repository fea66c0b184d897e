/**
 * Where a provider meets this cloud when a person signs in for an attached server: who asks, and the way back to the computer that
 * began (gaps.md B; RFC 6749; OAuth client-id metadata document). Must not know codes or tokens: the computer reads them.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { oauthCallback, oauthClientDocument, oauthClientMetadata } from '../../contracts/tool-server/mcp.ts';
import { type BoundRoute, bind, bindPassThrough, type Context } from '../../kit/http/types.ts';
import type { Engines } from '../link/engines.ts';
import type { Link } from '../link/link.ts';
import { passToEngine } from './tool-proxy.ts';

export interface OAuthDoorDeps {
  readonly engines: Pick<Engines, 'ask'>;
  readonly link: Pick<Link, 'state'>;
  readonly advice: string;
  readonly origin: string;
}

/** A state begins with the id of the computer that made it. */
const stateForm = /^([A-Za-z0-9_-]{1,200})\.[\x21-\x7e]+$/;

export function createOAuthDoor({ engines, link, advice, origin }: OAuthDoorDeps): {
  readonly routes: readonly BoundRoute[];
} {
  const document = { client_id: `${origin}${oauthClientDocument.path}`, ...oauthClientMetadata(origin) };

  async function comeBack(context: Context<Route>): Promise<void> {
    const { url: path = '/' } = context.request;
    const state = new URLSearchParams(path.split('?', 2)[1] ?? '').get('state') ?? '';
    const computerId = stateForm.exec(state)?.[1] ?? null;
    const known = computerId !== null && (await link.state(computerId));
    // Nobody learns here which computers there are: one that is away is like one that never was.
    if (computerId === null || known === false || !known.linked) {
      throw new AppError(
        'not_found',
        'No computer that is here has begun this sign-in.',
        'See that Gantry runs on it, and begin again.',
      );
    }
    await passToEngine(engines, advice, { context, computerId, path });
  }

  return {
    routes: [bindPassThrough(oauthCallback, comeBack), bind(oauthClientDocument, () => ({ body: document }))],
  };
}
