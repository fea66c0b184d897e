/**
 * Makes a subscription active: registers its secret at the cloud first, then subscribes at the server with it, so that the cloud
 * can verify the server's first event. A secret that the cloud has and the server may not have is kept until the server took it:
 * a third one would push out the one that the server still signs with. Must not know when it is asked to.
 */

import { eventMethods, SubscribeResult } from '../../../contracts/tool-server/mcp-events.ts';
import { hiddenSecret } from '../../../contracts/tool-server/servers.ts';
import type { Tx } from '../../../kit/store/store.ts';
import { type ConnectorRef, EventFault, type JsonObject } from '../ports.ts';
import { checkReachable, register } from './cloud.ts';
import type { Definitions } from './definitions.ts';
import type { SubscriptionDeps } from './deps.ts';
import type { Removals } from './removals.ts';
import { argumentsOf, changeRow, findRow, moveRow, noError, type RowChange, type SubscriptionRow } from './rows.ts';
import { historyLost } from './trail.ts';
import { isLate, type Within } from './within.ts';

/** `keep`: the person posted it again; a live one keeps its secret. */
export type Secrecy = 'keep' | 'rotate';

export interface Enrolment {
  /**
   * In the turn of the subscription. Returns the fault that it ended with, null where it is active. `by` `person`: they see the answer, and need no
   * notice of a missing sign-in.
   */
  enrol(row: SubscriptionRow, how: { secrecy: Secrecy; by: 'person' | 'loop' }): Promise<EventFault | null>;
  /** In the turn of the subscription: the sign-in is lost. */
  loseSignIn(id: string, message: string, code: number | null, tell: boolean): Promise<void>;
  /** Best effort, at most 10 s. */
  unsubscribe(row: SubscriptionRow, url?: string): Promise<void>;
}

/** A server or a cloud that takes longer is one that hangs. Milliseconds. */
const answerMs = 20_000;
const farewellMs = 10_000;
const maxMessageLength = 500;

