/** Both halves together: a key makes a computer by the cloud's routes, and the helper of this machine makes it (issue "Done means"). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLocalDriver } from '../../src/cloud-api/hosted-computers/local.ts';
import { systemTimers } from '../../src/kit/clock/timers.ts';
import { key, startHosted } from '../cloud-api/hosted-computers/support.ts';
import {
  clearAway,
  type Helper,
  helperFolder,
  leftovers,
  noComputers,
  startHelper,
} from '../support/computers/helper.ts';
import { createWorld, type World } from '../support/computers/world.ts';
import { engines } from '../support/engines.ts';

const missing = noComputers();
if (missing !== null) console.warn(`Not run: hosted computers of a cloud and its machine (${missing}).`);

describe.skipIf(missing !== null)('a cloud and the helper on its machine', () => {
  const folder = helperFolder();
  let around: World;
  let helper: Helper;

  beforeAll(async () => {
    around = await createWorld();
    helper = await startHelper({ world: around, folder });
  }, 60_000);
  afterAll(async () => {
    await helper?.stop();
    around?.close();
    clearAway(folder);
  }, 60_000);

  test('a key makes a computer, drives its browser, is asked, lets it sleep, wakes it by a call, and deletes it; its meters add up', async () => {
    const driver = createLocalDriver({ folder, timers: systemTimers });
    const [sqlite] = engines;
    if (sqlite === undefined) throw new Error('There is no database.');
    const { project, create, act, send, at, until, types, meters } = await startHosted(sqlite, {
      // All that is used of it where it is given.
      substitute: { driver } as never,
    });
    await project();
    const { id, status } = await create({ name: 'shop' });
    expect(status).toBe('running');
    const browser = (member: string, input: object = {}, more: object = {}) =>
      act(id, { toolset: 'browser', member, input, ...more });

    const opened = await browser('navigate', { url: 'http://public.example:8080/' });
    expect(opened, JSON.stringify(opened)).toMatchObject({ status: 200, is_error: false });
    expect(JSON.stringify(await browser('get_page_text'))).toContain('Hello');
    expect(await act(id)).toMatchObject({ status: 200, screen: { width: 1280, height: 800 } });
    // What is private is refused before the network would.
    const inside = await browser('navigate', { url: 'http://10.9.9.9:8080/' });
    expect([inside.status, inside.is_error]).toEqual([200, true]);
    expect((await browser('navigate', { url: 'http://public.example:8080/' })).is_error).toBe(false);

    // It cannot be taken back, so somebody is asked.
    const script = [{ text: 'document.title' }, { enable: ['javascript_exec'] }] as const;
    const asked = await browser('javascript_exec', ...script);
    expect(asked).toMatchObject({ status: 409, error: { code: 'approval_required' } });
    const grant = asked.approval.id;
    await send('POST', at(id, `/approvals/${grant}`), { token: 'ada', body: { decision: 'approve' } });
    const done = await browser('javascript_exec', script[0], { ...script[1], approval_grant: grant });
    expect(done).toMatchObject({ status: 200, is_error: false });
    expect(JSON.stringify(done.content)).toContain('Hello');

    await until(async () => (await send('GET', at(id))).body.sleeping);
    expect((await helper.ask('inspect', id)).state).toBe('frozen');
    const slept = await meters(id);
    expect(await act(id)).toMatchObject({ status: 200, is_error: false });
    expect((await send('GET', at(id), { token: key })).body.sleeping).toBe(false);

    expect((await send('DELETE', at(id))).body.status).toBe('deleted');
    expect(await helper.ask('list')).toEqual([]);
    const names = leftovers(around, folder).filter((line) => /-0\b/.test(line));
    expect(names).toEqual([]);
    const told = await types(id).catch(() => []);
    expect(told).not.toContain('computer.failed');
    const used = await meters(id);
    expect(used.actions).toBe(slept.actions + 1);
    expect(used.minutes).toBeGreaterThan(0);
  }, 90_000);
});
