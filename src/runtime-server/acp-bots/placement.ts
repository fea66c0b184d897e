/**
 * Puts bots over ACP into the registry: they live while their team is up. Must not know teams' rows, panes or how an agent is spoken with.
 */
import { runsInPane } from '../../contracts/factory/agent.ts';
import type { Member } from '../agents/member.ts';
import { addressOf } from '../agents/model.ts';
import type { Placement, Seat } from '../agents/placement.ts';
import type { Registry } from '../agents/registry.ts';
import type { ResolvedBot, ResolvedTeam } from '../agents/team-file/resolve.ts';
import type { BotSpec } from '../harness/harness.ts';
import type { AcpBot } from './index.ts';

export const acpPlacement: Placement = {
  via: { atOnce: 'acp', waiting: 'acp' },
  inTerminal: false,
  inPaneHere: false,
  isLocal: true,
  followsTeam: true,
  keepsConversation: true,
  // Its last text goes into the thread automatically.
  answersByVerb: false,
  takesTickets: false,
  shows: null,
  holdsMode: false,
  unenforceable: 'The agent asks before it acts as its own settings say.',
};

/** From now on the ACP agents of a team live while it is up. */
export function followAcpTeams({
  attach,
  specOf,
  registry,
}: {
  attach(spec: BotSpec): AcpBot;
  specOf(member: Member, team: ResolvedTeam, bot: ResolvedBot): BotSpec;
  readonly registry: Pick<Registry, 'find' | 'place' | 'onDefined'>;
}): void {
  const live = new Map<string, { readonly bot: AcpBot; readonly seat: Seat }>();

  const begin = (member: Member, team: ResolvedTeam, bot: ResolvedBot) => {
    const spec = specOf(member, team, bot);
    const known = live.get(member.id);
    if (known !== undefined) {
      known.bot.update(spec);
      return;
    }
    const agent = attach(spec);
    const placed = {
      ...agent,
      placement: acpPlacement,
      ref: () => null,
      away: () => null,
      async stop() {
        end(member.id, 'stopped');
        await agent.ended();
        return true;
      },
    };
    const seat = registry.place(member.id, placed, spec);
    live.set(member.id, { bot: agent, seat });
    seat.show(agent.state());
    seat.openGate();
  };

  const end = (id: string, reason: string) => {
    const known = live.get(id);
    live.delete(id);
    known?.seat.end(reason);
  };

  registry.onDefined((teams, isUp) => {
    const named = new Set<string>();
    for (const team of teams) {
      for (const bot of team.bots) {
        const [harness] = bot.harnesses;
        const member = registry.find(addressOf(bot.slug, team.name));
        if (member === null || harness === undefined || runsInPane(harness) || isElsewhere(bot)) continue;
        named.add(member.id);
        // A bot that still runs in a terminal stays there until its team is stopped.
        if (member.live && !member.placement.followsTeam) continue;
        if (isUp(team.name)) begin(member, team, bot);
        else end(member.id, 'its team was stopped');
      }
    }
    for (const id of [...live.keys()]) if (!named.has(id)) end(id, 'its team file no longer names it');
  });
}

const isElsewhere = ({ machine }: ResolvedBot): boolean => machine !== null && machine !== 'local';
