/**
 * The commands to the carrier about a call: rows of a lane, appended with the change that causes them, so that a killed process loses none; the
 * carrier obeys a command repeated with its id only once. Hanging up waits behind nothing. The transaction before it rings decides who may be
 * dialled: STOP wins over anything begun before. Must not know why a command was given.
 */
import type { LaneItem, SharedLaneOutcome, SharedLanes } from '../../../kit/lane/lane.ts';
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import type { PaidSteps } from '../carrier/paid-steps.ts';
import { type CarrierCalls, CarrierFault, isUnreached } from '../carrier/port.ts';
import type { PartDeps } from '../part.ts';
import type { Numbers, OptOuts } from '../ports.ts';
import type { CallRow, LegRow } from './model.ts';
import { findCall, findLeg, legByCarrier, noteOnCall, noteOnLeg } from './store.ts';

type Command =
  | { readonly tell: 'dial' | 'answer' | 'hangup' | 'hold' | 'resume' | 'mute' | 'unmute'; readonly leg: string }
  | { readonly tell: 'speak'; readonly leg: string; readonly text: string }
  /** `digits`: how many keys to wait for; one in older rows without it. */
  | { readonly tell: 'ask'; readonly leg: string; readonly text: string; readonly digits?: number }
  | { readonly tell: 'dtmf'; readonly leg: string; readonly digits: string }
  | { readonly tell: 'bridge'; readonly leg: string; readonly other: string }
  | { readonly tell: 'transfer'; readonly leg: string; readonly to: string };

/** The results of commands, in the transaction that takes them out of the lane. */
export interface CommandOutcomes {
  /** The carrier has named the leg. */
  named(tx: SharedTx, leg: LegRow, carrierLeg: string): Op<void>;
  /** The incoming call was answered. */
  answered(tx: SharedTx, call: CallRow, leg: LegRow): Op<void>;
  bridged(tx: SharedTx, call: CallRow): Op<void>;
  /** That leg is over at the carrier, or never existed. `because`: a sentence. */
  over(tx: SharedTx, leg: LegRow, because: string): Op<void>;
  /** It failed, and the leg continues. */
  failed(tx: SharedTx, call: CallRow, command: Command, because: string): Op<void>;
}

export interface Commands {
  append(tx: SharedTx, call: Pick<CallRow, 'id' | 'userId'>, command: Command): Op<void>;
  /** `outcomes`: who hears of each command's outcome. */
  start(outcomes: CommandOutcomes): Promise<void>;
  close(): Promise<void>;
}

const backoffMs = [1_000, 2_000, 5_000, 15_000];
/** Somebody waits on the line: a later command is of no use. */
const retentionMs = 60_000;
/** Longer than any call: a line that is not hung up costs money. */
const hangupRetentionMs = 5 * 60 * 60_000;
/** How long it rings. */
const ringSeconds = 40;
const consultSeconds = 25;
const notAnsweredYet = '90034';

export const saidStop = 'They said STOP.';

/** The carrier was not asked. */
class Withheld extends CarrierFault {
  constructor(because: string) {
    super('gone', because);
  }
}

interface Placed {
  readonly legId: string;
  readonly sessionId: string;
}

type CommandsDeps = Pick<PartDeps, 'store' | 'clock' | 'ids' | 'log' | 'openLanes'> & {
  readonly calls: CarrierCalls;
  readonly steps: Pick<PaidSteps, 'run'>;
  readonly numbers: Pick<Numbers, 'read'>;
  readonly optOuts: Pick<OptOuts, 'isOptedOut'>;
  readonly webhookUrl: string;
};

