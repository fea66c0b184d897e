/** A number is searched and bought within the plan, once, whatever the carrier does meanwhile. */
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../../runtime-server/engine.ts';
import { engines } from '../../../support/engines.ts';
import { charged, forSale, numberIn, openWorld } from './support.ts';

const numbers = '/api/v1/phone/numbers';

describe.each(engines)('on $name', ({ place }) => {
  test('what is for sale is shown with its place and price, and only what was asked for', async () => {
    const world = await openWorld(await place());
    const { ada } = await world.open();
    const found = await ada('GET', `${numbers}/search?areaCode=970&limit=3`);
    expect(found.status).toBe(200);
    const { carrier, numbers: offers } = found.json as unknown as { carrier: string; numbers: { e164: string }[] };
    expect([carrier, offers.length]).toEqual(['simulator', 3]);
    for (const offer of offers) {
      expect(offer).toEqual({
        e164: expect.stringMatching(/^\+1970/),
        type: 'local',
        locality: expect.any(String),
        monthlyCost: expect.stringMatching(/^\d+\.\d\d USD$/),
      });
    }
    const free = await ada('GET', `${numbers}/search?type=toll_free&limit=1`);
    expect((free.json as unknown as { numbers: { type: string }[] }).numbers[0]?.type).toBe('toll_free');
    expect((await ada('GET', `${numbers}/search?country=DE`)).json).toMatchObject({ error: 'bad_request' });
    for (const other of ['876', '900']) {
      expect((await ada('GET', `${numbers}/search?areaCode=${other}`)).json).toMatchObject({ numbers: [] });
    }
    expect((await ada('GET', `${numbers}/search?limit=51`)).status).toBe(400);
    world.simulated.sim.fault({ name: 'fail_before', on: 'numbers.search' });
    expect((await ada('GET', `${numbers}/search`)).json).toMatchObject({ error: 'carrier_unavailable' });
  });

  test('what it costs is counted when it is bought and each month after, until it is given up', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const { id } = numberIn(await replica.buy(forSale(150)));
    await expect.poll(() => world.counted.lines.size).toBe(2);
    const spent = () => [...world.counted.lines.values()].reduce((sum, { microUsd }) => sum + microUsd, 0) / 1e6;
    const bill = world.simulated.sim.state.charges.reduce((sum, { amount }) => sum + amount, 0);
    const { monthlyCost } = (await replica.list())[0]!;
    expect(spent()).toBe(bill + Number.parseFloat(monthlyCost!));
    expect([...world.counted.lines.values()][0]).toMatchObject({ userId: 'ada', name: forSale(150), botId: 'bot_1' });
    world.clock.move(32 * 24 * 3600_000);
    await replica.part.forgetOld?.(world.clock.now());
    await replica.part.forgetOld?.(world.clock.now());
    expect(world.counted.lines.size).toBe(3);
    await replica.ada('DELETE', `${numbers}/${id}`);
    world.clock.move(320 * 24 * 3600_000);
    await replica.part.forgetOld?.(world.clock.now());
    expect(world.counted.lines.size).toBe(3);
  });

  test('a number is bought, has a relay address, and its computer is told', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const bought = await replica.buy(forSale(150), { botName: 'Clerk' });
    expect(bought.status).toBe(201);
    const number = numberIn(bought);
    expect(number).toMatchObject({
      e164: forSale(150),
      type: 'local',
      country: 'US',
      carrier: 'simulator',
      runtimeId: 'computer_a',
      botId: 'bot_1',
      smsState: 'pending_registration',
      port: null,
      problem: null,
      monthlyCost: expect.stringMatching(/USD$/),
      registered: false,
    });
    const [held] = await waitFor(replica.list, ([one]) => one?.voiceState === 'active');
    const { state } = world.simulated.sim;
    const [profile] = Object.values(state.profiles);
    const address = new URL(profile?.webhookUrl ?? '').pathname.split('/').at(-1) ?? '';
    expect(address).toMatch(/^[0-9a-f]{64}$/);
    expect(await replica.part.numbers.byAddress(address)).toMatchObject({ id: number.id, botName: 'Clerk' });
    expect(await replica.part.numbers.byAddress('0'.repeat(64))).toBeNull();
    expect(held?.registered).toBe(false);
    world.brands.set(number.id, 'A bakery');
    expect((await replica.list())[0]?.registered).toBe(true);
    world.brands.delete(number.id);
    // Nobody who reads the database can post to it.
    const rows = await replica.store.all('SELECT * FROM phone_number');
    expect(JSON.stringify(rows)).not.toContain(address);
    expect(Object.values(state.numbers)[0]?.profileId).toBe(profile?.id);
    expect(charged(world, 'number')).toBe(1);
    await waitFor(
      () => world.told,
      (told) => told.includes('computer_a POST /api/v1/runtime/resync {"scope":"phone"}'),
    );
    expect(await replica.list(replica.computer)).toEqual([held]);
    expect(await replica.list(replica.bob)).toEqual([]);
  });

  test('a plan is needed, a computer of one’s own, and a number that can exist', async () => {
    const world = await openWorld(await place());
    const { buy, bob } = await world.open();
    expect([
      (await buy('+12')).status,
      (await buy('+4915112345678')).status,
      (await buy('+18765550123')).status,
    ]).toEqual([400, 400, 400]);
    expect((await buy(forSale(150), { botId: '  ' })).json.error).toBe('bad_request');
    for (const runtimeId of ['computer_b', 'hosted_1', 'nothing_1']) {
      const reply = await buy(forSale(150), { runtimeId });
      expect([reply.status, reply.json.error]).toEqual([404, 'runtime_not_found']);
    }
    world.plans.set('ada', 'free');
    const free = await buy(forSale(150));
    expect([free.status, free.json.error]).toEqual([402, 'phone_requires_plan']);
    expect((await buy(forSale(150), {}, bob)).status).toBe(404);
    expect(charged(world, 'number')).toBe(0);
  });

  test('a dry run says what it would cost and buys nothing', async () => {
    const world = await openWorld(await place());
    const { buy, list } = await world.open();
    const dry = await buy(forSale(151), { dryRun: true });
    expect([dry.status, dry.json]).toEqual([
      200,
      { dryRun: true, plan: { e164: forSale(151), monthlyCost: expect.stringMatching(/USD$/), numbers: 1, limit: 3 } },
    ]);
    expect([await list(), charged(world, 'number')]).toEqual([[], 0]);
  });

  test('two buys at once never exceed the plan, and a number that is taken is taken', async () => {
    const world = await openWorld(await place());
    const [one, two] = [await world.open(), await world.open()];
    const replies = await Promise.all(
      [150, 151, 152, 153, 154, 155].map((last, index) => (index % 2 === 0 ? one : two).buy(forSale(last))),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 201, 403, 403, 403]);
    const over = replies.find(({ status }) => status === 403);
    expect(over?.json).toEqual({ error: 'number_limit', message: expect.stringContaining('3 of the 3 numbers') });
    const [held] = await one.list();
    const again = await one.buy(held?.e164 ?? '', { runtimeId: 'computer_b' }, one.bob);
    expect([again.status, again.json.error]).toEqual([409, 'number_taken']);
    expect(charged(world, 'number')).toBe(3);
  });

  test('a number sold between search and buy is 409, one that the carrier cannot sell is 503, and neither stays', async () => {
    const world = await openWorld(await place());
    const { buy, list } = await world.open();
    world.simulated.sim.fault({ name: 'number_taken' });
    const taken = await buy(forSale(150));
    expect([taken.status, taken.json.error]).toEqual([409, 'number_taken']);
    world.simulated.sim.fault({ name: 'no_funds', on: 'number' });
    const poor = await buy(forSale(150));
    expect([poor.status, poor.json.error]).toEqual([503, 'carrier_unavailable']);
    expect(await list()).toEqual([]);
    // The profiles that were made for them are cleared away.
    await waitFor(
      () => Object.keys(world.simulated.sim.state.profiles),
      (left) => left.length === 0,
    );
    expect((await buy(forSale(150))).status).toBe(201);
  });

  test('an order that fails after it was accepted is told with its reason, and is not counted', async () => {
    const world = await openWorld(await place());
    world.simulated.sim.setSpeed('paused');
    const { buy, list, ada } = await world.open();
    const bought = await buy(forSale(150));
    expect([bought.status, numberIn(bought).voiceState]).toEqual([201, 'pending']);
    world.simulated.sim.fault({ name: 'order_fails' });
    world.simulated.sim.setSpeed('instant');
    const [failed] = await waitFor(list, ([one]) => one?.problem !== null);
    expect(failed).toMatchObject({ voiceState: 'pending', problem: expect.stringContaining('did not deliver') });
    world.plans.set('ada', 'plus');
    for (const last of [151, 152, 153]) expect((await buy(forSale(last))).status).toBe(201);
    expect((await ada('DELETE', `${numbers}/${failed?.id}`)).status).toBe(204);
    expect((await list()).map(({ e164 }) => e164)).not.toContain(forSale(150));
  });

  test.each(['cut_after', 'fail_after', 'broken_after', 'cut_before'] as const)(
    'a carrier that acted and then did not say so (%s) sells the number once, at each step',
    async (name) => {
      const world = await openWorld(await place());
      const { buy, list } = await world.open();
      const rounds = [['profiles.create', 'numbers.order', 'numbers.list', 'numbers.assign'], ['numbers.readOrder']];
      for (const [index, steps] of rounds.entries()) {
        for (const on of steps) world.simulated.sim.fault({ name, on });
        expect((await buy(forSale(150 + index))).status).toBe(201);
        await waitFor(list, (all) => all[index]?.voiceState === 'active');
        const { profiles, numbers: held, faults } = world.simulated.sim.state;
        const made = [Object.keys(profiles).length, Object.keys(held).length, charged(world, 'number')];
        expect([made, faults]).toEqual([[index + 1, index + 1, index + 1], []]);
      }
    },
  );

  test('a program killed at any step is followed by another, and nothing is bought twice', async () => {
    const at = await place();
    const world = await openWorld(at);
    const steps = ['createProfile', 'order', 'readOrder', 'find', 'assignProfile'] as const;
    let e164 = 150;
    world.plans.set('ada', 'ultra');
    for (const step of steps) {
      // It acts, and the program never hears of it.
      let reached = () => {};
      const killed = new Promise<void>((resolve) => {
        reached = resolve;
      });
      const dying = await world.open((carrier) => ({
        ...carrier,
        numbers: {
          ...carrier.numbers,
          async [step](...asked: never[]) {
            await (carrier.numbers[step] as (...given: never[]) => Promise<unknown>)(...asked);
            reached();
            return new Promise(() => {});
          },
        } as typeof carrier.numbers,
      }));
      void dying.buy(forSale(e164)).catch(() => {});
      await killed;
      void dying.close();
      await dying.store.close().catch(() => {});
      world.clock.move(60_000);
      const next = await world.open();
      const wanted = forSale(e164);
      await waitFor(next.list, (list) => list.some((one) => one.e164 === wanted && one.voiceState === 'active'));
      await next.close();
      await next.store.close();
      e164 += 1;
    }
    expect(charged(world, 'number')).toBe(steps.length);
    expect(Object.keys(world.simulated.sim.state.profiles).length).toBe(steps.length);
  }, 60_000);
});
