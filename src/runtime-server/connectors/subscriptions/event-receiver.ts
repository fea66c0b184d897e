/**
 * Receives the events that the cloud relays. Each becomes a ticket, a line of the trail, a ledger entry and work for rules, in
 * one transaction, so that a repeated event changes nothing. Must not know the cloud's queue.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../../../contracts/common/errors.ts';
import type { DeliveryOutcome, EventDelivery, RelayedEvent } from '../../../contracts/connectors/relay.ts';
import { draftEventCodes, eventCodes, eventMethods } from '../../../contracts/tool-server/mcp-events.ts';
import type { JsonObject } from '../ports.ts';
import type { SubscriptionDeps } from './deps.ts';
import type { OneAtATime } from './one-at-a-time.ts';
import { changeRow, findRow, moveRow, refOf, type SubscriptionRow } from './rows.ts';
import { historyLost, note, ticketOf } from './trail.ts';

export interface EventReceiver {
  /** Throws 410 for an unknown subscription, 400 `invalid_event` for an event that can never be taken, 429 where tickets are full. */
  deliver(delivery: EventDelivery): Promise<DeliveryOutcome>;
}

type EventReceiverDeps = Pick<
  SubscriptionDeps,
  'store' | 'ledger' | 'clock' | 'log' | 'servers' | 'schemas' | 'bots' | 'tickets' | 'automation'
> & { readonly inTurn: OneAtATime; readonly closing: AbortSignal };

const maxMessageLength = 500;
/** Events of Gantry's own edge that a bot makes while it works on a ticket. */
const ofItself: ReadonlySet<string> = new Set(['agent.run.completed', 'inbox.item.created']);
const Said = z.object({ code: z.number().int().optional(), message: z.string().optional() });

