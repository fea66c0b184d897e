/**
 * Whether a call may be made or handed over, and how many. Call references are issued and used up here, and STOP is checked in the same transaction
 * each time. Must not know routes, or how a call continues.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { ConsentBasis } from '../../../contracts/phone/values.ts';
import type { Principal } from '../../../kit/http/types.ts';
import type { Op, SharedTx } from '../../../kit/store/shared-store.ts';
import { refusedDestination } from '../e164.ts';
import type { CallLimits, PartDeps } from '../part.ts';
import type { Consents, HeldNumber, Numbers, OptOuts } from '../ports.ts';
import type { CallRow, ControlAction, TransferMode } from './model.ts';
import type { Refs } from './refs.ts';
import { countLive, dialledSince } from './store.ts';
import type { Targets } from './targets.ts';
import { transferPurpose } from './transfer.ts';
import type { VoiceWorker } from './worker.ts';

interface CallAsked {
  readonly numberId: string;
  readonly to: string;
  readonly botId: string;
  readonly purpose: string;
}

interface ControlAsked {
  readonly action: ControlAction;
  readonly to?: string | undefined;
  readonly mode?: TransferMode | undefined;
  readonly digits?: string | undefined;
}

export interface Calling {
  ask(
    tx: SharedTx,
    by: Principal,
    asked: CallAsked,
  ): Op<{ readonly consentRef: string; readonly expiresAt: number; readonly basis: ConsentBasis }>;
  /** Returns the call's id. `by.userId` `''`: the voice worker, for the person of the reference. */
  dial(tx: SharedTx, by: Principal, consentRef: string): Op<string>;
  /** Returns the reference for a warm transfer. */
  control(tx: SharedTx, by: Principal, call: CallRow, asked: ControlAsked): Op<string | null>;
}

const dayMs = 24 * 60 * 60_000;

type CallingDeps = Pick<PartDeps, 'clock'> & {
  readonly numbers: Pick<Numbers, 'read'>;
  readonly optOuts: Pick<OptOuts, 'isOptedOut'>;
  readonly consents: Pick<Consents, 'basisFor'>;
  readonly refs: Refs;
  readonly targets: Pick<Targets, 'isTarget'>;
  readonly worker: Pick<VoiceWorker, 'dial' | 'control'>;
  readonly limits: CallLimits;
  readonly countries: readonly string[];
};

export function createCalling(deps: CallingDeps): Calling {
  const { numbers, refs } = deps;
  const { reachable, basis, notStopped, roomFor, notTooMany } = createCallRules(deps);

  function* held(tx: SharedTx, by: Principal, numberId: string): Op<HeldNumber> {
    const number = yield* numbers.read(tx, numberId);
    if (number !== null && number.userId === by.userId) return number;
    const fact = `You have no number ${JSON.stringify(numberId)}.`;
    throw new AppError('not_found', fact, 'List your numbers to find it.', { wireCode: 'number_not_found' });
  }

  function* transferRef(tx: SharedTx, call: CallRow, to: string): Op<string> {
    const number = { id: call.numberId, e164: call.ours };
    const about = { numberId: call.numberId, userId: call.userId, botId: call.botId, peer: to, callId: call.id };
    const found = yield* basis(tx, number, to);
    const given = { ...about, kind: 'transfer', purpose: transferPurpose, basis: found } as const;
    return (yield* refs.issue(tx, given)).consentRef;
  }

  return {
    *ask(tx, by, { numberId, to, botId, purpose }) {
      const number = yield* held(tx, by, numberId);
      reachable(to, number.e164);
      if (number.botId !== botId) {
        const fact = `${number.e164} is not the number of the bot ${JSON.stringify(botId)}.`;
        throw new AppError('refused', fact, 'Name the bot of the number, or move the number.', {
          wireCode: 'wrong_bot',
        });
      }
      const found = yield* basis(tx, number, to);
      if (number.voiceState !== 'active') {
        throw new AppError('refused', `${number.e164} cannot call yet.`, 'Wait until the number is active.', {
          status: 409,
          wireCode: 'voice_not_active',
        });
      }
      const about = { numberId, userId: number.userId, botId, peer: to, purpose, basis: found, callId: null };
      return { ...(yield* refs.issue(tx, { ...about, kind: 'call' })), basis: found };
    },
    *dial(tx, by, consentRef) {
      const ref = yield* refs.find(tx, consentRef);
      const isTheirs = ref !== null && (by.userId === ref.userId || (by.kind === 'internal' && by.userId === ''));
      if (ref === null || !isTheirs || ref.kind !== 'call') throw badRef();
      const number = yield* numbers.read(tx, ref.numberId);
      if (number === null || number.userId !== ref.userId || number.botId !== ref.botId) throw badRef();
      yield* notStopped(tx, number, ref.peer);
      yield* roomFor(tx, number);
      if (!(yield* refs.use(tx, ref.hash))) throw badRef();
      return yield* deps.worker.dial(tx, number, ref);
    },
    *control(tx, by, call, { action, to, mode, digits }) {
      if (action === 'dtmf' && digits === undefined) throw bad('digits is missing.', 'Give the keys, such as "12#".');
      if (action !== 'transfer') {
        yield* deps.worker.control(tx, call, { action, digits });
        return null;
      }
      if (to === undefined) throw bad('to is missing.', 'Give the number that takes the call over.');
      if (mode === undefined) throw bad('mode is missing.', 'Say whether it is a warm or a cold transfer.');
      reachable(to, call.ours);
      if (to === call.peer) throw bad(`${to} is already on this call.`, 'Name somebody else.');
      const isPerson = by.kind === 'owner' || by.kind === 'user';
      // Any text may have led a bot to name someone, so a bot may only use the list that its person approved.
      if (!isPerson && !(yield* deps.targets.isTarget(tx, call.userId, call.botId, to))) {
        const fact = `${to} is not a transfer target of the bot ${JSON.stringify(call.botId)}.`;
        throw new AppError('refused', fact, 'Its person can add it to the bot’s targets.', {
          wireCode: 'not_a_target',
        });
      }
      const number = { id: call.numberId, e164: call.ours };
      yield* notStopped(tx, number, to);
      yield* notTooMany(tx, number);
      const consentRef = mode === 'warm' ? yield* transferRef(tx, call, to) : null;
      yield* deps.worker.control(tx, call, { action, transfer: { to, mode, consentRef } });
      return consentRef;
    },
  };
}

