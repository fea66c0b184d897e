/**
 * The voice worker: knows who is on a call and carries out control actions. This one uses the carrier's call control: it answers calls, says who
 * speaks and that it is a machine which answers by text, and stays for control. Another implementation may replace it behind {@link VoiceWorker}.
 * Must not know routes. Who may be called was decided before, except for a warm transfer, which it refuses without a reference of its own.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import type { EventBackbone } from '../../events/backbone.ts';
import type { PartDeps } from '../part.ts';
import type { HeldNumber, InviteProofs } from '../ports.ts';
import type { HeardOnLeg } from './carrier-events.ts';
import { type CommandOutcomes, type Commands, nameLeg, saidStop } from './commands.ts';
import { type CallRow, type ControlAction, durationOf, isHandedOver, isMissed, type LegRow, openIn } from './model.ts';
import type { RefRow, Refs } from './refs.ts';
import {
  addCall,
  addLeg,
  callOfSession,
  countLive,
  findCall,
  findLeg,
  legByCarrier,
  legsOf,
  liveOf,
  moveCall,
  moveLeg,
  noteOnCall,
  noteOnLeg,
  personOf,
} from './store.ts';
import { createTransfers, soonMs, type TransferAsked } from './transfer.ts';
import { askForCode, codeDigits, codeHeard, greeting, type Speaker } from './words.ts';

export interface Control {
  readonly action: ControlAction;
  readonly digits?: string | undefined;
  readonly transfer?: TransferAsked | undefined;
}

export interface VoiceWorker {
  /** Starts a call that a reference, used in the same transaction, allows. Returns its id. */
  dial(tx: SharedTx, number: HeldNumber, ref: RefRow): Op<string>;
  /** Throws 409 `wrong_state`, 403 `no_consent` for a warm transfer without a reference for it. */
  control(tx: SharedTx, call: CallRow, control: Control): Op<void>;
  /** `number`: the number of a new incoming call. */
  hear(tx: SharedTx, event: HeardOnLeg, number: HeldNumber | null): Op<void>;
  /** That leg is over, whatever reported it. */
  legEnded(tx: SharedTx, leg: LegRow, because: string, at: number): Op<void>;
  /** Speaks to legs that were picked up but not spoken to, because the event that tells people from machines was lost. */
  speakUp(tx: SharedTx, call: CallRow, leg: LegRow): Op<void>;
  /** Stops waiting for the target of a transfer. */
  giveUpAsking(tx: SharedTx, call: CallRow): Op<void>;
  hangUp(tx: SharedTx, call: CallRow, because: string | null): Op<void>;
  /** The target sent STOP. */
  stopped(tx: SharedTx, numberId: string, e164: string): Op<void>;
  released(tx: SharedTx, numberId: string): Op<void>;
}

/** Called whenever a call has changed. */
export const callsTopic = 'phone-calls';

