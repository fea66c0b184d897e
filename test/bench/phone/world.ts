/** The complete texting of a person's numbers over a database in a file, between a model of the carrier, people, and computers that come and go. */

import type { EventBackbone } from '../../../src/cloud-api/events/backbone.ts';
import { type Calls, createCalls } from '../../../src/cloud-api/phone/calls/index.ts';
import { createPaidSteps } from '../../../src/cloud-api/phone/carrier/paid-steps.ts';
import { createInvites } from '../../../src/cloud-api/phone/numbers/invites.ts';
import { createNumberStore } from '../../../src/cloud-api/phone/numbers/store.ts';
import { defaultCallLimits, numberLimits, type OpenPhoneLanes } from '../../../src/cloud-api/phone/part.ts';
import type { CarrierEvent, HeldNumber } from '../../../src/cloud-api/phone/ports.ts';
import { repliesOf } from '../../../src/cloud-api/phone/registration/replies.ts';
import { createTexts, type Texts } from '../../../src/cloud-api/phone/texts/index.ts';
import type { Approval } from '../../../src/contracts/approvals/approval.ts';
import { AppError } from '../../../src/contracts/common/errors.ts';
import type { RelayedText } from '../../../src/contracts/phone/texts.ts';
import type { BoundRoute, Principal } from '../../../src/kit/http/types.ts';
import type { Ids } from '../../../src/kit/ids/ids.ts';
import type { SharedLanes } from '../../../src/kit/lane/lane.ts';
import { createSharedLanes } from '../../../src/kit/lane/shared-lanes.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { answered } from '../../../src/kit/store/answered.ts';
import type { OpenedSharedStore, SharedStore } from '../../../src/kit/store/shared-store.ts';
import { countedFees } from '../../support/phone/fees.ts';
import type { TestClock } from '../../support/test-clock.ts';
import { createModelCalls } from './model-calls.ts';
import { createModelCarrier, type Posted } from './model-carrier.ts';
import type { Oracle } from './oracle.ts';
import type { Draw } from './people.ts';

export const person = 'user_1';
export const computers = ['computer_1', 'computer_2'] as const;

const never = new AbortController().signal;
/** Who asks waits for nothing that only time brings. */
const gone = AbortSignal.abort();

export type BroughtText = RelayedText & { readonly computerId: string };

export interface WorldDeps {
  readonly store: OpenedSharedStore;
  readonly clock: TestClock;
  readonly ids: Ids;
  readonly draw: Draw;
  readonly oracle: Oracle;
}

