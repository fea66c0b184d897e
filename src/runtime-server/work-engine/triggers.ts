/**
 * Triggers: keys that turn outsiders' posts into tickets of one bot. The key begins with this computer's id, so that the cloud knows which outbox to
 * use; only its hash is kept. A post never reaches a pane: the bot gets a notice that a ticket waits, in the words of the trigger's author, and
 * reads the rest itself. Owns `engine_trigger`; must not know HTTP servers or outboxes.
 */
import { AppError } from '../../contracts/common/errors.ts';
import * as delivered from '../../contracts/factory/work-engine/trigger-events.ts';
import * as table from '../../contracts/factory/work-engine/triggers.ts';
import { type Trigger, triggerKey } from '../../contracts/factory/work-engine/triggers.ts';
import { iso } from '../../kit/clock/clock.ts';
import { bind } from '../../kit/http/types.ts';
import { newToken } from '../../kit/secrets/token-file.ts';
import type { Tx } from '../../kit/store/store.ts';
import { engineActor, sha256 } from '../base/actor.ts';
import type { EnginePart, EnginePartDeps } from '../parties/part.ts';
import { maxOpenTickets, type TicketWriter } from '../tickets/tickets.ts';

export interface TriggerDeps extends EnginePartDeps {
  readonly computerId: string;
  readonly ownerId: string;
  readonly tickets: TicketWriter;
  /** Where outsiders reach this computer's cloud: `http://127.0.0.1:3010`. */
  readonly webOrigin: () => string;
  /** Puts a line to a bot, now or when it can take it. The same key puts it once. */
  readonly tell: (agentId: string, text: string, key: string) => Promise<void>;
  readonly log: { warn(message: string, facts?: Readonly<Record<string, unknown>>): void };
}

interface TriggerRow {
  id: string;
  bot_id: string;
  title: string;
  created_at: number;
  last_used_at: number | null;
  tickets: number;
}
type Read = Pick<Tx, 'get' | 'all'>;
const columns = 'id, bot_id, title, created_at, last_used_at, tickets';

export function createTriggers(deps: TriggerDeps): EnginePart {
  const { store, ledger, clock, ids, workspace, parties } = deps;
  const find = (tx: Read, id: string) =>
    tx.get<TriggerRow>(`SELECT ${columns} FROM engine_trigger WHERE workspace = ? AND id = ?`, workspace, id);

  async function create(botId: string, title: string, by: { actor: string; surface: string }) {
    const key = `${deps.computerId}~${newToken()}`;
    const id = ids.next('trigger');
    const trigger = await store.write((tx) => {
      tx.run(
        'INSERT INTO engine_trigger (id, workspace, key_hash, bot_id, title, created_at, tickets) VALUES (?, ?, ?, ?, ?, ?, 0)',
        id,
        workspace,
        sha256(key),
        botId,
        title,
        clock.now(),
      );
      ledger.append(tx, { type: 'trigger.created', ...by, subject: `trigger:${id}`, body: { v: 1, id, botId, title } });
      return wire(find(tx, id) as TriggerRow);
    });
    return { id, key, url: `${deps.webOrigin()}/webhooks/triggers/${key}`, trigger };
  }

  async function take(event: delivered.TriggerEvent): Promise<delivered.TriggerOutcome> {
    const known = triggerKey.exec(event.key)?.[1] === deps.computerId;
    const hash = sha256(event.key);
    const { row, ticket } = await store.write((tx) => {
      const found = tx.get<TriggerRow>(
        `SELECT ${columns} FROM engine_trigger WHERE workspace = ? AND key_hash = ?`,
        workspace,
        hash,
      );
      if (!known || found === undefined) {
        throw new AppError('not_found', 'This trigger does not exist.', 'Create a new one.', {
          wireCode: 'trigger_not_found',
        });
      }
      refuseFull(tx, found.bot_id);
      const source = { kind: 'webhook' as const, ref: `${found.id}/${event.eventId}` };
      const { bot_id: botId, title } = found;
      const fresh = { id: ids.next('ticket'), botId, source, title, data: event.data, threadId: null, at: clock.now() };
      const written = deps.tickets.open(tx, fresh);
      if (written.opened) {
        tx.run('UPDATE engine_trigger SET last_used_at = ?, tickets = tickets + 1 WHERE id = ?', fresh.at, found.id);
        const body = { v: 1, id: written.id, botId, source, dataSha256: sha256(JSON.stringify(event.data ?? null)) };
        ledger.append(tx, { type: 'ticket.created', ...engineActor, subject: `ticket:${written.id}`, body });
      }
      return { row: found, ticket: written };
    });
    await tell(row, ticket.id);
    return { status: ticket.opened ? 'triggered' : 'duplicate', ticketId: ticket.id };
  }

  /** Posts for it are then dropped, and logged. */
  function refuseFull(tx: Read, botId: string): void {
    const open = deps.tickets.openOf(tx, botId);
    if (open < maxOpenTickets) return;
    const fact = `${open} tickets of ${parties.name(botId)} are open.`;
    throw new AppError('refused', fact, 'Close some first.', { status: 409 });
  }

  /** Lists show how it begins, so the title stands before the id. A bot that gets no notice (gone, its queue full) still has its ticket. */
  async function tell(row: TriggerRow, ticketId: string): Promise<void> {
    const text = `New ticket: ${row.title}\nRead it: gantry workspace tickets ${ticketId}`;
    try {
      await deps.tell(row.bot_id, text, `ticket:${ticketId}`);
    } catch (error) {
      deps.log.warn('A bot could not be notified of its ticket.', { ticketId, bot: row.bot_id, error: String(error) });
    }
  }

  return {
    owners: { trigger: (_, id) => store.read((tx) => find(tx, id) !== undefined) },
    routes: [
      bind(table.listTriggers, async () => {
        const rows = await store.read((tx) =>
          tx.all<TriggerRow>(`SELECT ${columns} FROM engine_trigger WHERE workspace = ? ORDER BY id DESC`, workspace),
        );
        return { body: { triggers: rows.map(wire) } };
      }),
      bind(table.createTrigger, async ({ body, principal }) => {
        const { actor } = parties.caller(principal);
        const botId = parties.bot(body.botId).id;
        if (body.dryRun === true) {
          const plan = { botId, title: body.title, records: ['trigger.created'] };
          return { status: 200 as const, body: { dryRun: true as const, plan } };
        }
        return { status: 201 as const, body: await create(botId, body.title, actor) };
      }),
      bind(table.removeTrigger, async ({ params: { id }, query, principal }) => {
        if (query.dryRun === true) {
          return { body: { dryRun: true as const, plan: { id, records: ['trigger.removed'] } } };
        }
        const { actor } = parties.caller(principal);
        return {
          body: await store.write((tx) => {
            const removed = wire(find(tx, id) as TriggerRow);
            tx.run('DELETE FROM engine_trigger WHERE id = ?', id);
            ledger.append(tx, { type: 'trigger.removed', ...actor, subject: `trigger:${id}`, body: { v: 1, id } });
            return { removed };
          }),
        };
      }),
      bind(delivered.deliverTrigger, async ({ body, principal }) => {
        if (principal.userId === deps.ownerId) return { body: await take(body) };
        throw new AppError('refused', 'This computer belongs to somebody else.', 'Pair it again.');
      }),
    ],
  };
}

function wire(row: TriggerRow): Trigger {
  return {
    id: row.id,
    botId: row.bot_id,
    title: row.title,
    createdAt: iso(row.created_at),
    lastUsedAt: row.last_used_at === null ? null : iso(row.last_used_at),
    tickets: row.tickets,
  };
}
