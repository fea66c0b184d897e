/** Phases as data and their guard; what becomes of computers when something dies: one of them, the cloud, a start half-way. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMeters } from '../../../src/cloud-api/hosted-computers/meters.ts';
import { type Move, moves, type Phase } from '../../../src/cloud-api/hosted-computers/model.ts';
import { createComputerStore } from '../../../src/cloud-api/hosted-computers/store.ts';
import { hostedStatuses } from '../../../src/contracts/hosted-computers/computer.ts';
import { answered } from '../../../src/kit/store/answered.ts';
import { engines } from '../../support/engines.ts';
import { createSubstituteDriver } from './substitute-driver.ts';
import { startHosted } from './support.ts';

const prices = { computer_minute: 0, computer_action: 0 };
const room = { running: 1000, ofKey: 1000 };

describe.each(engines)('hosted computers on $name', (engine) => {
  const open = async () => {
    const hosted = await startHosted(engine);
    await hosted.project();
    const body = async (id: string) => (await hosted.send('GET', hosted.at(id))).body;
    return { ...hosted, body };
  };

  test('every move is open from the phases of its table and from no other, and tells its event', async () => {
    const { store, clock } = await startHosted(engine);
    const now = () => clock.now();
    const computers = createComputerStore({ store, now, meters: createMeters(() => answered(0) as never) });
    const phases: Phase[] = [...hostedStatuses, 'sleeping'];
    let count = 0;
    for (const phase of phases) {
      for (const name of Object.keys(moves) as Move[]) {
        count += 1;
        const id = `cmp_${String(count).padStart(10, '0')}`;
        const made = { toolset: 'desktop', egress: 'public', sleepKeeps: 'memory' } as const;
        const whose = { projectId: 'p', userId: 'u', keyId: null, accountId: null };
        const asked = { image: null, memory: null, processes: null, lifetime: null };
        await computers.create({ id, ...whose, name: id, metadata: '{}', ...made, ...asked }, room);
        await store.write((tx) => tx.run('UPDATE hosted_computer SET phase = ? WHERE id = ?', phase, id));
        const moved = await store.write((tx) => computers.move(tx, id, name, { prices }));
        const { from, to, event } = moves[name];
        const open = from.includes(phase);
        const after = await computers.get(id);
        expect([phase, name, moved?.phase ?? null, after?.phase]).toEqual([
          phase,
          name,
          open ? to : null,
          open ? to : phase,
        ]);
        const told = (await computers.events(id, 0, 10)).map(({ type }) => type);
        expect([phase, name, told]).toEqual([phase, name, open && event !== null ? [event] : []]);
        expect([phase, name, after?.meteredAt !== null]).toEqual([phase, name, open && to === 'running']);
      }
    }
  });

  test('while it is started a call hears that it starts, and a stop waits for it', async () => {
    const { create, act, send, at, substitute } = await open();
    let release = () => {};
    substitute.settings.hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    const making = create();
    await expect.poll(() => substitute.done.length).toBe(1);
    const [listed] = (await send('GET', '/v1/computers')).computers;
    const id = listed!.id;
    expect(listed).toMatchObject({ status: 'starting', started_at: null });
    expect(await act(id)).toMatchObject({ status: 503, error: { type: 'api_error', code: 'computer_starting' } });
    const stopping = send('POST', at(id, '/stop'));
    substitute.settings.hold = null;
    release();
    expect((await making).status).toBe('running');
    expect((await stopping).body.status).toBe('stopped');
  });

  test('one that dies is in error with its reason, costs nothing more, and can be started again or deleted', async () => {
    const { create, act, send, at, substitute, body, clock, meters, until } = await open();
    const [one, two] = [await create(), await create()];
    clock.jump(60_000);
    await substitute.dies(one.id, 'out of memory', true);
    await expect.poll(async () => (await body(one.id)).status).toBe('error');
    const { events } = await send('GET', at(one.id, '/events'));
    expect(events.at(-1)).toMatchObject({ type: 'computer.failed', data: { why: 'out of memory' } });
    expect(await act(one.id)).toMatchObject({ status: 409, error: { code: 'computer_not_running' } });
    // Nobody says so of the other: it is found by the minute, and its minutes end when it died.
    await substitute.dies(two.id, 'it fell', false);
    clock.jump(30_000);
    expect((await act(two.id)).status).toBe(503);
    await until(async () => (await body(two.id)).status === 'error');
    expect(await meters(one.id)).toMatchObject({ minutes: 1 });
    expect((await meters(two.id)).minutes).toBeLessThanOrEqual(1.5);
    expect((await send('POST', at(one.id, '/start'))).body.status).toBe('running');
    expect((await act(one.id)).status).toBe(200);
    expect((await send('DELETE', at(two.id))).body.status).toBe('deleted');
    expect(substitute.computers()).toEqual([one.id]);
  });

  test('what the driver refuses is an error with its words, and a computer that cannot be removed now is removed later', async () => {
    const { create, act, send, at, substitute, body, clock, until } = await open();
    const { id } = await create();
    substitute.settings.fails = 'stop';
    expect(await send('POST', at(id, '/stop'))).toMatchObject({
      status: 503,
      error: { message: expect.stringContaining('stop did not work') },
    });
    expect((await body(id)).status).toBe('error');
    expect((await send('POST', at(id, '/start'))).body.status).toBe('running');
    clock.jump(301_000);
    await until(async () => (await body(id)).sleeping);
    substitute.settings.fails = 'wake';
    expect(await act(id)).toMatchObject({ status: 503, error: { code: 'computer_unavailable' } });
    expect((await body(id)).status).toBe('error');
    await create();
    substitute.settings.fails = 'delete';
    expect((await send('DELETE', at(id))).status).toBe(200);
    expect(substitute.computers()).toContain(id);
    await until(async () => !substitute.computers().includes(id));
  });

  test('a name that another cloud has already makes no computer, and leaves that one alone', async () => {
    const { send, substitute, clock, body, create } = await open();
    substitute.settings.collides = true;
    expect(await send('POST', '/v1/computers')).toMatchObject({
      status: 503,
      error: { code: 'computer_unavailable', message: expect.stringContaining('already exists') },
    });
    substitute.settings.collides = false;
    const [strangers = ''] = substitute.computers();
    expect(await body(strangers)).toMatchObject({ error: { code: 'computer_not_found' } });
    await create();
    for (let look = 0; look < 30; look += 1) await clock.advance(5_000);
    expect(substitute.done.filter((step) => step.includes(strangers))).toEqual([`create ${strangers}`]);
    expect(substitute.computers()).toContain(strangers);
  });

  test('what a driver tells too late changes nothing; what it lost, and what somebody deleted by hand, is found', async () => {
    const { create, act, send, at, substitute, body, clock, meters } = await open();
    await send('PATCH', '/v1/computer_settings', { token: 'ada', body: { per_key_concurrency: 10 } });
    const [one, two, three] = [await create(), await create(), await create()];
    clock.jump(60_000);
    substitute.say({ computer: one.id, state: 'stopped', why: 'it fell before it was started again' });
    substitute.say({ computer: 'cmp_unknown00', state: 'gone', why: null });
    await substitute.vanishes(two.id);
    await expect.poll(async () => (await body(two.id)).status).toBe('error');
    expect((await send('GET', at(two.id, '/events'))).events.at(-1)).toMatchObject({
      type: 'computer.failed',
      data: { why: 'It no longer exists.' },
    });
    expect((await meters(two.id)).minutes).toBe(1);
    expect((await body(one.id)).status).toBe('running');
    await substitute.dies(three.id, 'the power failed', false);
    substitute.misses();
    await expect.poll(async () => (await body(three.id)).status).toBe('error');
    expect((await act(one.id)).status).toBe(200);
    // It is made once more, with what it was made with.
    expect((await send('POST', at(two.id, '/start'))).body.status).toBe('running');
    const [, made, , again] = substitute.specs;
    expect(again).toEqual(made);
  });

  test('where sleep keeps only the files, the computer says so and is started again by its next call', async () => {
    const { create, act, substitute, clock, until, body, meters, types } = await open();
    substitute.settings.sleep = 'files';
    const made = await create();
    expect(made.sleep_keeps).toBe('files');
    expect((await act(made.id)).status).toBe(200);
    clock.jump(301_000);
    await until(async () => (await body(made.id)).sleeping);
    expect((await meters(made.id)).minutes).toBe(5);
    const heard = substitute.heard.length;
    expect((await act(made.id)).status).toBe(200);
    expect(substitute.heard).toHaveLength(heard + 1);
    expect(substitute.heard.at(-1)!.headers.authorization).not.toBe(substitute.heard[0]!.headers.authorization);
    expect((await types(made.id)).slice(-3)).toEqual(['computer.sleeping', 'computer.woken', 'action.completed']);
    expect((await body(made.id)).sleep_keeps).toBe('files');
  });

  test('the last computer that could not be removed is removed by the minute, and after a restart, and no other', async () => {
    const first = await open();
    const { create, send, at, substitute, until, clock, place, store } = first;
    await substitute.stray('cmp_anothers1');
    const { id } = await create();
    substitute.settings.fails = 'delete';
    expect((await send('DELETE', at(id))).status).toBe(200);
    expect(substitute.state(id)).toBe('running');
    await until(async () => substitute.state(id) === null);
    const next = await create();
    substitute.settings.fails = 'delete';
    expect((await send('DELETE', at(next.id))).status).toBe(200);
    await first.close();
    // What its driver may still have is not forgotten, however long it is away.
    await first.hosted.forgetOld(clock.now() + 200 * 24 * 3600_000);
    if (store.engine === 'sqlite') await store.close();
    const second = await startHosted(engine, { clock, place, substitute });
    await expect.poll(() => substitute.state(next.id)).toBe(null);
    await second.until(
      async () => (await second.store.all('SELECT id FROM hosted_computer WHERE removed_at IS NULL')).length === 0,
    );
    await second.hosted.forgetOld(clock.now() + 200 * 24 * 3600_000);
    expect(await second.store.all('SELECT id FROM hosted_computer')).toEqual([]);
    expect(substitute.done.filter((step) => step.endsWith('cmp_anothers1'))).toEqual([
      'create cmp_anothers1',
      'start cmp_anothers1',
    ]);
  });

  test('a computer that drips bytes holds no call longer than a call may take', async () => {
    const { create, act, send, substitute, clock, store } = await open();
    await send('PATCH', '/v1/computer_settings', { token: 'ada', body: { per_key_concurrency: 1 } });
    const { id } = await create();
    substitute.settings.drips = true;
    const dripping = act(id);
    await expect.poll(() => substitute.heard.length).toBe(1);
    await clock.advance(330_000);
    expect(await dripping).toMatchObject({ status: 503, error: { code: 'computer_unavailable' } });
    expect(await store.all('SELECT id FROM hosted_call')).toEqual([]);
    substitute.settings.drips = false;
    expect((await act(id)).status).toBe(200);
  });

  test('where the driver cannot be reached, nothing is moved: neither by time nor by a call', async () => {
    const { create, act, send, at, substitute, clock, body, until, faults } = await open();
    const [one, two] = [await create(), await create()];
    await send('POST', at(two.id, '/stop'));
    substitute.settings.away = 'No computer-host runs here.';
    const steps = substitute.done.length;
    clock.jump(301_000);
    const told = () => faults.filter((fault) => fault.includes('does not answer')).length;
    await until(async () => told() > 0);
    for (let look = 0; look < 20; look += 1) await clock.advance(5_000);
    expect((await body(one.id)).sleeping).toBe(false);
    for (const path of [at(one.id, '/stop'), at(two.id, '/start')]) {
      expect(await send('POST', path)).toMatchObject({ status: 503, error: { code: 'computer_unavailable' } });
    }
    expect([(await body(one.id)).status, (await body(two.id)).status]).toEqual(['running', 'stopped']);
    expect(substitute.done).toHaveLength(steps);
    // Told once, not with every look.
    expect(told()).toBe(1);
    substitute.settings.away = null;
    await until(async () => (await body(one.id)).sleeping);
    substitute.settings.away = 'No computer-host runs here.';
    expect(await act(one.id)).toMatchObject({ status: 503, error: { code: 'computer_unavailable' } });
    expect((await body(one.id)).sleeping).toBe(true);
    substitute.settings.away = null;
    expect((await act(one.id)).status).toBe(200);
  });

  test('a computer that was started anew behind our back is found by its new socket', async () => {
    const { create, act, substitute } = await open();
    const { id } = await create();
    expect((await act(id)).status).toBe(200);
    await substitute.restarts(id);
    expect((await act(id)).status).toBe(200);
  });

  test('after a restart cloud and driver say the same again', async () => {
    const first = await open();
    const { create, send, at, substitute, clock, place, store } = first;
    await send('PATCH', '/v1/computer_settings', { token: 'ada', body: { per_key_concurrency: 10 } });
    const ids = [];
    for (let count = 0; count < 6; count += 1) ids.push((await create()).id);
    const [fell, asleep, awake, stopped, half, halfUp] = ids as [string, string, string, string, string, string];
    await send('POST', at(stopped, '/stop'));
    await first.close();
    await substitute.dies(fell, 'the power failed', false);
    await substitute.stray('cmp_nobodys1');
    const phase = (id: string, to: Phase) =>
      store.write((tx) => tx.run('UPDATE hosted_computer SET phase = ? WHERE id = ?', to, id));
    await phase(asleep, 'sleeping');
    await substitute.driver.sleep(awake);
    await phase(half, 'starting');
    await substitute.dies(half, 'never came up', false);
    await phase(halfUp, 'starting');
    if (store.engine === 'sqlite') await store.close();
    const second = await startHosted(engine, { clock, place, substitute });
    const status = async (id: string) => (await second.send('GET', second.at(id))).body;
    await expect.poll(async () => (await status(halfUp)).status).toBe('running');
    // It may be another cloud's.
    expect(substitute.computers()).toContain('cmp_nobodys1');
    expect(await status(fell)).toMatchObject({ status: 'error' });
    expect([(await status(asleep)).sleeping, substitute.state(asleep)]).toEqual([true, 'sleeping']);
    expect([(await status(awake)).sleeping, substitute.state(awake)]).toEqual([false, 'running']);
    expect([(await status(stopped)).status, substitute.state(stopped)]).toEqual(['stopped', 'stopped']);
    expect(await status(half)).toMatchObject({ status: 'error' });
    expect(await status(halfUp)).toMatchObject({ status: 'running' });
    expect((await second.act(awake)).status).toBe(200);
    expect((await second.act(asleep)).status).toBe(200);
    expect(second.faults).toEqual([]);
  });
});

describe.each(engines.filter(({ name }) => name === 'postgres'))('two replicas on $name', (engine) => {
  test('one without the way to the driver leaves the minute to the other', async () => {
    const first = await startHosted(engine);
    await first.project();
    const { clock, place, substitute } = first;
    const blind = createSubstituteDriver(() => clock.now());
    onTestFinished(() => blind.close());
    blind.settings.away = 'No computer-host runs here.';
    const { id } = await first.create();
    await first.close();
    // The one without it looks first, each time.
    const second = await startHosted(engine, { clock, place, substitute: blind });
    const third = await startHosted(engine, { clock, place, substitute });
    const minutes = async () => (await third.meters(id)).minutes;
    clock.jump(60_000);
    await third.until(async () => (await minutes()) >= 1);
    clock.jump(301_000);
    await third.until(async () => (await third.send('GET', third.at(id))).body.sleeping);
    expect(substitute.state(id)).toBe('sleeping');
    expect(blind.done).toEqual([]);
    expect((await second.send('GET', second.at(id))).body.status).toBe('running');
  });

  test('look after each computer once, wake it once, and call one that the other started', async () => {
    const first = await startHosted(engine);
    await first.project();
    const { clock, place, substitute } = first;
    const second = await startHosted(engine, { clock, place, substitute });
    const { id } = await first.create();
    expect((await second.act(id)).status).toBe(200);
    clock.jump(301_000);
    await first.until(async () => (await second.send('GET', second.at(id))).body.sleeping);
    expect(substitute.done.filter((step) => step.startsWith('sleep'))).toHaveLength(1);
    const calls = [first, second, first, second].map((one, index) =>
      one.act(id, {}, { token: `ada/computers/key_${index}` }),
    );
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(substitute.done.filter((step) => step.startsWith('wake'))).toHaveLength(1);
    clock.jump(60_000);
    const minutes = async () => (await first.meters(id)).minutes;
    const before = await minutes();
    await first.until(async () => (await minutes()) > before);
    for (let look = 0; look < 4; look += 1) await clock.advance(5_000);
    const windows = await first.store.all('SELECT id FROM hosted_meter WHERE computer_id = ? AND thousandths = 0', id);
    expect(windows).toEqual([]);
    const { events } = await second.send('GET', second.at(id, '/events?limit=200'));
    expect(events.map(({ index }) => index)).toEqual(events.map((_, index) => index));
  });
});
