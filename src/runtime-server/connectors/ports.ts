/**
 * Interfaces between the parts of connectors and the rest of the computer: servers, subscriptions, automation, bots, schemas. Only types; `host`
 * composes them. Must not know HTTP or SQL.
 */

import type { Automation, JobStatus, RuleMode } from '../../contracts/connectors/rule.ts';
import type { EventDefinition, SubscriptionReason } from '../../contracts/connectors/subscription.ts';
import type { Tx } from '../../kit/store/store.ts';

type Read = Pick<Tx, 'get' | 'all'>;
export type JsonObject = Readonly<Record<string, unknown>>;

// ---- Servers: a connector as subscriptions see it.

export interface ConnectorRef {
  readonly id: string;
  readonly name: string;
  /** As the person gave it: part of a subscription's id. */
  readonly url: string;
  readonly enabled: boolean;
}

/** Why a server or the cloud did not do as asked, as a subscription shows it. */
export class EventFault extends Error {
  readonly reason: SubscriptionReason;
  /** JSON-RPC or HTTP; null if there is none. */
  readonly code: number | null;

  constructor(reason: SubscriptionReason, code: number | null, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
    this.code = code;
  }
}

export interface ConnectorServers {
  find(id: string): ConnectorRef | null;
  /**
   * The server's current events, by name in byte order; null: it does not offer events. Throws {@link EventFault}. Not cached: the caller caches it.
   */
  events(id: string, signal: AbortSignal): Promise<readonly EventDefinition[] | null>;
  /** One request of the events extension. Throws {@link EventFault}; the answer is at most 1 MiB, and an object. */
  ask(id: string, method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>;
  /** The credential is lost: revoked, or it cannot be renewed. Returns the function that unsubscribes. */
  onLost(listener: (id: string) => void): () => void;
  /** A sign-in or a reconnection made it work again. */
  onBack(listener: (id: string) => void): () => void;
  /** Deleted or disabled: `ref` as it was. */
  onGone(listener: (ref: ConnectorRef) => void): () => void;
}

// ---- Event schemas of other servers. Some take seconds to apply (`^(a+)+$`, a large `uniqueItems`), so a worker compiles and
// applies them, offline and with a deadline.

interface SchemaVerdict {
  readonly ok: boolean;
  /** The mismatch, or why the schema cannot be used, in a sentence; null where it fits. */
  readonly problem: string | null;
  /** True: the schema itself is refused (remote reference, too deep, too costly, not a schema), whatever the value. */
  readonly unusable: boolean;
}

export interface Schemas {
  /** Takes about a second at most. Throws `transport` where it was not checked because the program ends. */
  check(schema: JsonObject, value: unknown): Promise<SchemaVerdict>;
  close(): Promise<void>;
}

// ---- Bots: the factory's part.

export interface ConnectorBots {
  /** All of this computer's own, by name. */
  list(): readonly { readonly id: string; readonly name: string }[];
  /** By id or address; null: there is no such bot of this computer's own. */
  find(nameOrId: string): { readonly id: string; readonly name: string } | null;
  /** Why this bot cannot be held to a mode (a program in a pane without an exec mode, a guest); null where it can. */
  unenforceable(botId: string): string | null;
  /** Puts a line to a bot, now or when it can take it. The same key puts it once. */
  tell(botId: string, text: string, key: string): Promise<void>;
}

export interface ConnectorTickets {
  /** One source opens one ticket. Throws `refused` where too many of the bot are open. */
  open(
    tx: Tx,
    ticket: {
      readonly botId: string;
      /** `<subscription id>/<event id>`. */
      readonly ref: string;
      readonly title: string;
      readonly data: unknown;
      readonly at: number;
    },
  ): { readonly id: string; readonly opened: boolean };
  /** By a run that completed its work; a closed ticket stays as it was. */
  close(tx: Tx, ticketId: string, jobId: string): void;
  /** For the dry run of a rule: past events of this subscription, newest first. */
  past(
    tx: Read,
    refPrefix: string,
    limit: number,
  ): readonly { readonly id: string; readonly ref: string; readonly data: unknown; readonly at: number }[];
  /** Its bot and its data; null: unknown ticket. */
  read(tx: Read, ticketId: string): { readonly botId: string; readonly data: unknown } | null;
}

// ---- Automation: what subscriptions and incoming events need of it.

export interface SubscriptionRef {
  readonly id: string;
  readonly connectorId: string;
  readonly name: string;
  readonly botId: string;
  readonly executionMode: string;
}

/** An event for which a ticket was opened. */
export interface TakenEvent {
  readonly subscription: SubscriptionRef;
  readonly eventId: string;
  readonly ticketId: string;
  readonly data: unknown;
  readonly at: number;
}

export interface AutomationPort {
  /** Throws `usage`/`refused` for a rule that cannot be (bot, mode, schema); changes nothing. */
  checkDefault(subscription: SubscriptionRef, automation: Automation): Promise<void>;
  /** Writes the default rule, `<subscription id>:default`; the same content changes nothing. */
  saveDefault(tx: Tx, subscription: SubscriptionRef, automation: Automation): void;
  /** Which rules want this event: asked before the transaction, for schemas are checked elsewhere. */
  matching(subscriptionId: string, data: unknown): Promise<readonly string[]>;
  /** In the transaction that opens the ticket; rules that are gone since are left out. */
  take(tx: Tx, event: TakenEvent, rules: readonly string[]): void;
  /** Runs by event, for the trail. */
  runsOf(
    tx: Read,
    subscriptionId: string,
    eventIds: readonly string[],
  ): ReadonlyMap<
    string,
    readonly { readonly id: string; readonly ruleId: string; readonly status: JobStatus; readonly at: number }[]
  >;
  /** Those of these stopped subscriptions that have runs. */
  withRuns(tx: Read, subscriptionIds: readonly string[]): ReadonlySet<string>;
  /** A subscription ended: its rules go, pending jobs are cancelled, the others stay readable. */
  ended(tx: Tx, subscriptionId: string): void;
}

/** For the rule and run routes: subscriptions, live or archived. */
export interface SubscriptionLookup {
  /** Null: this connector has no such live subscription. */
  live(tx: Read, connectorId: string, subscriptionId: string): SubscriptionRef | null;
  /** Live, or stopped and with history. */
  known(tx: Read, connectorId: string, subscriptionId: string): boolean;
  /** Throws the refusal of a rule whose event the server does not offer (any more). */
  advertised(connectorId: string, subscriptionId: string): Promise<void>;
  /** The connector of one that is known; null: none is. */
  connectorOf(tx: Read, subscriptionId: string): string | null;
}

// ---- Execution: one separate run of a bot, held to a mode.

export interface Execution {
  /** The agent run, which the caller has begun in its own transaction. */
  readonly runId: string;
  /** Whose attempt it is. */
  readonly jobId: string;
  readonly botId: string;
  /** The stricter of this and the bot's own holds. */
  readonly mode: RuleMode;
  readonly text: string;
  readonly timeoutMs: number;
  /** Aborted: stop. Resolves when none of its work runs any more. */
  readonly signal: AbortSignal;
  /** Called when it begins to wait for a person's yes, and when it continues. */
  readonly waits?: (forPerson: boolean) => void;
}

export interface ExecutionEnd {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly output: string | null;
  readonly error: string | null;
  /** Such as inputTokens, outputTokens, cents; null where nothing is counted. */
  readonly usage: Readonly<Record<string, number>> | null;
  readonly sessionId: string | null;
}

export interface Executor {
  /** Why nothing can be begun with this bot now (busy, no key, gone); null where it can. */
  hindrance(botId: string): Promise<string | null>;
  /** Told when a hindrance may be over. */
  onFree(listener: () => void): () => void;
  /** Never throws. */
  run(execution: Execution): Promise<ExecutionEnd>;
}

/** Records of attempts: an agent run each, readable as every other. */
export interface RunRecords {
  /** Usage so far of a run that can no longer report its end; null where nothing was counted. */
  reported(tx: Read, run: { readonly id: string; readonly botId: string }): Readonly<Record<string, number>> | null;
  begin(
    tx: Tx,
    run: { readonly id: string; readonly botId: string; readonly jobId: string; readonly at: number },
  ): void;
  /** Once: with the notice that it has ended, which names the run and the result, and nothing of its content. */
  end(
    tx: Tx,
    id: string,
    end: Pick<ExecutionEnd, 'output' | 'error' | 'usage'> & {
      readonly status: 'completed' | 'failed' | 'cancelled' | 'interrupted';
      readonly at: number;
    },
  ): void;
}

/** The part of the factory that connectors use. */
export interface FactoryPort {
  readonly bots: ConnectorBots;
  readonly tickets: ConnectorTickets;
  readonly executor: Executor;
  readonly runs: RunRecords;
}