export function createEventReceiver(deps: EventReceiverDeps): EventReceiver {
  const { store, ledger, clock, automation } = deps;

  async function take(id: string, event: RelayedEvent, receivedAt: number | null): Promise<DeliveryOutcome> {
    const row = await live(id);
    refuseEnded(row);
    const problem = await problemOf(row, event);
    if (problem !== null) throw await invalid(row, event, receivedAt, problem);
    const rules = await automation.matching(id, event.data);
    const ticket = await store.write((tx) => {
      const now = findRow(tx, id);
      if (now === undefined) throw gone(id);
      refuseEnded(now);
      const at = clock.now();
      const title = `${deps.servers.find(now.connector_id)?.name ?? 'Connector'}: ${event.name}`;
      const ref = `${id}/${event.eventId}`;
      const { id: ticketId, opened } = deps.tickets.open(tx, { botId: now.bot_id, ref, title, data: event.data, at });
      // However old it is: one source opens one ticket.
      if (!opened) {
        const first = deps.tickets.read(tx, ticketId);
        return first && { id: ticketId, botId: first.botId, connectorId: now.connector_id, opened };
      }
      const entry = { subscriptionId: id, eventId: event.eventId, name: event.name, status: 'ticket' } as const;
      note(tx, { ...entry, receivedAt, ticketId }, at);
      ledger.append(tx, {
        type: 'connector.event.received',
        actor: now.bot_id,
        surface: 'engine',
        subject: `subscription:${id}`,
        idemKey: `mcp-event:${id}:${event.eventId}`,
        body: {
          v: 1,
          connectorId: now.connector_id,
          eventId: event.eventId,
          name: event.name,
          ticketId,
          dataSha256: hash(event.data),
        },
      });
      const cursor = event.cursor ?? undefined;
      const counted = { last_event_at: at, last_event_id: event.eventId, event_count: now.event_count + 1 };
      changeRow(tx, id, cursor === undefined ? counted : { ...counted, cursor }, at);
      automation.take(tx, { subscription: refOf(now), eventId: event.eventId, ticketId, data: event.data, at }, rules);
      return { id: ticketId, botId: now.bot_id, connectorId: now.connector_id, opened };
    });
    // A rule does the work: a bot that also got a notice would do it a second time. A known ticket may lack its notice: Gantry ended between.
    if (rules.length === 0 && ticket !== null) await tell(ticket, event.name);
    if (ticket?.opened !== true) return { status: 'duplicate' };
    return { status: 'triggered', ticketId: ticket.id, eventId: event.eventId };
  }

  async function live(id: string): Promise<SubscriptionRow> {
    const row = await store.read((tx) => findRow(tx, id));
    if (row === undefined) throw gone(id);
    return row;
  }

  /** After the server ended it, its events are refused until it is restarted: then they are taken even before the server has answered. */
  function refuseEnded(row: SubscriptionRow): void {
    if (row.status === 'error' && row.error_reason === 'terminated') throw gone(row.id);
  }

  /** Why it may never be taken; null where it may. */
  async function problemOf(row: SubscriptionRow, event: RelayedEvent): Promise<string | null> {
    if (event.name !== row.name)
      return `The event is called "${clip(event.name, 200)}", but the subscription is to "${row.name}".`;
    if (!isTime(event.timestamp)) return `Its time "${clip(event.timestamp, 60)}" is not RFC 3339.`;
    const { data } = event;
    if (typeof data !== 'object' || data === null || Array.isArray(data)) return 'Its data is not an object.';
    // An app of the edge that is this person's own Gantry: each ticket would be followed by the next.
    if (ofItself.has(row.name) && (data as JsonObject).botId === row.bot_id)
      return 'The bot caused this event itself; a ticket for it could start an endless loop.';
    if (row.payload_schema === null) return null;
    const verdict = await deps.schemas.check(JSON.parse(row.payload_schema) as JsonObject, data);
    // An unchecked event may still be valid: the cloud sends it again.
    if (deps.closing.aborted) throw new AppError('transport', 'Gantry is stopping.', 'Send it again.');
    return verdict.ok ? null : `Its data does not fit the server’s schema: ${verdict.problem ?? 'no reason given'}`;
  }

  async function invalid(row: SubscriptionRow, event: RelayedEvent, receivedAt: number | null, problem: string) {
    const reason = clip(problem, maxMessageLength);
    await store.write((tx) => {
      // One that was taken stays so, whatever comes by its name later.
      if (findRow(tx, row.id) === undefined || ticketOf(tx, row.id, event.eventId) !== null) return;
      const entry = { subscriptionId: row.id, eventId: event.eventId, name: row.name, status: 'dead' } as const;
      note(tx, { ...entry, reason, receivedAt }, clock.now());
    });
    return new AppError('usage', reason, 'Do not send it again.', { wireCode: 'invalid_event' });
  }

  /**
   * Fixed text of ours: the ticket holds what others wrote. Lists show how it begins, so the event comes first and the id later. A bot that gets no
   * notice still has the ticket.
   */
  async function tell(ticket: { id: string; botId: string; connectorId: string }, event: string): Promise<void> {
    const from = deps.servers.find(ticket.connectorId)?.name ?? 'a connector';
    const what = isPlainName(event) ? `${event} from ${from}` : `from ${from}`;
    const text = `New ticket: ${what}\nRead it: gantry workspace tickets ${ticket.id}`;
    try {
      await deps.bots.tell(ticket.botId, text, `ticket:${ticket.id}`);
    } catch (error) {
      const facts = { ticketId: ticket.id, bot: ticket.botId, error: String(error) };
      deps.log.warn('A bot could not be notified of its ticket.', facts);
    }
  }

  /** Not during a refresh, whose end would make it active. */
  const inItsTurn = (id: string, change: (row: SubscriptionRow) => Promise<void>) =>
    deps.inTurn(id, async () => change(await live(id)));

  async function terminated(id: string, error: unknown): Promise<DeliveryOutcome> {
    const said = Said.safeParse(error).data;
    await inItsTurn(id, async (row) => {
      await store.write((tx) => {
        const why = said?.message === undefined ? '' : `: ${clip(said.message, maxMessageLength)}`;
        const change = {
          error_code: said?.code ?? null,
          error_reason: 'terminated' as const,
          error_message: `The server ended the subscription${why}`,
          secret: null,
          next_secret: null,
          refresh_before: null,
        };
        moveRow(tx, row.id, 'error', change, clock.now());
      });
      // The server tells a signed-in caller whether the sign-in is lost; then all of them need one.
      if (said?.code === eventCodes.forbidden || said?.code === draftEventCodes.forbidden)
        void deps.servers.ask(row.connector_id, eventMethods.list, {}, deps.closing).catch(() => {});
    });
    return { status: 'terminated' };
  }

  async function gap(id: string, cursor: string | null): Promise<DeliveryOutcome> {
    await inItsTurn(id, (row) =>
      store.write((tx) => {
        const at = clock.now();
        changeRow(tx, id, { cursor }, at);
        historyLost(tx, { id, name: row.name, cursor, why: 'gap' }, at);
      }),
    );
    return { status: 'duplicate' };
  }

  /** Notices come one after the other; the last one may come again. */
  async function expired(id: string, count: number, notice: string): Promise<DeliveryOutcome> {
    await store.write((tx) => {
      const row = findRow(tx, id);
      if (row === undefined) throw gone(id);
      if (row.expired_notice === notice) return;
      changeRow(tx, id, { expired_count: row.expired_count + count, expired_notice: notice }, clock.now());
    });
    return { status: 'duplicate' };
  }

  return {
    deliver(delivery) {
      const id = delivery.subscriptionKey;
      if ('event' in delivery) {
        const at = delivery.receivedAt === undefined ? null : Date.parse(delivery.receivedAt);
        return take(id, delivery.event, at);
      }
      if (delivery.type === 'terminated') return terminated(id, delivery.error);
      if (delivery.type === 'gap') return gap(id, delivery.cursor);
      return expired(id, delivery.count, delivery.notice);
    },
  };
}

const rfc3339 = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):(\d{2})(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i;

/** RFC 3339, with valid days; also a leap second. */
function isTime(text: string): boolean {
  const [, day, minute, second, , zone] = rfc3339.exec(text) ?? [];
  if (day === undefined) return false;
  const whole = `${day}T${minute}:${second === '60' ? '59' : second}${zone?.toUpperCase()}`;
  return z.iso.datetime({ offset: true }).safeParse(whole).success;
}

/** A server names its events. Only a name without spaces or controls may stand in a text that a bot reads as ours. */
const isPlainName = (name: string): boolean => /^[\w./:-]{1,80}$/.test(name);

function gone(id: string): AppError {
  return new AppError('refused', `There is no subscription ${clip(id, 60)} here.`, 'Send no more events for it.', {
    status: 410,
    wireCode: 'subscription_gone',
  });
}

const hash = (data: unknown) =>
  createHash('sha256')
    .update(JSON.stringify(data ?? null))
    .digest('hex');
const clip = (text: string, max: number) => (text.length > max ? `${text.slice(0, max - 1)}…` : text);