export async function openWorld({ store: opened, clock, ids, draw, oracle }: WorldDeps) {
  let under = 0;
  /** Counts pending work, to know when none is left. */
  const counted = <T>(work: Promise<T>): Promise<T> => {
    under += 1;
    return work.finally(() => {
      under -= 1;
    });
  };
  const store: SharedStore = {
    ...opened,
    engine: opened.engine,
    wake: opened.wake,
    write: (operation, options) => counted(opened.write(operation, options)),
    read: (operation) => counted(opened.read(operation)),
  };
  const rows = createNumberStore(store, () => clock.now());
  const byE164 = new Map<string, string>();
  const bag: CarrierEvent[] = [];
  const delivered = new Map<string, BroughtText[]>();
  const pushed = new Map<string, number>();
  const linked = new Set<string>(computers);
  const listeners = new Set<(event: { sourceId: string; userId: string }) => unknown>();
  let lanes: SharedLanes[] = [];
  let healed = false;
  let emitted = 0;

  const carrier = createModelCarrier({
    draw,
    oracle,
    now: () => clock.now(),
    numberId: (e164) => byE164.get(e164) ?? 'nobody',
    post,
  });

  const ringing = createModelCalls({
    draw,
    oracle,
    post,
    now: () => clock.now(),
    numberId: (e164) => byE164.get(e164) ?? 'nobody',
    isHealed: () => carrier.isHealed(),
  });

  function post(event: Posted): void {
    const copies = draw.chance(0.15) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) bag.push({ ...event, receivedAt: 0 });
  }

  /** All parts that text and call, over what is in the database. */
  function create() {
    const steps = createPaidSteps({ store, clock, timers: clock });
    const log = { warn() {}, error: (message: string) => oracle.fail(message) };
    const events: Pick<EventBackbone, 'emit' | 'follow'> = {
      *emit(tx) {
        tx.afterCommit(() => {
          emitted += 1;
        });
        return yield* answered(true);
      },
      follow(_types, listener) {
        const tell = ({ sourceId, userId }: { sourceId: string; userId: string }) =>
          listener({ id: sourceId, sourceId, userId, type: 'approval.requested', at: clock.now() });
        listeners.add(tell);
        return () => listeners.delete(tell);
      },
    };
    const invites = createInvites({
      store,
      clock,
      ids,
      numbers: rows.numbers,
      origin: 'https://gantry.example',
      sealer: createSealer({ masterKey: 'k'.repeat(43), purpose: 'phone' }),
      consents: () => calls.consents,
    });
    const { fees } = countedFees();
    const given = {
      store,
      clock,
      timers: clock,
      ids,
      steps,
      log,
      events,
      numbers: rows.numbers,
      invites,
      openLanes,
      fees,
    };
    const texts: Texts = createTexts({
      ...given,
      carrier,
      isLinked: (id) => linked.has(id),
      async call(id, { body }) {
        const text = body as RelayedText;
        const fate = healed ? 'good' : draw.weighted({ good: 85, cut: 5, after: 6, before: 4 });
        if (fate === 'cut') throw new Error('The link was cut.');
        if (fate === 'before') return { status: 503, body: null };
        delivered.set(text.messageId, [...(delivered.get(text.messageId) ?? []), { ...text, computerId: id }]);
        return fate === 'after' ? { status: 500, body: null } : { status: 200, body: { status: 'delivered' } };
      },
      *pushDirectly(tx, { message }) {
        tx.afterCommit(() => pushed.set(message.messageId, (pushed.get(message.messageId) ?? 0) + 1));
        return yield* answered('pushed');
      },
      consents: { basisFor: (tx, numberId, e164) => calls.consents.basisFor(tx, numberId, e164) },
      onStop: [(tx, numberId, e164) => calls.onStop(tx, numberId, e164)],
      replies: async (number: HeldNumber) => repliesOf(number, null),
      limits: (_tx, { e164 }) =>
        answered(e164.endsWith('1') ? numberLimits.soleProprietor : { ...numberLimits.standard, perDay: 400 }),
      approvals: {
        check: async () =>
          ({ title: 'Order flour', expiresAt: new Date(clock.now() + 3_600_000).toISOString() }) as Approval,
        resolve: async () => ({ title: 'Order flour' }) as Approval,
      },
      patienceMs: 0,
    });
    const calls: Calls = createCalls({
      ...given,
      carrier: { calls: ringing, name: 'simulator' },
      webhookOrigin: 'http://cloud.test',
      optOuts: texts.optOuts,
      ownPhone: texts.ownPhone,
      brandOf: () => none(),
      limits: { ...defaultCallLimits, maxConcurrent: 1000, perDay: 100_000 },
    });
    return { texts, calls };
  }

  const openLanes: OpenPhoneLanes = ({ name, ...how }) => {
    const send: typeof how.send = (item, signal) => counted(how.send(item, signal));
    const onFault = (fault: unknown) => oracle.fail(`A lane failed: ${String(fault)}`);
    const rest = { store, clock, timers: clock, random: () => 0.5, name: `phone ${name}`, onFault };
    const lane = createSharedLanes({ ...rest, ...how, send });
    lanes.push(lane);
    return lane;
  };

  function* none() {
    return yield* answered(null);
  }

  let parts = create();
  const start = async () => {
    await parts.texts.start();
    await parts.calls.start?.();
  };
  const close = async () => {
    await parts.calls.close?.();
    await parts.texts.close();
  };
  await start();

  /** Until nothing is under way, and stays so. */
  async function quiet(): Promise<void> {
    for (let still = 0; still < 4; still = under === 0 ? still + 1 : 0) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  async function addNumber(e164: string): Promise<string> {
    const id = ids.next('number');
    await store.write(function* (tx) {
      yield* rows.create(
        tx,
        {
          id,
          userId: person,
          e164,
          type: 'local',
          country: 'CA',
          locality: null,
          monthlyCost: null,
          carrier: 'simulator',
          origin: 'bought',
          runtimeId: draw.one(computers),
          botId: 'bot_1',
          botName: null,
          portDetails: null,
          addressHash: id,
          address: 'sealed',
        },
        1000,
      );
      yield* rows.move(tx, id, 'bought', { carrierNumberId: `carrier ${id}`, profileId: id, voiceState: 'active' });
      yield* rows.numbers.setSmsState(tx, id, 'active');
    });
    byE164.set(e164, id);
    return id;
  }

  async function ask(op: string, more: { params?: object; body?: object; computerId?: string }): Promise<unknown> {
    const bound = [...parts.texts.routes, ...parts.calls.routes].find(({ route }) => route.op === op) as BoundRoute;
    const kind = more.computerId === undefined ? 'owner' : 'device';
    const principal: Principal = {
      kind,
      userId: person,
      scopes: new Set(),
      via: 'model',
      ...(more.computerId === undefined ? {} : { computerId: more.computerId }),
    };
    const context = {
      principal,
      params: {},
      query: {},
      body: undefined,
      signal: gone,
      requestId: 'r',
      ...more,
    };
    return ((await bound.handler(context as never)) as { body: unknown }).body;
  }

  return {
    store,
    rows,
    bag,
    carrier,
    delivered,
    pushed,
    linked,
    quiet,
    addNumber,
    ask,
    post,
    byE164,
    counts: () => ({ events: emitted }),
    /** The refusal's wire code, or `ok`. */
    async send(numberId: string, to: string, text: string, computerId?: string): Promise<string> {
      try {
        await ask('sendText', { body: { numberId, to, text }, ...(computerId === undefined ? {} : { computerId }) });
        return 'ok';
      } catch (error) {
        if (error instanceof AppError) return error.options.wireCode ?? error.code;
        throw error;
      }
    },
    async take(event: CarrierEvent): Promise<void> {
      const readers = [...parts.texts.readers, ...(parts.calls.readers ?? [])];
      const keep = await readers.find(({ prefix }) => event.type.startsWith(prefix))?.take(event, never);
      if (typeof keep === 'function') await store.write(keep);
    },
    wake: (id: string) => parts.texts.wake(id),
    async look(): Promise<void> {
      await parts.texts.forgetOld(clock.now());
      await parts.calls.forgetOld?.(clock.now());
    },
    request: (id: string) => Promise.all([...listeners].map((tell) => tell({ sourceId: id, userId: person }))),
    async release(id: string): Promise<void> {
      const number = await rows.numbers.find(id);
      if (number === null) return;
      await store.write(function* (tx) {
        yield* parts.texts.hooks.released!(tx, number);
        yield* parts.calls.hooks.released!(tx, number);
        yield* rows.move(tx, id, 'release');
        yield* rows.move(tx, id, 'gone');
      });
    },
    async restart(): Promise<void> {
      const closing = close();
      await clock.advance(3000);
      await closing;
      await quiet();
      lanes = [];
      parts = create();
      await start();
    },
    heal(): void {
      healed = true;
      carrier.heal();
      for (const id of computers) linked.add(id);
    },
    hurry: () => {
      for (const lane of lanes) lane.wake();
    },
    close,
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;
