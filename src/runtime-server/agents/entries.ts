/** The agents of a workspace in memory: by id, by address and by pane, in the order of their team files. Must not know how a bot runs. */
import { byName } from '../../contracts/common/by-name.ts';
import { type AgentRecord, addressOf, type Shown } from './model.ts';
import { type PlacedBot, type Placement, type Placements, placeNamed, type RemoteRef } from './placement.ts';
import type { RestartingEntry } from './restarting.ts';
import type { ResolvedBot } from './team-file/resolve.ts';
import { terminalPlacement } from './terminal/placement.ts';

export interface Entry extends RestartingEntry {
  readonly id: string;
  readonly team: string;
  readonly slug: string;
  readonly address: string;
  definition: ResolvedBot | null;
  shown: Shown;
  own: Shown;
  readonly placement: Placement;
  readonly remote: RemoteRef | null;
  bot: PlacedBot | null;
}

export type Entries = ReturnType<typeof createEntries>;

export function createEntries(placements: Placements) {
  const byId = new Map<string, Entry>();
  const byAddress = new Map<string, Entry>();
  const byPane = new Map<string, Entry>();
  const positions = new Map<string, number>();
  const exists = (entry: Entry) => entry.definition !== null || entry.live;
  const order = (entry: Entry) => positions.get(entry.address) ?? Number.MAX_SAFE_INTEGER;

  function add(record: Omit<AgentRecord, 'workspace' | 'createdAt'>): Entry {
    const entry: Entry = {
      id: record.id,
      team: record.team,
      slug: record.slug,
      address: addressOf(record.slug, record.team),
      definition: null,
      spec: record.spec,
      panes: record.panes.map((pane) => pane.id),
      live: record.panes.at(-1)?.endedAt === null,
      get placement() {
        if (this.bot !== null) return this.bot.placement;
        return this.live ? terminalPlacement : placements[placeNamed(this.definition?.binding ?? { type: 'terminal' })];
      },
      get remote() {
        return this.bot?.ref() ?? null;
      },
      shown: record.shown,
      own: record.shown,
      bot: null,
      release: () => {},
      came: null,
    };
    byId.set(entry.id, entry);
    byAddress.set(entry.address, entry);
    for (const pane of entry.panes) byPane.set(pane, entry);
    return entry;
  }

  return {
    byId,
    byAddress,
    byPane,
    add,
    /** Named by a file, or live. */
    exists,
    members: (team?: string) =>
      [...byId.values()]
        .filter((entry) => exists(entry) && (team === undefined || entry.team === team))
        .sort((a, b) => byName(a.team, b.team) || order(a) - order(b) || byName(a.slug, b.slug)),
    mustHave(agentId: string): Entry {
      const entry = byId.get(agentId);
      if (entry === undefined) throw new Error(`Agent ${agentId} is not in the registry.`);
      return entry;
    },
    /** From now on only these are named by a file, in this order. */
    define(wanted: readonly { readonly team: string; readonly bot: ResolvedBot }[]): void {
      positions.clear();
      for (const entry of byId.values()) entry.definition = null;
      wanted.forEach(({ team, bot }, index) => {
        const entry = byAddress.get(addressOf(bot.slug, team));
        if (entry === undefined) return;
        entry.definition = bot;
        positions.set(entry.address, index);
      });
    },
  };
}
