/** A number that somebody has is listed, moved and given up, and whoever has to know is told. */
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../../runtime-server/engine.ts';
import { engines } from '../../../support/engines.ts';
import { forSale, numberIn, openWorld, type Replica, type World } from './support.ts';

const numbers = '/api/v1/phone/numbers';
const resync = (computer: string) => `${computer} POST /api/v1/runtime/resync {"scope":"phone"}`;

async function bought(replica: Replica, last = 150) {
  const { id } = numberIn(await replica.buy(forSale(last)));
  await waitFor(replica.list, (list) => list.some((one) => one.id === id && one.voiceState === 'active'));
  return id;
}

const released = (world: World) =>
  waitFor(
    () => Object.values(world.simulated.sim.state.numbers),
    (all) => all.every(({ status }) => status === 'deleted'),
  );

describe.each(engines)('on $name', ({ place }) => {
  test('a number goes to another bot and computer, and both computers are told until they hear it', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const id = await bought(replica);
    world.told.length = 0;
    world.away.add('computer_a');
    const moved = await replica.ada('PATCH', `${numbers}/${id}`, {
      botId: 'bot_2',
      runtimeId: 'computer_a2',
      botName: 'Iris',
    });
    expect([moved.status, moved.json]).toEqual([
      200,
      { previousBotId: 'bot_1', number: expect.objectContaining({ botId: 'bot_2', runtimeId: 'computer_a2' }) },
    ]);
    expect(world.heard).toEqual([`moved ${forSale(150)} from bot_1 to bot_2`]);
    await waitFor(
      () => world.told,
      (told) => told.includes(resync('computer_a2')),
    );
    expect(world.told).not.toContain(resync('computer_a'));
    world.away.clear();
    replica.part.wake?.('computer_a');
    await waitFor(
      () => world.told,
      (told) => told.includes(resync('computer_a')),
    );
    expect((await replica.part.numbers.find(id))?.botName).toBe('Iris');
    expect(await replica.list(replica.computer)).toEqual([]);
  });

  test('a move is refused with the code that names the reason', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const id = await bought(replica);
    const move = async (body: object, who = replica.ada, which = id) => {
      const { status, json } = await who('PATCH', `${numbers}/${which}`, body);
      return [status, json.error];
    };
    expect(await move({ botId: '' })).toEqual([400, 'bad_request']);
    expect(await move({ botId: ' ' })).toEqual([400, 'bad_request']);
    expect(await move({ botId: 'bot_2' }, replica.bob)).toEqual([404, 'number_not_found']);
    expect(await move({ botId: 'bot_2' }, replica.ada, 'nothing_1')).toEqual([404, 'number_not_found']);
    expect(await move({ botId: 'bot_2', runtimeId: 'computer_b' })).toEqual([404, 'runtime_not_found']);
    expect(await move({ botId: 'bot_2', runtimeId: 'hosted_1' })).toEqual([403, 'runtime_cannot_move_number']);
    expect([(await replica.list())[0]?.botId, world.heard]).toEqual(['bot_1', []]);
  });

  test('a number given up is nobody’s at once, and its fees, number and profile end at the carrier', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const id = await bought(replica);
    const { state } = world.simulated.sim;
    const address = new URL(Object.values(state.profiles)[0]?.webhookUrl ?? '').pathname.split('/').at(-1) ?? '';
    let refusals = 2;
    world.hooks = {
      async ending() {
        refusals -= 1;
        if (refusals >= 0) throw new Error('The campaign could not be ended.');
      },
    };
    expect((await replica.ada('DELETE', `${numbers}/${id}`)).status).toBe(204);
    expect([await replica.part.numbers.byAddress(address), await replica.part.numbers.find(id)]).toEqual([null, null]);
    expect([await replica.list(), (await replica.ada('DELETE', `${numbers}/${id}`)).status]).toEqual([[], 404]);
    await released(world);
    await waitFor(
      () => Object.keys(state.profiles),
      (left) => left.length === 0,
    );
    expect(world.heard[0]).toBe(`released ${forSale(150)}`);
    expect(world.heard.filter((what) => what.startsWith('ending')).length).toBe(3);
    // It may be had again, and is another one.
    await waitFor(
      () => replica.buy(forSale(150)),
      ({ status }) => status === 201,
    );
    expect((await replica.list())[0]?.id).not.toBe(id);
  });

  test('a number given up while its order is on its way is given up once it came', async () => {
    const world = await openWorld(await place());
    world.simulated.sim.setSpeed('paused');
    const replica = await world.open();
    const { id } = numberIn(await replica.buy(forSale(150)));
    expect((await replica.ada('DELETE', `${numbers}/${id}`)).status).toBe(204);
    expect(await replica.list()).toEqual([]);
    world.simulated.sim.setSpeed('instant');
    await waitFor(
      () => Object.values(world.simulated.sim.state.numbers),
      (all) => all.length === 1 && all[0]?.status === 'deleted',
    );
    await waitFor(
      () => Object.keys(world.simulated.sim.state.profiles),
      (left) => left.length === 0,
    );
  });

  test('a program killed while it gives a number up is followed by another, whatever the carrier did meanwhile', async () => {
    const world = await openWorld(await place());
    world.plans.set('ada', 'ultra');
    for (const [index, step] of (['find', 'release', 'deleteProfile'] as const).entries()) {
      let reached = () => {};
      const killed = new Promise<void>((resolve) => {
        reached = resolve;
      });
      let armed = false;
      const dying = await world.open((carrier) => ({
        ...carrier,
        numbers: {
          ...carrier.numbers,
          async [step](...asked: never[]) {
            const answer = await (carrier.numbers[step] as (...given: never[]) => Promise<unknown>)(...asked);
            if (!armed) return answer;
            reached();
            return new Promise(() => {});
          },
        } as typeof carrier.numbers,
      }));
      const id = await bought(dying, 150 + index);
      armed = true;
      expect((await dying.ada('DELETE', `${numbers}/${id}`)).status).toBe(204);
      await killed;
      void dying.close();
      await dying.store.close().catch(() => {});
      world.clock.move(60_000);
      const next = await world.open();
      await released(world);
      await waitFor(
        () => Object.keys(world.simulated.sim.state.profiles),
        (left) => left.length === 0,
      );
      await next.close();
      await next.store.close();
    }
  }, 60_000);

  test('a number that another carrier took away is told of once a day, and texts no more', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const [lost, kept] = [await bought(replica, 150), await bought(replica, 151)];
    await replica.store.write((tx) => replica.part.numbers.setSmsState(tx, lost, 'active'));
    world.simulated.sim.fault({ name: 'fail_before', on: 'numbers.list' });
    await replica.part.forgetOld?.(world.clock.now());
    expect((await replica.list()).map(({ problem }) => problem)).toEqual([null, null]);
    world.simulated.sim.fault({ name: 'port_out', on: forSale(150) });
    await replica.part.forgetOld?.(world.clock.now());
    const [one, other] = await replica.list();
    expect(one).toMatchObject({ id: lost, smsState: 'blocked', problem: expect.stringContaining('moved to another') });
    expect(other).toMatchObject({ id: kept, problem: null });
    expect((await replica.ada('DELETE', `${numbers}/${lost}`)).status).toBe(204);
  });

  test('what failed goes from the list after a week', async () => {
    const world = await openWorld(await place());
    world.simulated.sim.setSpeed('paused');
    const replica = await world.open();
    await replica.buy(forSale(150));
    world.simulated.sim.fault({ name: 'order_fails' });
    world.simulated.sim.setSpeed('instant');
    await waitFor(replica.list, ([failed]) => failed?.problem !== null);
    await replica.part.forgetOld?.(world.clock.now() + 6 * 24 * 3600_000);
    expect(await replica.list()).toHaveLength(1);
    await replica.part.forgetOld?.(world.clock.now() + 8 * 24 * 3600_000);
    expect(await replica.list()).toEqual([]);
  });

  test('the tables say when a number is whose', async () => {
    const world = await openWorld(await place());
    const { part, store, ...replica } = await world.open();
    const id = await bought({ part, store, ...replica });
    const { numbers: port } = part;
    expect((await port.byE164(forSale(150)))?.id).toBe(id);
    expect((await port.ofComputer('computer_a')).map((one) => one.id)).toEqual([id]);
    expect((await port.all()).map((one) => one.id)).toEqual([id]);
    expect(await store.read((tx) => port.ofBot(tx, 'ada', 'bot_1'))).toHaveLength(1);
    expect(await store.read((tx) => port.ofBot(tx, 'bob', 'bot_1'))).toEqual([]);
    await store.write((tx) => port.setSmsState(tx, id, 'active'));
    expect((await replica.list())[0]?.smsState).toBe('active');
  });
});
