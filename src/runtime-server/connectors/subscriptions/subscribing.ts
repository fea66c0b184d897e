/** A person's actions on subscriptions: list them, subscribe a bot, end one, follow an event. Must not know HTTP. */

import { createHash } from 'node:crypto';
import { AppError } from '../../../contracts/common/errors.ts';
import type {
  ConnectorEvents,
  EventDefinition,
  Subscribe,
  Subscription,
  TrailEvent,
} from '../../../contracts/connectors/subscription.ts';
import { canonicalJson } from '../../../kit/ledger/canonical.ts';
import { type ConnectorRef, EventFault, type SubscriptionLookup, type SubscriptionRef } from '../ports.ts';
import type { Definitions } from './definitions.ts';
import type { SubscriptionDeps } from './deps.ts';
import { archivedOf, connectorOfArchived, type Ending, isArchived } from './ending.ts';
import type { Enrolment, Secrecy } from './enrol.ts';
import type { OneAtATime } from './one-at-a-time.ts';
import type { Removals } from './removals.ts';
import {
  changeRow,
  findRow,
  insertRow,
  moveRow,
  noError,
  type Read,
  refOf,
  rowsOf,
  type SubscriptionRow,
  shown,
} from './rows.ts';
import { trailEvents, trailRows } from './trail.ts';
import type { Within } from './within.ts';

export interface Subscribing {
  list(connectorId: string): Promise<ConnectorEvents>;
  /** Its state afterwards: not `active` where server or cloud refused. */
  subscribe(connectorId: string, asked: Subscribe): Promise<Subscription>;
  end(connectorId: string, id: string): Promise<void>;
  trail(
    connectorId: string,
    id: string,
    page: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  ): Promise<{ events: TrailEvent[]; nextCursor: string | null }>;
  readonly lookup: SubscriptionLookup;
}

const listMs = 20_000;
const defaultLimit = 50;

export function createSubscribing(
  deps: Pick<
    SubscriptionDeps,
    'store' | 'clock' | 'ownerId' | 'servers' | 'schemas' | 'bots' | 'tickets' | 'automation'
  > & {
    readonly definitions: Definitions;
    readonly enrolment: Enrolment;
    readonly ending: Ending;
    readonly removals: Removals;
    readonly inTurn: OneAtATime;
    readonly within: Within;
    readonly closing: AbortSignal;
  },
): Subscribing {
  const { store, clock, servers, automation, inTurn, within, closing } = deps;

  function connectorOf(id: string): ConnectorRef {
    const connector = servers.find(id);
    if (connector === null) throw notFound('connector', id);
    if (connector.enabled) return connector;
    throw new AppError('refused', `The connector "${connector.name}" is disabled.`, 'Enable it first.', {
      status: 409,
      wireCode: 'connector_disabled',
    });
  }

  async function offered(id: string): Promise<Pick<ConnectorEvents, 'supported' | 'events' | 'error'>> {
    const failed = (reason: string, message: string, needsReauth = false) => ({
      supported: true,
      events: [],
      error: { reason, message, needsReauth },
    });
    const connector = servers.find(id);
    if (connector === null)
      return failed('connector_not_found', 'The connector was removed, so its subscriptions end.');
    if (!connector.enabled) return failed('connector_disabled', 'The connector is disabled.');
    try {
      const list = await within(listMs, (signal) => deps.definitions.list(id, signal));
      return { supported: list !== null, events: [...(list ?? [])], error: null };
    } catch (error) {
      if (!(error instanceof EventFault)) throw error;
      return failed(error.reason, error.message, error.reason === 'needs_reauth');
    }
  }

  /** Null where the server does not offer a list: then the subscription is stored, and the server's own answer counts. */
  async function definitionOf(connector: ConnectorRef, asked: Subscribe): Promise<EventDefinition | null> {
    try {
      return await within(listMs, (signal) => deps.definitions.find(connector.id, asked.name, signal));
    } catch (error) {
      if (!(error instanceof EventFault)) throw error;
      if (asked.automation === undefined) return null;
      throw noRuleFor(error);
    }
  }

  /** The offer at the time of subscribing counts while the server cannot be asked. */
  async function advertised(connectorId: string, id: string): Promise<void> {
    const row = await store.read((tx) => liveRow(tx, connectorId, id));
    try {
      await within(listMs, (signal) => deps.definitions.find(connectorId, row.name, signal));
    } catch (error) {
      if (!(error instanceof EventFault)) throw error;
      if (isNotOffered(error) || row.payload_schema === null) throw noRuleFor(error);
    }
  }

  async function checkArguments(definition: EventDefinition | null, given: Record<string, unknown>): Promise<void> {
    if (definition === null) return;
    const verdict = await deps.schemas.check(definition.inputSchema, given);
    if (verdict.ok) return;
    const fact = verdict.unusable
      ? `The server’s schema of the arguments cannot be used: ${verdict.problem}`
      : `The arguments do not fit "${definition.name}": ${verdict.problem}`;
    throw new AppError('usage', fact, 'Send what its inputSchema asks for.', { wireCode: 'bad_request' });
  }

  async function subscribe(connectorId: string, asked: Subscribe): Promise<Subscription> {
    const connector = connectorOf(connectorId);
    const bot = deps.bots.find(asked.botId);
    if (bot === null) throw notFound('bot', asked.botId);
    const given = asked.arguments ?? {};
    await checkArguments(await definitionOf(connector, asked), given);
    const id = subscriptionId(deps.ownerId, connector.url, asked.name, given);
    await inTurn(id, async () => {
      const before = await store.read((tx) => findRow(tx, id));
      const executionMode = asked.executionMode ?? before?.execution_mode ?? 'REQUIRE_APPROVAL';
      const ref: SubscriptionRef = { id, connectorId, name: asked.name, botId: bot.id, executionMode };
      if (asked.automation !== undefined) await automation.checkDefault(ref, asked.automation);
      const secrecy: Secrecy = before?.status === 'active' ? 'keep' : 'rotate';
      if (before !== undefined && before.connector_id !== connectorId) await deps.enrolment.unsubscribe(before);
      await store.write((tx) => {
        const at = clock.now();
        if (before === undefined) {
          const identity = { id, connector_id: connectorId, connector_url: connector.url, name: asked.name };
          const rest = { arguments: JSON.stringify(given), bot_id: bot.id, execution_mode: executionMode };
          insertRow(tx, { ...identity, ...rest }, at);
          tx.run('DELETE FROM connector_archived WHERE id = ?', id);
        } else {
          const change = { connector_id: connectorId, bot_id: bot.id, execution_mode: executionMode };
          changeRow(tx, id, change, at);
          if (before.status !== 'active') moveRow(tx, id, 'pending', noError, at);
        }
        if (asked.automation !== undefined) automation.saveDefault(tx, ref, asked.automation);
      });
      const row = await store.read((tx) => findRow(tx, id));
      if (row !== undefined) await deps.enrolment.enrol(row, { secrecy, by: 'person' });
    });
    await deps.removals.send(closing, [id]);
    const row = await store.read((tx) => findRow(tx, id));
    if (row === undefined) throw notFound('subscription', id);
    return shown(row);
  }

  async function end(connectorId: string, id: string): Promise<void> {
    await inTurn(id, async () => deps.ending.end(await store.read((tx) => liveRow(tx, connectorId, id))));
    await deps.removals.send(closing, [id]);
  }

  const lookup: SubscriptionLookup = {
    live(tx, connectorId, id) {
      const row = findRow(tx, id);
      return row === undefined || row.connector_id !== connectorId ? null : refOf(row);
    },
    known: (tx, connectorId, id) => lookup.live(tx, connectorId, id) !== null || isArchived(tx, connectorId, id),
    advertised,
    connectorOf: (tx, id) => findRow(tx, id)?.connector_id ?? connectorOfArchived(tx, id),
  };

  return {
    lookup,
    subscribe,
    end,
    async list(connectorId) {
      const standing = (tx: Read) => ({
        subscriptions: rowsOf(tx, connectorId).map(shown),
        archivedSubscriptions: archivedOf(tx, connectorId, automation.withRuns),
      });
      if (servers.find(connectorId) === null) {
        const { subscriptions } = await store.read(standing);
        if (subscriptions.length === 0) throw notFound('connector', connectorId);
      }
      const said = await offered(connectorId);
      // Read last: the server may have taken its time.
      return { ...said, ...(await store.read(standing)) };
    },
    trail: (connectorId, id, { limit = defaultLimit, cursor }) =>
      store.read((tx) => {
        if (!lookup.known(tx, connectorId, id)) throw notFound('subscription', id);
        const rows = trailRows(tx, id, cursor === undefined ? null : numberOf(cursor), limit);
        const page = rows.slice(0, limit);
        const last = page.at(-1);
        const nextCursor = rows.length > limit && last !== undefined ? cursorOf(last.seq) : null;
        return { events: trailEvents(tx, deps, id, page), nextCursor };
      }),
  };
}

