/** Connects usage to the registry's bots, nodes and sends, each through the small interface that it needs. */

import { ownAccount } from '../../contracts/factory/agent.ts';
import type { Member, Registry } from '../agents/registry.ts';
import type { BotEvents } from '../events/bot-events.ts';
import type { MeteredBot, MeteringDeps } from './deps.ts';
import { createMetering, type Metering } from './index.ts';

export function composeMetering(
  deps: Omit<MeteringDeps, 'bots' | 'needsPerson' | 'changed'> & {
    readonly registry: Registry;
    readonly botEvents: BotEvents;
  },
): Metering {
  const { registry } = deps;
  return createMetering({
    ...deps,
    bots: {
      all: () => registry.members().map(metered),
      find(idOrAddress) {
        const member = registry.find(idOrAddress);
        return member === null ? null : metered(member);
      },
      onState: (listener) => registry.onState(({ agentId }) => listener(agentId)),
      limit: (agentId) => registry.bot(agentId)?.limit?.() ?? null,
      unblock: (agentId) => registry.bot(agentId)?.unblock?.(),
      modelHold: (agentId) => registry.bot(agentId)?.held?.() ?? null,
    },
    needsPerson: (tx, bot, reason, id) =>
      deps.botEvents.emit(tx, bot, { type: 'thread.needs_user', id, data: { reason } }),
    // Its queue is tried, too: the registry reports that its gate may have opened.
    changed: (agentId) => registry.held(agentId),
  });
}

/** A bot that runs on another computer is counted and held there. */
function metered(member: Member): MeteredBot {
  const here = (!member.live || member.placement.inPaneHere) && member.panes.length > 0;
  return {
    id: member.id,
    address: member.address,
    team: member.team,
    harness: here ? (member.spec?.harness ?? null) : null,
    account: here && member.spec !== null ? `${member.spec.harness}/${member.spec.account ?? ownAccount}` : null,
    state: member.own.state,
  };
}