/** What every call has to pass: a number that may be called, consent, no STOP, and the limits. */
function createCallRules({
  clock,
  optOuts,
  consents,
  limits,
  countries,
}: Pick<CallingDeps, 'clock' | 'optOuts' | 'consents' | 'limits' | 'countries'>) {
  return { reachable, basis, notStopped, roomFor, notTooMany };

  function reachable(to: string, ours: string): void {
    const wrong = to === ours ? `${to} is the number itself.` : refusedDestination(to, countries);
    if (wrong !== null) throw bad(wrong, 'Give a phone number such as +12025550123 that may be called.');
  }

  /** STOP wins over every consent. */
  function* basis(tx: SharedTx, number: Pick<HeldNumber, 'id' | 'e164'>, to: string): Op<ConsentBasis> {
    yield* notStopped(tx, number, to);
    const found = yield* consents.basisFor(tx, number.id, to);
    if (found !== null) return found;
    const action = 'They have to text or call it first, or you record their consent with evidence.';
    throw noConsent(`${to} has not agreed to be called by ${number.e164}.`, action);
  }

  function* notStopped(tx: SharedTx, { id, e164 }: Pick<HeldNumber, 'id' | 'e164'>, to: string): Op<void> {
    if (yield* optOuts.isOptedOut(tx, id, to))
      throw noConsent(`${to} said STOP to ${e164}.`, 'They have to send START first.');
  }

  function* roomFor(tx: SharedTx, number: HeldNumber): Op<void> {
    const live = yield* countLive(tx, number.userId);
    if (live >= limits.maxConcurrent) {
      const fact = `${live} of your calls are under way, which is the limit.`;
      throw new AppError('refused', fact, 'Wait until one has ended.', { status: 429, wireCode: 'too_many_calls' });
    }
    yield* notTooMany(tx, number);
  }

  function* notTooMany(tx: SharedTx, number: Pick<HeldNumber, 'id' | 'e164'>): Op<void> {
    const now = clock.now();
    const dialled = yield* dialledSince(tx, number.id, now - dayMs, limits.perDay);
    const oldest = dialled.at(-1);
    if (dialled.length < limits.perDay || oldest === undefined) return;
    throw new AppError('refused', `${number.e164} has made ${limits.perDay} calls in 24 hours.`, 'Call later.', {
      status: 429,
      wireCode: 'daily_limit',
      retryAfter: Math.max(1, Math.ceil((oldest + dayMs - now) / 1000)),
    });
  }
}

/** The same refusal whether it never existed, was used, is too old, or is another person's. */
function badRef(): AppError {
  return new AppError(
    'refused',
    'This reference does not allow a call.',
    'Ask for another one: each is valid once, for 30 minutes.',
    {
      wireCode: 'bad_consent_ref',
    },
  );
}

const noConsent = (fact: string, action: string) => new AppError('refused', fact, action, { wireCode: 'no_consent' });
const bad = (fact: string, action: string) => new AppError('usage', fact, action, { wireCode: 'bad_request' });
