/** Calls of one number over a store of either engine, at the simulated carrier, with handsets that people pick up. */
import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { createCalls, phoneCallMigrations } from '../../../../src/cloud-api/phone/calls/index.ts';
import { findCall } from '../../../../src/cloud-api/phone/calls/store.ts';
import type { Control } from '../../../../src/cloud-api/phone/calls/worker.ts';
import { phoneCarrierMigrations } from '../../../../src/cloud-api/phone/carrier/migrations.ts';
import { createPaidSteps } from '../../../../src/cloud-api/phone/carrier/paid-steps.ts';
import { createTelnyxCarrier } from '../../../../src/cloud-api/phone/carrier/telnyx/index.ts';
import { phoneNumberMigrations } from '../../../../src/cloud-api/phone/numbers/index.ts';
import { createInvites } from '../../../../src/cloud-api/phone/numbers/invites.ts';
import { createNumberStore } from '../../../../src/cloud-api/phone/numbers/store.ts';
import type { CallLimits } from '../../../../src/cloud-api/phone/part.ts';
import type { CarrierEvent } from '../../../../src/cloud-api/phone/ports.ts';
import { phoneTextMigrations } from '../../../../src/cloud-api/phone/texts/index.ts';
import { createOptOuts } from '../../../../src/cloud-api/phone/texts/opt-outs.ts';
import { createStops } from '../../../../src/cloud-api/phone/texts/stop.ts';
import type { Call } from '../../../../src/contracts/phone/calls.ts';
import { systemTimers } from '../../../../src/kit/clock/timers.ts';
import { createIdempotency, idempotencyMigrations } from '../../../../src/kit/http/idempotency.ts';
import { createOwnerAuthenticator, everyScope, localUserId } from '../../../../src/kit/http/principals.ts';
import type { Authenticator } from '../../../../src/kit/http/types.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { laneMigrations } from '../../../../src/kit/lane/migrations.ts';
import { createSharedLanes } from '../../../../src/kit/lane/shared-lanes.ts';
import { createSealer } from '../../../../src/kit/secrets/sealer.ts';
import { answered } from '../../../../src/kit/store/answered.ts';
import type { OpenedSharedStore } from '../../../../src/kit/store/shared-store.ts';
import { movableClock } from '../../../host/support.ts';
import { onEnd, ownerToken, type Reply, serve } from '../../../kit/http/support.ts';
import type { Place } from '../../../support/engines.ts';
import { countedFees } from '../../../support/phone/fees.ts';
import { boughtNumber, startSimulator } from '../../../support/phone/simulator.ts';

/** {@link expect.poll} with the patience that a busy machine needs. */
export const eventually = <T>(read: () => T) => expect.poll(read, { interval: 20 });

export const person = localUserId;
export const ours = '+14165550150';
export const alice = '+12025550199';
export const bob = '+12025550177';
export const carol = '+12025550178';
const cloud = 'http://cloud.test';

const migrations = [
  ...laneMigrations,
  ...idempotencyMigrations,
  ...phoneCarrierMigrations,
  ...phoneNumberMigrations,
  ...phoneTextMigrations,
  ...phoneCallMigrations,
];

/** The body of an answer. */
export const said = ({ json }: Reply) => json as unknown as Record<string, unknown>;

export interface FloorOptions {
  readonly patienceMs?: number;
  readonly limits?: CallLimits;
}

