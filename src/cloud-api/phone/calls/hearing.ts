/**
 * What the carrier reports about calls: events of their legs, which may be late, repeated or lost, and the outcomes of commands. Must not know who
 * reported it.
 */
import type { Op, SharedTx } from '../../../kit/store/shared-store.ts';
import type { PartDeps } from '../part.ts';
import type { HeldNumber } from '../ports.ts';
import type { CallEnds } from './call-ends.ts';
import type { HeardOnLeg } from './carrier-events.ts';
import { type CommandOutcomes, type Commands, nameLeg, saidStop } from './commands.ts';
import type { Greeter } from './greeter.ts';
import type { CallRow, LegRow } from './model.ts';
import { callOfSession, countLive, findCall, findLeg, legByCarrier, moveCall, moveLeg, noteOnCall } from './store.ts';
import type { createTransfers } from './transfer.ts';

export function createHearing(
  deps: Pick<PartDeps, 'clock'> & {
    readonly commands: Pick<Commands, 'append'>;
    readonly transfers: ReturnType<typeof createTransfers>;
    readonly greeter: Pick<Greeter, 'greet' | 'keyedIn'>;
    readonly ends: CallEnds;
    readonly maxConcurrent: number;
  },
): { hear(tx: SharedTx, event: HeardOnLeg, number: HeldNumber | null): Op<void>; readonly outcomes: CommandOutcomes } {
  const { clock, commands, transfers } = deps;
  const { greet, keyedIn } = deps.greeter;
  const { changed, begin, end, legEnded, hangUp } = deps.ends;

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

  function* hear(tx: SharedTx, event: HeardOnLeg, number: HeldNumber | null): Op<void> {
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
  }

  return { hear, outcomes };
}
