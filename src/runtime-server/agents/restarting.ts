/** Bots in the registry whose pane host is gone: they keep their pane while they are started again. Changes entries; must not know how bots start. */

import { AppError } from '../../contracts/common/errors.ts';
import { strictestSandbox } from '../../contracts/factory/team-file.ts';
import type { BotSpec } from '../harness/harness.ts';
import type { PaneEngine, PaneInfo } from '../panes/pane-engine.ts';
import type { Shown } from './model.ts';
import type { Placement } from './placement.ts';
import type { Restarts } from './restarts.ts';
import type { ResolvedBot } from './team-file/resolve.ts';

/** The part of an agent's entry that this needs. */
export interface RestartingEntry {
  spec: BotSpec | null;
  /** From the team file as it is now. */
  readonly definition: Pick<ResolvedBot, 'sandbox'> | null;
  panes: string[];
  live: boolean;
  readonly placement: Placement;
  release: () => void;
  /** Told beside its state until it works again: how it came back. */
  came: string | null;
}

interface Restarting<Entry> {
  /** Whether its end is temporary: it is being started again. */
  takes(entry: Entry, info: PaneInfo): boolean;
  busy(paneId: string): boolean;
  /**
   * Ends its program and starts it again in its pane as `spec` says. Returns whether it goes on in its conversation. Rejects with why it could not be
   * started; then it has ended.
   */
  renew(entry: Entry, spec: BotSpec, because: string): Promise<boolean>;
}

interface RestartingDeps<Entry> {
  /** Absent: a bot ends with its pane host. */
  readonly restarts?: Pick<Restarts, 'wanted' | 'restart'> | undefined;
  readonly panes: Pick<PaneEngine, 'hold' | 'kill' | 'get'>;
  isStopping(paneId: string): boolean;
  show(entry: Entry, shown: Shown): void;
  attach(entry: Entry, spec: BotSpec, paneId: string): void;
  ended(entry: Entry, paneId: string, shown: Shown): void;
  /** Panes may have changed unobserved. */
  reconcile(): void;
  now(): number;
}

export function createRestarting<Entry extends RestartingEntry>(deps: RestartingDeps<Entry>): Restarting<Entry> {
  const busy = new Set<string>();

  const restart = async (
    entry: Entry,
    spec: BotSpec,
    info: PaneInfo,
    restarts: NonNullable<RestartingDeps<Entry>['restarts']>,
  ) => {
    const gone = info.endReason ?? 'its pane ended';
    const stillWanted = () => entry.live && entry.panes.at(-1) === info.id && !deps.isStopping(info.id);
    const release = deps.panes.hold(info.id);
    deps.show(entry, { state: 'starting', reason: `${gone}; it is being restarted`, since: deps.now() });
    try {
      const { resumed, spec: now } = await restarts.restart({ spec, info, stillWanted });
      entry.came = `${resumed ? 'resumed' : 'restarted'}, because ${gone}`;
      deps.attach(entry, now, info.id);
    } catch (error) {
      if (!stillWanted()) return;
      const why = error instanceof AppError ? error.fact : String(error);
      const reason = `${gone}, and it could not be restarted: ${why}`;
      deps.ended(entry, info.id, { state: 'offline', reason, since: deps.now() });
    } finally {
      busy.delete(info.id);
      release();
      deps.reconcile();
    }
  };

  async function renew(entry: Entry, spec: BotSpec, because: string): Promise<boolean> {
    const { restarts } = deps;
    const id = entry.panes.at(-1);
    const wanted = entry.live && entry.placement.inPaneHere;
    if (restarts === undefined || id === undefined || !wanted || busy.has(id) || deps.isStopping(id))
      throw new AppError('refused', 'It is not running.', 'Start its team.');
    busy.add(id);
    const stillWanted = () => entry.live && entry.panes.at(-1) === id && !deps.isStopping(id);
    const release = deps.panes.hold(id);
    entry.release();
    deps.show(entry, { state: 'starting', reason: because, since: deps.now() });
    try {
      await deps.panes.kill(id);
      const info = deps.panes.get(id);
      if (info === null) throw new AppError('refused', 'Its pane is gone.', 'Start its team.');
      const restarted = await restarts.restart({ spec, info, stillWanted, because });
      entry.came = `${restarted.resumed ? 'resumed' : 'restarted in a new conversation'}: ${because}`;
      deps.attach(entry, restarted.spec, id);
      return restarted.resumed;
    } catch (error) {
      if (stillWanted()) {
        const why = error instanceof AppError ? error.fact : String(error);
        const reason = `${because}, and it could not be restarted: ${why}`;
        deps.ended(entry, id, { state: 'offline', reason, since: deps.now() });
      }
      throw error;
    } finally {
      busy.delete(id);
      release();
      deps.reconcile();
    }
  }

  return {
    renew,
    takes(entry, info) {
      if (!entry.live || !entry.placement.inPaneHere || entry.panes.at(-1) !== info.id) return false;
      if (busy.has(info.id)) return true;
      const { restarts } = deps;
      if (entry.spec === null || deps.isStopping(info.id) || restarts?.wanted(info) !== true) return false;
      busy.add(info.id);
      entry.release();
      void restart(entry, withSandboxOf(entry.definition, entry.spec), info, restarts);
      return true;
    },
    busy: (paneId) => busy.has(paneId),
  };
}

/** A sandbox that the team file asks for meanwhile is taken on; a stricter one that it no longer asks for stays until its team is started again. */
function withSandboxOf(definition: RestartingEntry['definition'], spec: BotSpec): BotSpec {
  const wish = definition?.sandbox ?? null;
  if (wish === null) return spec;
  const mode = strictestSandbox([wish.mode, spec.sandbox?.mode ?? 'none']);
  return { ...spec, sandbox: mode === 'none' ? wish : { ...wish, mode } };
}

/** Adds how it came back to a state without its own reason, until it works again. */
export function marked(entry: Pick<RestartingEntry, 'live' | 'came'>, judged: Shown): Shown {
  if (judged.state === 'working' || !entry.live) entry.came = null;
  return judged.reason === null && entry.came !== null ? { ...judged, reason: entry.came } : judged;
}
