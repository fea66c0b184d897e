/** Registrations on a database, with the real numbers and paid steps, against the simulated carrier over its wire. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { phoneCarrierMigrations } from '../../../../src/cloud-api/phone/carrier/migrations.ts';
import { createPaidSteps } from '../../../../src/cloud-api/phone/carrier/paid-steps.ts';
import { createTelnyxCarrier } from '../../../../src/cloud-api/phone/carrier/telnyx/index.ts';
import { phoneNumberMigrations } from '../../../../src/cloud-api/phone/numbers/index.ts';
import { createNumberStore } from '../../../../src/cloud-api/phone/numbers/store.ts';
import type { HeldNumber } from '../../../../src/cloud-api/phone/ports.ts';
import {
  createPhoneRegistration,
  phoneRegistrationMigrations,
} from '../../../../src/cloud-api/phone/registration/index.ts';
import type { Registration, RegistrationForm } from '../../../../src/contracts/phone/registration.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { createSealer } from '../../../../src/kit/secrets/sealer.ts';
import type { OpenedSharedStore } from '../../../../src/kit/store/shared-store.ts';
import type { LogLine, Reply } from '../../../kit/http/support.ts';
import { onEnd, serve } from '../../../kit/http/support.ts';
import type { Engine, Place } from '../../../support/engines.ts';
import { countedFees } from '../../../support/phone/fees.ts';
import { boughtNumber, startSimulator } from '../../../support/phone/simulator.ts';
import { createTestClock } from '../../../support/test-clock.ts';

export const origin = 'https://phone.example';
/** Where the carrier posts in vain, at once: a name would be looked up, for seconds where nobody knows it. */
const nobody = 'http://127.0.0.1:9';
export const ein = '12-3456789';
export const userId = 'user_local';

/** All that a business gives, and nothing that has a default. */
export const business: RegistrationForm = {
  legalName: 'Blue Bottle Bakery LLC',
  brandName: 'Blue Bottle',
  ein,
  website: 'https://bakery.example.com',
  street: '12 Mill Lane',
  city: 'Fort Collins',
  region: 'CO',
  postalCode: '80521',
  contactFirstName: 'Ada',
  contactLastName: 'Moss',
  contactEmail: 'ada@bakery.example.com',
  contactPhone: '+19705550111',
  useCase: 'CUSTOMER_CARE',
  description: 'Answers to questions of people who text the bakery: opening hours, orders and when bread is ready.',
  sampleMessages: [
    'Blue Bottle: your rye loaf is ready until six. Reply STOP to opt out.',
    'Blue Bottle: we open at seven tomorrow. Anything else you would like to know?',
  ],
};

export const person: RegistrationForm = {
  entityType: 'SOLE_PROPRIETOR',
  brandName: 'Moss Gardening',
  contactFirstName: 'Ada',
  contactLastName: 'Moss',
  contactEmail: 'ada@moss.example.com',
  mobilePhone: '+19705550122',
  street: '12 Mill Lane',
  city: 'Fort Collins',
  region: 'CO',
  postalCode: '80521',
  description: 'Answers to questions of people who text about their garden: dates, prices and what grows where.',
  sampleMessages: [
    'Moss Gardening: I come on Tuesday at nine. Reply STOP to opt out.',
    'Moss Gardening: the hedge is forty dollars. Shall I come on Friday?',
  ],
};

export const migrations = [...phoneCarrierMigrations, ...phoneNumberMigrations, ...phoneRegistrationMigrations];
const masterKey = randomBytes(32).toString('hex');

/** One process over a database; `lines`: its log. */
export async function openPart(
  store: OpenedSharedStore,
  { sim, clock }: { sim: Awaited<ReturnType<typeof startSimulator>>['sim']; clock: ReturnType<typeof createTestClock> },
) {
  const lines: LogLine[] = [];
  const note = (message: string, fields?: Record<string, unknown>) => void lines.push({ message, fields });
  const carrier = createTelnyxCarrier({
    baseUrl: sim.url,
    apiKey: sim.apiKey,
    connectionId: '1',
    name: 'simulator' as const,
    receiptsUrl: 'http://127.0.0.1:9/receipts',
  });
  const rows = createNumberStore(store, () => clock.now());
  const counted = countedFees();
  const deps = {
    store,
    clock,
    timers: clock,
    carrier,
    origin,
    webhookOrigin: nobody,
    ids: createIds(clock),
    log: { warn: note, error: note },
    sealer: createSealer({ masterKey, purpose: 'phone' }),
    numbers: rows.numbers,
    paid: createPaidSteps({ store, clock, timers: clock, settleMs: 0 }),
    fees: counted.fees,
  };
  const part = createPhoneRegistration(deps);
  onEnd(() => part.close?.());
  return { part, rows, lines, carrier, counted };
}

