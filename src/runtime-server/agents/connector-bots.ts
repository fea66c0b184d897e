/** The bots that connectors may bring work to, and how one learns that a ticket waits. Must not know tickets. */
import { byName } from '../../contracts/common/by-name.ts';
import type { ConnectorBots } from '../connectors/ports.ts';
import { nameOf } from '../events/bot-events.ts';
import type { Member } from './member.ts';

export function createConnectorBots({
  registry,
  tell,
}: {
  readonly registry: { find(idOrAddress: string): Member | null; members(): readonly Member[] };
  readonly tell: ConnectorBots['tell'];
}): Pick<ConnectorBots, 'find' | 'list' | 'tell'> {
  const shown = (member: Member) => ({ id: member.id, name: nameOf(member) });
  return {
    // One that its team file no longer names gets no new work.
    list: () =>
      registry
        .members()
        .filter((member) => member.definition !== null)
        .map(shown)
        .sort((a, b) => byName(a.name, b.name)),
    find(idOrAddress) {
      const member = registry.find(idOrAddress);
      return member === null ? null : shown(member);
    },
    tell,
  };
}
