/** Numbers over a store of either engine and the simulated carrier, with people and computers that a test names. */

import { phoneCarrierMigrations } from '../../../../src/cloud-api/phone/carrier/migrations.ts';
import { createPaidSteps } from '../../../../src/cloud-api/phone/carrier/paid-steps.ts';
import type { Carrier } from '../../../../src/cloud-api/phone/carrier/port.ts';
import { createTelnyxCarrier } from '../../../../src/cloud-api/phone/carrier/telnyx/index.ts';
import { createNumbers, phoneNumberMigrations } from '../../../../src/cloud-api/phone/numbers/index.ts';
import type { Consents, NumberHooks } from '../../../../src/cloud-api/phone/ports.ts';
import type { PhoneNumber, Port } from '../../../../src/contracts/phone/number.ts';
import { systemTimers } from '../../../../src/kit/clock/timers.ts';
import { createIdempotency, idempotencyMigrations } from '../../../../src/kit/http/idempotency.ts';
import { everyScope } from '../../../../src/kit/http/principals.ts';
import type { Authenticator } from '../../../../src/kit/http/types.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { laneMigrations } from '../../../../src/kit/lane/migrations.ts';
import { createSharedLanes } from '../../../../src/kit/lane/shared-lanes.ts';
import { createSealer } from '../../../../src/kit/secrets/sealer.ts';
import { answered } from '../../../../src/kit/store/answered.ts';
import { movableClock } from '../../../host/support.ts';
import { type CallOptions, onEnd, serve } from '../../../kit/http/support.ts';
import type { Place } from '../../../support/engines.ts';
import { countedFees } from '../../../support/phone/fees.ts';
import { type SimulatedCarrier, startSimulator } from '../../../support/phone/simulator.ts';

const migrations = [...laneMigrations, ...idempotencyMigrations, ...phoneCarrierMigrations, ...phoneNumberMigrations];
/** As the carrier would find them for sale. */
export const forSale = (last: number) => `+1970555${String(last).padStart(4, '0')}`;

export interface World {
  readonly clock: ReturnType<typeof movableClock>;
  readonly simulated: SimulatedCarrier;
  readonly plans: Map<string, string>;
  /** Computers told to read anew, one entry each time. */
  readonly told: string[];
  /** Why a computer does not answer, by its id. */
  readonly away: Set<string>;
  /** What the other parts were told, in order. */
  readonly heard: string[];
  /** Businesses that numbers are registered for, by number. */
  readonly brands: Map<string, string>;
  /** What the carrier charged. */
  readonly counted: ReturnType<typeof countedFees>;
  readonly consents: { numberId: string; e164: string; source: string; evidence: string }[];
  /** What the other parts do besides hearing of it. */
  hooks: NumberHooks;
  /** One replica. */
  open(wrap?: (carrier: Carrier) => Carrier): Promise<Replica>;
}

export type Replica = Awaited<ReturnType<typeof openReplica>>;

const owners: Readonly<Record<string, string>> = { computer_a: 'ada', computer_a2: 'ada', computer_b: 'bob' };

export async function openWorld(place: Place): Promise<World> {
  const simulated = await startSimulator();
  onEnd(async () => simulated[Symbol.asyncDispose]());
  const clock = movableClock();
  const world: World = {
    clock,
    simulated,
    told: [],
    away: new Set<string>(),
    heard: [],
    brands: new Map<string, string>(),
    consents: [],
    counted: countedFees(),
    hooks: {},
    plans: new Map([
      ['ada', 'plus'],
      ['bob', 'plus'],
    ]),
    open: (wrap) => openReplica(place, world, wrap),
  };
  return world;
}

/** `Bearer ada`, or `Bearer computer_a` for the computer itself. */
const authenticator: Authenticator = {
  name: 'test',
  authenticate({ headers }) {
    const name = (headers.authorization ?? '').replace('Bearer ', '');
    const owner = owners[name];
    if (name === '') return null;
    if (owner !== undefined)
      return { kind: 'device', userId: owner, scopes: new Set(['compute']), via: 'device', computerId: name };
    return { kind: 'user', userId: name, scopes: everyScope, via: 'cookie' };
  },
};

