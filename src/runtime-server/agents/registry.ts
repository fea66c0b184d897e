/**
 * The agents of the workspace and their live bots: who exists (team files, panes), what each shows, which pane belongs to it.
 * While the pane engine cannot be read nothing changes except `stale`, and no agent is marked dead: its program may well be
 * running. Owns the agents' rows; must not know sends, ledger or HTTP.
 */
import type { Base } from '../base/base.ts';
import type { AgentStateChange } from '../events/event-tail.ts';
import type { BotSpec, Harnesses } from '../harness/harness.ts';
import type { PaneEngine, PaneInfo } from '../panes/pane-engine.ts';
import { createAgentPanes } from './agent-panes.ts';
import { createEntries } from './entries.ts';
import type { Member } from './member.ts';
import { addressOf, type Shown } from './model.ts';
import type { PlacedBot, Placements, Seat } from './placement.ts';
import type { Restarts } from './restarts.ts';
import { createSeats } from './seats.ts';
import { ensureAgent, readAgents, saveSpec } from './store/agents.ts';
import type { ResolvedTeam } from './team-file/resolve.ts';

export type { Member } from './member.ts';

export interface Registry {
  start(): Promise<void>;
  /** Applies the current team files. */
  define(teams: readonly ResolvedTeam[], isUp: (team: string) => boolean): Promise<void>;
  /** Agents that exist: named by a file, or live. */
  members(team?: string): Member[];
  /** By agent id or address; null for one that does not exist. */
  find(idOrAddress: string): Member | null;
  /** By agent id, also one that no file names any more. */
  known(agentId: string): Member | null;
  /** The live bot of an agent, or null. */
  bot(agentId: string): PlacedBot | null;
  /** A pane was started for the agent with this spec. */
  started(agentId: string, spec: BotSpec, pane: PaneInfo): Promise<void>;
  /** Ends its program and starts it again in its pane as this says, from now on. Returns whether it goes on in its conversation. */
  renew(agentId: string, spec: BotSpec, because: string): Promise<boolean>;
  /** The agent in this place, which no file need name: it exists while it is live. */
  add(team: string, slug: string): Promise<string>;
  /** It is live from now on without a pane of this computer. Shows nothing of it before its seat reports. `spec`: of a program that was started. */
  place(agentId: string, bot: PlacedBot, spec?: BotSpec): Seat;
  /** Ends the agent's whole process tree, wherever it runs; false: it is released, and may run on where this computer cannot reach it. */
  stop(agentId: string): Promise<boolean>;
  /** Called with the current team files once they were applied: placements follow them. */
  onDefined(listener: (teams: readonly ResolvedTeam[], isUp: (team: string) => boolean) => void): () => void;
  onState(listener: (change: AgentStateChange) => void): () => void;
  /** An agent's gate may have opened. */
  onGate(listener: (agentId: string) => void): () => void;
  /** The hold on the agent has changed. */
  held(agentId: string): void;
  close(): void;
}

