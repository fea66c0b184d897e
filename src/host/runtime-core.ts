/** What every part of a runtime receives, opened once: the store, the ledger and what is known of this computer. Must not know any part. */
import { systemTimers } from '../kit/clock/timers.ts';
import { createLanes, type LanesOptions } from '../kit/lane/create-lanes.ts';
import type { Lanes } from '../kit/lane/lane.ts';
import { createLaneMetrics } from '../kit/lane/lane-metrics.ts';
import { createLedger } from '../kit/ledger/create-ledger.ts';
import type { Log } from '../kit/log/log.ts';
import { openStore } from '../kit/store/open-store.ts';
import { shareStore } from '../kit/store/share-store.ts';
import { measureWrites } from '../kit/store/store-metrics.ts';
import type { Telemetry } from '../kit/telemetry/telemetry.ts';
import type { Base } from '../runtime-server/base/base.ts';
import { createProgressBook, type ProgressBook } from '../runtime-server/base/progress.ts';
import type { Closing } from './closing.ts';
import type { DataFolder } from './data-folder.ts';
import { runtimeMigrations } from './runtime-migrations.ts';
import { traceLedger } from './traces.ts';
import { runtimeRows, watchRows } from './watched-rows.ts';

export interface RuntimeCore extends Base {
  readonly log: Log;
  readonly telemetry: Telemetry;
  readonly progress: ProgressBook;
  /** Opens an outbox, which the metrics count. `failed` says in the log what could not be sent. */
  openLanes(options: Omit<LanesOptions, 'store' | 'clock' | 'trace' | 'onFault'> & { readonly failed: string }): Lanes;
  readonly closing: Closing;
  /** The person's environment; bots inherit from it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly masterKey: string;
  readonly computerId: string;
  /** `GANTRY_HOME`. */
  readonly home: string;
  /** Absolute path of the one workspace. */
  readonly workspace: string;
}

export async function openRuntimeCore(
  options: Pick<RuntimeCore, 'clock' | 'ids' | 'log' | 'telemetry' | 'env'> & { readonly folder: DataFolder },
  workspace: string,
  closing: Closing,
) {
  const { folder, clock, ids, log, telemetry, env } = options;
  const { places, masterKey, computer } = folder;
  const { store, metrics } = measureWrites(
    await openStore({
      file: places.runtimeDb,
      migrations: runtimeMigrations,
      clock,
      remember: telemetry.remember,
      onFault: (fault) => log.error('An effect after a commit failed.', { fault }),
    }),
  );
  closing.add('runtime.db', () => store.close());
  const rows = watchRows({ store: shareStore(store), tables: runtimeRows, file: places.runtimeDb, clock, log });
  closing.add('checks of rows', () => rows.close());
  const { ledger, traces } = await traceLedger(await createLedger({ store, clock, ids }), {
    store,
    clock,
    timers: systemTimers,
    telemetry,
    closing,
  });
  const outboxes = createLaneMetrics(clock);
  const core: RuntimeCore = {
    store,
    ledger,
    clock,
    timers: systemTimers,
    ids,
    log,
    telemetry,
    progress: createProgressBook({ clock }),
    closing,
    env,
    workspace,
    openLanes({ failed, ...options }) {
      const onFault = (fault: unknown) => log.error(failed, { fault });
      return outboxes.watch(options.name, createLanes({ ...options, store, clock, trace: telemetry, onFault }));
    },
    masterKey,
    computerId: computer.id,
    home: places.home,
  };
  return { core, store, rows, traces, metrics: [...metrics, ...outboxes.metrics] };
}