export async function openRig(engine: Engine) {
  const clock = createTestClock();
  const simulated = await startSimulator();
  onEnd(async () => simulated[Symbol.asyncDispose]());
  const floor: Place = await engine.place();
  const store = await floor.open(migrations, clock);
  const opened = await openPart(store, { ...simulated, clock });
  const { part, rows } = opened;
  const owners = {
    phoneNumber: async (_: unknown, id: string) => (await rows.numbers.find(id)) !== null,
  };
  const { call, lines: httpLines } = await serve({ routes: part.routes, owners });
  let count = 0;

  /** One that the person has, also at the carrier. */
  async function buy(
    e164 = `+1970555015${count}`,
    type: 'local' | 'toll_free' = 'local',
    country = 'US',
  ): Promise<HeldNumber> {
    count += 1;
    const at = await boughtNumber(simulated, 'http://127.0.0.1:9/in', e164);
    const id = `number_${count}`;
    await store.write(function* (tx) {
      const facts = { country, locality: null, monthlyCost: null, carrier: 'simulator', portDetails: null };
      const made = { id, userId, e164, type, origin: 'bought' as const, runtimeId: 'computer_1', botId: 'bot_1' };
      yield* rows.create(tx, { ...facts, ...made, addressHash: `hash ${id}`, address: 'sealed' }, 10);
      yield* rows.move(tx, id, 'bought', { carrierNumberId: at.id, profileId: at.profileId, voiceState: 'active' });
    });
    return (await rows.numbers.find(id))!;
  }

  /** As the numbers' part does it: fees first, then the row. */
  async function release(id: string): Promise<void> {
    const number = (await rows.numbers.find(id))!;
    await part.hooks?.ending?.(number);
    await store.write(function* (tx) {
      yield* rows.move(tx, id, 'release');
      yield* part.hooks!.released!(tx, number);
    });
  }

  const path = (id: string) => `/api/v1/phone/numbers/${id}/registration`;
  const submit = (id: string, body: RegistrationForm | object, query = '') =>
    call('POST', `${path(id)}${query}`, { body });
  const read = (id: string) => call('GET', path(id));

  /** Reads it as a person does, until it is so. */
  async function until(id: string, fits: (registration: Registration) => boolean): Promise<Registration> {
    let last: Registration | undefined;
    for (let turn = 0; turn < 100; turn += 1) {
      await simulated.sim.settled();
      // What looks after registrations by itself asks the carrier meanwhile.
      await delay(Math.min(turn, 20));
      await clock.advance(4_000);
      last = registrationOf(await read(id));
      if (fits(last)) return last;
    }
    throw new Error(`It is still ${JSON.stringify({ ...last, form: undefined }, null, 1)}`);
  }

  return {
    ...opened,
    clock,
    floor,
    store,
    call,
    httpLines,
    buy,
    release,
    path,
    submit,
    read,
    until,
    sim: simulated.sim,
    ask: simulated.ask,
    otp: (id: string, pin?: string) => call('POST', `${path(id)}/otp`, pin === undefined ? {} : { body: { pin } }),
    charges: (what?: string) =>
      simulated.sim.state.charges.filter((charge) => what === undefined || charge.what === what),
    fail: (name: string, more: object = {}) => simulated.ask('POST', '/sim/faults', { name, ...more }),
  };
}

export type Rig = Awaited<ReturnType<typeof openRig>>;

export const registrationOf = (reply: Reply) => reply.json as unknown as Registration;
export const isApproved = ({ state }: Registration) => state === 'approved';
export const isRejected = ({ state }: Registration) => state === 'rejected';
