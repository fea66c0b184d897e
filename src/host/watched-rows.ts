/**
 * Lists the rows that are checked for bits lost on disk, and how a damaged row is reported: evidence (ledger, approvals, consent), pending work
 * (tasks), and values that cannot be recreated (sealed ones). Must not know what they mean.
 */
import { basename } from 'node:path';
import type { DoctorCheck } from '../contracts/common/doctor-check.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import type { HttpLog } from '../kit/http/dispatcher.ts';
import { type Checked, createRowChecks, type RowChecks, type WatchedTable } from '../kit/store/row-checks.ts';
import type { SharedStore } from '../kit/store/shared-store.ts';

export const runtimeRows: readonly WatchedTable[] = [
  { name: 'ledger' },
  { name: 'approval_hold' },
  { name: 'computer_use_approval' },
  { name: 'engine_ticket' },
  { name: 'device' },
  { name: 'home_secret' },
  { name: 'model_place', key: 'name' },
  { name: 'engine_secret', key: 'name' },
  { name: 'oauth_grant' },
  { name: 'attached_server' },
  { name: 'connector_subscription' },
  { name: 'mcp_task' },
];

export const cloudRows: readonly WatchedTable[] = [
  { name: 'approval' },
  { name: 'hosted_approval' },
  { name: 'work_task' },
  { name: 'phone_consent' },
  { name: 'phone_opt_out' },
  { name: 'phone_number' },
  { name: 'phone_invite' },
  { name: 'phone_registration' },
  { name: 'computer' },
  { name: 'edge_subscription' },
  { name: 'cloud_secret' },
  { name: 'connector_registration' },
  { name: 'push_key' },
  { name: 'ticket_key' },
];

interface WatchedRows {
  start(): void;
  /** What `gantry doctor` says: of the rows, or of the checksums that the database keeps of its pages. */
  checks(): Promise<DoctorCheck[]>;
  close(): Promise<void>;
}

/** For each database: a person waits for the answer. */
const doctorMs = 2_000;
const fix = 'Restore a backup from before the loss: gantry stop, then gantry restore <file>. Then check the disk';

export function watchRows({
  store,
  tables,
  file,
  clock,
  log,
}: {
  readonly store: SharedStore;
  readonly tables: readonly WatchedTable[];
  readonly file: string;
  readonly clock: { now(): number };
  readonly log: Pick<HttpLog, 'warn' | 'error'>;
}): WatchedRows {
  if (store.engine !== 'sqlite') return { start() {}, checks: () => checksumsCheck(store), close: async () => {} };
  const rows = createRowChecks({
    store,
    file,
    tables,
    clock,
    timers: systemTimers,
    tell: (sentence) => log.error('A database lost data that nobody changed. Restore a backup.', { file, sentence }),
    onFault: (fault) => log.warn('Rows could not be compared with their checksums.', { file, fault: String(fault) }),
  });
  return { start: rows.start, checks: () => rowsCheck(file, rows), close: rows.close };
}

async function rowsCheck(file: string, rows: Pick<RowChecks, 'check'>): Promise<DoctorCheck[]> {
  const common = { name: `Rows of ${basename(file)}`, group: 'disk', version: null } as const;
  try {
    return [{ ...common, ...said(await rows.check(doctorMs)) }];
  } catch (error) {
    return [{ ...common, state: 'unknown', detail: `The rows could not be read: ${String(error)}`, fix: null }];
  }
}

interface Checksums {
  readonly kept: string;
  /** Pages that differed from their checksum when they were read; null where none are kept. */
  readonly damaged: number | null;
}

/** What PostgreSQL does about a bit that a disk loses, and how often it has met one. */
async function checksumsCheck(store: Pick<SharedStore, 'get'>): Promise<DoctorCheck[]> {
  const common = { name: 'Data checksums', group: 'disk', version: null } as const;
  try {
    const sql = `SELECT current_setting('data_checksums') AS kept, checksum_failures AS damaged
      FROM pg_stat_database WHERE datname = current_database()`;
    const { kept, damaged } = (await store.get<Checksums>(sql))!;
    if (kept !== 'on') {
      const detail = 'PostgreSQL keeps no page checksums, so it does not notice what the disk loses.';
      return [
        { ...common, state: 'warn', detail, fix: 'Stop PostgreSQL, run pg_checksums --enable, and start it again' },
      ];
    }
    if (damaged === null || Number(damaged) === 0) {
      const detail = 'PostgreSQL checks every page it reads, and has found no damage.';
      return [{ ...common, state: 'ok', detail, fix: null }];
    }
    const detail = `The disk lost data. PostgreSQL found damaged pages: ${damaged}. Its log names them.`;
    return [{ ...common, state: 'warn', detail, fix: 'Restore a dump from before the loss. Then check the disk' }];
  } catch (error) {
    return [{ ...common, state: 'unknown', detail: `PostgreSQL could not be queried: ${String(error)}`, fix: null }];
  }
}

const shown = 5;

function said({ rows, whole, found }: Checked): Pick<DoctorCheck, 'state' | 'detail' | 'fix'> {
  const rest = whole ? '' : ' The rest are checked in the background.';
  if (found.length === 0) {
    return { state: 'ok', detail: `${rows} rows checked; all match what was written.${rest}`, fix: null };
  }
  const more = found.length > shown ? `; and ${found.length - shown} more` : '';
  return { state: 'warn', detail: `The disk lost data. ${found.slice(0, shown).join('; ')}${more}.${rest}`, fix };
}