export async function openFloor(place: Place, options: FloorOptions = {}) {
  const clock = movableClock();
  const store = await place.open(migrations, clock);
  const ids = createIds(clock);
  const rows = createNumberStore(store, () => clock.now());
  const optOuts = createOptOuts({ ids });
  const events: CarrierEvent[] = [];
  /** Away: what the carrier posts is lost, as while a cloud is down. */
  const away = { is: false, carrier: 'there' as 'there' | 'unreachable' | 'silent', asked: 0, vouches: true };
  const simulated = await startSimulator({
    clock,
    webhookUrl: `${cloud}/calls`,
    async fetch(_url, init) {
      if (away.is) return new Response('', { status: 200 });
      heard(String(init?.body));
      return new Response('', { status: 200 });
    },
  });
  onEnd(async () => {
    await simulated[Symbol.asyncDispose]();
  });
  const { sim } = simulated;
  const carrier = createTelnyxCarrier({
    baseUrl: sim.url,
    apiKey: sim.apiKey,
    connectionId: '1',
    name: 'simulator',
    fetch(url, init) {
      if (away.carrier === 'there') return fetch(url, init);
      away.asked += 1;
      if (away.carrier === 'silent') return new Promise((_, gone) => init?.signal?.addEventListener('abort', gone));
      const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      return Promise.reject(new TypeError('fetch failed', { cause }));
    },
  });
  const emitted: { type: string; sourceId: string; data: unknown }[] = [];
  const warnings: string[] = [];
  const own = { e164: null as string | null };

  const counted = countedFees();
  const invites = createInvites({
    store,
    clock,
    ids,
    numbers: rows.numbers,
    origin: 'https://gantry.example',
    sealer: createSealer({ masterKey: 'k'.repeat(43), purpose: 'phone' }),
    consents: () => calls.consents,
  });

  function createPart(over: OpenedSharedStore) {
    return createCalls({
      store: over,
      clock,
      ids,
      carrier,
      timers: systemTimers,
      webhookOrigin: cloud,
      fees: counted.fees,
      numbers: rows.numbers,
      invites,
      optOuts,
      steps: createPaidSteps({ store: over, clock }),
      log: { warn: (message) => void warnings.push(message), error: (message) => void warnings.push(message) },
      openLanes: ({ name, ...how }) =>
        createSharedLanes({
          store: over,
          clock,
          random: () => 0.5,
          recheckMs: 30,
          ...how,
          backoffMs: [30],
          name: `phone ${name}`,
        }),
      events: {
        *emit(tx, event) {
          tx.afterCommit(() => emitted.push(event));
          return true;
        },
        follow: () => () => {},
      },
      ownPhone: (_tx, userId) => answered(own.e164 === null || userId !== person ? null : { e164: own.e164 }),
      *brandOf() {
        return yield* answered('Blue Bottle');
      },
      ...options,
    });
  }

  let calls = createPart(store);
  await calls.start?.();
  const stops = createStops({ optOuts, onStop: [(tx, numberId, e164) => calls.onStop(tx, numberId, e164)] });

  function heard(body: string): void {
    const { data } = JSON.parse(body);
    if (!away.vouches) delete data.payload.shaken_stir_attestation;
    const at = { occurredAt: Date.parse(data.occurred_at), receivedAt: clock.now() };
    const event = { id: data.id, type: data.event_type, ...at, payload: data.payload, numberId: null };
    events.push(event);
    for (const replica of replicas) replica(event);
    taking = taking.then(() => take(event)).catch((fault: Error) => void warnings.push(fault.message));
  }

  const replicas: ((event: CarrierEvent) => void)[] = [];
  let taking: Promise<void> = Promise.resolve();
  const take = async (event: CarrierEvent) => {
    const reader = calls.readers?.find(({ prefix }) => event.type.startsWith(prefix));
    await reader?.take(event, new AbortController().signal);
  };

  async function addNumber(e164 = ours, more: { userId?: string; botId?: string } = {}) {
    const id = ids.next('number');
    const { id: carrierNumberId, profileId } = await boughtNumber(simulated, `${cloud}/in/${id}`, e164);
    await store.write(function* (tx) {
      const about = { id, userId: more.userId ?? person, e164, type: 'local', country: 'CA', locality: null } as const;
      const to = { runtimeId: 'computer_1', botId: more.botId ?? 'bot_1', portDetails: null };
      const from = { monthlyCost: null, carrier: 'simulator', origin: 'bought' } as const;
      yield* rows.create(tx, { ...about, ...to, ...from, addressHash: id, address: 'sealed' }, 100);
      yield* rows.move(tx, id, 'bought', { carrierNumberId, profileId, voiceState: 'active' });
      yield* rows.assign(tx, id, { runtimeId: to.runtimeId, botId: to.botId, botName: 'Ada' });
    });
    return { id, e164 };
  }

  /** Keys of this person, and somebody else's. */
  const others: Authenticator = {
    name: 'others',
    authenticate({ headers }) {
      const kind = headers['x-test-as'];
      const common = { scopes: everyScope, via: String(kind) };
      if (kind === 'key') return { ...common, kind: 'key', userId: person, keyId: 'key_1' };
      if (kind === 'stranger') return { ...common, kind: 'user', userId: 'user_2' };
      if (kind === 'worker') return { ...common, kind: 'internal', userId: '' };
      return null;
    },
  };
  const open = () =>
    serve({
      routes: calls.routes,
      owners: {
        ...calls.owners,
        phoneNumber: async ({ userId }, id) => (await rows.numbers.find(id))?.userId === userId,
      },
      authenticators: [others, createOwnerAuthenticator(ownerToken)],
      idempotency: createIdempotency(store, clock),
    });
  let web = await open();
  onEnd(async () => {
    await taking;
    await calls.close?.();
  });

  const as = (who?: string) => (who === undefined ? {} : { headers: { 'x-test-as': who }, token: null });
  const say = (numberId: string, peer: string, action: 'stop' | 'start') =>
    store.write((tx) => stops.apply(tx, { numberId, peer, action, source: 'text', evidence: action, at: clock.now() }));

  return {
    clock,
    store,
    ids,
    rows,
    invites,
    counted,
    sim,
    simulated,
    emitted,
    warnings,
    away,
    own,
    events,
    addNumber,
    take,
    say,
    get web() {
      return web;
    },
    get calls() {
      return calls;
    },
    stops,
    texted: (numberId: string, peer: string) => store.write((tx) => optOuts.texted(tx, numberId, peer, clock.now())),
    ask: (numberId: string, to: string, more: object = {}, who?: string) =>
      web.call('POST', '/api/v1/phone/calls/outbound', {
        body: { numberId, to, botId: 'bot_1', purpose: 'your order of rye bread', ...more },
        ...as(who),
      }),
    dial: (consentRef: unknown, who?: string) =>
      web.call('POST', who === 'worker' ? '/internal/voice/calls' : '/api/v1/voice/calls', {
        body: { consentRef },
        ...as(who),
      }),
    control: (callId: string, body: object, who?: string) =>
      web.call('POST', `/api/v1/voice/calls/${callId}/control`, { body, ...as(who) }),
    /** What is asked of the voice worker itself. */
    forward: (callId: string, control: Control) =>
      store.write(function* (tx) {
        const call = yield* findCall(tx, callId);
        yield* calls.worker.control(tx, call!, control);
      }),
    consent: (numberId: string, e164: string, more: object = {}, headers: Record<string, string> = {}) =>
      web.call('POST', `/api/v1/phone/numbers/${numberId}/consent`, {
        body: { e164, source: 'phone', evidence: 'said yes on 1 May', ...more },
        headers,
      }),
    consents: async (numberId: string) =>
      said(await web.call('GET', `/api/v1/phone/numbers/${numberId}/consents`)).consents as {
        e164: string;
        source: string;
        evidence: string;
      }[],
    targets: (body: object, botId = 'bot_1', who?: string) =>
      web.call('PUT', `/api/v1/voice/bot-config/${botId}`, { body, ...as(who) }),
    async list(numberId: string): Promise<Call[]> {
      return said(await web.call('GET', `/api/v1/phone/numbers/${numberId}/calls`)).calls as Call[];
    },
    /** The newest call of a number. */
    async last(numberId: string): Promise<Call> {
      return (await this.list(numberId))[0]!;
    },
    /** Legs at the carrier to or from somebody, the oldest first. */
    legs: (e164: string) =>
      Object.values(sim.state.legs).filter((leg) => (leg.direction === 'outgoing' ? leg.to : leg.from) === e164),
    /** What somebody's handset does with the call that it has, or that is on its way to it. */
    async handset(
      e164: string,
      action: 'answer' | 'reject' | 'busy' | 'voicemail' | 'hangup' | 'press',
      digits?: string,
    ): Promise<void> {
      await eventually(() => this.legs(e164).length).toBeGreaterThan(0);
      sim.handset(e164, this.legs(e164).at(-1)!.id, action, digits);
    },
    /** Somebody was called, has answered, and talks. */
    /** A number of this floor with a call whose warm transfer asks {@link bob} now. */
    async asking(): Promise<{ id: string; callId: string }> {
      const { id } = await addNumber();
      const callId = await this.talking(id);
      await this.consent(id, bob);
      await this.control(callId, { action: 'transfer', to: bob, mode: 'warm' });
      await eventually(() => this.legs(bob).length).toBe(1);
      await this.settled();
      return { id, callId };
    },
    async talking(numberId: string, to = alice): Promise<string> {
      await this.texted(numberId, to);
      const { consentRef } = said(await this.ask(numberId, to));
      const before = this.legs(to).length;
      const callId = String(said(await this.dial(consentRef)).callId);
      await eventually(() => this.legs(to).length).toBe(before + 1);
      await this.settled();
      await this.handset(to, 'answer');
      await eventually(() => this.legs(to).at(-1)!.heard.length).toBe(1);
      return callId;
    },
    async settled() {
      await sim.settled();
      await taking;
    },
    /** The process is gone at once, and another one begins over the same rows. */
    async stop() {
      await calls.close?.();
      calls = createPart(store);
      web = await open();
    },
    start: async () => calls.start?.(),
    /** Another cloud over the same database, which the carrier posts to as well. */
    async replica(at: Place) {
      const second = createPart(await at.open(migrations, clock));
      await second.start?.();
      let heard: Promise<unknown> = Promise.resolve();
      let count = 0;
      replicas.push((event) => {
        count += 1;
        const reader = second.readers?.find(({ prefix }) => event.type.startsWith(prefix));
        heard = Promise.all([heard, reader?.take(event, new AbortController().signal)]);
      });
      const listener = await serve({
        routes: second.routes,
        owners: { ...second.owners, phoneNumber: () => true },
        authenticators: [createOwnerAuthenticator(ownerToken)],
        idempotency: createIdempotency(store, clock),
      });
      onEnd(async () => {
        await heard;
        await second.close?.();
      });
      return {
        events: () => count,
        heardAll: () => heard,
        dial: (consentRef: unknown) => listener.call('POST', '/api/v1/voice/calls', { body: { consentRef } }),
      };
    },
    /** Somebody agreed on the page of an invite and is shown this code. */
    async agreedOnPage(numberId: string, e164: string): Promise<string> {
      const { url } = await invites.create(numberId);
      return (await invites.ask(url.split('/').at(-1)!, { e164, evidence: 'Ticked.' }))!.code;
    },
    random: () => randomBytes(32).toString('base64url'),
  };
}

export type Floor = Awaited<ReturnType<typeof openFloor>>;
