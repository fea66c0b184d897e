/** Reads the carrier's events of calls. Pure. Must not know what becomes of a call. */
import { microUsdOf } from '../fees.ts';
import type { CarrierEvent } from '../ports.ts';

type HeardKind = 'initiated' | 'answered' | 'bridged' | 'hangup' | 'detected' | 'pressed';

export interface HeardOnLeg {
  readonly kind: HeardKind;
  readonly carrierLeg: string;
  readonly sessionId: string;
  readonly incoming: boolean;
  readonly from: string;
  readonly to: string;
  /** The id that we gave a leg when we dialled it. */
  readonly clientState: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly cause: string;
  /** Whether a machine picked it up. */
  readonly machine: boolean;
  /** The key; `''`: none in time; null: the call ended before. */
  readonly digits: string | null;
  readonly attestation: string | null;
}

const kinds: Readonly<Record<string, HeardKind>> = {
  'call.initiated': 'initiated',
  'call.answered': 'answered',
  'call.bridged': 'bridged',
  'call.hangup': 'hangup',
  'call.machine.detection.ended': 'detected',
  'call.machine.premium.detection.ended': 'detected',
  'call.gather.ended': 'pressed',
};

const maxLength = 500;
/** The caller, as {@link import('../../../contracts/phone/values.ts').Sender}. */
const maxSenderLength = 40;
/** Callers choose their own names, which must not break a database. */
const withoutNul = (text: string) => text.replaceAll('\u0000', '');
const textOf = (value: unknown) => (typeof value === 'string' && value.length <= maxLength ? withoutNul(value) : '');

/** A leg's cost, reported some time after its end. */
export interface HeardCost {
  readonly carrierLeg: string;
  readonly microUsd: number;
  readonly seconds: number;
  readonly at: number;
}

/** Null: the event is about something else, or the carrier could not say. */
export function readCallCost({ type, payload, occurredAt }: CarrierEvent): HeardCost | null {
  if (type !== 'call.cost') return null;
  const carrierLeg = textOf(payload.call_control_id);
  const parts = Array.isArray(payload.cost_parts) ? payload.cost_parts : [];
  const foreign = parts.some((part) => (part?.currency ?? 'USD') !== 'USD');
  const microUsd = foreign ? null : microUsdOf(textOf(payload.total_cost));
  if (carrierLeg === '' || microUsd === null) return null;
  const seconds = Number(payload.billed_duration_secs);
  return { carrierLeg, microUsd, seconds: Number.isFinite(seconds) && seconds > 0 ? seconds : 0, at: occurredAt };
}

/** Null: the event does not move a call. */
export function readCallEvent({ type, payload, occurredAt }: CarrierEvent): HeardOnLeg | null {
  const kind = kinds[type];
  const carrierLeg = textOf(payload.call_control_id);
  if (kind === undefined || carrierLeg === '') return null;
  const state = textOf(payload.client_state);
  const result = textOf(payload.result);
  return {
    kind,
    carrierLeg,
    sessionId: textOf(payload.call_session_id),
    incoming: payload.direction === 'incoming',
    from: textOf(payload.from).slice(0, maxSenderLength),
    to: textOf(payload.to),
    clientState: state === '' ? null : withoutNul(Buffer.from(state, 'base64').toString('utf8')),
    at: occurredAt,
    cause: textOf(payload.hangup_cause) || 'unspecified',
    // `not_sure` and `silence` count as people: nobody is hung up on for being quiet.
    machine: result.startsWith('machine') || result.startsWith('fax'),
    digits: textOf(payload.status) === 'call_hangup' ? null : textOf(payload.digits),
    // A number that failed verification counts as none.
    attestation: payload.shaken_stir_validated === false ? null : textOf(payload.shaken_stir_attestation) || null,
  };
}