export function createCommands(deps: CommandsDeps): Commands {
  const { store, clock, calls, steps, log } = deps;
  const { findPlaced, place, allowed } = createDialling(deps);
  let told: CommandOutcomes | null = null;
  const lanes: SharedLanes = deps.openLanes({ name: 'calls', send, onExpired, backoffMs, parallel: 32 });

  /** Nothing is sent before the start. */
  function outcomes(): CommandOutcomes {
    if (told === null) throw new Error('A command was sent before the start.');
    return told;
  }

  async function send(item: LaneItem): Promise<SharedLaneOutcome> {
    const command = item.body as Command;
    const leg = await store.read((tx) => findLeg(tx, command.leg));
    if (leg === null) return { to: 'done' };
    try {
      if (command.tell === 'dial') return await dial(leg);
      // The dialling step itself hangs up a leg that has ended in between.
      if (leg.carrierLeg === null || (leg.state === 'ended' && command.tell !== 'hangup')) return { to: 'done' };
      // The other leg was released in between: hanging up on them now would hang up on both.
      if (command.tell === 'bridge' && (await store.read((tx) => hasLeft(tx, command.other)))) return { to: 'done' };
      await obey(leg, leg.carrierLeg, command, item.id);
    } catch (fault) {
      if (!(fault instanceof CarrierFault)) throw fault;
      return refused(leg, command, fault);
    }
    if (command.tell === 'answer') return { to: 'done', commit: (tx) => isAnswered(tx, leg) };
    if (command.tell !== 'bridge') return { to: 'done' };
    return {
      to: 'done',
      *commit(tx) {
        // The current transfer may be another one.
        if (!(yield* hasLeft(tx, command.other))) yield* withCall(tx, leg, (call) => outcomes().bridged(tx, call));
      },
    };
  }

  function* hasLeft(tx: SharedReader, legId: string): Op<boolean> {
    return (yield* findLeg(tx, legId))?.state === 'ended';
  }

  async function dial(leg: LegRow): Promise<SharedLaneOutcome> {
    const placed = await steps.run<Placed>(`dial:${leg.id}`, {
      find: () => findPlaced(leg.id),
      act: () => place(leg.id),
    });
    return {
      to: 'done',
      *commit(tx) {
        const now = yield* findLeg(tx, leg.id);
        if (now === null) return;
        if (leg.role === 'person') yield* noteOnCall(tx, leg.callId, { sessionId: placed.sessionId });
        // An event of the carrier may have named it before.
        if (now.carrierLeg === null) yield* outcomes().named(tx, now, placed.legId);
      },
    };
  }

  async function obey(leg: LegRow, at: string, command: Exclude<Command, { tell: 'dial' }>, key: string) {
    switch (command.tell) {
      case 'speak':
        return calls.speak(at, command.text, key);
      case 'ask':
        return calls.ask(at, command.text, command.digits ?? 1, key);
      case 'dtmf':
        return calls.dtmf(at, command.digits, key);
      case 'bridge': {
        const other = await store.read((tx) => findLeg(tx, command.other));
        if (other?.carrierLeg == null) throw new CarrierFault('service', 'The other leg is not known.');
        return calls.bridge(at, other.carrierLeg, key);
      }
      case 'transfer':
        await steps.run<true>(`transfer:${key}`, {
          // Its leg would have sent events; repeated with the same key, it is the same transfer.
          find: async () => null,
          async act() {
            const { call } = await allowed(leg.id, () => command.to);
            await calls.transfer(at, { to: command.to, from: call.ours, key });
            return true;
          },
        });
        return;
      default:
        return calls[command.tell as 'answer' | 'hangup' | 'hold' | 'resume' | 'mute' | 'unmute'](at, key);
    }
  }

  function refused(leg: LegRow, command: Command, fault: CarrierFault): SharedLaneOutcome {
    const { tell } = command;
    if (fault.kind === 'unknown') {
      const at = fault.retryAfter === null ? undefined : clock.now() + fault.retryAfter * 1000;
      return { to: 'retry', reason: fault.message, ...(at === undefined ? {} : { at }) };
    }
    if (fault.code === notAnsweredYet || isUnreached(fault)) {
      return { to: 'retry', reason: fault.message };
    }
    if (tell === 'hangup') return { to: 'retry', reason: fault.message };
    const stays = tell === 'transfer' && fault instanceof Withheld;
    if (fault.kind === 'gone' && !stays && tell !== 'bridge') {
      const because = fault instanceof Withheld ? fault.message : 'The carrier says that the call is over.';
      return { to: 'done', commit: (tx) => isOver(tx, leg, because) };
    }
    log.warn('The carrier refused a command for a call.', { call: leg.callId, tell, code: fault.code });
    return { to: 'done', commit: (tx) => isRefused(tx, leg, command, fault.message) };
  }

  function* isAnswered(tx: SharedTx, { id }: LegRow): Op<void> {
    const leg = yield* findLeg(tx, id);
    if (leg !== null) yield* withCall(tx, leg, (call) => outcomes().answered(tx, call, leg));
  }

  function* isOver(tx: SharedTx, { id }: LegRow, because: string): Op<void> {
    const leg = yield* findLeg(tx, id);
    if (leg !== null) yield* outcomes().over(tx, leg, because);
  }

  function* isRefused(tx: SharedTx, leg: LegRow, command: Command, because: string): Op<void> {
    if (command.tell === 'dial') yield* isOver(tx, leg, because);
    else yield* withCall(tx, leg, (call) => outcomes().failed(tx, call, command, because));
  }

  function* withCall(tx: SharedTx, leg: LegRow, act: (call: CallRow) => Op<void>): Op<void> {
    const call = yield* findCall(tx, leg.callId);
    if (call !== null) yield* act(call);
  }

  function* onExpired(tx: SharedTx, { body }: LaneItem): Op<void> {
    const command = body as Command;
    const leg = yield* findLeg(tx, command.leg);
    if (leg !== null) yield* isRefused(tx, leg, command, 'The carrier gave no answer in time.');
  }

  return {
    *append(tx, call, command) {
      const ends = command.tell === 'hangup';
      yield* lanes.append(tx, {
        lane: ends ? `${call.id}/end` : call.id,
        id: deps.ids.next('command'),
        body: command,
        deadline: clock.now() + (ends ? hangupRetentionMs : retentionMs),
        person: call.userId,
      });
    },
    async start(outcomes) {
      told = outcomes;
      await lanes.start();
    },
    close: () => lanes.close(),
  };
}

