/**
 * What the parts of the phone tell each other: numbers, registration, texts, calls, and the carrier's events between them. Each part
 * implements its own and knows the others by these alone. Must not know routes or the carrier's wire.
 */
import type { Port } from '../../contracts/phone/number.ts';
import type { ConsentBasis, NumberType, SmsState, VoiceState } from '../../contracts/phone/values.ts';
import type { Op, SharedReader, SharedTx } from '../../kit/store/shared-store.ts';

/** A number that somebody has. */
export interface HeldNumber {
  readonly id: string;
  readonly userId: string;
  readonly e164: string;
  readonly type: NumberType;
  readonly country: string;
  readonly locality: string | null;
  readonly monthlyCost: string | null;
  readonly carrier: string;
  /** The carrier's; null until it is ours there. */
  readonly carrierNumberId: string | null;
  readonly profileId: string | null;
  readonly smsState: SmsState;
  readonly voiceState: VoiceState;
  readonly runtimeId: string;
  readonly botId: string;
  readonly botName: string | null;
  readonly port: Port | null;
  /** Milliseconds since the epoch, as all times here. */
  readonly createdAt: number;
}

/** Of the numbers' part. A released number is found by none of these. */
export interface Numbers {
  find(id: string): Promise<HeldNumber | null>;
  /** For the transaction that relies on it. */
  read(tx: SharedReader, id: string): Op<HeldNumber | null>;
  byE164(e164: string): Promise<HeldNumber | null>;
  /** By the relay address; null: revoked, or never was. */
  byAddress(address: string): Promise<HeldNumber | null>;
  ofBot(tx: SharedReader, userId: string, botId: string): Op<readonly HeldNumber[]>;
  ofComputer(computerId: string): Promise<readonly HeldNumber[]>;
  setSmsState(tx: SharedTx, id: string, state: SmsState): Op<void>;
  /** All that carriers should know of; for the daily look. */
  all(): Promise<readonly HeldNumber[]>;
}

/** Bots text from such a number: what comes from it is no word of a person. */
export async function isOfBots(numbers: Pick<Numbers, 'byE164'>, e164: string): Promise<boolean> {
  const number = await numbers.byE164(e164);
  // Until the carrier has given us the number, having ordered it proves nothing.
  return number !== null && number.carrierNumberId !== null;
}

/** What the other parts do when a number comes, moves or goes. Each is repeatable: it is called until it has not thrown. */
export interface NumberHooks {
  /** In the transaction that makes it so. */
  released?(tx: SharedTx, number: HeldNumber): Op<void>;
  moved?(tx: SharedTx, number: HeldNumber, before: { readonly runtimeId: string; readonly botId: string }): Op<void>;
  /** Before the number itself is given up at the carrier: fees of this part end. */
  ending?(number: HeldNumber): Promise<void>;
}

/** One event of the carrier, its signature checked, kept, and brought once or more. */
export interface CarrierEvent {
  readonly id: string;
  /** `message.received`, `10dlc.brand.update`, … */
  readonly type: string;
  readonly occurredAt: number;
  readonly receivedAt: number;
  readonly payload: Readonly<Record<string, unknown>>;
  /** That it was posted to; null: it came to the carrier's address. */
  readonly numberId: string | null;
}

export type Keep = (tx: SharedTx) => Op<unknown>;

/** Takes events whose type begins with `prefix`. In order of arrival within a subject; throwing brings it again later. */
export interface CarrierEventReader {
  readonly prefix: string;
  /** Events of one subject are brought one after another. */
  subject(event: CarrierEvent): string;
  /** What of it may wait in the database until it is brought; absent: all. */
  keep?(payload: CarrierEvent['payload']): CarrierEvent['payload'];
  /**
   * Must be repeatable: the same event may come twice. What is answered is run in the transaction that takes the event off its lane: one
   * commit less an event.
   */
  take(event: CarrierEvent, signal: AbortSignal): Promise<void> | Promise<Keep | undefined>;
}

/** Of the texts' part: who said STOP, and who wrote. `number` is the number's id. */
export interface OptOuts {
  isOptedOut(tx: SharedReader, numberId: string, e164: string): Op<boolean>;
  /** Whether they texted the number first, ever. */
  hasTexted(tx: SharedReader, numberId: string, e164: string): Op<boolean>;
}

/** Of the calls' part. */
export interface Consents {
  /** In the transaction of its cause; `userId` owns the number. */
  record(
    tx: SharedTx,
    consent: { readonly numberId: string; readonly e164: string; readonly source: string; readonly evidence: string },
  ): Op<{ readonly id: string; readonly at: number }>;
  /** Null: none. STOP is not looked at. */
  basisFor(tx: SharedReader, numberId: string, e164: string): Op<ConsentBasis | null>;
}
/**
 * Of the numbers' part: somebody agreed on the page of an invite, and the number they named has to say so itself, by the code that the
 * page shows them. Anybody can type a number into a page.
 */
export interface InviteProofs {
  /** Whether a code is waited for from that phone now. */
  isAwaited(tx: SharedReader, numberId: string, e164: string): Op<boolean>;
  /** `by`: how the code came, for the evidence. False: it is not the code, or too old; nothing was changed. */
  prove(
    tx: SharedTx,
    given: { readonly numberId: string; readonly e164: string; readonly code: string; readonly by: string },
  ): Op<boolean>;
}
/** Called by texts when STOP has come, in its transaction: what waits for that pair ends. */
export type OnStop = (tx: SharedTx, numberId: string, e164: string) => Op<void>;
