/** Phases as data and their guard; what becomes of computers when something dies: one of them, the cloud, a start half-way. */
import { describe, expect, test } from 'vitest';
import { createMeters } from '../../../src/cloud-api/hosted-computers/meters.ts';
import { type Move, moves, type Phase } from '../../../src/cloud-api/hosted-computers/model.ts';
import { createComputerStore } from '../../../src/cloud-api/hosted-computers/store.ts';
import { hostedStatuses } from '../../../src/contracts/hosted-computers/computer.ts';
import { answered } from '../../../src/kit/store/answered.ts';
import { engines } from '../../support/engines.ts';
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
        await computers.create(
          { id, projectId: 'p', userId: 'u', keyId: null, accountId: null, name: id, metadata: '{}' },
          room,
        );
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
    substitute.settings.fails = 'thaw';
    expect(await act(id)).toMatchObject({ status: 503, error: { code: 'computer_unavailable' } });
    expect((await body(id)).status).toBe('error');
    await create();
    substitute.settings.fails = 'delete';
    expect((await send('DELETE', at(id))).status).toBe(200);
    expect(substitute.computers()).toContain(id);
    await until(async () => !substitute.computers().includes(id));
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
    await substitute.driver.freeze(awake);
    await phase(half, 'starting');
    await substitute.dies(half, 'never came up', false);
    await phase(halfUp, 'starting');
    if (store.engine === 'sqlite') await store.close();
    const second = await startHosted(engine, { clock, place, substitute });
    const status = async (id: string) => (await second.send('GET', second.at(id))).body;
    await expect.poll(() => substitute.computers()).not.toContain('cmp_nobodys1');
    expect(await status(fell)).toMatchObject({ status: 'error' });
    expect([(await status(asleep)).sleeping, substitute.state(asleep)]).toEqual([true, 'frozen']);
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
  test('look after each computer once, wake it once, and call one that the other started', async () => {
    const first = await startHosted(engine);
    await first.project();
    const { clock, place, substitute } = first;
    const second = await startHosted(engine, { clock, place, substitute });
    const { id } = await first.create();
    expect((await second.act(id)).status).toBe(200);
    clock.jump(301_000);
    await first.until(async () => (await second.send('GET', second.at(id))).body.sleeping);
    expect(substitute.done.filter((step) => step.startsWith('freeze'))).toHaveLength(1);
    const calls = [first, second, first, second].map((one, index) =>
      one.act(id, {}, { token: `ada/computers/key_${index}` }),
    );
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(substitute.done.filter((step) => step.startsWith('thaw'))).toHaveLength(1);
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
