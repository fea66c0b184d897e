/** What hosted computers cost and when they sleep, on every database, by a clock that the test moves. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../support/engines.ts';
import { result } from './substitute-driver.ts';
import { key, otherKey, startHosted } from './support.ts';

const minute = 60_000;

describe.each(engines)('hosted computers on $name', (engine) => {
  const open = async () => {
    const hosted = await startHosted(engine);
    await hosted.project();
    const price = (name: string, cents: number) =>
      hosted.projects.setPrice({ name, cents, updatedAt: hosted.clock.now() });
    const usage = async () => {
      const { json } = await hosted.server.call('GET', '/api/v1/usage', { token: 'ada' });
      return json as unknown as { spentCents: number; lines: Record<string, unknown>[] };
    };
    return {
      ...hosted,
      price,
      usage,
      sleeping: async (id: string) => (await hosted.send('GET', hosted.at(id))).body.sleeping,
      cap: (spendCapCents: number | null) => hosted.projects.change('shop', { spendCapCents }),
    };
  };

  test('minutes run from the start to the call, the stop and the deletion, and add up to a thousandth', async () => {
    const { create, act, send, at, meters, clock } = await open();
    const { id } = await create();
    clock.jump(90_030);
    await act(id);
    expect((await meters(id)).minutes).toBe(1.5);
    // What was left of a thousandth is not lost.
    clock.jump(30);
    await act(id);
    expect((await meters(id)).minutes).toBe(1.501);
    clock.jump(minute);
    await send('POST', at(id, '/stop'));
    clock.jump(10 * minute);
    await send('POST', at(id, '/start'));
    clock.jump(minute / 2);
    const before = (await send('GET', at(id, '/meters'))).lines;
    expect(before.filter(({ meter }) => meter === 'computer_minute')).toEqual([
      {
        meter: 'computer_minute',
        quantity: 2.501,
        computer_id: id,
        key_id: 'key_1',
        window_start: '2026-01-02T03:00:00.000Z',
      },
    ]);
    expect(before).toHaveLength(2);
    await send('DELETE', at(id));
    expect(await meters(id)).toEqual({ minutes: 3.001, actions: 2 });
  });

  test('an idle computer sleeps, its minutes end when it should have slept, and a call or a start wakes it', async () => {
    const { create, act, send, at, meters, clock, until, sleeping, substitute, types } = await open();
    const { id } = await create();
    clock.jump(4 * minute);
    await act(id);
    clock.jump(299_000);
    await until(async () => (await sleeping(id)) === true, 1000);
    expect(substitute.state(id)).toBe('sleeping');
    expect((await meters(id)).minutes).toBe(9);
    clock.jump(100 * minute);
    expect((await send('GET', at(id))).body).toMatchObject({ status: 'running', sleeping: true });
    expect((await act(id)).status).toBe(200);
    expect([await sleeping(id), substitute.state(id)]).toEqual([false, 'running']);
    expect((await meters(id)).minutes).toBe(9);
    // Nobody looked for an hour: it is not what its project pays for.
    clock.jump(60 * minute);
    await until(() => sleeping(id));
    expect((await meters(id)).minutes).toBe(14);
    expect((await send('POST', at(id, '/start'))).body).toMatchObject({ status: 'running', sleeping: false });
    expect((await types(id)).filter((type) => !type.startsWith('action'))).toEqual([
      ...['computer.created', 'computer.started', 'computer.sleeping', 'computer.woken'],
      ...['computer.sleeping', 'computer.woken'],
    ]);
  });

  test('a computer does not sleep while a call is under way, and many calls at once wake it once', async () => {
    const { create, act, clock, until, sleeping, substitute } = await open();
    const { id } = await create();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    substitute.settings.answer = async () => {
      await held;
      return { status: 200, body: result() };
    };
    const call = act(id, { member: 'wait', input: { duration: 300 } });
    await expect.poll(() => substitute.heard.length).toBe(1);
    clock.jump(305_000);
    for (let look = 0; look < 5; look += 1) await clock.advance(5_000);
    expect(await sleeping(id)).toBe(false);
    release();
    await call;
    clock.jump(301_000);
    await until(() => sleeping(id));
    const answers = await Promise.all([key, key, otherKey, otherKey, 'ada'].map((token) => act(id, {}, { token })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(substitute.done.filter((step) => step.startsWith('wake'))).toHaveLength(1);
  });

  test('prices count from when they are set, in the usage of the person, and budgets hear of it', async () => {
    const { create, act, send, at, clock, price, usage, store, server } = await open();
    const { id } = await create();
    clock.jump(2 * minute);
    await act(id);
    const line = (kind: string, more: object) => ({ kind, name: 'shop', botId: null, computerId: id, ...more });
    expect(await usage()).toMatchObject({ spentCents: 0 });
    expect((await usage()).lines).toEqual(
      expect.arrayContaining([
        line('computer_minute', { cents: 0, quantity: 2, count: 1 }),
        line('computer_action', { cents: 0, quantity: 1, count: 1 }),
      ]),
    );
    await price('computer_minute', 2.5);
    await price('computer_action', 0.1);
    await server.call('PUT', '/api/v1/usage/budget', { token: 'ada', body: { budgetCents: 10 } });
    clock.jump(4 * minute);
    await act(id);
    await act(id);
    expect((await usage()).spentCents).toBe(10.2);
    await send('DELETE', at(id));
    expect((await usage()).lines).toEqual(
      expect.arrayContaining([
        line('computer_minute', { cents: 10, quantity: 6, count: 2 }),
        line('computer_action', { cents: 0.2, quantity: 3, count: 3 }),
      ]),
    );
    const told = await store.all<{ source_id: string }>('SELECT source_id FROM user_event ORDER BY seq');
    expect(told.map((row) => row.source_id)).toEqual(['user_ada:2026-01:80:10', 'user_ada:2026-01:100:10']);
  });

  test('at the spend cap running computers sleep within a minute, say so once, and nothing wakes, starts or is made', async () => {
    const { create, act, send, at, clock, price, cap, until, sleeping, substitute, types } = await open();
    await price('computer_minute', 10);
    await cap(25);
    const { id } = await create();
    clock.jump(2 * minute);
    expect((await act(id)).status).toBe(200);
    for (let look = 0; look < 40 && !(await sleeping(id)); look += 1) {
      await act(id);
      await clock.advance(5_000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(await sleeping(id)).toBe(true);
    const reached = { status: 402, error: { type: 'permission_error', code: 'spend_cap_reached' } };
    const woken = () => substitute.done.filter((step) => step.startsWith('wake')).length;
    const heard = substitute.heard.length;
    expect(await act(id)).toMatchObject(reached);
    expect(await send('POST', at(id, '/start'))).toMatchObject(reached);
    expect(await send('POST', '/v1/computers', { token: otherKey })).toMatchObject(reached);
    expect([woken(), substitute.heard.length]).toEqual([0, heard]);
    const told = await types(id);
    expect(told.filter((type) => type === 'spend_cap.reached')).toHaveLength(1);
    await cap(1000);
    expect((await act(id)).status).toBe(200);
    // A new month begins at nothing.
    await cap(1);
    expect(await act(id)).toMatchObject(reached);
    clock.jump(31 * 24 * 60 * minute);
    await until(() => sleeping(id));
    expect((await act(id)).status).toBe(200);
  });
});
