/** Routes of harnesses' own conversations, from the contract to adopting. */
import { adoptKeptSession, listKeptSessions } from '../../../contracts/factory/routes.ts';
import { surfaceOf } from '../../../kit/http/principals.ts';
import { type BoundRoute, bind } from '../../../kit/http/types.ts';
import type { Adopting } from './index.ts';

export function adoptingRoutes(adopting: Adopting): BoundRoute[] {
  return [
    bind(listKeptSessions, async ({ query }) => ({ body: { sessions: await adopting.list(query) } })),
    bind(adoptKeptSession, async ({ body, principal }) => ({
      body: await adopting.adopt(body, { actor: principal.userId, surface: surfaceOf(principal) }),
    })),
  ];
}