export function createRegistry(
  deps: Pick<Base, 'store' | 'clock' | 'ids' | 'log'> & {
    readonly panes: PaneEngine;
    readonly harnesses: Pick<Harnesses, 'attach'>;
    readonly workspace: string;
    readonly placements: Placements;
    /** Starts bots again that their pane host took along; absent: they end with it. */
    readonly restarts?: Pick<Restarts, 'wanted' | 'restart'>;
    /** Its state while a limit holds it. */
    readonly shownHeld?: ((agentId: string, own: Shown) => Shown) | undefined;
    /** Which limit of its sandbox a program went over just before it was ended; null: none. */
    readonly endedOver?: ((pane: PaneInfo) => string | null) | undefined;
  },
): Registry {
  const entries = createEntries(deps.placements);
  const seats = createSeats(deps);
  const agentPanes = createAgentPanes({ ...deps, entries, seats });
  const definedListeners = new Set<Parameters<Registry['onDefined']>[0]>();
  let unlisten = () => {};

  async function ensure(places: readonly { readonly team: string; readonly slug: string }[]): Promise<void> {
    const missing = places.filter(({ team, slug }) => !entries.byAddress.has(addressOf(slug, team)));
    if (missing.length === 0) return;
    const at = deps.clock.now();
    const rows = await deps.store.write((tx) =>
      missing.map(({ team, slug }) => {
        const id = deps.ids.next('agent');
        const place = { workspace: deps.workspace, team, slug };
        return { ...place, id: ensureAgent(tx, { id, ...place, at }), at };
      }),
    );
    for (const row of rows) {
      if (entries.byAddress.has(addressOf(row.slug, row.team))) continue;
      const shown = { state: 'offline' as const, reason: null, since: row.at };
      entries.add({ id: row.id, team: row.team, slug: row.slug, spec: null, shown, panes: [] });
    }
  }

  return {
    async start() {
      const records = await deps.store.read((tx) => readAgents(tx));
      for (const record of records) if (record.workspace === deps.workspace) entries.add(record);
      unlisten = deps.panes.listen({
        onExit: (_, info) => agentPanes.exited(info),
        onEngine(engine) {
          if (engine.running) agentPanes.reconcile();
          for (const entry of entries.byId.values()) if (entries.exists(entry)) seats.tell(entry);
        },
      });
      agentPanes.reconcile();
    },

    async define(teams, isUp) {
      const wanted = teams.flatMap((team) => team.bots.map((bot) => ({ team: team.name, bot })));
      await ensure(wanted.map(({ team, bot }) => ({ team, slug: bot.slug })));
      entries.define(wanted);
      for (const listener of definedListeners) listener(teams, isUp);
      for (const entry of entries.byId.values()) {
        // A bot without a pane, live when Gantry ended: nothing would report its end.
        if (entry.live || entry.shown.state === 'offline' || entry.panes.length > 0) continue;
        seats.show(entry, { state: 'offline', reason: 'its team is not running', since: deps.clock.now() });
      }
    },

    members: entries.members,
    find(idOrAddress) {
      const entry = entries.byId.get(idOrAddress) ?? entries.byAddress.get(idOrAddress);
      return entry !== undefined && entries.exists(entry) ? entry : null;
    },
    known: (agentId) => entries.byId.get(agentId) ?? null,
    bot: (agentId) => entries.byId.get(agentId)?.bot ?? null,
    renew: (agentId, spec, because) => agentPanes.renew(entries.mustHave(agentId), spec, because),
    async add(team, slug) {
      await ensure([{ team, slug }]);
      const entry = entries.byAddress.get(addressOf(slug, team));
      if (entry === undefined) throw new Error(`${addressOf(slug, team)} was not added.`);
      return entry.id;
    },
    started: async (agentId, spec, pane) => agentPanes.started(entries.mustHave(agentId), spec, pane),
    place(agentId, bot, spec) {
      const entry = entries.mustHave(agentId);
      if (spec !== undefined) {
        entry.spec = spec;
        seats.behind(
          `The start of ${entry.address}`,
          deps.store.write((tx) => saveSpec(tx, entry.id, spec)),
        );
      }
      return seats.place(entry, bot);
    },

    async stop(agentId) {
      const entry = entries.byId.get(agentId);
      if (entry === undefined || !entry.live) return true;
      if (entry.bot !== null) return entry.bot.stop();
      // Its program runs without a bot: its harness is not known here, or it is being started again.
      const paneId = entry.panes.at(-1);
      return paneId === undefined || agentPanes.stop(entry, paneId);
    },

    onDefined(listener) {
      definedListeners.add(listener);
      return () => definedListeners.delete(listener);
    },
    onState: seats.onState,
    onGate: seats.onGate,
    held(agentId) {
      const entry = entries.byId.get(agentId);
      if (entry === undefined) return;
      if (entry.live) seats.show(entry, entry.own);
      seats.openGate(entry);
    },
    close() {
      unlisten();
      for (const entry of entries.byId.values()) entry.release();
    },
  };
}
