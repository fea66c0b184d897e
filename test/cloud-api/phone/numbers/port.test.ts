/** A number is brought from another carrier: what is missing is told, what is wrong is corrected, calls come first and texts after. */
import { describe, expect, test } from 'vitest';
import type { PortDetails } from '../../../../src/contracts/phone/number.ts';
import { waitFor } from '../../../runtime-server/engine.ts';
import { engines } from '../../../support/engines.ts';
import { numberIn, openWorld, portIn, type Replica, type World } from './support.ts';

const numbers = '/api/v1/phone/numbers';
const e164 = '+12025550187';
const paper = Buffer.from('%PDF-1.4 paper').toString('base64');
const whole: PortDetails = {
  entityName: 'Ada Ltd',
  authorizedPerson: 'Ada Byron',
  accountNumber: 'ACC-778899',
  pin: '4711',
  street: '1 Main St',
  locality: 'Denver',
  region: 'CO',
  postalCode: '80202',
  letterOfAuthorization: paper,
  invoice: paper,
};

/** So long after the last look that the carrier is asked. */
const look = (replica: Replica, id: string) => {
  replica.clock.move(3_000);
  return replica.ada('GET', `${numbers}/${id}/port`);
};
const events = async (world: World, replica: Replica) => {
  const [reader] = (replica.part.readers ?? []).filter(({ prefix }) => prefix === 'porting_order.');
  for (const { id } of Object.values(world.simulated.sim.state.ports)) {
    const payload = { id, status: { value: 'whatever it says' } };
    const event = {
      id: 'e',
      type: 'porting_order.status_changed',
      occurredAt: 0,
      receivedAt: 0,
      payload,
      numberId: null,
    };
    await reader?.take(event, new AbortController().signal);
  }
};

