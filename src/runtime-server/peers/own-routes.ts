/** Routes by which the person at this computer sees and stops guests, from the contract to the crews. */
import { type Guest, listGuests, stopGuests } from '../../contracts/factory/guest-routes.ts';
import { surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { type Member, paneOf } from '../agents/member.ts';
import type { Crew } from './crew.ts';
import type { Crews } from './crews.ts';

export function guestRoutes(crews: Pick<Crews, 'all'>): BoundRoute[] {
  const live = (crew: Crew) => crew.registry.members().filter((member) => member.live);
  return [
    bind(listGuests, () => ({
      body: { guests: crews.all().flatMap((crew) => crew.registry.members().map((member) => shown(crew, member))) },
    })),
    bind(stopGuests, async ({ body, principal }) => {
      const busy = crews.all().filter((crew) => live(crew).length > 0);
      if (body.dryRun === true) {
        const stop = busy.flatMap((crew) => live(crew).map((member) => member.address));
        return { body: { dryRun: true as const, plan: { stop } } };
      }
      const by = { actor: principal.userId, surface: surfaceOf(principal) };
      const downs = await Promise.all(busy.map((crew) => crew.teams.down(crew.team, by)));
      return { body: { stopped: downs.flatMap((down) => down.stopped) } };
    }),
  ];
}

function shown(crew: Crew, member: Member): Guest {
  return {
    agentId: member.id,
    address: member.address,
    user: crew.user,
    harness: member.spec?.harness ?? member.definition?.harnesses[0] ?? null,
    state: member.shown.state,
    stateReason: member.shown.reason,
    pane: paneOf(member),
  };
}
