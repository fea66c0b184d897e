/**
 * The teams of new runs. Their files are rows of Gantry's own database, so that a run needs no file in the workspace; to the rest of the runtime they
 * are teams like those on disk. Must not know how a run is started.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { TeamFile } from '../../contracts/factory/team-file.ts';
import type { Store, Tx } from '../../kit/store/store.ts';
import type { TeamFolder, TeamOnDisk } from '../agents/team-file/folder.ts';
import { type QuickRunRecord, readQuickRuns, removeQuickRun } from './store.ts';

export interface QuickTeams {
  /** Reads what earlier starts of this program left. */
  load(): Promise<void>;
  /** Oldest first. */
  runs(): readonly QuickRunRecord[];
  run(dagId: string): QuickRunRecord | null;
  /** Changes the rows, and tells the listeners of the folder once they are durable. */
  change(team: string, write: (tx: Tx) => void): Promise<void>;
  /** The folder of the workspace, and these teams beside it. */
  beside(folder: TeamFolder): TeamFolder;
}

export function createQuickTeams(deps: {
  readonly store: Store;
  readonly workspace: string;
  readonly home: string;
  /** A bot of the team runs. */
  readonly isLive: (team: string) => boolean;
}): QuickTeams {
  const { store, workspace } = deps;
  let runs: readonly QuickRunRecord[] = [];
  const listeners = new Set<(changed: readonly string[]) => void>();

  const load = async () => {
    runs = await store.read((tx) => readQuickRuns(tx, workspace));
  };
  /** A run whose work has ended is a team for as long as one of its bots runs. */
  const isShown = (run: QuickRunRecord) =>
    run.bots.some((bot) => bot.outcome === null) ||
    (run.bots.some((bot) => bot.outcome !== 'discarded') && deps.isLive(run.team));

  return {
    async load() {
      await load();
      // Gantry ended between the rows and the run: no one has seen it.
      const unstarted = runs.filter((run) => run.dagId === null);
      if (unstarted.length === 0) return;
      await store.write((tx) => {
        for (const { team } of unstarted) removeQuickRun(tx, workspace, team);
      });
      await load();
    },
    runs: () => runs,
    run: (dagId) => runs.find((run) => run.dagId === dagId) ?? null,
    async change(team, write) {
      await store.write(write);
      await load();
      for (const listener of listeners) listener([team]);
    },
    beside(folder) {
      const own = () => runs.filter((run) => folder.get(run.team) === null && isShown(run)).map(onDisk);
      return {
        ...folder,
        all: () => [...folder.all(), ...own()],
        get: (name) => folder.get(name) ?? own().find((team) => team.name === name) ?? null,
        folderOf: (name) =>
          folder.get(name) === null && runs.some((run) => run.team === name)
            ? join(deps.home, 'quick-runs', name)
            : folder.folderOf(name),
        problemsOf: (name) => (own().some((team) => team.name === name) ? [] : folder.problemsOf(name)),
        onChange(listener) {
          listeners.add(listener);
          const off = folder.onChange(listener);
          return () => {
            listeners.delete(listener);
            off();
          };
        },
      };
    },
  };
}

function onDisk(run: QuickRunRecord): TeamOnDisk {
  const file = fileOf({ ...run, bots: run.bots.filter((bot) => bot.outcome !== 'discarded') });
  const hash = createHash('sha256').update(JSON.stringify(file)).digest('hex');
  return { name: run.team, title: run.title, hash, file, culture: null, problems: [], waits: false, waiting: null };
}

export function fileOf(run: Pick<QuickRunRecord, 'repository' | 'setup' | 'bots'>): TeamFile {
  return {
    bots: run.bots.map(({ slug, harness, model, sandbox }) => ({
      bot: slug,
      ...(harness === null ? { binding: 'hosted' as const } : { harness }),
      ...(model === null ? {} : { model }),
      cwd: run.repository,
      worktree: true,
      ...(sandbox === 'none' && harness === null ? {} : { sandbox }),
      ...(run.setup === null ? {} : { setup: run.setup }),
    })),
  };
}