describe.each(engines)('on $name', ({ place }) => {
  test('a port says what is missing, takes it in portions, and keeps no secret once the carrier has it', async () => {
    const world = await openWorld(await place());
    world.simulated.sim.setSpeed('paused');
    const replica = await world.open();
    const { pin, accountNumber, ...first } = whole;
    const begun = await replica.port(e164, first);
    expect(begun.status).toBe(201);
    expect(numberIn(begun)).toMatchObject({ e164, voiceState: 'pending', smsState: 'pending_registration' });
    expect(portIn(begun)).toMatchObject({
      state: 'draft',
      problems: [],
      missing: ['accountNumber', 'pin'],
      readyOn: null,
    });
    const { id } = numberIn(begun);
    const order = Object.values(world.simulated.sim.state.ports)[0];
    expect(portIn(begun).orderId).toBe(order?.id);
    const corrected = await replica.ada('PATCH', `${numbers}/${id}/port`, { details: { pin, accountNumber } });
    expect([corrected.status, portIn(corrected)]).toEqual([
      200,
      expect.objectContaining({ state: 'in-process', missing: [] }),
    ]);
    expect(JSON.stringify(order?.asked)).toContain('ACC-778899');
    const kept = JSON.stringify(await replica.store.all('SELECT * FROM phone_number'));
    expect(kept).not.toMatch(/ACC-778899|4711|Ada Byron/);
    const [row] = await replica.store.all<{ port_details: string | null }>('SELECT port_details FROM phone_number');
    expect(row?.port_details).toBeNull();
    expect((await replica.ada('PATCH', `${numbers}/${id}/port`, { details: {} })).json.error).toBe('bad_request');
    const letter = { letterOfAuthorization: Buffer.from('no paper').toString('base64') };
    expect((await replica.ada('PATCH', `${numbers}/${id}/port`, { details: letter })).json).toMatchObject({
      error: 'bad_request',
      message: expect.stringContaining('a PDF in base64'),
    });
    expect(JSON.stringify([corrected.json, replica.warnings])).not.toMatch(/ACC-778899|4711/);
  });

  test('a wrong PIN is told with its field, corrected, and then calls come first and texts after', async () => {
    const world = await openWorld(await place());
    const { sim } = world.simulated;
    sim.fault({ name: 'port_pin' });
    const replica = await world.open();
    const { id } = numberIn(await replica.port(e164, whole));
    await sim.settled();
    const exception = portIn(await look(replica, id));
    expect([exception.state, exception.problems]).toEqual([
      'exception',
      [{ code: 'PASSCODE_PIN_INVALID', text: 'The PIN is wrong.', field: 'pin' }],
    ]);
    sim.setSpeed('paused');
    const corrected = await replica.ada('PATCH', `${numbers}/${id}/port`, { details: { pin: '4712' } });
    expect([corrected.status, portIn(corrected).state, portIn(corrected).problems]).toEqual([200, 'in-process', []]);
    const [order] = Object.values(sim.state.ports);
    while (order?.state !== 'ported') sim.step();
    await events(world, replica);
    const held = await waitFor(replica.list, ([one]) => one?.voiceState === 'active');
    expect(held[0]?.port).toMatchObject({ state: 'ported', messaging: 'pending' });
    // Approved, and still it does not text.
    await replica.store.write((tx) => replica.part.numbers.setSmsState(tx, id, 'active'));
    expect((await replica.list())[0]?.smsState).toBe('pending_registration');
    expect((await replica.part.numbers.find(id))?.smsState).toBe('pending_registration');
    while (order.messaging !== 'ported') sim.step();
    expect(numberIn(await look(replica, id))).toMatchObject({ smsState: 'active', voiceState: 'active' });
    const [number] = Object.values(sim.state.numbers);
    expect(number?.profileId).toBe(Object.keys(sim.state.profiles)[0]);
    expect(await look(replica, id)).toMatchObject({ status: 200 });
  });

  test('what the carrier charges for it each month is counted from the day on which it came', async () => {
    const world = await openWorld(await place());
    const { sim } = world.simulated;
    const replica = await world.open();
    const { id } = numberIn(await replica.port(e164, whole));
    await sim.settled();
    await look(replica, id);
    await events(world, replica);
    await waitFor(replica.list, ([one]) => one?.voiceState === 'active');
    expect(world.counted.counted()).toEqual([]);
    sim.fault({ name: 'fail_before', on: 'numbers.charges' });
    await replica.part.forgetOld?.(world.clock.now());
    expect(world.counted.counted()).toEqual([]);
    await replica.part.forgetOld?.(world.clock.now());
    await replica.part.forgetOld?.(world.clock.now());
    expect(world.counted.counted()).toEqual(['phone_number 1']);
    expect((await replica.list())[0]?.monthlyCost).toBe('1.00 USD');
  });

  test('ports in flight count for the plan, and follow its rules; what cannot be ported is told why', async () => {
    const world = await openWorld(await place());
    world.simulated.sim.setSpeed('paused');
    const replica = await world.open();
    for (const last of ['0161', '0162', '0163']) expect((await replica.port(`+1202555${last}`)).status).toBe(201);
    const over = await replica.buy('+19705550150');
    expect([over.status, over.json]).toEqual([
      403,
      { error: 'number_limit', message: expect.stringContaining('3 of them still on their way') },
    ]);
    expect((await replica.port('+12025550164')).json.error).toBe('number_limit');
    expect((await replica.port('+12025550161', undefined, replica.bob)).status).toBe(404);
    world.plans.set('ada', 'free');
    expect((await replica.port('+12025550164')).json.error).toBe('phone_requires_plan');
    world.plans.set('ada', 'ultra');
    const here = await replica.port('+12025550161');
    expect([here.status, here.json.error]).toEqual([409, 'number_taken']);
    world.simulated.sim.setSpeed('instant');
    await replica.buy('+19705550150');
    await waitFor(replica.list, (list) => list.some((one) => one.voiceState === 'active'));
    const [bought] = (await replica.list()).filter((one) => one.port === null);
    expect((await look(replica, bought?.id ?? '')).json.error).toBe('bad_request');
    const no = await replica.port('+19705550150');
    expect([no.status, no.json.error]).toEqual([409, 'not_portable']);
    expect(no.json.message).toMatch(/already\. Keep it/);
    const premium = await replica.port('+19005550150');
    expect([premium.status, premium.json.message]).toEqual([400, expect.stringContaining('costs extra to reach')]);
  });

  test('a port that is given up is cancelled at the carrier, also one that nobody handed in', async () => {
    const world = await openWorld(await place());
    world.simulated.sim.setSpeed('paused');
    const replica = await world.open();
    const draft = numberIn(await replica.port('+12025550161'));
    const sent = numberIn(await replica.port('+12025550162', whole));
    for (const { id } of [draft, sent]) expect((await replica.ada('DELETE', `${numbers}/${id}`)).status).toBe(204);
    await waitFor(
      () => Object.values(world.simulated.sim.state.ports).map(({ state }) => state),
      (left) => left.length === 1 && left[0] === 'cancel-pending',
    );
    world.simulated.sim.setSpeed('instant');
    await waitFor(
      () => Object.keys(world.simulated.sim.state.profiles),
      (left) => left.length === 0,
    );
    expect(await replica.list()).toEqual([]);
  });

  test('a port that the carrier cancels takes the number out of the plan, and says so', async () => {
    const world = await openWorld(await place());
    world.simulated.sim.setSpeed('paused');
    const replica = await world.open();
    const { id } = numberIn(await replica.port(e164, whole));
    const [order] = Object.values(world.simulated.sim.state.ports);
    await world.simulated.ask('POST', `/porting_orders/${order?.id}/actions/cancel`);
    world.simulated.sim.setSpeed('instant');
    await world.simulated.sim.settled();
    const ended = await look(replica, id);
    expect([portIn(ended).state, numberIn(ended).problem]).toEqual(['cancelled', expect.stringContaining('cancelled')]);
    expect(world.heard).toContain(`released ${e164}`);
    for (const last of [150, 151, 152])
      expect((await replica.buy(`+1970555${String(last).padStart(4, '0')}`)).status).toBe(201);
    expect(await replica.part.numbers.find(id)).toBeNull();
  });

  test('a split order is followed to where the number went; texts that stay behind keep the number from texting', async () => {
    const world = await openWorld(await place());
    const { sim } = world.simulated;
    sim.fault({ name: 'port_split' });
    const replica = await world.open();
    sim.setSpeed('paused');
    const begun = await replica.port(e164, whole);
    const mine = Object.values(sim.state.ports).find((one) => one.e164s.includes(e164));
    expect(portIn(begun).orderId).toBe(mine?.id);
    sim.fault({ name: 'port_messaging' });
    while (mine?.state !== 'ported') sim.step();
    while (mine.messaging === 'pending') sim.step();
    // A look may be answered by one that was under way.
    await waitFor(
      () => look(replica, numberIn(begun).id),
      (after) => portIn(after).messaging === 'exception' && numberIn(after).voiceState === 'active',
    );
    await replica.store.write((tx) => replica.part.numbers.setSmsState(tx, numberIn(begun).id, 'active'));
    expect((await replica.list())[0]?.smsState).toBe('pending_registration');
  });

  test.each(['cut_after', 'fail_after', 'broken_after'] as const)(
    'a carrier that acted and did not say so (%s) has one order of it',
    async (name) => {
      const world = await openWorld(await place());
      const { sim } = world.simulated;
      for (const on of ['ports.create', 'ports.change', 'ports.confirm', 'ports.read', 'profiles.create'])
        sim.fault({ name, on });
      const replica = await world.open();
      expect((await replica.port(e164, whole)).status).toBe(201);
      await waitFor(
        replica.list,
        ([one]) =>
          one?.port?.state === 'ported' ||
          one?.port?.state === 'foc-date-confirmed' ||
          one?.port?.state === 'in-process' ||
          one?.port?.state === 'submitted',
      );
      expect([Object.keys(sim.state.ports).length, Object.keys(sim.state.profiles).length]).toEqual([1, 1]);
    },
  );
});
