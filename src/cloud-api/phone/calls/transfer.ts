/**
 * Hands a call over. Warm: the person waits with music, the target hears who calls and why and accepts or declines, then the two are joined and the
 * bot leaves. Cold: the carrier dials and joins. If the transfer fails in any way, the person is brought back and told. Must not know routes.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import type { PartDeps } from '../part.ts';
import type { HeardOnLeg } from './carrier-events.ts';
import { type Commands, saidStop } from './commands.ts';
import { type CallRow, type LegRow, outcomeOf, type TransferEnding, type TransferMode } from './model.ts';
import type { Refs } from './refs.ts';
import { addLeg, consultOf, findCall, findLeg, moveCall, moveLeg, noteOnCall, noteOnLeg, personOf } from './store.ts';
import { comeBack, question, type Speaker } from './words.ts';

export interface TransferAsked {
  readonly to: string;
  readonly mode: TransferMode;
  /** A warm transfer needs it; it is used up here. */
  readonly consentRef: string | null;
}

interface Transfers {
  begin(tx: SharedTx, call: CallRow, person: LegRow, asked: TransferAsked): Op<void>;
  /** The target has picked up, or a machine has. */
  picked(tx: SharedTx, call: CallRow, leg: LegRow, machine: boolean): Op<void>;
  /** `digits` null: the leg ended before. */
  pressed(tx: SharedTx, call: CallRow, leg: LegRow, digits: string | null): Op<void>;
  bridged(tx: SharedTx, call: CallRow): Op<void>;
  legEnded(tx: SharedTx, call: CallRow, leg: LegRow, because: string): Op<void>;
  /** It failed: the person is brought back and told. */
  settle(tx: SharedTx, call: CallRow, as: TransferEnding): Op<void>;
  /** It has taken too long. */
  giveUp(tx: SharedTx, call: CallRow): Op<void>;
  stopped(tx: SharedTx, leg: LegRow): Op<void>;
  /** A leg that the carrier dialled itself; null: it does not belong to this call. */
  adopt(tx: SharedTx, call: CallRow, event: HeardOnLeg): Op<LegRow | null>;
}

export const transferPurpose = 'transfer';
/** A call that changes is checked again this soon: an event may be lost. */
export const soonMs = 20_000;

