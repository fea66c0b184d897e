/**
 * Tickets: work from outside for one bot. Its source (a trigger, a vendor send, a connector) opens the ticket in its own operation; one source opens
 * one ticket. A bot sees and closes its own. Owns `engine_ticket`; must not know where tickets come from.
 */
import type { Ticket } from '../../contracts/factory/work-engine/tickets.ts';
import * as table from '../../contracts/factory/work-engine/tickets.ts';
import { iso } from '../../kit/clock/clock.ts';
import { bind } from '../../kit/http/types.ts';
import type { Tx, Value } from '../../kit/store/store.ts';
import { type Actor, sha256 } from '../base/actor.ts';
import { decodeCursor, defaultLimit, encodeCursor, idCursor, page } from '../base/paging.ts';
import type { EnginePart, EnginePartDeps } from '../parties/part.ts';
import { ownOrAsked, type Parties } from '../parties/parties.ts';

interface NewTicket {
  readonly id: string;
  readonly botId: string;
  /** Unique: a second ticket of one source is not opened. */
  readonly source: Ticket['source'];
  readonly title: string;
  /** Any JSON value. */
  readonly data: unknown;
  readonly threadId: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Sources of work must not be able to fill the disk: beyond this, a bot gets no more until some are closed. */
export const maxOpenTickets = 1000;

export interface TicketWriter {
  /** Tickets of a bot that are open, counted to {@link maxOpenTickets}. */
  openOf(tx: Pick<Tx, 'get'>, botId: string): number;
  /** Returns the id of the source's ticket, and whether it was opened just now. The caller records the reason in the ledger. */
  open(tx: Tx, ticket: NewTicket): { readonly id: string; readonly opened: boolean };
  /** A closed ticket stays as it was. `jobId`: the job of a rule that completed its work; the ledger names it. */
  close(
    tx: Tx,
    id: string,
    by: { readonly actor: Actor; readonly note?: string | undefined; readonly jobId?: string },
  ): void;
}

interface TicketRow {
  id: string;
  bot_id: string;
  source_kind: Ticket['source']['kind'];
  source_ref: string;
  title: string;
  data: string;
  status: Ticket['status'];
  thread_id: string | null;
  created_at: number;
  closed_at: number | null;
}

interface Tickets {
  /** For whatever brings work from outside. */
  readonly writer: TicketWriter;
  /** Their routes. */
  part(parties: Parties): EnginePart;
}

export function createTickets(deps: Pick<EnginePartDeps, 'store' | 'ledger' | 'clock' | 'workspace'>): Tickets {
  const { store, ledger, clock, workspace } = deps;
  const find = (tx: Pick<Tx, 'get'>, id: string) =>
    tx.get<TicketRow>('SELECT * FROM engine_ticket WHERE workspace = ? AND id = ?', workspace, id);

  const writer: TicketWriter = {
    openOf(tx, botId) {
      const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM engine_ticket
        WHERE workspace = ? AND bot_id = ? AND status = 'open' LIMIT ?)`;
      return tx.get<{ n: number }>(sql, workspace, botId, maxOpenTickets)?.n ?? 0;
    },
    open(tx, ticket) {
      const { kind, ref } = ticket.source;
      const first = tx.get<{ id: string }>(
        'SELECT id FROM engine_ticket WHERE source_kind = ? AND source_ref = ?',
        kind,
        ref,
      );
      if (first !== undefined) return { id: first.id, opened: false };
      tx.run(
        `INSERT INTO engine_ticket (id, workspace, bot_id, source_kind, source_ref, title, data, status, thread_id, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ?, ?)`,
        ticket.id,
        workspace,
        ticket.botId,
        kind,
        ref,
        ticket.title,
        JSON.stringify(ticket.data ?? null),
        ticket.threadId,
        ticket.at,
      );
      return { id: ticket.id, opened: true };
    },
    close(tx, id, { actor, note, jobId }) {
      const closed = tx.get<{ bot_id: string }>(
        `UPDATE engine_ticket SET status = 'closed', closed_at = ?
         WHERE workspace = ? AND id = ? AND status = 'open' RETURNING bot_id`,
        clock.now(),
        workspace,
        id,
      );
      if (closed === undefined) return;
      const noteSha256 = note === undefined ? null : sha256(note);
      ledger.append(tx, {
        type: 'ticket.closed',
        ...actor,
        subject: `ticket:${id}`,
        body: { v: 1, id, botId: closed.bot_id, noteSha256, ...(jobId !== undefined && { jobId }) },
      });
    },
  };

  const part = (parties: Parties): EnginePart => ({
    owners: {
      ticket: async ({ agentId }, id) => {
        const row = await store.read((tx) => find(tx, id));
        return row !== undefined && (agentId === undefined || row.bot_id === agentId);
      },
    },
    routes: [
      bind(table.listTickets, async ({ query, principal }) => {
        const bot = ownOrAsked(parties, parties.caller(principal), query.bot, 'tickets');
        const limit = query.limit ?? defaultLimit;
        const before = decodeCursor(query.cursor, idCursor);
        const filters: [string, Value | null | undefined][] = [
          ['workspace = ?', workspace],
          ['bot_id = ?', bot],
          ['status = ?', query.status],
          ['id < ?', before],
        ];
        const given = filters.filter((one): one is [string, Value] => one[1] !== undefined && one[1] !== null);
        const rows = await store.read((tx) =>
          tx.all<TicketRow>(
            `SELECT * FROM engine_ticket WHERE ${given.map(([text]) => text).join(' AND ')} ORDER BY id DESC LIMIT ?`,
            ...given.map(([, value]) => value),
            limit + 1,
          ),
        );
        const { shown, nextCursor } = page(rows, limit, (last) => encodeCursor(last.id));
        return { body: { tickets: shown.map(wire), nextCursor } };
      }),
      bind(table.getTicket, async ({ params }) => ({
        body: wire((await store.read((tx) => find(tx, params.id))) as TicketRow),
      })),
      bind(table.closeTicket, async ({ params, body, principal }) => {
        const { actor } = parties.caller(principal);
        const row = (await store.read((tx) => find(tx, params.id))) as TicketRow;
        const records = row.status === 'open' ? ['ticket.closed'] : [];
        if (body.dryRun === true) {
          return { body: { dryRun: true as const, plan: { id: row.id, status: 'closed' as const, records } } };
        }
        return {
          body: await store.write((tx) => {
            writer.close(tx, row.id, { actor, note: body.note });
            return wire(find(tx, row.id) as TicketRow);
          }),
        };
      }),
    ],
  });

  return { writer, part };
}

function wire(row: TicketRow): Ticket {
  return {
    id: row.id,
    botId: row.bot_id,
    source: { kind: row.source_kind, ref: row.source_ref },
    title: row.title,
    data: JSON.parse(row.data) as unknown,
    status: row.status,
    threadId: row.thread_id,
    createdAt: iso(row.created_at),
    closedAt: row.closed_at === null ? null : iso(row.closed_at),
  };
}
