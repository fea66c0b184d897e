/** The steps of each event on this computer. The event's data is kept only in its ticket. Owns `connector_trail`. */

import { createHash } from 'node:crypto';
import type { TrailEvent } from '../../../contracts/connectors/subscription.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Tx } from '../../../kit/store/store.ts';
import { aboutOf } from '../about.ts';
import type { AutomationPort, ConnectorTickets } from '../ports.ts';
import { changeRow, type Read } from './rows.ts';

interface TrailRow {
  seq: number;
  event_id: string;
  name: string | null;
  status: 'ticket' | 'dead' | 'gap';
  reason: string | null;
  received_at: number | null;
  at: number;
  ticket_id: string | null;
}

interface TrailEntry {
  readonly subscriptionId: string;
  readonly eventId: string;
  readonly name: string | null;
  readonly status: TrailRow['status'];
  readonly reason?: string;
  readonly receivedAt?: number | null;
  readonly ticketId?: string;
}

/** Longer than the cloud's marks: tickets are there longer too, and the person may have been away. */
const retentionMs = 30 * 24 * 60 * 60_000;
const sweptAtOnce = 1000;

/** A repeated note becomes the newest. */
export function note(tx: Tx, entry: TrailEntry, at: number): void {
  tx.run(
    `INSERT OR REPLACE INTO connector_trail (subscription_id, event_id, name, status, reason, received_at, at, ticket_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    entry.subscriptionId,
    entry.eventId,
    entry.name,
    entry.status,
    entry.reason ?? null,
    entry.receivedAt ?? null,
    at,
    entry.ticketId ?? null,
  );
}

/** The ticket of an event that was taken. */
export function ticketOf(tx: Read, subscriptionId: string, eventId: string): string | null {
  const sql = "SELECT ticket_id FROM connector_trail WHERE subscription_id = ? AND event_id = ? AND status = 'ticket'";
  return tx.get<{ ticket_id: string }>(sql, subscriptionId, eventId)?.ticket_id ?? null;
}

/** The server reported that events before now may be missing. A repeat with the same cursor is one line. */
export function historyLost(
  tx: Tx,
  lost: { id: string; name: string; cursor: string | null; why: 'truncated' | 'gap' },
  at: number,
): void {
  changeRow(tx, lost.id, { history_lost_at: at }, at);
  const mark = createHash('sha256')
    .update(lost.cursor ?? '')
    .digest('hex')
    .slice(0, 16);
  const reason =
    lost.why === 'gap'
      ? 'The server reported that events are missing here.'
      : 'The server no longer has the events after the last one received.';
  const entry = { subscriptionId: lost.id, eventId: `gap_${mark}`, name: lost.name, status: 'gap', reason } as const;
  note(tx, entry, at);
}

/** Newest first; `before`: the number of the last line shown. One more than `limit` where there are more. */
export function trailRows(tx: Read, subscriptionId: string, before: number | null, limit: number): TrailRow[] {
  return tx.all<TrailRow>(
    `SELECT seq, event_id, name, status, reason, received_at, at, ticket_id FROM connector_trail
     WHERE subscription_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
    subscriptionId,
    before ?? Number.MAX_SAFE_INTEGER,
    limit + 1,
  );
}

interface TrailSources {
  readonly automation: Pick<AutomationPort, 'runsOf'>;
  readonly tickets: Pick<ConnectorTickets, 'read'>;
}

export function trailEvents(
  tx: Read,
  { automation, tickets }: TrailSources,
  subscriptionId: string,
  rows: readonly TrailRow[],
): TrailEvent[] {
  const taken = rows.filter((row) => row.status === 'ticket').map((row) => row.event_id);
  const runs = automation.runsOf(tx, subscriptionId, taken);
  return rows.map((row) => ({
    eventId: row.event_id,
    about: row.ticket_id === null ? null : aboutOf(tickets.read(tx, row.ticket_id)?.data),
    name: row.name,
    status: row.status,
    reason: row.reason,
    receivedAt: row.received_at === null ? null : iso(row.received_at),
    relayedAt: iso(row.at),
    ticketId: row.ticket_id,
    runs: (runs.get(row.event_id) ?? []).map((run) => ({ ...run, at: iso(run.at) })),
  }));
}

/** Removes old rows, a portion at a time. True: there may be more. */
export function sweepTrail(tx: Tx, now: number): boolean {
  const sql = 'DELETE FROM connector_trail WHERE seq IN (SELECT seq FROM connector_trail WHERE at < ? LIMIT ?)';
  return tx.run(sql, now - retentionMs, sweptAtOnce).changes === sweptAtOnce;
}
