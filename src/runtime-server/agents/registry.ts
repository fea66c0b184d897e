/**
 * The agents of the workspace and their live bots: who exists (team files, panes), what each shows, which pane belongs to it.
 * While the pane engine cannot be read nothing changes except `stale`, and no agent is marked dead: its program may well be
 * running. Owns the agents' rows; must not know sends, ledger or HTTP.
 */
import { byName } from '../../contracts/common/by-name.ts';
import type { Base } from '../base/base.ts';
import type { AgentStateChange } from '../events/event-tail.ts';
import type { BotSpec, BotState, HarnessBot, Harnesses } from '../harness/harness.ts';
import type { PaneEngine, PaneInfo } from '../panes/pane-engine.ts';
import { type Member, paneOf } from './member.ts';
import { type AgentRecord, addressOf, type Shown, shownAfterExit } from './model.ts';
import { labelsOf, specFromLabels } from './pane-labels.ts';
import type { PlacedBot, Placement, Placements, RemoteRef, Seat } from './placement.ts';
import { createRestarting, type RestartingEntry } from './restarting.ts';
import type { Restarts } from './restarts.ts';
import { addPane, endPane, ensureAgent, readAgents, removePane, saveShown, saveSpec } from './store/agents.ts';
import type { ResolvedBot, ResolvedTeam } from './team-file/resolve.ts';
import { createTerminalBot } from './terminal/bot.ts';
import { terminalPlacement } from './terminal/placement.ts';

/** Closed panes whose journals are kept for one agent, beside the newest. */
const maxPanes = 2;

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
  /** It is live from now on without a pane of this computer. Shows nothing of it before its seat reports. */
  place(agentId: string, bot: PlacedBot): Seat;
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