export function createEnrolment(
  deps: Pick<
    SubscriptionDeps,
    | 'store'
    | 'clock'
    | 'ids'
    | 'log'
    | 'sealer'
    | 'newSecret'
    | 'ownerId'
    | 'servers'
    | 'schemas'
    | 'bots'
    | 'home'
    | 'events'
  > & {
    readonly definitions: Definitions;
    readonly removals: Removals;
    readonly within: Within;
    /** Aborted when the program closes. */
    readonly closing: AbortSignal;
  },
): Enrolment {
  const { store, clock, sealer, servers, home, removals, within } = deps;
  const place = (column: string, id: string) => `connector_subscription|${column}|${id}|${deps.ownerId}`;

  async function enrol(row: SubscriptionRow, how: { secrecy: Secrecy; by: 'person' | 'loop' }) {
    try {
      await reach(row, how.secrecy);
      return null;
    } catch (error) {
      if (deps.closing.aborted) return new EventFault('internal', null, 'Gantry is stopping.', error);
      const fault = asFault(error);
      if (!(error instanceof EventFault)) deps.log.error('A subscription could not be created.', { id: row.id, error });
      await refuse(row.id, fault, how.by);
      return fault;
    }
  }

  async function reach(row: SubscriptionRow, secrecy: Secrecy): Promise<void> {
    const connector = servers.find(row.connector_id);
    if (connector === null) throw new EventFault('connector_error', null, 'The connector was removed.');
    const payloadSchema = await usableSchema(row);
    checkReachable(home, connector.url);
    const secret = await prepare(row, secrecy, payloadSchema);
    const to = { id: row.id, connectorId: row.connector_id, name: row.name, secret };
    const url = await within(answerMs, (signal) => register(home, to, signal));
    const answer = await subscribe(connector, row, { url, secret });
    await accept(row.id, url, answer);
    if (row.callback_url !== null && row.callback_url !== url) await unsubscribe(row, row.callback_url);
  }

  /** Checks a schema when its subscription begins, so that one that cannot be used is reported once and not with each event. */
  async function usableSchema(row: SubscriptionRow): Promise<string> {
    const { payloadSchema } = await within(answerMs, (signal) =>
      deps.definitions.find(row.connector_id, row.name, signal),
    );
    const text = JSON.stringify(payloadSchema);
    if (text === row.payload_schema) return text;
    const verdict = await deps.schemas.check(payloadSchema, {});
    if (!verdict.unusable) return text;
    const why = `The server’s payload schema of "${row.name}" cannot be used: ${verdict.problem ?? 'no reason given'}`;
    throw new EventFault('connector_error', null, why);
  }

  /** Durable before the secret leaves: this computer has every secret that the cloud and the server have. */
  function prepare(row: SubscriptionRow, secrecy: Secrecy, payloadSchema: string): Promise<string> {
    const at = home.name();
    const open = (column: 'secret' | 'next_secret', sealed: string) => sealer.open(place(column, row.id), sealed);
    const secret =
      row.next_secret !== null && row.home === at
        ? open('next_secret', row.next_secret)
        : secrecy === 'keep' && row.status === 'active' && row.secret !== null
          ? open('secret', row.secret)
          : deps.newSecret();
    return store.write((tx) => {
      if (row.home !== null && row.home !== at) removals.owe(tx, row.id, row.home);
      removals.drop(tx, row.id, at);
      const sealed = sealer.seal(place('next_secret', row.id), secret);
      // The first event may be here before the server's answer.
      const change = { home: at, next_secret: sealed, payload_schema: payloadSchema };
      changeRow(tx, row.id, change, clock.now());
      return secret;
    });
  }

  async function subscribe(connector: ConnectorRef, row: SubscriptionRow, delivery: { url: string; secret: string }) {
    // Read again: events may have come in between.
    const cursor = (await store.read((tx) => findRow(tx, row.id)))?.cursor ?? null;
    const params: JsonObject = {
      name: row.name,
      arguments: argumentsOf(row),
      delivery: { mode: 'webhook', ...delivery },
      cursor,
    };
    const answer = SubscribeResult.safeParse(
      await within(answerMs, (signal) => servers.ask(connector.id, eventMethods.subscribe, params, signal)).catch(
        (error) => {
          // Some servers echo a refused value.
          if (!(error instanceof EventFault)) throw error;
          const words = error.message.replaceAll(delivery.secret, hiddenSecret);
          throw new EventFault(error.reason, error.code, words, error);
        },
      ),
    );
    const before = answer.success && answer.data.refreshBefore !== null ? Date.parse(answer.data.refreshBefore) : null;
    if (!answer.success || Number.isNaN(before)) {
      throw new EventFault('connector_error', null, 'The server’s answer to events/subscribe cannot be read.');
    }
    return { refreshBefore: before, cursor: answer.data.cursor ?? null, truncated: answer.data.truncated };
  }

  function accept(
    id: string,
    url: string,
    answer: { refreshBefore: number | null; cursor: string | null; truncated: boolean },
  ): Promise<void> {
    return store.write((tx) => {
      const row = findRow(tx, id);
      if (row === undefined || row.next_secret === null) return;
      const at = clock.now();
      const secret = sealer.open(place('next_secret', id), row.next_secret);
      const change: RowChange = {
        ...noError,
        secret: sealer.seal(place('secret', id), secret),
        next_secret: null,
        callback_url: url,
        refreshed_at: at,
        refresh_before: answer.refreshBefore,
        login_told: 0,
      };
      // Our cursor belongs to an event that is durable here: the server's counts only where there is none, or it can no longer be served.
      if (row.cursor === null || answer.truncated) change.cursor = answer.cursor;
      if (!moveRow(tx, id, 'active', change, at)) return;
      if (answer.truncated) historyLost(tx, { id, name: row.name, cursor: answer.cursor, why: 'truncated' }, at);
      if (row.login_told === 1) tell(tx, row, 'subscription.signed_in');
    });
  }

  async function refuse(id: string, fault: EventFault, by: 'person' | 'loop'): Promise<void> {
    if (fault.reason === 'needs_reauth') return loseSignIn(id, fault.message, fault.code, by === 'loop');
    const error = { error_code: fault.code, error_reason: fault.reason, error_message: clipped(fault.message) };
    await store.write((tx) => moveRow(tx, id, 'error', error, clock.now()));
  }

  function loseSignIn(id: string, message: string, code: number | null, told: boolean): Promise<void> {
    return store.write((tx) => {
      const row = findRow(tx, id);
      if (row === undefined) return;
      const change: RowChange = {
        error_code: code,
        error_reason: 'needs_reauth',
        error_message: clipped(message),
        // Void: the next beginning has its own.
        secret: null,
        next_secret: null,
        refresh_before: null,
        ...(told ? { login_told: 1 as const } : {}),
      };
      if (!moveRow(tx, id, 'needs_reauth', change, clock.now())) return;
      removals.owe(tx, id, row.home);
      // Once, however often it is tried in vain.
      if (told && row.login_told === 0) tell(tx, row, 'subscription.login_needed');
    });
  }

  function tell(tx: Tx, row: SubscriptionRow, type: 'subscription.login_needed' | 'subscription.signed_in'): void {
    const bot = deps.bots.find(row.bot_id);
    const about = bot === null ? {} : { botId: bot.id, botName: bot.name };
    const data = { ...about, subscriptionId: row.id, connectorId: row.connector_id, name: row.name };
    deps.events.emit(tx, { type, id: deps.ids.next('login'), data });
  }

  async function unsubscribe(row: SubscriptionRow, url = row.callback_url ?? undefined): Promise<void> {
    if (url === undefined) return;
    const params = { name: row.name, arguments: argumentsOf(row), delivery: { url } };
    try {
      await within(farewellMs, (signal) => servers.ask(row.connector_id, eventMethods.unsubscribe, params, signal));
    } catch (error) {
      // It expires there, and the cloud takes none of its events.
      if (!deps.closing.aborted)
        deps.log.warn('A server was not notified that a subscription ended.', { id: row.id, error: String(error) });
    }
  }

  return { enrol, loseSignIn, unsubscribe };
}

function asFault(error: unknown): EventFault {
  if (error instanceof EventFault) return error;
  if (isLate(error)) {
    return new EventFault('connector_timeout', null, 'The server did not answer in time.', error);
  }
  return new EventFault('internal', null, 'Something went wrong inside Gantry; its log says more.', error);
}

function clipped(text: string): string {
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 1)}…` : text;
}
