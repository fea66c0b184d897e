/** Rows of subscriptions, and their form for a person. Must not know servers, clouds or HTTP. */
import type { ExecutionMode, Subscription, SubscriptionReason } from '../../../contracts/connectors/subscription.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { SubscriptionRef } from '../ports.ts';
import { mayMove, type SubscriptionStatus } from './states.ts';

export type Read = Pick<Tx, 'get' | 'all'>;

export interface SubscriptionRow {
  id: string;
  connector_id: string;
  /** As it was when the id was derived from it. */
  connector_url: string;
  name: string;
  arguments: string;
  bot_id: string;
  execution_mode: ExecutionMode;
  status: SubscriptionStatus;
  error_code: number | null;
  error_reason: SubscriptionReason | null;
  error_message: string | null;
  /** Sealed; the one that the server has accepted. */
  secret: string | null;
  /** Sealed; the one that the cloud may know and the server does not yet. */
  next_secret: string | null;
  /** The home cloud that may know of it. */
  home: string | null;
  callback_url: string | null;
  payload_schema: string | null;
  refreshed_at: number | null;
  refresh_before: number | null;
  cursor: string | null;
  last_event_at: number | null;
  last_event_id: string | null;
  event_count: number;
  history_lost_at: number | null;
  expired_count: number;
  /** The last notice of events that were given up. */
  expired_notice: string | null;
  /** 1: the person was told that a sign-in is needed, and not yet that it is restored. */
  login_told: 0 | 1;
  created_at: number;
  updated_at: number;
}

export function findRow(tx: Read, id: string): SubscriptionRow | undefined {
  return tx.get<SubscriptionRow>('SELECT * FROM connector_subscription WHERE id = ?', id);
}

/** Oldest first. */
export function rowsOf(tx: Read, connectorId: string): SubscriptionRow[] {
  return tx.all<SubscriptionRow>(
    'SELECT * FROM connector_subscription WHERE connector_id = ? ORDER BY created_at, id',
    connectorId,
  );
}

export function allRows(tx: Read): SubscriptionRow[] {
  return tx.all<SubscriptionRow>('SELECT * FROM connector_subscription ORDER BY connector_id, created_at, id');
}

type Identity = Pick<SubscriptionRow, 'id' | 'connector_id' | 'connector_url' | 'name' | 'arguments'>;
type NewRow = Identity & Pick<SubscriptionRow, 'bot_id' | 'execution_mode'>;

/** Writes it `pending`. */
export function insertRow(tx: Tx, row: NewRow, at: number): void {
  tx.run(
    `INSERT INTO connector_subscription (id, connector_id, connector_url, name, arguments, bot_id, execution_mode, status,
       event_count, expired_count, login_told, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', 0, 0, 0, ?, ?)`,
    row.id,
    row.connector_id,
    row.connector_url,
    row.name,
    row.arguments,
    row.bot_id,
    row.execution_mode,
    at,
    at,
  );
}

export type RowChange = Partial<Omit<SubscriptionRow, keyof Identity | 'created_at' | 'updated_at' | 'status'>> & {
  connector_id?: string;
};

/** Changes fields of a row, not its status. */
export function changeRow(tx: Tx, id: string, change: RowChange, at: number): void {
  write(tx, id, change, at);
}

/** False: it is gone, or may not become that. */
export function moveRow(tx: Tx, id: string, to: SubscriptionStatus, change: RowChange, at: number): boolean {
  const row = findRow(tx, id);
  if (row === undefined || !mayMove(row.status, to)) return false;
  write(tx, id, { ...change, status: to }, at);
  return true;
}

function write(tx: Tx, id: string, change: RowChange & { status?: SubscriptionStatus }, at: number): void {
  const given = Object.entries(change).filter((one): one is [string, string | number | null] => one[1] !== undefined);
  const sets = [...given.map(([column]) => `${column} = ?`), 'updated_at = ?'].join(', ');
  tx.run(`UPDATE connector_subscription SET ${sets} WHERE id = ?`, ...given.map(([, value]) => value), at, id);
}

export const noError = { error_code: null, error_reason: null, error_message: null } as const;

export function refOf(row: SubscriptionRow): SubscriptionRef {
  return {
    id: row.id,
    connectorId: row.connector_id,
    name: row.name,
    botId: row.bot_id,
    executionMode: row.execution_mode,
  };
}

export function argumentsOf(row: Pick<SubscriptionRow, 'arguments'>): Record<string, unknown> {
  return JSON.parse(row.arguments) as Record<string, unknown>;
}

export function shown(row: SubscriptionRow): Subscription {
  const time = (at: number | null) => (at === null ? null : iso(at));
  const { error_code: code, error_reason: reason, error_message: message } = row;
  return {
    id: row.id,
    connectorId: row.connector_id,
    name: row.name,
    arguments: argumentsOf(row),
    botId: row.bot_id,
    executionMode: row.execution_mode,
    status: row.status,
    error: reason === null ? null : { code, reason, message: message ?? '' },
    refreshBefore: time(row.refresh_before),
    lastEventAt: time(row.last_event_at),
    lastEventId: row.last_event_id,
    eventCount: row.event_count,
    historyLostAt: time(row.history_lost_at),
    expiredCount: row.expired_count,
    createdAt: iso(row.created_at),
    updatedAt: iso(row.updated_at),
  };
}
