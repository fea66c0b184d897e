/** Calls, their legs and a transfer: the fields of each, and its allowed moves, as data. Pure. Must not know rows' SQL or the carrier. */
import type { Call, CallLeg, callStatuses, controlActions } from '../../../contracts/phone/calls.ts';
import type { ConsentBasis } from '../../../contracts/phone/values.ts';
import { iso } from '../../../kit/clock/clock.ts';

type CallStatus = (typeof callStatuses)[number];
type LegState = CallLeg['state'];
export type ControlAction = (typeof controlActions)[number];
type TransferState = NonNullable<Call['transfer']>['state'];
/** Why a transfer failed. */
export type TransferEnding = Exclude<TransferState, 'asking' | 'accepted'>;
export type TransferMode = NonNullable<Call['transfer']>['mode'];

export interface CallRow {
  readonly id: string;
  readonly numberId: string;
  readonly userId: string;
  /** The number itself. */
  readonly ours: string;
  readonly peer: string;
  readonly direction: 'in' | 'out';
  readonly botId: string;
  readonly botName: string | null;
  readonly status: CallStatus;
  readonly muted: number;
  readonly basis: ConsentBasis | null;
  readonly purpose: string | null;
  readonly sessionId: string | null;
  /** How far carriers vouch for the caller: A and B can be trusted. */
  readonly attestation: string | null;
  readonly transferTo: string | null;
  readonly transferMode: TransferMode | null;
  readonly transferState: TransferState | null;
  readonly transferAt: number | null;
  readonly startedAt: number;
  readonly answeredAt: number | null;
  readonly endedAt: number | null;
  readonly endedBecause: string | null;
  readonly lookAt: number;
}

export interface LegRow {
  readonly id: string;
  readonly callId: string;
  readonly role: CallLeg['role'];
  readonly e164: string;
  readonly carrierLeg: string | null;
  readonly state: LegState;
  readonly endedBecause: string | null;
  readonly askedAt: number | null;
  readonly at: number;
}

/** `settle`: the transfer was accepted, or the person is back. */
export const callMoves = {
  answer: { from: ['ringing'], to: 'active' },
  hold: { from: ['active'], to: 'held' },
  resume: { from: ['held'], to: 'active' },
  transfer: { from: ['active', 'held'], to: 'transferring' },
  settle: { from: ['transferring'], to: 'active' },
  end: { from: ['ringing', 'active', 'held', 'transferring'], to: 'ended' },
} as const satisfies Record<string, { from: readonly CallStatus[]; to: CallStatus }>;
export type CallMove = keyof typeof callMoves;

export const legMoves = {
  answer: { from: ['ringing'], to: 'talking' },
  hold: { from: ['talking'], to: 'held' },
  resume: { from: ['held'], to: 'talking' },
  end: { from: ['ringing', 'talking', 'held'], to: 'ended' },
} as const satisfies Record<string, { from: readonly LegState[]; to: LegState }>;
export type LegMove = keyof typeof legMoves;

/** When each control may be given. After a transfer the two talk without the bot: the call can then only be hung up. */
export const openIn: Readonly<Record<ControlAction, readonly CallStatus[]>> = {
  hangup: ['ringing', 'active', 'held', 'transferring'],
  transfer: ['active', 'held'],
  hold: ['active'],
  resume: ['held'],
  mute: ['active', 'held'],
  unmute: ['active', 'held'],
  dtmf: ['active'],
};

export const isHandedOver = ({ status, transferState }: Pick<CallRow, 'status' | 'transferState'>): boolean =>
  status === 'active' && transferState === 'accepted';

/** What the end of a transfer's leg means for the transfer; `answered`: it had been picked up. */
export function outcomeOf(cause: string, answered: boolean): TransferEnding {
  if (cause === 'user_busy') return 'busy';
  if (cause === 'call_rejected') return 'declined';
  if (cause === 'timeout' || cause === 'no_answer' || cause === 'originator_cancel') return 'no_answer';
  return answered && cause === 'normal_clearing' ? 'declined' : 'failed';
}

export const isMissed = ({ direction, answeredAt, endedAt }: CallRow): boolean =>
  direction === 'in' && answeredAt === null && endedAt !== null;

/** Whole seconds that they talked. */
export const durationOf = (answeredAt: number | null, endedAt: number): number =>
  answeredAt === null ? 0 : Math.max(0, Math.round((endedAt - answeredAt) / 1000));

const time = (at: number | null) => (at === null ? null : iso(at));

export function toCall(row: CallRow, legs: readonly LegRow[]): Call {
  const { transferTo: to, transferMode: mode, transferState: state } = row;
  return {
    id: row.id,
    numberId: row.numberId,
    botId: row.botId,
    direction: row.direction,
    with: row.peer,
    status: row.status,
    muted: row.muted === 1,
    basis: row.basis,
    purpose: row.purpose,
    legs: legs.map(({ role, e164, state: now, endedBecause }) => ({ role, e164, state: now, endedBecause })),
    transfer: to === null || mode === null || state === null ? null : { to, mode, state },
    missed: isMissed(row),
    startedAt: iso(row.startedAt),
    answeredAt: time(row.answeredAt),
    endedAt: time(row.endedAt),
    endedBecause: row.endedBecause,
  };
}
