/** Texts of one number over a store of either engine, at the simulated carrier, with a computer that answers as a test says. */

import { expect } from 'vitest';
import { phoneCarrierMigrations } from '../../../../src/cloud-api/phone/carrier/migrations.ts';
import { createPaidSteps } from '../../../../src/cloud-api/phone/carrier/paid-steps.ts';
import { createTelnyxCarrier } from '../../../../src/cloud-api/phone/carrier/telnyx/index.ts';
import { phoneNumberMigrations } from '../../../../src/cloud-api/phone/numbers/index.ts';
import { createInvites } from '../../../../src/cloud-api/phone/numbers/invites.ts';
import { createNumberStore } from '../../../../src/cloud-api/phone/numbers/store.ts';
import { numberLimits, type TextLimits } from '../../../../src/cloud-api/phone/part.ts';
import type { CarrierEvent, CarrierEventReader } from '../../../../src/cloud-api/phone/ports.ts';
import { repliesOf } from '../../../../src/cloud-api/phone/registration/replies.ts';
import { createTexts, phoneTextMigrations } from '../../../../src/cloud-api/phone/texts/index.ts';
import type { Approval } from '../../../../src/contracts/approvals/approval.ts';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import type { RelayedText } from '../../../../src/contracts/phone/texts.ts';
import { createIdempotency, idempotencyMigrations } from '../../../../src/kit/http/idempotency.ts';
import { createOwnerAuthenticator, localUserId } from '../../../../src/kit/http/principals.ts';
import type { Authenticator } from '../../../../src/kit/http/types.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import type { SharedLanes } from '../../../../src/kit/lane/lane.ts';
import { laneMigrations } from '../../../../src/kit/lane/migrations.ts';
import { createSharedLanes } from '../../../../src/kit/lane/shared-lanes.ts';
import { createSealer } from '../../../../src/kit/secrets/sealer.ts';
import { answered } from '../../../../src/kit/store/answered.ts';
import type { SharedStore } from '../../../../src/kit/store/shared-store.ts';
import { movableClock } from '../../../host/support.ts';
import { onEnd, ownerToken, serve } from '../../../kit/http/support.ts';
import type { Place } from '../../../support/engines.ts';
import { countedFees } from '../../../support/phone/fees.ts';
import { boughtNumber, startSimulator } from '../../../support/phone/simulator.ts';

export const eventually = <T>(read: () => T) => expect.poll(read);

export const person = localUserId;
export const computerId = 'computer_1';
/** Canadian: it texts without a registration, also at the carrier. */
export const ours = '+14165550150';
export const alice = '+12025550199';
export const bob = '+12025550177';
export const relayHost = 'http://cloud.test';

const migrations = [
  ...laneMigrations,
  ...idempotencyMigrations,
  ...phoneCarrierMigrations,
  ...phoneNumberMigrations,
  ...phoneTextMigrations,
];

export interface FloorOptions {
  readonly limits?: TextLimits;
  readonly patienceMs?: number;
  /** What the computer answers; default 200. */
  readonly answer?: (text: RelayedText) => number;
}

type Asked = {
  id: string;
  title: string;
  summary: string;
  more: Pick<Approval, 'details' | 'reason'>;
  until: number;
  state: 'pending' | 'approve' | 'reject';
};

