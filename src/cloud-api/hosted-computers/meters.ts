/**
 * A computer's usage: minutes in windows since they were last counted, actions one each, and the cost of both. Each is counted once by its id, in the
 * transaction of the cause. Must not know phases or HTTP.
 */
import type { MeterLine } from '../../contracts/hosted-computers/computer.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Op, SharedReader, SharedTx } from '../../kit/store/shared-store.ts';
import type { RecordUsage } from '../usage/index.ts';
import type { ComputerRow } from './model.ts';

/** Cents for a minute, and for an action; zero until they are set. */
export type Prices = Readonly<Record<MeterLine['meter'], number>>;
export const pricesIn = (list: readonly { readonly name: string; readonly cents: number }[]): Prices => {
  const of = (name: string) => list.find((price) => price.name === name)?.cents ?? 0;
  return { computer_minute: of('computer_minute'), computer_action: of('computer_action') };
};

export interface Meters {
  /** Counts minutes up to then (milliseconds); `last`: no more follow, so the remainder of a thousandth is rounded. */
  minutes(tx: SharedTx, row: ComputerRow, until: number, prices: Prices, last?: 'last'): Op<void>;
  /** False: this action was counted before. */
  action(
    tx: SharedTx,
    row: ComputerRow,
    action: { readonly id: string; readonly keyId: string | null; readonly at: number },
    prices: Prices,
  ): Op<boolean>;
}

const thousandthMs = 60;
const unit = 1000;
/** Millionths of a dollar in a thousandth of a unit that costs a cent. */
const microPerThousandth = 10;
const hourMs = 3600_000;
const monthOf = (at: number) => iso(at).slice(0, 'yyyy-mm'.length);

export function createMeters(record: RecordUsage): Meters {
  function* add(
    tx: SharedTx,
    row: ComputerRow,
    line: {
      readonly id: string;
      readonly meter: MeterLine['meter'];
      readonly thousandths: number;
      readonly keyId: string | null;
      readonly at: number;
    },
    prices: Prices,
  ): Op<boolean> {
    const { id, meter, thousandths, keyId, at } = line;
    const insert = `INSERT INTO hosted_meter (computer_id, id, meter, thousandths, key_id, window_start)
      VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (computer_id, id) DO NOTHING`;
    const { changes } = yield* tx.run(insert, row.id, id, meter, thousandths, keyId, at);
    if (changes === 0) return false;
    const microUsd = Math.round(thousandths * prices[meter] * microPerThousandth);
    if (microUsd > 0) {
      const spend = `INSERT INTO hosted_spend (project_id, month, micro_usd) VALUES (?, ?, ?)
        ON CONFLICT (project_id, month) DO UPDATE SET micro_usd = hosted_spend.micro_usd + excluded.micro_usd`;
      yield* tx.run(spend, row.projectId, monthOf(at), microUsd);
    }
    const about = { kind: meter, name: row.projectId, computerId: row.id, botId: null, runId: null };
    yield* record(tx, row.userId, [{ id: `${row.id}:${id}`, ...about, at, thousandths, microUsd }]);
    return true;
  }

  return {
    *minutes(tx, row, until, prices, last) {
      const from = row.meteredAt;
      if (from === null) return;
      const passed = Math.max(0, until - from) / thousandthMs;
      const thousandths = last === 'last' ? Math.round(passed) : Math.floor(passed);
      if (thousandths === 0) return;
      const line = { id: `minute:${from}`, meter: 'computer_minute', thousandths, keyId: row.keyId, at: from } as const;
      yield* add(tx, row, line, prices);
      const move = 'UPDATE hosted_computer SET metered_at = ? WHERE id = ? AND metered_at = ?';
      yield* tx.run(move, from + thousandths * thousandthMs, row.id, from);
    },
    action: (tx, row, { id, keyId, at }, prices) =>
      add(tx, row, { id: `action:${id}`, meter: 'computer_action', thousandths: unit, keyId, at }, prices),
  };
}

/** Millionths of a dollar, in the month of that time. */
export function* spentOf(tx: SharedReader, projectId: string, at: number): Op<number> {
  const sql = 'SELECT micro_usd AS micro FROM hosted_spend WHERE project_id = ? AND month = ?';
  return (yield* tx.get<{ micro: number }>(sql, projectId, monthOf(at)))?.micro ?? 0;
}

export const microPerCent = 10_000;

/** By the hour, oldest first: there are as many single windows as calls. */
export function* metersOf(tx: SharedReader, computerId: string): Op<MeterLine[]> {
  const hour = `window_start - window_start % ${hourMs}`;
  const sql = `SELECT meter, key_id AS "keyId", ${hour} AS hour, SUM(thousandths) AS thousandths FROM hosted_meter
    WHERE computer_id = ? GROUP BY meter, key_id, ${hour} ORDER BY ${hour}, meter, COALESCE(key_id, '')`;
  const rows = yield* tx.all<{ meter: MeterLine['meter']; keyId: string | null; hour: number; thousandths: number }>(
    sql,
    computerId,
  );
  return rows.map(({ meter, keyId, hour: start, thousandths }) => ({
    meter,
    quantity: thousandths / unit,
    computer_id: computerId,
    key_id: keyId,
    window_start: iso(start),
  }));
}
