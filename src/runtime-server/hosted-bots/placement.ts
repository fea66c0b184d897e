/**
 * Puts hosted bots into the registry: they live while their team is up, and follow their team file. Must not know teams' rows, panes or the work of
 * a hosted bot.
 */

import { addressOf } from '../agents/model.ts';
import type { Placement, Seat } from '../agents/placement/port.ts';
import type { Member, Registry } from '../agents/registry.ts';
import type { ResolvedBot, ResolvedTeam } from '../agents/team-file/resolve.ts';
import { type HostedBot, type HostedSpec, hostedSpec } from './index.ts';

export const hostedPlacement: Placement = {
  name: 'hosted',
  via: { atOnce: 'hosted', waiting: 'hosted' },
  inTerminal: false,
  inPaneHere: false,
  keptHere: true,
  // Its last text goes into the thread automatically.
  answersByVerb: false,
  shows: null,
  unenforceable: null,
};

export interface HostingDeps {
  attach(spec: HostedSpec): HostedBot;
  readonly registry: Pick<Registry, 'find' | 'place' | 'onDefined'>;
}

export interface Hosting {
  /** A live hosted bot, or null. */
  bot(agentId: string): HostedBot | null;
}

export function createHosting({ attach, registry }: HostingDeps): Hosting {
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
      placement: hostedPlacement,
      bot: hosted,
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
        if (member === null || bot.binding.type !== 'hosted' || (member.live && member.placement !== hostedPlacement))
          continue;
        if (isUp(team.name)) begin(member, team, bot);
        else end(member.id, 'its team was stopped');
      }
    }
    for (const id of [...live.keys()]) {
      if (registry.find(id)?.definition?.binding.type !== 'hosted') end(id, 'its team file has it no more');
    }
  });

  return { bot: (agentId) => live.get(agentId)?.bot ?? null };
}