async function openReplica(place: Place, world: World, wrap: (carrier: Carrier) => Carrier = (carrier) => carrier) {
  const { clock, simulated } = world;
  const { sim } = simulated;
  const store = await place.open(migrations, clock);
  const ids = createIds(clock);
  const warnings: string[] = [];
  const consents: Pick<Consents, 'record'> = {
    *record(_tx, consent) {
      world.consents.push(consent);
      return yield* answered({ id: 'consent_1', at: clock.now() });
    },
  };
  const hears: NumberHooks = {
    *released(_tx, { e164 }) {
      yield* answered(world.heard.push(`released ${e164}`));
    },
    *moved(_tx, { e164, botId }, before) {
      yield* answered(world.heard.push(`moved ${e164} from ${before.botId} to ${botId}`));
    },
    async ending({ e164 }) {
      world.heard.push(`ending ${e164}`);
    },
  };
  const carrier = wrap(
    createTelnyxCarrier({ baseUrl: sim.url, apiKey: sim.apiKey, connectionId: '1', name: 'simulator' }),
  );
  const part = createNumbers({
    fees: world.counted.fees,
    store,
    clock,
    ids,
    carrier,
    timers: systemTimers,
    log: { warn: (message) => void warnings.push(message), error: (message) => void warnings.push(message) },
    sealer: createSealer({ masterKey: 'k'.repeat(43), purpose: 'phone' }),
    origin: 'https://gantry.example',
    // Where the carrier posts in vain, at once: a name would be looked up, for seconds where nobody knows it.
    webhookOrigin: 'http://127.0.0.1:9',
    publicKey: sim.publicKey,
    addressOf: () => '198.51.100.7',
    users: { find: async (id) => ({ plan: world.plans.get(id) ?? 'free', name: id === 'ada' ? 'Ada <b>' : id }) },
    computers: {
      async find(userId, id) {
        if (id === 'hosted_1') return { id, kind: 'hosted' };
        return owners[id] === userId ? { id, kind: 'runtime' } : null;
      },
      ownerOf: async (id) => owners[id] ?? null,
    },
    async call(computerId, { method, path, body }) {
      if (world.away.has(computerId)) throw new Error('away');
      world.told.push(`${computerId} ${method} ${path} ${JSON.stringify(body)}`);
      return { status: 202, body: { ok: true } };
    },
    openLanes: ({ name, ...how }) =>
      createSharedLanes({ store, clock, name, random: () => 0.5, ...how, backoffMs: [20] }),
    events: { emit: () => never('an event'), follow: () => never('events') },
    pushDirectly: () => never('a push'),
    isLinked: () => never('a link'),
    approvals: { check: () => never('an approval'), resolve: () => never('an approval') },
    admits: () => true,
    steps: createPaidSteps({ store, clock, settleMs: 100 }),
    hooks: () => [hears, world.hooks],
    consents: () => consents,
    brandOf: async (id) => world.brands.get(id) ?? null,
    registered: async (numberIds) => new Set(numberIds.filter((id) => world.brands.has(id))),
  });
  await part.start?.();
  const web = await serve({
    routes: part.routes,
    owners: part.owners ?? {},
    authenticators: [authenticator],
    idempotency: createIdempotency(store, clock),
    limits: { failedCredentials: 1000, publicPages: 1000 },
  });
  let closed = false;
  const close = async () => {
    if (!closed) await part.close?.();
    closed = true;
  };
  onEnd(close);
  const call =
    (who: string | null) =>
    (method: string, path: string, body?: unknown, more: CallOptions = {}) =>
      web.call(method, path, { token: who, ...(body === undefined ? {} : { body }), ...more });
  const ada = call('ada');
  const numbers = '/api/v1/phone/numbers';
  return {
    store,
    clock,
    part,
    web,
    warnings,
    close,
    ada,
    bob: call('bob'),
    nobody: call(null),
    computer: call('computer_a'),
    buy: (e164: string, more: object = {}, who = ada) =>
      who('POST', numbers, { e164, runtimeId: 'computer_a', botId: 'bot_1', ...more }),
    async list(who = ada): Promise<PhoneNumber[]> {
      return ((await who('GET', numbers)).json as unknown as { numbers: PhoneNumber[] }).numbers;
    },
    port: (e164: string, details?: object, who = ada) =>
      who('POST', `${numbers}/port`, {
        e164,
        runtimeId: 'computer_a',
        botId: 'bot_1',
        ...(details === undefined ? {} : { details }),
      }),
  };
}

function never(what: string): never {
  throw new Error(`Numbers ask for ${what}.`);
}

export const numberIn = (reply: { readonly json: unknown }) => (reply.json as { number: PhoneNumber }).number;
export const portIn = (reply: { readonly json: unknown }) => (reply.json as { port: Port }).port;
/** Fees that were taken, without what was given back. */
export const charged = ({ simulated }: World, what: string) =>
  simulated.sim.state.charges.filter((charge) => charge.what === what).length;
