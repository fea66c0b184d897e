/** A project's settings of its hosted computers, and the pool that all projects share. Must not know who may change them. */
import {
  type ComputerSettings,
  defaultIdleSeconds,
  defaultKeyConcurrency,
  defaultPool,
} from '../../contracts/hosted-computers/computer.ts';
import type { Op, SharedReader, SharedStore } from '../../kit/store/shared-store.ts';

type ProjectSettings = Omit<ComputerSettings, 'hosted_driver_enabled'>;

interface PoolSettings {
  readonly running: number;
  readonly idleSeconds: number;
}

export interface HostedSettings {
  /** Null: the person has no project. */
  of(projectId: string | null): Promise<ProjectSettings>;
  change(projectId: string, change: Partial<ProjectSettings>): Promise<ProjectSettings>;
  pool(): Promise<PoolSettings>;
  setPool(change: Partial<PoolSettings>): Promise<PoolSettings>;
}

const defaults: ProjectSettings = {
  approval_mode: 'owner',
  per_key_concurrency: defaultKeyConcurrency,
  browser_toolset: true,
};
const defaultPoolSettings: PoolSettings = { running: defaultPool, idleSeconds: defaultIdleSeconds };
/** The project exists. */
const poolName = 'all';

export function createHostedSettings(store: SharedStore): HostedSettings {
  function* read(tx: SharedReader, projectId: string): Op<ProjectSettings> {
    const sql = `SELECT approval_mode, per_key_concurrency, browser_toolset FROM hosted_settings WHERE project_id = ?`;
    const row = yield* tx.get<Omit<ProjectSettings, 'browser_toolset'> & { browser_toolset: number }>(sql, projectId);
    return row === undefined ? defaults : { ...row, browser_toolset: row.browser_toolset === 1 };
  }

  function* readPool(tx: SharedReader): Op<PoolSettings> {
    const sql = 'SELECT running, idle_seconds AS "idleSeconds" FROM hosted_pool WHERE name = ?';
    return (yield* tx.get<PoolSettings>(sql, poolName)) ?? defaultPoolSettings;
  }

  return {
    of: async (projectId) => (projectId === null ? defaults : store.read((tx) => read(tx, projectId))),
    change: (projectId, change) =>
      store.write(function* (tx) {
        const next = { ...(yield* read(tx, projectId)), ...change };
        const sql = `INSERT INTO hosted_settings (project_id, approval_mode, per_key_concurrency, browser_toolset)
          VALUES (?, ?, ?, ?) ON CONFLICT (project_id) DO UPDATE SET approval_mode = excluded.approval_mode,
          per_key_concurrency = excluded.per_key_concurrency, browser_toolset = excluded.browser_toolset`;
        const { approval_mode, per_key_concurrency, browser_toolset } = next;
        yield* tx.run(sql, projectId, approval_mode, per_key_concurrency, browser_toolset ? 1 : 0);
        return next;
      }),
    pool: () => store.read(readPool),
    setPool: (change) =>
      store.write(function* (tx) {
        const next = { ...(yield* readPool(tx)), ...change };
        const sql = `INSERT INTO hosted_pool (name, running, idle_seconds) VALUES (?, ?, ?)
          ON CONFLICT (name) DO UPDATE SET running = excluded.running, idle_seconds = excluded.idle_seconds`;
        yield* tx.run(sql, poolName, next.running, next.idleSeconds);
        return next;
      }),
  };
}