export function createVoiceWorker(
  deps: Pick<PartDeps, 'store' | 'clock' | 'ids'> & {
    readonly commands: Pick<Commands, 'append'>;
    readonly refs: Refs;
    readonly invites: InviteProofs;
    readonly events: Pick<EventBackbone, 'emit'>;
    /** The registered business or person of a number. */
    readonly brandOf: (tx: SharedReader, numberId: string) => Op<string | null>;
    readonly maxConcurrent: number;
  },
): VoiceWorker & { readonly outcomes: CommandOutcomes } {
  const { store, clock, ids, commands } = deps;
  const transfers = createTransfers({ ...deps, speaker });

  function changed(tx: SharedTx): void {
    tx.afterCommit(() => store.wake.signal(callsTopic));
  }

  function* speaker(tx: SharedReader, call: CallRow): Op<Speaker> {
    return { botName: call.botName, brand: yield* deps.brandOf(tx, call.numberId) };
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

  function* greet(tx: SharedTx, call: CallRow, leg: LegRow): Op<void> {
    if (leg.askedAt !== null) return;
    yield* noteOnLeg(tx, leg.id, { askedAt: clock.now() });
    const by = yield* speaker(tx, call);
    if (!(yield* awaitsCode(tx, call))) {
      return yield* commands.append(tx, call, { tell: 'speak', leg: leg.id, text: greeting(call, by) });
    }
    // Caller ids can be forged: the caller's number is proven only if its carrier vouches for it.
    if (call.attestation === 'A') {
      return yield* commands.append(tx, call, { tell: 'ask', leg: leg.id, text: askForCode(by), digits: codeDigits });
    }
    const text = `${greeting(call, by)} ${codeHeard.unvouched}`;
    yield* commands.append(tx, call, { tell: 'speak', leg: leg.id, text });
  }

  function* awaitsCode(tx: SharedReader, { direction, numberId, peer }: CallRow): Op<boolean> {
    return direction === 'in' && (yield* deps.invites.isAwaited(tx, numberId, peer));
  }

  /** Keys that a caller pressed when asked for the code of an invite. */
  function* keyedIn(tx: SharedTx, call: CallRow, leg: LegRow, digits: string | null): Op<void> {
    if (digits === null || call.attestation !== 'A' || !(yield* awaitsCode(tx, call))) return;
    if (digits === '') {
      const text = greeting(call, yield* speaker(tx, call));
      return yield* commands.append(tx, call, { tell: 'speak', leg: leg.id, text });
    }
    const by = 'Proven by the code keyed in on a call from that number, for which its carrier vouches.';
    const { numberId, peer: e164 } = call;
    if (yield* deps.invites.prove(tx, { numberId, e164, code: digits, by })) {
      return yield* commands.append(tx, call, { tell: 'speak', leg: leg.id, text: codeHeard.right });
    }
    yield* commands.append(tx, call, { tell: 'ask', leg: leg.id, text: codeHeard.wrong, digits: codeDigits });
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

  /** The leg of an event, which also names it if it had no name; null: not one of ours. */
  function* legOf(tx: SharedTx, event: HeardOnLeg, number: HeldNumber | null): Op<LegRow | null> {
    const known = yield* legByCarrier(tx, event.carrierLeg);
    if (known !== null) return known;
    const dialled = event.clientState === null ? null : yield* findLeg(tx, event.clientState);
    if (dialled !== null && dialled.carrierLeg === null && dialled.e164 === event.to) {
      if (event.sessionId !== '' && dialled.role === 'person') {
        yield* noteOnCall(tx, dialled.callId, { sessionId: event.sessionId });
      }
      if (event.kind !== 'hangup') yield* outcomes.named(tx, dialled, event.carrierLeg);
      else yield* nameLeg(tx, dialled.id, event.carrierLeg);
      return yield* findLeg(tx, dialled.id);
    }
    if (event.kind === 'initiated' && event.incoming && number !== null) return yield* incoming(tx, event, number);
    const session = event.sessionId === '' || event.incoming ? null : yield* callOfSession(tx, event.sessionId);
    return session === null ? null : yield* transfers.adopt(tx, session, event);
  }

  function* incoming(tx: SharedTx, event: HeardOnLeg, number: HeldNumber): Op<LegRow> {
    const isFull = (yield* countLive(tx, number.userId)) >= deps.maxConcurrent;
    const { call, leg } = yield* begin(tx, number, {
      peer: event.from === '' ? 'anonymous' : event.from,
      direction: 'in',
      botId: number.botId,
      basis: null,
      purpose: null,
      ref: null,
      sessionId: event.sessionId || null,
      at: event.at,
      attestation: event.attestation,
      carrierLeg: event.carrierLeg,
    });
    if (isFull) yield* end(tx, call, 'There were too many calls at once.', event.at);
    else yield* commands.append(tx, call, { tell: 'answer', leg: leg.id });
    return leg;
  }

  function* answered(tx: SharedTx, call: CallRow, leg: LegRow, at: number): Op<void> {
    if (!(yield* moveLeg(tx, leg.id, 'answer'))) return;
    changed(tx);
    if (leg.role === 'consult') return;
    yield* moveCall(tx, call.id, 'answer', { answeredAt: Math.max(at, call.startedAt) });
    // A caller is a person; about a callee the carrier reports that a moment later.
    if (call.direction === 'in') yield* greet(tx, { ...call, status: 'active' }, leg);
  }

  function* detected(tx: SharedTx, call: CallRow, leg: LegRow, { machine, at }: HeardOnLeg): Op<void> {
    yield* answered(tx, call, leg, at);
    const now = (yield* findCall(tx, call.id)) ?? call;
    if (leg.role === 'consult') yield* transfers.picked(tx, now, (yield* findLeg(tx, leg.id)) ?? leg, machine);
    else if (machine) yield* hangUp(tx, now, 'A voicemail answered.');
    else yield* greet(tx, now, leg);
  }

  const outcomes: CommandOutcomes = {
    *named(tx, leg, carrierLeg) {
      yield* nameLeg(tx, leg.id, carrierLeg);
      changed(tx);
      const call = yield* findCall(tx, leg.callId);
      // It ended before the carrier had named it.
      if (call !== null && leg.state === 'ended') yield* commands.append(tx, call, { tell: 'hangup', leg: leg.id });
    },
    *answered(tx, call, leg) {
      // The carrier reports it as well, but that event may be lost.
      if (call.status !== 'ended') yield* answered(tx, call, leg, clock.now());
    },
    *bridged(tx, call) {
      yield* transfers.bridged(tx, call);
      changed(tx);
    },
    over: (tx, leg, because) =>
      because === saidStop && leg.role === 'consult'
        ? transfers.stopped(tx, leg)
        : legEnded(tx, leg, because, clock.now()),
    *failed(tx, call, command, because) {
      if (command.tell === 'bridge' || command.tell === 'transfer') {
        yield* transfers.settle(tx, call, because === saidStop ? 'stopped' : 'failed');
      } else if (command.tell === 'answer') yield* end(tx, call, because, clock.now());
      changed(tx);
    },
  };

  return {
    outcomes,
    legEnded,
    hangUp,
    *dial(tx, number, { peer, purpose, basis, botId, hash }) {
      const about = {
        peer,
        purpose,
        basis,
        botId,
        ref: hash,
        direction: 'out',
        sessionId: null,
        attestation: null,
      } as const;
      const { call, leg } = yield* begin(tx, number, { ...about, carrierLeg: null, at: clock.now() });
      yield* commands.append(tx, call, { tell: 'dial', leg: leg.id });
      return call.id;
    },
    *control(tx, call, { action, digits = '', transfer }) {
      const person = yield* personOf(tx, call.id);
      if (person === null) throw new Error(`The call ${call.id} has nobody on it.`);
      if (!openIn[action].includes(call.status) || (isHandedOver(call) && action !== 'hangup'))
        throw wrongState(call, action);
      changed(tx);
      const leg = person.id;
      switch (action) {
        case 'hangup':
          return yield* hangUp(tx, call, null);
        case 'hold':
        case 'resume':
          yield* moveCall(tx, call.id, action);
          yield* moveLeg(tx, leg, action);
          return yield* commands.append(tx, call, { tell: action, leg });
        case 'mute':
        case 'unmute':
          if ((call.muted === 1) === (action === 'mute')) throw wrongState(call, action);
          yield* noteOnCall(tx, call.id, { muted: action === 'mute' ? 1 : 0 });
          // The person on hold hears music, which continues.
          if (call.status === 'held') return;
          return yield* commands.append(tx, call, { tell: action, leg });
        case 'dtmf':
          return yield* commands.append(tx, call, { tell: 'dtmf', leg, digits });
        case 'transfer':
          if (transfer === undefined) throw new Error('A transfer without a target.');
          yield* transfers.begin(tx, call, person, transfer);
      }
    },
    *hear(tx, event, number) {
      const leg = yield* legOf(tx, event, number);
      const call = leg === null ? null : yield* findCall(tx, leg.callId);
      if (leg === null || call === null) return;
      if (event.kind === 'hangup') return yield* legEnded(tx, leg, event.cause, event.at);
      // A late or repeated event moves nothing.
      if (call.status === 'ended' || leg.state === 'ended') return;
      if (event.kind === 'answered') yield* answered(tx, call, leg, event.at);
      else if (event.kind === 'detected') yield* detected(tx, call, leg, event);
      else if (event.kind === 'bridged') {
        // Events come for both legs. One of the person may be late, and of an earlier transfer.
        if (leg.role === 'consult') yield* outcomes.bridged(tx, call);
      } else if (event.kind === 'pressed') {
        if (leg.role === 'person') yield* keyedIn(tx, call, leg, event.digits);
        else yield* transfers.pressed(tx, call, leg, event.digits);
      }
    },
    *speakUp(tx, call, leg) {
      if (leg.state !== 'talking' || leg.askedAt !== null) return;
      if (leg.role === 'consult') yield* transfers.picked(tx, call, leg, false);
      else if (!isHandedOver(call)) yield* greet(tx, call, leg);
    },
    *giveUpAsking(tx, call) {
      yield* transfers.giveUp(tx, call);
      changed(tx);
    },
    *stopped(tx, numberId, e164) {
      for (const call of yield* liveOf(tx, numberId)) {
        if (call.direction === 'out' && call.peer === e164 && call.status === 'ringing')
          yield* hangUp(tx, call, saidStop);
        else if (call.transferTo === e164 && call.transferState === 'asking') {
          yield* transfers.settle(tx, call, 'stopped');
          changed(tx);
        }
      }
    },
    *released(tx, numberId) {
      for (const call of yield* liveOf(tx, numberId)) yield* end(tx, call, 'The number was released.', clock.now());
    },
  };
}

function wrongState(call: CallRow, action: ControlAction): AppError {
  const is = isHandedOver(call)
    ? 'was handed over, and the bot has left it'
    : action === 'mute' && call.muted === 1
      ? 'is already muted'
      : action === 'unmute' && call.muted === 0
        ? 'is not muted'
        : `is ${call.status}`;
  return new AppError('refused', `This call ${is}: ${action} cannot be done now.`, 'Check its status first.', {
    status: 409,
    wireCode: 'wrong_state',
  });
}
