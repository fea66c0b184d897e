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
import { createCallEnds } from './call-ends.ts';
import type { HeardOnLeg } from './carrier-events.ts';
import { type CommandOutcomes, type Commands, saidStop } from './commands.ts';
import { createGreeter } from './greeter.ts';
import { createHearing } from './hearing.ts';
import { type CallRow, type ControlAction, isHandedOver, type LegRow, openIn } from './model.ts';
import type { RefRow, Refs } from './refs.ts';
import { liveOf, moveCall, moveLeg, noteOnCall, personOf } from './store.ts';
import { createTransfers, type TransferAsked } from './transfer.ts';

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
  const { clock, commands } = deps;
  const greeter = createGreeter(deps);
  const transfers = createTransfers({ ...deps, speaker: greeter.speaker });
  const ends = createCallEnds({ ...deps, transfers });
  const { changed, begin, end, legEnded, hangUp } = ends;
  const { hear, outcomes } = createHearing({ ...deps, transfers, greeter, ends });

  return {
    outcomes,
    legEnded,
    hangUp,
    hear,
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
    *speakUp(tx, call, leg) {
      if (leg.state !== 'talking' || leg.askedAt !== null) return;
      if (leg.role === 'consult') yield* transfers.picked(tx, call, leg, false);
      else if (!isHandedOver(call)) yield* greeter.greet(tx, call, leg);
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
