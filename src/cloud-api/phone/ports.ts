/**
 * The ports between the parts of the phone: numbers, registration, texts, calls, and the carrier's events between them. Each part implements its own
 * and knows the others only by these. Must not know routes or the carrier's wire.
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
  /** The carrier's id; null until the carrier has given us the number. */
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

/** Implemented by numbers. None of these finds a released number. */
export interface Numbers {
  find(id: string): Promise<HeldNumber | null>;
  /** For the transaction that relies on it. */
  read(tx: SharedReader, id: string): Op<HeldNumber | null>;
  byE164(e164: string): Promise<HeldNumber | null>;
  /** By the relay address; null: revoked or unknown. */
  byAddress(address: string): Promise<HeldNumber | null>;
  ofBot(tx: SharedReader, userId: string, botId: string): Op<readonly HeldNumber[]>;
  ofComputer(computerId: string): Promise<readonly HeldNumber[]>;
  setSmsState(tx: SharedTx, id: string, state: SmsState): Op<void>;
  /** All that carriers should have; for the daily check. */
  all(): Promise<readonly HeldNumber[]>;
}

/** Bots text from such a number, so a text from it is not a person's word. */
export async function isOfBots(numbers: Pick<Numbers, 'byE164'>, e164: string): Promise<boolean> {
  const number = await numbers.byE164(e164);
  // Until the carrier has given us the number, ordering it proves nothing.
  return number !== null && number.carrierNumberId !== null;
}

/** What the other parts do when a number arrives, moves or goes. Each must be repeatable: it is called until it does not throw. */
export interface NumberHooks {
  /** In the transaction that makes it so. */
  released?(tx: SharedTx, number: HeldNumber): Op<void>;
  moved?(tx: SharedTx, number: HeldNumber, before: { readonly runtimeId: string; readonly botId: string }): Op<void>;
  /** Called before the number itself is given up at the carrier: this part's fees end. */
  ending?(number: HeldNumber): Promise<void>;
}

/** One event of the carrier with a verified signature; stored, and delivered at least once. */
export interface CarrierEvent {
  readonly id: string;
  /** `message.received`, `10dlc.brand.update`, … */
  readonly type: string;
  readonly occurredAt: number;
  readonly receivedAt: number;
  readonly payload: Readonly<Record<string, unknown>>;
  /** The number that it was posted to; null: it came to the carrier's address. */
  readonly numberId: string | null;
}

export type Keep = (tx: SharedTx) => Op<unknown>;

/** Handles events whose type begins with `prefix`, in order of arrival within a subject; an event whose handler throws is delivered again later. */
export interface CarrierEventReader {
  readonly prefix: string;
  /** Events of one subject are delivered one after another. */
  subject(event: CarrierEvent): string;
  /** The part of it that may be stored until it is delivered; absent: all. */
  keep?(payload: CarrierEvent['payload']): CarrierEvent['payload'];
  /**
   * Must be repeatable: the same event may come twice. The returned operation runs in the transaction that takes the event off its lane, which saves
   * one commit per event.
   */
  take(event: CarrierEvent, signal: AbortSignal): Promise<void> | Promise<Keep | undefined>;
}

/** Implemented by texts: who said STOP, and who wrote. `number` is the number's id. */
export interface OptOuts {
  isOptedOut(tx: SharedReader, numberId: string, e164: string): Op<boolean>;
  /** Whether they texted the number first, ever. */
  hasTexted(tx: SharedReader, numberId: string, e164: string): Op<boolean>;
}

/** Implemented by calls. */
export interface Consents {
  /** In the transaction of its cause; `userId` owns the number. */
  record(
    tx: SharedTx,
    consent: { readonly numberId: string; readonly e164: string; readonly source: string; readonly evidence: string },
  ): Op<{ readonly id: string; readonly at: number }>;
  /** Null: none. Ignores STOP. */
  basisFor(tx: SharedReader, numberId: string, e164: string): Op<ConsentBasis | null>;
}
/**
 * Implemented by numbers: somebody agreed on the page of an invite, and the named phone has to confirm that itself, by the code that the page shows.
 * Anybody can type a number into a page.
 */
export interface InviteProofs {
  /** Whether a code from that phone is awaited now. */
  isAwaited(tx: SharedReader, numberId: string, e164: string): Op<boolean>;
  /** `by`: how the code came, for the evidence. False: the code is wrong or too old; nothing changed. */
  prove(
    tx: SharedTx,
    given: { readonly numberId: string; readonly e164: string; readonly code: string; readonly by: string },
  ): Op<boolean>;
}
/** Called by texts in the transaction of a STOP: everything that waits for that pair ends. */
export type OnStop = (tx: SharedTx, numberId: string, e164: string) => Op<void>;
