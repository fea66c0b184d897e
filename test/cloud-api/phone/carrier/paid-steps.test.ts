/** Nothing is paid twice, on each engine: kills between asking and noting, time-outs, and several replicas at once. */
import { describe, expect, test } from 'vitest';
import { phoneCarrierMigrations } from '../../../../src/cloud-api/phone/carrier/migrations.ts';
import { createPaidSteps } from '../../../../src/cloud-api/phone/carrier/paid-steps.ts';
import { CarrierFault } from '../../../../src/cloud-api/phone/carrier/port.ts';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { engines } from '../../../support/engines.ts';
import { createTestClock } from '../../../support/test-clock.ts';

interface Order {
  readonly orderId: string;
}

/** A carrier that keeps what was ordered by key, as customer_reference does. */
function openShop() {
  const orders: string[] = [];
  return {
    orders,
    step: (key: string, answer: (order: Order) => Promise<Order> = async (order) => order) => ({
      find: async (): Promise<Order | null> => {
        const place = orders.indexOf(key);
        return place < 0 ? null : { orderId: `order_${place}` };
      },
      act: () => {
        orders.push(key);
        return answer({ orderId: `order_${orders.length - 1}` });
      },
    }),
  };
}

const unanswered = async (): Promise<never> => {
  throw new CarrierFault('unknown', 'no answer');
};

describe.each(engines)('paid steps on $name', ({ name, place }) => {
  async function open() {
    const clock = createTestClock();
    const floor = await place();
    // On SQLite one process has the file: a replica there is the next process.
    const store = await floor.open(phoneCarrierMigrations, clock);
    const another = async () =>
      createPaidSteps({
        clock,
        timers: clock,
        store: name === 'sqlite' ? store : await floor.open(phoneCarrierMigrations, clock),
      });
    return { clock, store, another, steps: createPaidSteps({ store, clock, timers: clock }), shop: openShop() };
  }

  test('a result is kept: asked for again, also by the next process, nothing is done', async () => {
    const { steps, another, shop } = await open();
    expect(await steps.run('buy 1', shop.step('buy 1'))).toEqual({ orderId: 'order_0' });
    expect(await steps.run('buy 1', shop.step('buy 1'))).toEqual({ orderId: 'order_0' });
    expect(await (await another()).run('buy 1', shop.step('buy 1'))).toEqual({ orderId: 'order_0' });
    expect(await steps.run('buy 2', shop.step('buy 2'))).toEqual({ orderId: 'order_1' });
    expect(shop.orders).toEqual(['buy 1', 'buy 2']);
  });

  test('a step that answers nothing is done as well', async () => {
    const { steps } = await open();
    const acted: number[] = [];
    const step = {
      find: async () => null,
      act: async () => {
        acted.push(1);
        return null;
      },
    };
    await steps.run('end', step);
    expect(await steps.run('end', step)).toBe(null);
    expect(acted).toEqual([1]);
  });

  test('what went unanswered is looked for, and found it is not done again', async () => {
    const { steps, another, shop } = await open();
    await expect(steps.run('buy', shop.step('buy', unanswered))).rejects.toMatchObject({ kind: 'unknown' });
    expect(await (await another()).run('buy', shop.step('buy'))).toEqual({ orderId: 'order_0' });
    expect(shop.orders).toEqual(['buy']);
  });

  test('not found it is done again only once the carrier cannot be at it any more', async () => {
    const { clock, steps, shop } = await open();
    const lost = { find: async () => null, act: unanswered };
    await expect(steps.run('buy', lost)).rejects.toMatchObject({ kind: 'unknown' });
    await clock.advance(5_000);
    await expect(steps.run('buy', shop.step('buy'))).rejects.toMatchObject({ kind: 'unknown', retryAfter: 15 });
    expect(shop.orders).toEqual([]);
    await clock.advance(15_001);
    expect(await steps.run('buy', shop.step('buy'))).toEqual({ orderId: 'order_0' });
  });

  test('while nobody can tell whether it was done, it is not done', async () => {
    const { clock, steps, shop } = await open();
    await expect(steps.run('buy', shop.step('buy', unanswered))).rejects.toThrow('no answer');
    await clock.advance(3600_000);
    const blind = { ...shop.step('buy'), find: async () => Promise.reject(new CarrierFault('service', 'away')) };
    await expect(steps.run('buy', blind)).rejects.toThrow('away');
    await expect(steps.run('buy', blind)).rejects.toThrow('away');
    expect(await steps.run('buy', shop.step('buy'))).toEqual({ orderId: 'order_0' });
    expect(shop.orders).toEqual(['buy']);
  });

  test.each(['details', 'service', 'taken', 'content'] as const)(
    'a refusal (%s) forgets the step, and it may be tried again at once without looking',
    async (kind) => {
      const { steps, store } = await open();
      const refused = {
        find: async () => Promise.reject(new Error('looked for')),
        act: async () => Promise.reject(new CarrierFault(kind, 'no')),
      };
      await expect(steps.run('file', refused)).rejects.toMatchObject({ kind });
      expect(await store.all('SELECT * FROM phone_paid_step')).toEqual([]);
      expect(await steps.run('file', { ...refused, act: async () => 'filed' })).toBe('filed');
    },
  );

  test('a fault of the program after asking is not known either', async () => {
    const { steps, shop } = await open();
    const broken = async (): Promise<never> => {
      throw new TypeError('x is undefined');
    };
    await expect(steps.run('buy', shop.step('buy', broken))).rejects.toThrow('x is undefined');
    expect(await steps.run('buy', shop.step('buy'))).toEqual({ orderId: 'order_0' });
    expect(shop.orders).toEqual(['buy']);
  });

  test('many who ask at once in one process get the same one', async () => {
    const { steps, shop } = await open();
    const answers = await Promise.all(Array.from({ length: 20 }, () => steps.run('buy', shop.step('buy'))));
    expect(new Set(answers.map(({ orderId }) => orderId))).toEqual(new Set(['order_0']));
    expect(shop.orders).toEqual(['buy']);
  });

  test('a process that was killed while it asked leaves it to the next one, which looks first', async () => {
    const { clock, steps, another, shop } = await open();
    // Killed: it never hears, and nothing of it goes on.
    void steps.run(
      'buy',
      shop.step('buy', () => new Promise(() => {})),
    );
    await expect.poll(() => shop.orders).toEqual(['buy']);
    const next = (await another()).run('buy', shop.step('buy'));
    if (name === 'postgres') {
      // Its claim is renewed as long as it lives; here both share a clock, so it lives on and must be waited for.
      let settled = false;
      const settle = () => {
        settled = true;
      };
      // It goes on until the store is closed behind the test.
      void next.then(settle, settle);
      for (let n = 0; n < 10; n += 1) await clock.advance(5_000);
      expect(settled).toBe(false);
      return;
    }
    expect(await next).toEqual({ orderId: 'order_0' });
    expect(shop.orders).toEqual(['buy']);
  });

  test('results of months ago are forgotten, what is not known never is', async () => {
    const { clock, steps, store, shop } = await open();
    await steps.run('old', shop.step('old'));
    await expect(steps.run('open', shop.step('open', unanswered))).rejects.toThrow();
    await clock.advance(91 * 24 * 3600_000);
    await steps.run('new', shop.step('new'));
    await steps.forgetOld(clock.now());
    expect(
      (await store.all<{ key: string }>('SELECT key FROM phone_paid_step ORDER BY key')).map(({ key }) => key),
    ).toEqual(['new', 'open']);
  });
});