export function createTransfers({
  clock,
  ids,
  commands,
  refs,
  speaker,
}: Pick<PartDeps, 'clock' | 'ids'> & {
  readonly commands: Pick<Commands, 'append'>;
  readonly refs: Pick<Refs, 'find' | 'use'>;
  readonly speaker: (tx: SharedReader, call: CallRow) => Op<Speaker>;
}): Transfers {
  function* begin(tx: SharedTx, call: CallRow, person: LegRow, { to, mode, consentRef }: TransferAsked): Op<void> {
    if (mode === 'warm') yield* takeRef(tx, call, to, consentRef);
    const at = clock.now();
    const facts = { transferTo: to, transferMode: mode, transferState: 'asking', transferAt: at } as const;
    yield* moveCall(tx, call.id, 'transfer', { ...facts, lookAt: at + soonMs });
    if (mode === 'cold') {
      if (yield* moveLeg(tx, person.id, 'resume')) yield* commands.append(tx, call, { tell: 'resume', leg: person.id });
      return yield* commands.append(tx, call, { tell: 'transfer', leg: person.id, to });
    }
    if (yield* moveLeg(tx, person.id, 'hold')) yield* commands.append(tx, call, { tell: 'hold', leg: person.id });
    const leg = { id: ids.next('leg'), callId: call.id, role: 'consult', e164: to, carrierLeg: null } as const;
    yield* addLeg(tx, { ...leg, at });
    yield* commands.append(tx, call, { tell: 'dial', leg: leg.id });
  }

  function* takeRef(tx: SharedTx, call: CallRow, to: string, consentRef: string | null): Op<void> {
    const ref = consentRef === null ? null : yield* refs.find(tx, consentRef);
    const fits = ref?.kind === 'transfer' && ref.callId === call.id && ref.peer === to;
    if (fits && (yield* refs.use(tx, ref.hash))) return;
    throw new AppError('refused', `No reference allows a warm transfer to ${to}.`, 'Ask for the transfer again.', {
      wireCode: 'no_consent',
    });
  }

  function* settle(tx: SharedTx, call: CallRow, as: TransferEnding): Op<void> {
    const now = yield* findCall(tx, call.id);
    if (now === null || now.transferState !== 'asking') return;
    const back = { transferState: as, muted: 0 } as const;
    if (!(yield* moveCall(tx, call.id, 'settle', back))) return;
    const consult = yield* consultOf(tx, call.id);
    if (consult !== null) {
      yield* moveLeg(tx, consult.id, 'end', { endedBecause: as === 'stopped' ? saidStop : 'They were hung up.' });
      if (consult.carrierLeg !== null) yield* commands.append(tx, call, { tell: 'hangup', leg: consult.id });
    }
    const person = yield* personOf(tx, call.id);
    if (person === null) return;
    if (yield* moveLeg(tx, person.id, 'resume')) yield* commands.append(tx, call, { tell: 'resume', leg: person.id });
    yield* commands.append(tx, call, { tell: 'speak', leg: person.id, text: comeBack[as] });
  }

  function* bridged(tx: SharedTx, call: CallRow): Op<void> {
    const consult = yield* consultOf(tx, call.id);
    if (call.transferState !== 'asking' || consult === null) return;
    yield* moveCall(tx, call.id, 'settle', { transferState: 'accepted' });
    yield* moveLeg(tx, consult.id, 'answer');
  }

  const isAsked = (call: CallRow, leg: LegRow) =>
    call.transferState === 'asking' && leg.role === 'consult' && leg.state !== 'ended';

  return {
    begin,
    settle,
    *picked(tx, call, leg, machine) {
      if (!isAsked(call, leg) || call.transferMode !== 'warm') return;
      if (machine) return yield* settle(tx, call, 'voicemail');
      if (leg.askedAt !== null) return;
      yield* noteOnLeg(tx, leg.id, { askedAt: clock.now() });
      const text = question(call, yield* speaker(tx, call));
      yield* commands.append(tx, call, { tell: 'ask', leg: leg.id, text });
    },
    *pressed(tx, call, leg, digits) {
      if (digits === null || !isAsked(call, leg) || call.transferMode !== 'warm') return;
      if (digits === '') return yield* settle(tx, call, 'no_answer');
      if (digits === '2') return yield* settle(tx, call, 'declined');
      if (digits !== '1') {
        const text = question(call, yield* speaker(tx, call));
        return yield* commands.append(tx, call, { tell: 'ask', leg: leg.id, text });
      }
      const person = yield* personOf(tx, call.id);
      if (person === null) return;
      // The music would continue under their conversation.
      if (yield* moveLeg(tx, person.id, 'resume')) yield* commands.append(tx, call, { tell: 'resume', leg: person.id });
      yield* commands.append(tx, call, { tell: 'bridge', leg: person.id, other: leg.id });
    },
    bridged,
    *giveUp(tx, call) {
      const consult = yield* consultOf(tx, call.id);
      // The carrier itself joins a cold one once it is picked up: only the event was lost.
      if (call.transferMode === 'cold' && consult?.state === 'talking') yield* bridged(tx, call);
      else yield* settle(tx, call, 'no_answer');
    },
    *legEnded(tx, call, leg, because) {
      if (call.transferState === 'asking') {
        yield* settle(tx, call, outcomeOf(because, leg.state === 'talking'));
      } else if (call.transferState === 'accepted') {
        // They were joined: the one who is left is hung up as well, unless the carrier did it.
        const person = yield* personOf(tx, call.id);
        if (person !== null) yield* commands.append(tx, call, { tell: 'hangup', leg: person.id });
      }
    },
    *stopped(tx, leg) {
      const call = yield* findCall(tx, leg.callId);
      if (call !== null && isAsked(call, leg)) yield* settle(tx, call, 'stopped');
    },
    *adopt(tx, call, event) {
      if (call.transferMode !== 'cold' || call.transferTo !== event.to) return null;
      const id = ids.next('leg');
      const leg = { id, callId: call.id, role: 'consult', e164: event.to, carrierLeg: event.carrierLeg } as const;
      const added = yield* addLeg(tx, { ...leg, at: event.at });
      if (call.status !== 'ended' && call.transferState === 'asking') return added;
      yield* moveLeg(tx, id, 'end', { endedBecause: 'The call was over.' });
      if (event.kind !== 'hangup') yield* commands.append(tx, call, { tell: 'hangup', leg: id });
      yield* noteOnCall(tx, call.id, { lookAt: clock.now() });
      return yield* findLeg(tx, id);
    },
  };
}