export async function openFloor(place: Place, options: FloorOptions = {}) {
  const clock = movableClock();
  const store = await place.open(migrations, clock);
  const ids = createIds(clock);
  const rows = createNumberStore(store, () => clock.now());
  const events: CarrierEvent[] = [];
  const queue: CarrierEvent[] = [];
  const held = { events: false };
  /** Whether nobody listens where the carrier was. */
  const away = { carrier: false };
  const simulated = await startSimulator({
    clock,
    fetch: async (url, init) => {
      heard(String(url), String(init?.body));
      return new Response('', { status: 200 });
    },
  });
  onEnd(async () => {
    await simulated[Symbol.asyncDispose]();
  });
  const carrier = createTelnyxCarrier({
    baseUrl: simulated.sim.url,
    apiKey: simulated.sim.apiKey,
    connectionId: '1',
    name: 'simulator',
    receiptsUrl: `${relayHost}/receipts`,
    fetch(...request) {
      if (!away.carrier) return fetch(...request);
      const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      return Promise.reject(new TypeError('fetch failed', { cause }));
    },
  });

  const delivered: RelayedText[] = [];
  const pushed: { computerId: string; message: { messageId: string } }[] = [];
  const emitted: { type: string; sourceId: string; data: unknown }[] = [];
  const warnings: string[] = [];
  const stopped: string[] = [];
  const lanes: SharedLanes[] = [];
  const linked = new Set([computerId, 'computer_2']);
  const asked = new Map<string, Asked>();
  const listeners = new Set<(event: { sourceId: string; userId: string }) => void | Promise<void>>();
  let answer = options.answer ?? (() => 200);
  let limits = options.limits ?? numberLimits.standard;

  const counted = countedFees();
  const consents: { numberId: string; e164: string; source: string; evidence: string }[] = [];
  const invites = createInvites({
    store,
    clock,
    ids,
    numbers: rows.numbers,
    origin: 'https://gantry.example',
    sealer: createSealer({ masterKey: 'k'.repeat(43), purpose: 'phone' }),
    consents: () => ({
      *record(_tx, consent) {
        consents.push(consent);
        return yield* answered({ id: `consent_${consents.length}`, at: clock.now() });
      },
    }),
  });

  const replicaOn = (shared: SharedStore) =>
    createTexts({
      fees: counted.fees,
      store: shared,
      clock,
      carrier,
      ids: createIds(clock),
      numbers: rows.numbers,
      invites,
      steps: createPaidSteps({ store: shared, clock }),
      log: { warn: (message) => void warnings.push(message), error: (message) => void warnings.push(message) },
      openLanes({ name, ...how }) {
        const given = { store: shared, clock, random: () => 0.5, recheckMs: 30, ...how, backoffMs: [30] };
        const opened = createSharedLanes({ ...given, name: `phone ${name}` });
        lanes.push(opened);
        return opened;
      },
      isLinked: (id) => linked.has(id),
      async call(id, { body }) {
        const text = body as RelayedText;
        const status = answer(text);
        if (status === 200) delivered.push(text);
        return { status, body: { status: id } };
      },
      *pushDirectly(tx, { computerId: to, message }) {
        tx.afterCommit(() => pushed.push({ computerId: to, message }));
      },
      events: {
        *emit(tx, event) {
          tx.afterCommit(() => emitted.push(event));
          return true;
        },
        follow(_types, listener) {
          const told = ({ sourceId, userId }: { sourceId: string; userId: string }) =>
            listener({ id: sourceId, sourceId, userId, type: 'approval.requested', at: clock.now() });
          listeners.add(told);
          return () => listeners.delete(told);
        },
      },
      consents: {
        *basisFor() {
          return yield* answered(null);
        },
      },
      onStop: [
        function* (tx, numberId, e164) {
          tx.afterCommit(() => stopped.push(`${numberId} ${e164}`));
        },
      ],
      replies: async (number) => repliesOf(number, null),
      limits: () => answered(limits),
      approvals: {
        async check(id, userId) {
          const found = asked.get(id);
          if (found === undefined || userId !== person) throw new AppError('not_found', 'unknown', '');
          return {
            title: found.title,
            summary: found.summary,
            ...found.more,
            expiresAt: new Date(found.until).toISOString(),
          } as Approval;
        },
        async resolve(id, { decision }) {
          const found = asked.get(id);
          if (found === undefined) throw new AppError('not_found', 'unknown', '');
          if (found.state !== 'pending') {
            throw new AppError(
              'refused',
              `The approval ${id} was already ${found.state === 'approve' ? 'approved' : 'rejected'}.`,
              '',
              { status: 409 },
            );
          }
          found.state = decision;
          return { title: found.title } as Approval;
        },
      },
      ...(options.patienceMs === undefined ? {} : { patienceMs: options.patienceMs }),
    });
  const texts = replicaOn(store);
  await texts.start();
  const [reader] = texts.readers;

  function heard(url: string, body: string): void {
    const { data } = JSON.parse(body);
    const numberId = /\/in\/(\w+)$/.exec(new URL(url).pathname)?.[1] ?? null;
    const at = { occurredAt: Date.parse(data.occurred_at), receivedAt: clock.now() };
    const event = { id: data.id, type: data.event_type, ...at, payload: data.payload, numberId };
    events.push(event);
    queue.push(event);
    if (!held.events) void pump();
  }

  let pumping: Promise<void> | null = null;
  let over = false;
  function pump(): Promise<void> {
    pumping ??= (async () => {
      for (let event = queue.shift(); event !== undefined && !over; event = queue.shift()) await take(event);
    })().finally(() => {
      pumping = null;
    });
    return pumping;
  }

  const take = taker(store, reader!);

  /** A number that texts, of this person. */
  async function addNumber(e164 = ours, more: { smsState?: 'active' | 'pending_registration'; userId?: string } = {}) {
    const id = ids.next('number');
    const { id: carrierNumberId, profileId } = await boughtNumber(simulated, `${relayHost}/in/${id}`, e164);
    await store.write(function* (tx) {
      yield* rows.create(
        tx,
        {
          id,
          userId: more.userId ?? person,
          e164,
          type: 'local',
          country: 'CA',
          locality: null,
          monthlyCost: null,
          carrier: 'simulator',
          origin: 'bought',
          runtimeId: computerId,
          botId: 'bot_1',
          botName: null,
          portDetails: null,
          addressHash: id,
          address: 'sealed',
        },
        100,
      );
      yield* rows.move(tx, id, 'bought', { carrierNumberId, profileId });
      yield* rows.numbers.setSmsState(tx, id, more.smsState ?? 'active');
    });
    return { id, e164, profileId };
  }

  const device: Authenticator = {
    name: 'device',
    authenticate(request) {
      const named = request.headers['x-test-device'];
      if (typeof named !== 'string') return null;
      return { kind: 'device', userId: person, scopes: new Set(['compute']), via: 'device', computerId: named };
    },
  };
  const web = await serve({
    routes: texts.routes,
    owners: { phoneNumber: async ({ userId }, id) => (await rows.numbers.find(id))?.userId === userId },
    authenticators: [device, createOwnerAuthenticator(ownerToken)],
    idempotency: createIdempotency(store, clock),
  });
  onEnd(async () => {
    over = true;
    await pumping;
    await texts.close();
  });

  return {
    clock,
    store,
    ids,
    rows,
    simulated,
    texts,
    web,
    warnings,
    linked,
    asked,
    addNumber,
    take,
    events,
    held,
    away,
    pump,
    delivered,
    pushed,
    emitted,
    stopped,
    consents,
    counted,
    /** Somebody agreed on the page of an invite and is shown this code. */
    async agreedOnPage(numberId: string, e164: string): Promise<string> {
      const { url } = await invites.create(numberId);
      return (await invites.ask(url.split('/').at(-1)!, { e164, evidence: 'Ticked.' }))!.code;
    },
    /** One more replica of the cloud on the same database. */
    async another() {
      const itsStore = await place.open(migrations, clock);
      const replica = replicaOn(itsStore);
      await replica.start();
      onEnd(() => replica.close());
      return { ...replica, take: taker(itsStore, replica.readers[0]!) };
    },
    setAnswer(next: (text: RelayedText) => number) {
      answer = next;
    },
    setLimits(next: TextLimits) {
      limits = next;
    },
    /** Time goes by, and lanes, whose timers are real, look at it. */
    pass(ms: number) {
      clock.move(ms);
      for (const opened of lanes) opened.wake();
    },
    /** What bots and programs asked the person for. */
    request(id: string, title: string, summary = '', more: Asked['more'] = {}) {
      asked.set(id, { id, title, summary, more, until: clock.now() + 3_600_000, state: 'pending' });
      return Promise.all([...listeners].map((tell) => tell({ sourceId: id, userId: person })));
    },
    /** Somebody's handset says it; resolves once it was taken. */
    async say(from: string, text: string, to = ours) {
      const id = simulated.sim.text({ from, to, text });
      await this.settled();
      return id;
    },
    send: (numberId: string, to: string, text: string, headers: Record<string, string> = {}) =>
      web.call('POST', '/api/v1/channels/sms/send', { body: { numberId, to, text }, headers }),
    /** All that the carrier brought to handsets, its own words first. */
    reached: (to: string) =>
      simulated.sim.state.texts
        .filter((one) => one.direction === 'outbound' && one.to === to && !one.own)
        .map(({ text }) => text),
    answeredByCarrier: (to: string) =>
      simulated.sim.state.texts.filter((one) => one.own && one.to === to).map(({ text }) => text),
    list: async (numberId: string, query = '') =>
      (await web.call('GET', `/api/v1/phone/numbers/${numberId}/messages${query}`)).json as unknown as {
        messages: {
          id: string;
          direction: string;
          from: string;
          text: string;
          status: string;
          reason: string | null;
          parts: number;
          by: string | null;
          botId: string | null;
        }[];
        nextCursor: string | null;
      },
    async settled() {
      await simulated.sim.settled();
      await pump();
      await simulated.sim.settled();
      await pump();
    },
  };
}

export type Floor = Awaited<ReturnType<typeof openFloor>>;

/** As the lane of the carrier's events brings one. */
const taker = (store: SharedStore, reader: CarrierEventReader) => async (event: CarrierEvent) => {
  if (!event.type.startsWith(reader.prefix)) return;
  const keep = await reader.take(event, new AbortController().signal);
  if (typeof keep === 'function') await store.write(keep);
};
