/**
 * Puts hosted bots into the registry: they live while their team is up, and follow their team file. Must not know teams' rows, panes or the work of
 * a hosted bot.
 */

import type { Member } from '../agents/member.ts';
import { addressOf } from '../agents/model.ts';
import type { Placement, Seat } from '../agents/placement.ts';
import type { Registry } from '../agents/registry.ts';
import type { ResolvedBot, ResolvedTeam } from '../agents/team-file/resolve.ts';
import { type HostedBot, type HostedSpec, hostedSpec } from './index.ts';

export const hostedPlacement: Placement = {
  via: { atOnce: 'hosted', waiting: 'hosted' },
  inTerminal: false,
  inPaneHere: false,
  isLocal: true,
  followsTeam: true,
  keepsConversation: true,
  // Its last text goes into the thread automatically.
  answersByVerb: false,
  takesTickets: false,
  shows: null,
  holdsMode: true,
  unenforceable: null,
};

/** From now on the hosted bots of a team live while it is up. */
export function followTeams({
  attach,
  registry,
}: {
  attach(spec: HostedSpec): HostedBot;
  readonly registry: Pick<Registry, 'find' | 'place' | 'onDefined'>;
}): void {
  const live = new Map<string, { readonly bot: HostedBot; readonly seat: Seat }>();

  const begin = ({ id, address }: Member, team: ResolvedTeam, bot: ResolvedBot) => {
    const spec = hostedSpec(id, address, team, bot);
    const known = live.get(id);
    if (known !== undefined) {
      known.bot.update(spec);
      return;
    }
    const hosted = attach(spec);
    const seat = registry.place(id, {
      ...hosted,
      placement: hostedPlacement,
      ref: () => null,
      away: () => null,
      cancelWork: async (why, node) => (await hosted.interrupt(why, node)).ended,
      async stop() {
        end(id, 'stopped');
        return true;
      },
    });
    live.set(id, { bot: hosted, seat });
    seat.show(hosted.state());
    seat.openGate();
  };

  const end = (id: string, reason: string) => {
    const known = live.get(id);
    live.delete(id);
    known?.seat.end(reason);
  };

  registry.onDefined((teams, isUp) => {
    for (const team of teams) {
      for (const bot of team.bots) {
        const member = registry.find(addressOf(bot.slug, team.name));
        // A bot that still runs in a terminal stays there until its team is stopped.
        if (member === null || bot.binding.type !== 'hosted' || (member.live && !member.placement.followsTeam))
          continue;
        if (isUp(team.name)) begin(member, team, bot);
        else end(member.id, 'its team was stopped');
      }
    }
    for (const id of [...live.keys()]) {
      if (registry.find(id)?.definition?.binding.type !== 'hosted') end(id, 'its team file no longer names it');
    }
  });
}