function liveRow(tx: Read, connectorId: string, id: string): SubscriptionRow {
  const row = findRow(tx, id);
  if (row === undefined || row.connector_id !== connectorId) throw notFound('subscription', id);
  return row;
}

const isNotOffered = ({ reason }: EventFault) => reason === 'event_not_found' || reason === 'unsupported';

function noRuleFor(fault: EventFault): AppError {
  const fact = `Rules need an event that the server offers: ${fault.message}`;
  const wire = { wireCode: fault.reason };
  return isNotOffered(fault)
    ? new AppError('not_found', fact, 'Choose an event that the server lists.', wire)
    : new AppError('transport', fact, 'Try again, or leave the rule out.', wire);
}

const cursorOf = (seq: number) => Buffer.from(String(seq)).toString('base64url');

function numberOf(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new AppError(
    'usage',
    `"${cursor.slice(0, 60)}" is not a cursor of this list.`,
    'Use `nextCursor` of an answer.',
    {
      wireCode: 'bad_request',
    },
  );
}

function notFound(what: 'connector' | 'bot' | 'subscription', name: string): AppError {
  return new AppError('not_found', `There is no ${what} ${name.slice(0, 100)}.`, 'Check the list.', {
    wireCode: `${what}_not_found`,
  });
}

/**
 * The id of a subscription. It is derived from owner, connector, event and arguments, so that subscribing to the same thing again
 * finds the same row. Pure.
 */
const hexDigits = 24;

/** `sub_` and 24 hex digits. The order of the arguments' keys and the notation of their numbers do not matter. */
export function subscriptionId(
  ownerId: string,
  connectorUrl: string,
  name: string,
  given: Readonly<Record<string, unknown>>,
): string {
  const text = canonicalJson([ownerId, connectorUrl, name, given]);
  return `sub_${createHash('sha256').update(text).digest('hex').slice(0, hexDigits)}`;
}
