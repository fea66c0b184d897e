/**
 * The beginning and the end of a call: a row for it and its person, and one end, whatever brought it, which hangs up every leg and is reported once. Must
 * not know events of the carrier.
 */
import type { Op, SharedTx } from '../../../kit/store/shared-store.ts';
import type { EventBackbone } from '../../events/backbone.ts';
import type { PartDeps } from '../part.ts';
import type { HeldNumber } from '../ports.ts';
import type { Commands } from './commands.ts';
import { type CallRow, durationOf, isMissed, type LegRow } from './model.ts';
import { addCall, addLeg, findCall, legsOf, moveCall, moveLeg } from './store.ts';
import { type createTransfers, soonMs } from './transfer.ts';

export type CallEnds = ReturnType<typeof createCallEnds>;

/** Called whenever a call has changed. */
export const callsTopic = 'phone-calls';

export function createCallEnds(
  deps: Pick<PartDeps, 'store' | 'clock' | 'ids'> & {
    readonly commands: Pick<Commands, 'append'>;
    readonly transfers: Pick<ReturnType<typeof createTransfers>, 'legEnded'>;
    readonly events: Pick<EventBackbone, 'emit'>;
  },
) {
  const { store, clock, ids, commands, transfers } = deps;

  function changed(tx: SharedTx): void {
    tx.afterCommit(() => store.wake.signal(callsTopic));
  }

  function* begin(
    tx: SharedTx,
    number: HeldNumber,
    about: Pick<CallRow, 'peer' | 'direction' | 'basis' | 'purpose' | 'sessionId' | 'attestation'> & {
      readonly botId: string;
      readonly ref: string | null;
      readonly carrierLeg: string | null;
      readonly at: number;
    },
  ): Op<{ readonly call: CallRow; readonly leg: LegRow }> {
    const { carrierLeg, at, ...rest } = about;
    const { id: numberId, userId, e164: ours, botName } = number;
    const id = ids.next('call');
    const of = { id, numberId, userId, ours, botName, startedAt: at, lookAt: clock.now() + soonMs };
    const call = yield* addCall(tx, { ...of, ...rest });
    const leg = { id: ids.next('leg'), callId: id, role: 'person', e164: about.peer, carrierLeg, at } as const;
    changed(tx);
    return { call, leg: yield* addLeg(tx, leg) };
  }

  function* end(tx: SharedTx, call: CallRow, because: string, at: number): Op<void> {
    const endedAt = Math.max(at, call.answeredAt ?? call.startedAt);
    const open = call.transferState === 'asking' ? ({ transferState: 'failed' } as const) : {};
    if (!(yield* moveCall(tx, call.id, 'end', { endedAt, endedBecause: because, ...open }))) return;
    for (const leg of yield* legsOf(tx, call.id)) {
      if (!(yield* moveLeg(tx, leg.id, 'end', { endedBecause: 'The call was over.' }))) continue;
      if (leg.carrierLeg !== null) yield* commands.append(tx, call, { tell: 'hangup', leg: leg.id });
    }
    const ended = { ...call, endedAt };
    yield* deps.events.emit(tx, {
      userId: call.userId,
      type: 'call.ended',
      sourceId: call.id,
      occurredAt: endedAt,
      data: {
        callId: call.id,
        numberId: call.numberId,
        botId: call.botId,
        ...(call.botName === null ? {} : { botName: call.botName }),
        durationSec: durationOf(call.answeredAt, endedAt),
        missed: isMissed(ended),
      },
    });
    changed(tx);
  }

  function* legEnded(tx: SharedTx, leg: LegRow, because: string, at: number): Op<void> {
    if (!(yield* moveLeg(tx, leg.id, 'end', { endedBecause: because }))) return;
    changed(tx);
    const call = yield* findCall(tx, leg.callId);
    if (call === null || call.status === 'ended') return;
    if (leg.role === 'person') yield* end(tx, call, because, at);
    else yield* transfers.legEnded(tx, call, leg, because);
  }

  function* hangUp(tx: SharedTx, call: CallRow, because: string | null): Op<void> {
    const ringing = call.status === 'ringing' ? 'originator_cancel' : 'It was hung up here.';
    yield* end(tx, call, because ?? ringing, clock.now());
  }

  return { changed, begin, end, legEnded, hangUp };
}