describe.each(engines.filter(({ name }) => name === 'postgres'))('replicas and paid steps on $name', ({ place }) => {
  test('of several that begin the same step one does it, and the others hear its result', async () => {
    const floor = await place();
    const shop = openShop();
    const slow = (order: Order) => new Promise<Order>((resolve) => setTimeout(() => resolve(order), 300));
    const replicas = await Promise.all(
      [1, 2, 3].map(async () =>
        createPaidSteps({ store: await floor.open(phoneCarrierMigrations), clock: systemClock }),
      ),
    );
    const answers = await Promise.all(replicas.map((steps) => steps.run('buy', shop.step('buy', slow))));
    expect(answers).toEqual([{ orderId: 'order_0' }, { orderId: 'order_0' }, { orderId: 'order_0' }]);
    expect(shop.orders).toEqual(['buy']);
  });

  test('a claim that is not renewed lapses, and the next one looks before it acts', async () => {
    const floor = await place();
    const shop = openShop();
    const [dead, live] = [createTestClock(), createTestClock()];
    const killed = createPaidSteps({
      store: await floor.open(phoneCarrierMigrations, dead),
      clock: dead,
      timers: dead,
    });
    void killed.run(
      'buy',
      shop.step('buy', () => new Promise(() => {})),
    );
    await expect.poll(() => shop.orders).toEqual(['buy']);
    const next = createPaidSteps({
      store: await floor.open(phoneCarrierMigrations, live),
      clock: live,
      timers: live,
    });
    const answer = next.run('buy', shop.step('buy'));
    let heard: Order | null = null;
    void answer.then((order) => {
      heard = order;
    });
    await expect
      .poll(async () => {
        await live.advance(1_000);
        return heard;
      })
      .toEqual({ orderId: 'order_0' });
    expect(shop.orders).toEqual(['buy']);
  });
});
