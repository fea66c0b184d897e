/**
 * Which pane belongs to which agent: takes up the bots of live panes, follows their ends, and keeps the list aligned with the pane engine's. While the
 * engine cannot be read nothing ends: its program may well be running.
 */
import type { Base } from '../base/base.ts';
import type { BotSpec, HarnessBot, Harnesses } from '../harness/harness.ts';
import type { PaneEngine, PaneInfo } from '../panes/pane-engine.ts';
import type { Entries, Entry } from './entries.ts';
import { addressOf, type Shown, shownAfterExit } from './model.ts';
import { labelsOf, specFromLabels, specOfPane } from './pane-labels.ts';
import { createRestarting } from './restarting.ts';
import type { Restarts } from './restarts.ts';
import type { Seats } from './seats.ts';
import { addPane, endPane, ensureAgent, removePane, saveSpec } from './store/agents.ts';
import { createTerminalBot } from './terminal/bot.ts';

/** Closed panes whose journals are kept for one agent, beside the newest. */
const maxPanes = 2;

type AgentPanesDeps = Pick<Base, 'store' | 'clock' | 'log'> & {
  readonly panes: PaneEngine;
  readonly harnesses: Pick<Harnesses, 'attach'>;
  readonly workspace: string;
  readonly entries: Entries;
  readonly seats: Pick<Seats, 'behind' | 'show' | 'place'>;
  /** Starts bots again that their pane host took along; absent: they end with it. */
  readonly restarts?: Pick<Restarts, 'wanted' | 'restart'> | undefined;
  /** Which limit of its sandbox a program went over just before it was ended; null: none. */
  readonly endedOver?: ((pane: PaneInfo) => string | null) | undefined;
};

export function createAgentPanes(deps: AgentPanesDeps) {
  const { entries } = deps;
  const { behind, show, place } = deps.seats;
  const stopping = new Set<string>();
  const restarting = createRestarting<Entry>({
    ...deps,
    isStopping: (paneId) => stopping.has(paneId),
    show,
    attach,
    ended,
    now: () => deps.clock.now(),
    reconcile,
  });

  function attach(entry: Entry, spec: BotSpec, paneId: string) {
    entry.release();
    entry.live = true;
    entry.spec = spec;
    const program = takeUp(deps, spec, paneId);
    if (program === null) return;
    const bot = createTerminalBot(program, () => stopPane(entry, paneId));
    const seat = place(entry, bot);
    seat.show(bot.state());
    seat.openGate();
  }

  async function stopPane(entry: Entry, paneId: string): Promise<boolean> {
    stopping.add(paneId);
    await deps.panes.kill(paneId);
    ended(entry, paneId, { state: 'offline', reason: 'stopped', since: deps.clock.now() });
    return true;
  }

  function ended(entry: Entry, paneId: string, shown: Shown) {
    stopping.delete(paneId);
    if (!entry.live || !entry.placement.inPaneHere || entry.panes.at(-1) !== paneId) return;
    entry.release();
    entry.live = false;
    behind(
      `The end of ${entry.address}`,
      deps.store.write((tx) => endPane(tx, paneId, shown.since)),
    );
    show(entry, shown);
  }

  function exited(entry: Entry, info: PaneInfo) {
    if (restarting.takes(entry, info)) return;
    const at = info.endedAt === null ? deps.clock.now() : Date.parse(info.endedAt);
    ended(
      entry,
      info.id,
      stopping.has(info.id)
        ? { state: 'offline', reason: 'stopped', since: at }
        : shownAfterExit(
            { code: info.exitCode, signal: info.exitSignal, reason: info.endReason },
            at,
            deps.endedOver?.(info) ?? null,
          ),
    );
  }

  /** Aligns the entries with the engine's list. Only while it can be read. */
  function reconcile() {
    if (!deps.panes.engine().running) return;
    const listed = new Map(deps.panes.list().map((info) => [info.id, info]));
    for (const info of listed.values()) {
      if (!info.alive) continue;
      const entry = entries.byPane.get(info.id) ?? adopt(deps, info);
      if (entry === null || entry.bot !== null) continue;
      if (restarting.busy(info.id)) continue;
      if (entry.panes.at(-1) !== info.id) continue;
      const labels = labelsOf(info.labels);
      const spec = specOfPane(entry.spec, labels);
      if (spec !== null) attach(entry, spec, info.id);
    }
    for (const entry of entries.byId.values()) {
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
  }

  return {
    reconcile,
    stop: stopPane,
    /** Ends its program and starts it again in its pane as this says, from now on. Returns whether it goes on in its conversation. */
    async renew(entry: Entry, spec: BotSpec, because: string): Promise<boolean> {
      const resumed = await restarting.renew(entry, spec, because);
      await deps.store.write((tx) => saveSpec(tx, entry.id, spec));
      return resumed;
    },
    /** Its engine reports that this pane has ended. */
    exited(info: PaneInfo): void {
      const entry = entries.byPane.get(info.id);
      if (entry !== undefined) exited(entry, info);
    },
    /** A pane was started for the agent: it is the newest, and older ones are forgotten. */
    async started(entry: Entry, spec: BotSpec, pane: PaneInfo): Promise<void> {
      const startedAt = Date.parse(pane.startedAt);
      const old = entry.panes.splice(0, Math.max(0, entry.panes.length - maxPanes));
      entry.panes.push(pane.id);
      entries.byPane.set(pane.id, entry);
      entry.came = null;
      attach(entry, spec, pane.id);
      await deps.store.write((tx) => {
        saveSpec(tx, entry.id, spec);
        addPane(tx, { id: pane.id, agentId: entry.id, startedAt, endedAt: null });
        for (const id of old) removePane(tx, id);
      });
      for (const id of old) {
        entries.byPane.delete(id);
        behind(`The removal of pane ${id}`, deps.panes.forget(id));
      }
      // A program that ended at once may have been reported before the pane was ours.
      reconcile();
    },
  };
}

/** A live pane of this workspace without a row: its labels name its agent. */
function adopt(
  { entries, seats, store, workspace }: Pick<AgentPanesDeps, 'entries' | 'seats' | 'store' | 'workspace'>,
  info: PaneInfo,
): Entry | null {
  const labels = labelsOf(info.labels);
  if (labels === null || labels.workspace !== workspace) return null;
  const known = entries.byId.get(labels.agent) ?? entries.byAddress.get(addressOf(labels.slug, labels.team));
  const at = Date.parse(info.startedAt);
  const entry =
    known ??
    entries.add({
      id: labels.agent,
      team: labels.team,
      slug: labels.slug,
      spec: specFromLabels(labels),
      shown: { state: 'starting', reason: null, since: at },
      panes: [],
    });
  if (!entry.panes.includes(info.id)) {
    entry.panes.push(info.id);
    entries.byPane.set(info.id, entry);
  }
  seats.behind(
    `Agent ${entry.address}`,
    store.write((tx) => {
      ensureAgent(tx, { ...entry, workspace, at });
      addPane(tx, { id: info.id, agentId: entry.id, startedAt: at, endedAt: null });
    }),
  );
  return entry;
}

/** A harness that this version does not have leaves its pane visible, but nobody can send to it. */
function takeUp(
  { harnesses, log }: Pick<Base, 'log'> & { readonly harnesses: Pick<Harnesses, 'attach'> },
  spec: BotSpec,
  paneId: string,
): HarnessBot | null {
  try {
    return harnesses.attach(spec, paneId);
  } catch (error) {
    log.warn(`The bot in pane ${paneId} could not be reconnected.`, { error: String(error) });
    return null;
  }
}
