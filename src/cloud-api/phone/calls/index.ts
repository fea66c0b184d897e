/**
 * Calls of numbers: who agreed to be called, references for one call each, calls under way and their transfers. Composes its parts. Must not know how
 * numbers are bought, registered or texted.
 */
import type { Op, SharedReader } from '../../../kit/store/shared-store.ts';
import type { PaidSteps } from '../carrier/paid-steps.ts';
import { defaultCountries } from '../e164.ts';
import { type CallLimits, defaultCallLimits, type PartDeps, type PhonePart } from '../part.ts';
import type { CarrierEvent, Consents, InviteProofs, NumberHooks, Numbers, OnStop, OptOuts } from '../ports.ts';
import { createCalling } from './calling.ts';
import { type HeardCost, readCallCost, readCallEvent } from './carrier-events.ts';
import { createCommands } from './commands.ts';
import { type ConsentsDeps, createConsents } from './consents.ts';
import { createRefs } from './refs.ts';
import { createCallRoutes } from './routes.ts';
import { findCall, legByCarrier } from './store.ts';
import { createTargets } from './targets.ts';
import { createWatch } from './watch.ts';
import { createVoiceWorker, type VoiceWorker } from './worker.ts';

export { phoneCallMigrations } from './migrations.ts';

export interface Calls extends PhonePart {
  readonly consents: Consents;
  readonly worker: VoiceWorker;
  readonly onStop: OnStop;
  readonly hooks: NumberHooks;
}

export function createCalls(
  given: Pick<
    PartDeps,
    'store' | 'clock' | 'timers' | 'ids' | 'log' | 'openLanes' | 'webhookOrigin' | 'events' | 'fees'
  > &
    Pick<ConsentsDeps, 'ownPhone'> & {
      readonly carrier: Pick<PartDeps['carrier'], 'calls' | 'name'>;
      readonly steps: Pick<PaidSteps, 'run'>;
      readonly numbers: Numbers;
      readonly optOuts: OptOuts;
      readonly invites: InviteProofs;
      /** The business or person that a number is registered for; null: none. */
      readonly brandOf: (tx: SharedReader, numberId: string) => Op<string | null>;
      readonly limits?: CallLimits;
      /** Countries that may be called; default US and Canada. */
      readonly countries?: readonly string[];
      /** How long to wait for the carrier's answer; a slower call rings all the same. */
      readonly patienceMs?: number;
      readonly random?: (bytes: number) => Buffer;
    },
): Calls {
  const { store, clock, log, numbers, carrier, limits = defaultCallLimits } = given;
  const deps = { ...given, calls: carrier.calls, countries: given.countries ?? defaultCountries, limits };
  const consents = createConsents(deps);
  const refs = createRefs(clock, given.random);
  const targets = createTargets({ ...deps, consents });
  const webhookUrl = `${given.webhookOrigin}/api/v1/phone/webhooks/${carrier.name}`;
  const commands = createCommands({ ...deps, webhookUrl });
  const worker = createVoiceWorker({ ...deps, commands, refs, maxConcurrent: limits.maxConcurrent });
  const calling = createCalling({ ...deps, consents, refs, targets, worker });
  const watch = createWatch({ ...deps, worker, maxCallMs: limits.maxCallMs });

  async function countCost({ carrierLeg, at, ...cost }: HeardCost): Promise<void> {
    await store.write(function* (tx) {
      const leg = yield* legByCarrier(tx, carrierLeg);
      const call = leg === null ? null : yield* findCall(tx, leg.callId);
      if (leg === null || call === null) return;
      const of = { userId: call.userId, e164: call.ours, botId: call.botId, computerId: null };
      yield* given.fees.call(tx, of, { ...cost, id: leg.id, at: Math.min(at, clock.now()) });
    });
  }

  async function take(event: CarrierEvent): Promise<void> {
    const cost = readCallCost(event);
    if (cost !== null) return countCost(cost);
    const heard = readCallEvent(event);
    if (heard === null) return;
    const isNew = heard.kind === 'initiated' && heard.incoming;
    const number = isNew ? await numbers.byE164(heard.to) : null;
    if (isNew && number === null) {
      log.warn('A call came for a number that nobody has here.', { event: event.id });
      return;
    }
    await store.write(function* (tx) {
      // It may have been released since.
      const held = number === null ? null : yield* numbers.read(tx, number.id);
      yield* worker.hear(tx, heard, held);
    });
  }

  return {
    consents,
    worker,
    routes: createCallRoutes({ ...deps, calling, consents, targets }),
    owners: {
      phoneCall: async ({ userId }, id) => (await store.read((tx) => findCall(tx, id)))?.userId === userId,
    },
    readers: [
      {
        prefix: 'call.',
        subject: ({ id, payload }) => String(payload.call_session_id ?? payload.call_control_id ?? id).slice(0, 200),
        take,
      },
    ],
    *onStop(tx, numberId, e164) {
      yield* refs.end(tx, numberId, e164);
      yield* worker.stopped(tx, numberId, e164);
    },
    hooks: {
      *released(tx, { id }) {
        yield* refs.end(tx, id, null);
        yield* worker.released(tx, id);
      },
    },
    forgetOld: (now) => store.write((tx) => refs.forgetOld(tx, now)),
    async start() {
      await commands.start(worker.outcomes);
      await watch.start();
    },
    async close() {
      await watch.close();
      await commands.close();
    },
  };
}