interface Entry extends RestartingEntry {
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
  },
): Registry {
  const entries = new Map<string, Entry>();
  const byAddress = new Map<string, Entry>();
  const byPane = new Map<string, Entry>();
  const stopping = new Set<string>();
  const stateListeners = new Set<(change: AgentStateChange) => void>();
  const gateListeners = new Set<(agentId: string) => void>();
  const definedListeners = new Set<Parameters<Registry['onDefined']>[0]>();
  let unlisten = () => {};

  const add = (record: Omit<AgentRecord, 'workspace' | 'createdAt'>): Entry => {
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
        return this.live ? terminalPlacement : deps.placements[this.definition?.binding.type ?? 'terminal'];
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
    entries.set(entry.id, entry);
    byAddress.set(entry.address, entry);
    for (const pane of entry.panes) byPane.set(pane, entry);
    return entry;
  };

  /** Rows are written in the background; a crash loses only what is judged again from the pane. */
  const behind = (what: string, written: Promise<unknown>) => {
    written.catch((error: unknown) => deps.log.warn(`${what} could not be written.`, { error: String(error) }));
  };
  const tell = (entry: Entry) => {
    const change = { agentId: entry.id, state: entry.shown.state, pane: paneOf(entry) };
    for (const listener of stateListeners) listener(change);
  };
  const show = (entry: Entry, judged: Shown) => {
    const own = restarting.marked(entry, judged);
    entry.own = own;
    const shown = deps.shownHeld?.(entry.id, own) ?? own;
    entry.shown = shown;
    behind(
      `The state of ${entry.address}`,
      deps.store.write((tx) => saveShown(tx, entry.id, shown)),
    );
    tell(entry);
  };
  const openGate = (entry: Entry) => {
    for (const listener of gateListeners) listener(entry.id);
  };

  /** A harness that this version does not have leaves its pane visible, but nobody can send to it. */
  const takeUp = (spec: BotSpec, paneId: string): HarnessBot | null => {
    try {
      return deps.harnesses.attach(spec, paneId);
    } catch (error) {
      deps.log.warn(`The bot in pane ${paneId} could not be reconnected.`, { error: String(error) });
      return null;
    }
  };

  const place = (entry: Entry, bot: PlacedBot): Seat => {
    entry.release();
    entry.live = true;
    entry.bot = bot;
    const showState = ({ state, reason, since }: BotState) => show(entry, { state, reason, since });
    const offState = bot.onState(showState);
    const offGate = bot.onGate(() => openGate(entry));
    entry.release = () => {
      offState();
      offGate();
      bot.close();
      entry.bot = null;
      entry.release = () => {};
    };
    return {
      isTaken: () => entry.bot === bot,
      show: showState,
      openGate: () => openGate(entry),
      end(reason) {
        if (entry.bot !== bot) return;
        entry.release();
        entry.live = false;
        show(entry, { state: 'offline', reason, since: deps.clock.now() });
      },
    };
  };

  const attach = (entry: Entry, spec: BotSpec, paneId: string) => {
    entry.release();
    entry.live = true;
    entry.spec = spec;
    const program = takeUp(spec, paneId);
    if (program === null) return;
    const bot = createTerminalBot(program, () => stopPane(entry, paneId));
    const seat = place(entry, bot);
    seat.show(bot.state());
    seat.openGate();
  };

  const stopPane = async (entry: Entry, paneId: string): Promise<boolean> => {
    stopping.add(paneId);
    await deps.panes.kill(paneId);
    ended(entry, paneId, { state: 'offline', reason: 'stopped', since: deps.clock.now() });
    return true;
  };

  const ended = (entry: Entry, paneId: string, shown: Shown) => {
    stopping.delete(paneId);
    if (!entry.live || !entry.placement.inPaneHere || entry.panes.at(-1) !== paneId) return;
    entry.release();
    entry.live = false;
    behind(
      `The end of ${entry.address}`,
      deps.store.write((tx) => endPane(tx, paneId, shown.since)),
    );
    show(entry, shown);
  };

  const isStopping = (paneId: string) => stopping.has(paneId);
  const now = () => deps.clock.now();
  const restarting = createRestarting<Entry>({
    ...deps,
    isStopping,
    show,
    attach,
    ended,
    now,
    reconcile: () => reconcile(),
  });

  const exited = (entry: Entry, info: PaneInfo) => {
    if (restarting.takes(entry, info)) return;
    const at = info.endedAt === null ? deps.clock.now() : Date.parse(info.endedAt);
    ended(
      entry,
      info.id,
      stopping.has(info.id)
        ? { state: 'offline', reason: 'stopped', since: at }
        : shownAfterExit({ code: info.exitCode, signal: info.exitSignal, reason: info.endReason }, at),
    );
  };

  /** A live pane of this workspace without a row: its labels name its agent. */
  const adopt = (info: PaneInfo): Entry | null => {
    const labels = labelsOf(info.labels);
    if (labels === null || labels.workspace !== deps.workspace) return null;
    const known = entries.get(labels.agent) ?? byAddress.get(addressOf(labels.slug, labels.team));
    const at = Date.parse(info.startedAt);
    const entry =
      known ??
      add({
        id: labels.agent,
        team: labels.team,
        slug: labels.slug,
        spec: specFromLabels(labels),
        shown: { state: 'starting', reason: null, since: at },
        panes: [],
      });
    if (!entry.panes.includes(info.id)) {
      entry.panes.push(info.id);
      byPane.set(info.id, entry);
    }
    behind(
      `Agent ${entry.address}`,
      deps.store.write((tx) => {
        ensureAgent(tx, { ...entry, workspace: deps.workspace, at });
        addPane(tx, { id: info.id, agentId: entry.id, startedAt: at, endedAt: null });
      }),
    );
    return entry;
  };

  /** Aligns the entries with the engine's list. Only while it can be read. */
  const reconcile = () => {
    if (!deps.panes.engine().running) return;
    const listed = new Map(deps.panes.list().map((info) => [info.id, info]));
    for (const info of listed.values()) {
      if (!info.alive) continue;
      const entry = byPane.get(info.id) ?? adopt(info);
      if (entry === null || entry.bot !== null) continue;
      if (restarting.busy(info.id)) continue;
      if (entry.panes.at(-1) !== info.id) continue;
      const labels = labelsOf(info.labels);
      const spec = entry.spec ?? (labels === null ? null : specFromLabels(labels));
      if (spec !== null) attach(entry, spec, info.id);
    }
    for (const entry of entries.values()) {
      const paneId = entry.panes.at(-1);
      if (!entry.live || !entry.placement.inPaneHere || paneId === undefined) continue;
      const info = listed.get(paneId);
      if (info === undefined) {
        ended(entry, paneId, {
          state: 'offline',
          reason: 'its pane ended with the pane host',
          since: deps.clock.now(),
        });
      } else if (!info.alive) exited(entry, info);
    }
  };

  const exists = (entry: Entry) => entry.definition !== null || entry.live;
  const sorted = (team?: string) =>
    [...entries.values()]
      .filter((entry) => exists(entry) && (team === undefined || entry.team === team))
      .sort((a, b) => byName(a.team, b.team) || order(a) - order(b) || byName(a.slug, b.slug));
  const positions = new Map<string, number>();
  const order = (entry: Entry) => positions.get(entry.address) ?? Number.MAX_SAFE_INTEGER;

  return {
    async start() {
      const records = await deps.store.read((tx) => readAgents(tx));
      for (const record of records) if (record.workspace === deps.workspace) add(record);
      unlisten = deps.panes.listen({
        onExit(paneId, info) {
          const entry = byPane.get(paneId);
          if (entry !== undefined) exited(entry, info);
        },
        onEngine(engine) {
          if (engine.running) reconcile();
          for (const entry of entries.values()) if (exists(entry)) tell(entry);
        },
      });
      reconcile();
    },

    async define(teams, isUp) {
      const wanted = teams.flatMap((team) => team.bots.map((bot) => ({ team: team.name, bot })));
      const missing = wanted.filter(({ team, bot }) => !byAddress.has(addressOf(bot.slug, team)));
      if (missing.length > 0) {
        const at = deps.clock.now();
        const rows = await deps.store.write((tx) =>
          missing.map(({ team, bot }) => {
            const id = deps.ids.next('agent');
            const place = { workspace: deps.workspace, team, slug: bot.slug };
            return { ...place, id: ensureAgent(tx, { id, ...place, at }), at };
          }),
        );
        for (const row of rows) {
          if (byAddress.has(addressOf(row.slug, row.team))) continue;
          const shown = { state: 'offline' as const, reason: null, since: row.at };
          add({ id: row.id, team: row.team, slug: row.slug, spec: null, shown, panes: [] });
        }
      }
      positions.clear();
      for (const entry of entries.values()) entry.definition = null;
      wanted.forEach(({ team, bot }, index) => {
        const entry = byAddress.get(addressOf(bot.slug, team));
        if (entry === undefined) return;
        entry.definition = bot;
        positions.set(entry.address, index);
      });
      for (const listener of definedListeners) listener(teams, isUp);
      for (const entry of entries.values()) {
        // A bot without a pane, live when Gantry ended: nothing would report its end.
        if (entry.live || entry.shown.state === 'offline' || entry.panes.length > 0) continue;
        show(entry, { state: 'offline', reason: 'its team is not running', since: deps.clock.now() });
      }
    },

    members: (team) => sorted(team),
    find(idOrAddress) {
      const entry = entries.get(idOrAddress) ?? byAddress.get(idOrAddress);
      return entry !== undefined && exists(entry) ? entry : null;
    },
    known: (agentId) => entries.get(agentId) ?? null,
    bot: (agentId) => entries.get(agentId)?.bot ?? null,

    async started(agentId, spec, pane) {
      const entry = entries.get(agentId);
      if (entry === undefined) throw new Error(`Agent ${agentId} is not in the registry.`);
      const startedAt = Date.parse(pane.startedAt);
      const old = entry.panes.splice(0, Math.max(0, entry.panes.length - maxPanes));
      entry.panes.push(pane.id);
      byPane.set(pane.id, entry);
      entry.came = null;
      attach(entry, spec, pane.id);
      await deps.store.write((tx) => {
        saveSpec(tx, agentId, spec);
        addPane(tx, { id: pane.id, agentId, startedAt, endedAt: null });
        for (const id of old) removePane(tx, id);
      });
      for (const id of old) {
        byPane.delete(id);
        behind(`The removal of pane ${id}`, deps.panes.forget(id));
      }
      // A program that ended at once may have been reported before the pane was ours.
      reconcile();
    },

    place(agentId, bot) {
      const entry = entries.get(agentId);
      if (entry === undefined) throw new Error(`Agent ${agentId} is not in the registry.`);
      return place(entry, bot);
    },

    async stop(agentId) {
      const entry = entries.get(agentId);
      if (entry === undefined || !entry.live) return true;
      if (entry.bot !== null) return entry.bot.stop();
      // Its program runs without a bot: its harness is not known here, or it is being started again.
      const paneId = entry.panes.at(-1);
      return paneId === undefined || stopPane(entry, paneId);
    },

    onDefined(listener) {
      definedListeners.add(listener);
      return () => definedListeners.delete(listener);
    },
    onState(listener) {
      stateListeners.add(listener);
      return () => stateListeners.delete(listener);
    },
    onGate(listener) {
      gateListeners.add(listener);
      return () => gateListeners.delete(listener);
    },
    held(agentId) {
      const entry = entries.get(agentId);
      if (entry === undefined) return;
      if (entry.live) show(entry, entry.own);
      openGate(entry);
    },
    close() {
      unlisten();
      for (const entry of entries.values()) entry.release();
    },
  };
}
