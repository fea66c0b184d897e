/** Tickets of connectors' events: the part of tickets that incoming events need. Must not know subscriptions. */

import { AppError } from '../../contracts/common/errors.ts';
import { engineActor, sha256 } from '../base/actor.ts';
import type { Base } from '../base/base.ts';
import type { ConnectorTickets } from '../connectors/ports.ts';
import { maxOpenTickets, type TicketWriter } from './tickets.ts';

const kind = 'connector';
/** Above every character that may follow in an event's id. */
const last = '\u{10ffff}';

export function createConnectorTickets({
  tickets,
  ledger,
  ids,
  workspace,
  nameOf,
}: Pick<Base, 'ledger' | 'ids'> & {
  readonly tickets: TicketWriter;
  readonly workspace: string;
  readonly nameOf: (botId: string) => string | null;
}): ConnectorTickets {
  return {
    open(tx, { botId, ref, title, data, at }) {
      const source = { kind, ref } as const;
      const known = tx.get<{ id: string }>(
        'SELECT id FROM engine_ticket WHERE source_kind = ? AND source_ref = ?',
        kind,
        ref,
      );
      if (known !== undefined) return { id: known.id, opened: false };
      if (tickets.openOf(tx, botId) >= maxOpenTickets) {
        const fact = `${maxOpenTickets} tickets of ${nameOf(botId) ?? botId} are open.`;
        // The cloud sends the event again: closing some is all that is needed.
        throw new AppError('refused', fact, 'Close some first.', { status: 429, wireCode: 'too_many_tickets' });
      }
      const opened = tickets.open(tx, { id: ids.next('ticket'), botId, source, title, data, threadId: null, at });
      const body = { v: 1, id: opened.id, botId, source, dataSha256: sha256(JSON.stringify(data ?? null)) };
      ledger.append(tx, { type: 'ticket.created', ...engineActor, subject: `ticket:${opened.id}`, body });
      return opened;
    },
    close: (tx, ticketId, jobId) =>
      tickets.close(tx, ticketId, { actor: engineActor, note: `Done by the run ${jobId}.`, jobId }),
    past(tx, refPrefix, limit) {
      const rows = tx.all<{ id: string; source_ref: string; data: string; created_at: number }>(
        `SELECT id, source_ref, data, created_at FROM engine_ticket
         WHERE source_kind = ? AND source_ref >= ? AND source_ref < ? AND workspace = ? ORDER BY id DESC LIMIT ?`,
        kind,
        refPrefix,
        refPrefix + last,
        workspace,
        limit,
      );
      return rows.map((row) => ({
        id: row.id,
        ref: row.source_ref,
        data: JSON.parse(row.data) as unknown,
        at: row.created_at,
      }));
    },
    read(tx, ticketId) {
      const row = tx.get<{ botId: string; data: string }>(
        'SELECT bot_id AS botId, data FROM engine_ticket WHERE workspace = ? AND id = ?',
        workspace,
        ticketId,
      );
      return row === undefined ? null : { botId: row.botId, data: JSON.parse(row.data) as unknown };
    },
  };
}
