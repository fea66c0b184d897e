/** What lasts too long if nobody looks: fees of a number that was given up, a block that was a mistake, secrets beside their seals, and asking the carrier. */
import { describe, expect, test } from 'vitest';
import { type Carrier, CarrierFault } from '../../../../src/cloud-api/phone/carrier/port.ts';
import type { Invite } from '../../../../src/contracts/phone/number.ts';
import { waitFor } from '../../../runtime-server/engine.ts';
import { engines } from '../../../support/engines.ts';
import { forSale, numberIn, openWorld, portIn, type Replica } from './support.ts';

const numbers = '/api/v1/phone/numbers';

async function bought(replica: Replica, last = 150) {
  const { id } = numberIn(await replica.buy(forSale(last)));
  await waitFor(replica.list, (list) => list.some((one) => one.id === id && one.voiceState === 'active'));
  return id;
}

const phases = async ({ store }: Replica) =>
  (await store.all<{ phase: string }>('SELECT phase FROM phone_number')).map(({ phase }) => phase);

/** The carrier with other answers about numbers. */
const wrapped = (own: Partial<Carrier['numbers']>) => (carrier: Carrier) => ({
  ...carrier,
  numbers: { ...carrier.numbers, ...own },
});

describe.each(engines)('on $name', ({ place }) => {
  test('a number is given up also where a fee of another part cannot be ended; that is tried until it is', async () => {
    const world = await openWorld(await place());
    let ends = false;
    world.hooks = {
      async ending() {
        if (!ends) throw new CarrierFault('service', 'The registry is away.');
      },
    };
    const replica = await world.open();
    const id = await bought(replica);
    expect((await replica.ada('DELETE', `${numbers}/${id}`)).status).toBe(204);
    await waitFor(
      () => Object.values(world.simulated.sim.state.numbers),
      (all) => all.every(({ status }) => status === 'deleted'),
    );
    expect(await phases(replica)).toEqual(['releasing']);
    ends = true;
    await waitFor(
      () => phases(replica),
      ([phase]) => phase === 'gone',
    );
  });

  test('a number that another carrier has is given up without asking ours for it', async () => {
    const world = await openWorld(await place());
    const away = { is: false };
    const replica = await world.open((carrier) =>
      wrapped({
        find: async (e164) => (away.is ? { id: 'x', status: 'ported-out' } : carrier.numbers.find(e164)),
        release: async () => {
          throw new CarrierFault('service', 'It is not ours.');
        },
      })(carrier),
    );
    const id = await bought(replica);
    away.is = true;
    expect((await replica.ada('DELETE', `${numbers}/${id}`)).status).toBe(204);
    await waitFor(
      () => phases(replica),
      ([phase]) => phase === 'gone',
    );
  });

  test('a number that the carrier did not list for a day texts again once it does', async () => {
    const world = await openWorld(await place());
    const hidden = { is: false };
    const replica = await world.open((carrier) =>
      wrapped({ find: async (e164) => (hidden.is ? null : carrier.numbers.find(e164)) })(carrier),
    );
    const id = await bought(replica);
    await replica.store.write((tx) => replica.part.numbers.setSmsState(tx, id, 'active'));
    const look = async () => {
      await replica.part.forgetOld?.(world.clock.now());
      const [one] = await replica.list();
      const held = await replica.part.numbers.find(id);
      return [one?.smsState, held?.smsState, one?.problem === null];
    };
    hidden.is = true;
    expect(await look()).toEqual(['blocked', 'blocked', false]);
    // What is decided of its registration meanwhile does not make it text.
    await replica.store.write((tx) => replica.part.numbers.setSmsState(tx, id, 'active'));
    expect(await look()).toEqual(['blocked', 'blocked', false]);
    hidden.is = false;
    expect(await look()).toEqual(['active', 'active', true]);
  });

  test('a port is read from the carrier once in three seconds, however often its person looks', async () => {
    const world = await openWorld(await place());
    world.simulated.sim.setSpeed('paused');
    let reads = 0;
    const replica = await world.open((carrier) => ({
      ...carrier,
      ports: {
        ...carrier.ports,
        read(orderId) {
          reads += 1;
          return carrier.ports.read(orderId);
        },
      },
    }));
    const { id } = numberIn(await replica.port('+12025550187'));
    const before = reads;
    const began = performance.now();
    for (let times = 0; times < 20; times += 1) {
      expect(portIn(await replica.ada('GET', `${numbers}/${id}/port`)).state).toBe('draft');
    }
    expect(reads - before).toBeLessThanOrEqual(2 + (performance.now() - began) / 3_000);
    const soFar = reads;
    world.clock.move(3_000);
    await replica.ada('GET', `${numbers}/${id}/port`);
    expect(reads).toBeGreaterThan(soFar);
    // The outbox may look beside its person, for the time has come for both.
    expect(reads).toBeLessThanOrEqual(soFar + 2);
  });

  test('the address of an invite is nowhere in the database, also where it was asked for with an Idempotency-Key', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const id = await bought(replica);
    const made = await replica.ada('POST', `${numbers}/${id}/invites`, undefined, {
      headers: { 'idempotency-key': 'invite-1' },
    });
    const { url } = (made.json as unknown as { invite: Invite }).invite;
    const token = url.slice(url.lastIndexOf('/') + 1);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    const kept = [
      await replica.store.all('SELECT * FROM phone_invite'),
      await replica.store.all('SELECT * FROM idempotency'),
    ];
    expect(kept[0]).toHaveLength(1);
    expect(JSON.stringify(kept)).not.toContain(token);
  });
});