/** Lets a leg ring. The transaction before it decides whether that number may ring now. */
function createDialling(deps: Pick<CommandsDeps, 'store' | 'calls' | 'numbers' | 'optOuts' | 'webhookUrl'>) {
  const { store, calls } = deps;

  return { findPlaced, place, allowed };

  /** An event of the carrier said that it rings. Only the first event sets its session. */
  async function findPlaced(id: string): Promise<Placed | null> {
    return store.read(function* (tx) {
      const leg = yield* findLeg(tx, id);
      const sessionId = leg === null ? null : ((yield* findCall(tx, leg.callId))?.sessionId ?? null);
      return leg?.carrierLeg == null || sessionId === null ? null : { legId: leg.carrierLeg, sessionId };
    });
  }

  async function place(id: string): Promise<Placed> {
    const { call, leg, linkTo } = await allowed(id, (leg) => leg.e164);
    return calls.dial({
      from: call.ours,
      to: leg.e164,
      key: leg.id,
      clientState: leg.id,
      webhookUrl: deps.webhookUrl,
      ...(linkTo === null ? {} : { linkTo }),
      timeoutSeconds: leg.role === 'person' ? ringSeconds : consultSeconds,
      detectVoicemail: true,
    });
  }

  /** Throws {@link Withheld} if that number must not ring now. */
  async function allowed(id: string, toOf: (leg: LegRow) => string) {
    const checked = await store.write(function* (tx) {
      const leg = yield* findLeg(tx, id);
      const call = leg === null ? null : yield* findCall(tx, leg.callId);
      if (leg === null || call === null || leg.state === 'ended' || call.status === 'ended')
        return 'The call has ended.';
      if ((yield* deps.numbers.read(tx, call.numberId)) === null) return 'The number was released.';
      if (yield* deps.optOuts.isOptedOut(tx, call.numberId, toOf(leg))) return saidStop;
      const person = leg.role === 'person' ? null : yield* legOfPerson(tx, call.id);
      return { call, leg, linkTo: person?.carrierLeg ?? null };
    });
    if (typeof checked === 'string') throw new Withheld(checked);
    return checked;
  }

  function* legOfPerson(tx: SharedTx, callId: string): Op<LegRow | null> {
    const sql = `SELECT carrier_leg AS "carrierLeg" FROM phone_call_leg WHERE call_id = ? AND role = 'person'`;
    const row = yield* tx.get<{ carrierLeg: string | null }>(sql, callId);
    return row?.carrierLeg == null ? null : yield* legByCarrier(tx, row.carrierLeg);
  }
}

/** For {@link CommandOutcomes.named}. */
export const nameLeg = (tx: SharedTx, id: string, carrierLeg: string): Op<void> => noteOnLeg(tx, id, { carrierLeg });
