/** The routes of calls, bound to the code behind them. Must not know the carrier. */
import { AppError } from '../../../contracts/common/errors.ts';
import * as contract from '../../../contracts/phone/calls.ts';
import { type Clock, iso } from '../../../kit/clock/clock.ts';
import { cursorOf, placeOf } from '../../../kit/http/place.ts';
import { type BoundRoute, bind, type Principal } from '../../../kit/http/types.ts';
import type { SharedStore } from '../../../kit/store/shared-store.ts';
import { refusedDestination } from '../e164.ts';
import { callsTopic } from './call-ends.ts';
import type { Calling } from './calling.ts';
import { saidStop } from './commands.ts';
import { type ConsentLog, toConsent } from './consents.ts';
import { toCall } from './model.ts';
import { findCall, legsOf, listCalls, personOf } from './store.ts';
import type { Targets } from './targets.ts';

const defaultLimit = 50;
/** Shorter than the time-outs of clients. */
const defaultPatienceMs = 5_000;
const lookMs = 500;
const after = (cursor: string | undefined) => (cursor === undefined ? null : placeOf(cursor));

export function createCallRoutes(deps: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly calling: Calling;
  readonly consents: ConsentLog;
  readonly targets: Targets;
  readonly countries: readonly string[];
  /** How long to wait for the carrier's answer; a slower call rings all the same. */
  readonly patienceMs?: number;
}): readonly BoundRoute[] {
  const { store, clock, calling, consents, targets } = deps;

  async function dial(by: Principal, consentRef: string, signal: AbortSignal) {
    const callId = await store.write((tx) => calling.dial(tx, by, consentRef));
    await begun(callId, signal);
    return { status: 201 as const, body: { callId } };
  }

  /** Resolves once the carrier has accepted it; throws the carrier's refusal. */
  async function begun(callId: string, signal: AbortSignal): Promise<void> {
    const until = clock.monotonic() + (deps.patienceMs ?? defaultPatienceMs);
    while (true) {
      const { call, leg } = await store.read(function* (tx) {
        return { call: yield* findCall(tx, callId), leg: yield* personOf(tx, callId) };
      });
      if (call === null || leg === null || leg.carrierLeg !== null) return;
      if (call.status === 'ended') throw notBegun(call.endedBecause ?? '');
      const left = until - clock.monotonic();
      if (left <= 0 || signal.aborted) return;
      await store.wake.wait(callsTopic, Math.min(left, lookMs), signal);
    }
  }

  return [
    bind(contract.recordConsent, async ({ params: { id }, body: { e164, source, evidence } }) => {
      const refused = refusedDestination(e164, deps.countries);
      if (refused !== null) throw bad(refused, 'Give a phone number that may be called.');
      const { id: consentId, at } = await store.write((tx) =>
        consents.record(tx, { numberId: id, e164, source, evidence }),
      );
      const consent = toConsent({ id: consentId, e164, source, evidence, at });
      return { status: 201 as const, body: { consent } };
    }),
    bind(contract.listConsents, async ({ params: { id }, query: { limit = defaultLimit, cursor, e164 = null } }) => {
      const asked = { numberId: id, e164, after: after(cursor), limit: limit + 1 };
      const rows = await store.read((tx) => consents.list(tx, asked));
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      const nextCursor = last === undefined ? null : cursorOf(last);
      return { body: { consents: rows.slice(0, limit).map(toConsent), nextCursor } };
    }),
    bind(contract.askForCall, async ({ principal, body }) => {
      const { consentRef, basis, expiresAt } = await store.write((tx) => calling.ask(tx, principal, body));
      return { body: { consentRef, basis, expiresAt: iso(expiresAt) } };
    }),
    bind(contract.listCalls, async ({ params: { id }, query: { limit = defaultLimit, cursor } }) => {
      const place = after(cursor);
      return store.read(function* (tx) {
        const rows = yield* listCalls(tx, { numberId: id, after: place, limit: limit + 1 });
        const calls: contract.Call[] = [];
        for (const row of rows.slice(0, limit)) calls.push(toCall(row, yield* legsOf(tx, row.id)));
        const last = rows.length > limit ? rows[limit - 1] : undefined;
        const nextCursor = last === undefined ? null : cursorOf({ created_at: last.startedAt, id: last.id });
        return { body: { calls, nextCursor } };
      });
    }),
    bind(contract.dialAsWorker, ({ principal, body, signal }) => dial(principal, body.consentRef, signal)),
    bind(contract.dial, ({ principal, body, signal }) => dial(principal, body.consentRef, signal)),
    bind(contract.controlCall, async ({ principal, params: { callId }, body }) => {
      const consentRef = await store.write(function* (tx) {
        const call = yield* findCall(tx, callId);
        if (call === null) throw new AppError('not_found', 'There is no such call.', 'List the calls of the number.');
        return yield* calling.control(tx, principal, call, body);
      });
      const done = { ok: true, callId, action: body.action } as const;
      return { status: 202 as const, body: consentRef === null ? done : { ...done, consentRef } };
    }),
    bind(contract.getBotConfig, async ({ principal: { userId }, params: { botId } }) => ({
      body: await store.read((tx) => targets.read(tx, userId, botId)),
    })),
    bind(contract.putBotConfig, async ({ principal, params: { botId }, body: { transferTargets } }) => ({
      body: await store.write((tx) => targets.replace(tx, principal, botId, transferTargets)),
    })),
  ];
}

function notBegun(because: string): AppError {
  if (because === saidStop) {
    return new AppError('refused', because, 'They have to send START first.', { wireCode: 'no_consent' });
  }
  return new AppError('transport', `The call was not made: ${because}`, 'Try again later, or call another number.', {
    wireCode: 'carrier_refused',
  });
}

const bad = (fact: string, action: string) => new AppError('usage', fact, action, { wireCode: 'bad_request' });
