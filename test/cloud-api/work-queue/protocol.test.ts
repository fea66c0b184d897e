/** What callers and workers of the work queue are promised, on both engines, over real HTTP. */
import { describe, expect, test } from 'vitest';
import { createWorkStore } from '../../../src/cloud-api/work-queue/store.ts';
import { engines } from '../../support/engines.ts';
import { startQueue } from './support.ts';

describe.each(engines)('on $name', (engine) => {
  const start = () => startQueue(engine);

  test('a task goes from the queue to its worker and ends with its result', async () => {
    const q = await start();
    const made = await q.post('', { payload: { command: 'true', deep: { list: [1, null, 'é'] } }, env: { A: 'b' } });
    expect(made.status).toBe(201);
    expect(made.id).toBe(made.task.id);
    expect(made.task).toMatchObject({
      status: 'queued',
      session_id: null,
      deployment_id: null,
      payload: { command: 'true', deep: { list: [1, null, 'é'] } },
      env: { A: 'b' },
      priority: 0,
      not_before: null,
      attempts: 0,
      max_attempts: 5,
      stop_requested: false,
      lease_worker_id: null,
      lease_expires_at: null,
      result: null,
      error: null,
    });
    const leased = await q.lease('w1');
    expect(leased.task).toMatchObject({ id: made.id, status: 'leased', attempts: 1, lease_worker_id: 'w1' });
    expect(leased.lease).toMatchObject({ fence: 1, ttl_seconds: 60, attempt: 1 });
    expect(leased.lease.expires_at).toBe(leased.task.lease_expires_at);
    q.later(20_000);
    const beat = await q.post(`/${made.id}/heartbeat`, { worker_id: 'w1' });
    expect(beat).toMatchObject({ status: 200, stop_requested: false, task: { status: 'running' } });
    expect(Date.parse(beat.lease.expires_at) - Date.parse(leased.lease.expires_at)).toBe(20_000);
    const ended = await q.post(`/${made.id}/ack`, { worker_id: 'w1', result: { ok: true } });
    expect(ended).toMatchObject({
      status: 200,
      task: {
        status: 'succeeded',
        result: { ok: true },
        lease_worker_id: null,
        lease_expires_at: null,
        last_worker_id: 'w1',
      },
    });
    expect(await q.lease('w1')).toEqual({ status: 200, task: null, lease: null });
    expect(q.faults).toEqual([]);
  });

  test('the oldest is leased first, and a priority goes before age', async () => {
    const q = await start();
    const ids: string[] = [];
    for (const priority of [0, undefined, 5, -1, 5]) ids.push((await q.create({ priority })).id);
    const order: string[] = [];
    for (let count = 0; count < 5; count += 1) order.push((await q.lease()).task.id);
    expect(order).toEqual([ids[2], ids[4], ids[0], ids[1], ids[3]]);
  });

  test('a task whose worker fell silent is leased again before younger ones', async () => {
    const q = await start();
    const old = await q.create();
    await q.lease('gone');
    q.later(30_000);
    const young = await q.create();
    q.later(29_000);
    expect((await q.lease('w2')).task.id).toBe(young.id);
    q.later(2_000);
    const again = await q.lease('w2');
    expect(again.task).toMatchObject({ id: old.id, attempts: 2, lease_worker_id: 'w2', status: 'leased' });
    expect(again.lease).toMatchObject({ fence: 2, attempt: 2 });
  });

  test('a task with a time is not yet queued before it, and then as old as its time', async () => {
    const q = await start();
    const at = (ms: number) => new Date(q.clock.now() + ms).toISOString();
    const soon = await q.create({ not_before: at(60_000) });
    expect(soon.not_before).toBe(new Date(Date.parse(soon.created_at) + 60_000).toISOString());
    expect((await q.lease()).task).toBeNull();
    expect(await q.send('GET', '/stats')).toMatchObject({ depth: 0 });
    q.later(61_000);
    const young = await q.create();
    expect(await q.send('GET', '/stats')).toMatchObject({ depth: 2 });
    // Before and after it was lined up.
    expect((await q.lease()).task.id).toBe(soon.id);
    const past = await q.create({ not_before: '2001-01-01T00:00:00+02:00' });
    await q.create({ not_before: at(5_000) });
    await q.clock.advance(10_001);
    expect((await q.lease()).task.id).toBe(young.id);
    expect((await q.lease()).task.id).toBe(past.id);
    expect((await q.lease()).task).not.toBeNull();
    expect((await q.lease()).task).toBeNull();
  });

  test('who drains is given nothing', async () => {
    const q = await start();
    await q.create();
    expect((await q.lease('w1', '&draining=1')).task).toBeNull();
    expect((await q.lease('w1', '&draining=1&wait=30')).task).toBeNull();
    expect((await q.lease('w1')).task).not.toBeNull();
  });

  test('a session or deployment that is not there, or not the caller’s, is refused', async () => {
    const q = await start();
    const call = (method: string, path: string, body?: unknown, token = 'ada') =>
      q.server.call(method, path, { token, body });
    for (const [kind, one] of [
      ['sessions', 'session'],
      ['deployments', 'deployment'],
    ] as const) {
      const made = await call(
        'POST',
        `/beta/${kind}`,
        one === 'session' ? { title: 'T' } : { name: 'api', metadata: { a: 1 } },
      );
      expect(made.status).toBe(201);
      const id = made.json.id as unknown as string;
      expect((await call('GET', `/beta/${kind}/${id}`)).json).toMatchObject({ [one]: { id } });
      const hidden = await call('GET', `/beta/${kind}/${id}`, undefined, 'eve');
      expect(hidden).toMatchObject({ status: 404, json: { message: expect.stringContaining(`There is no ${one} "`) } });
      expect((await call('GET', `/beta/${kind}`)).json).toMatchObject({ [kind]: [{ id }], next_cursor: null });
      expect((await call('GET', `/beta/${kind}`, undefined, 'eve')).json).toEqual({ [kind]: [], next_cursor: null });
      const task = await q.create({ [`${one}_id`]: id });
      await q.create();
      expect((await q.send('GET', `?${one}_id=${id}`)).tasks.map((each) => each.id)).toEqual([task.id]);
      for (const [token, named] of [
        ['eve', id],
        ['ada', `${one}_none`],
      ]) {
        const refused = await q.post('', { [`${one}_id`]: named }, { token });
        expect(refused).toMatchObject({ status: 400, error: `${one}_not_found` });
      }
    }
  });

  test.each(['', '&status=queued'])('a page of large tasks ends early, and the list goes on (%s)', async (filter) => {
    const q = await startQueue(engine);
    const work = createWorkStore({ store: q.store, now: () => q.clock.now(), leaseMs: 60_000 });
    // One is larger than a page.
    for (const [n, mb] of [3, 3, 3, 9, 3, 3, 3].entries()) {
      await work.create('user_ada', `task_${n}`, { payload: { text: 'x'.repeat(mb * 1_000_000) } });
      q.later(1);
    }
    const pages: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await q.send('GET', `?limit=200${filter}${cursor === '' ? '' : `&cursor=${cursor}`}`);
      pages.push(page.tasks.map(({ id }) => id.slice(5)));
      cursor = page.next_cursor;
    }
    expect(pages).toEqual([['6', '5'], ['4'], ['3'], ['2', '1'], ['0']]);
  });

  test.each([
    ['sessions', {}],
    ['deployments', { name: 'api' }],
  ])('a page of %s with large notes ends early too', async (kind, body) => {
    const q = await startQueue(engine);
    const metadata = { text: 'x'.repeat(1_000_000) };
    for (let n = 0; n < 10; n += 1) {
      const made = await q.server.call('POST', `/beta/${kind}`, { token: 'ada', body: { ...body, metadata } });
      expect(made.status).toBe(201);
      q.later(1);
    }
    const list = async (more: string) => {
      const { json } = await q.server.call('GET', `/beta/${kind}?limit=200${more}`, { token: 'ada' });
      const { [kind]: rows, next_cursor: next } = json as unknown as Record<string, unknown>;
      return { rows: (rows as unknown[]).length, next };
    };
    const { rows, next } = await list('');
    expect(rows).toBe(7);
    expect(await list(`&cursor=${next}`)).toEqual({ rows: 3, next: null });
  });

  test('a list is newest first, in pages, and can be narrowed down', async () => {
    const q = await start();
    const ids: string[] = [];
    for (let count = 0; count < 7; count += 1) ids.push((await q.create()).id);
    const leased = (await q.lease('w1')).task.id;
    const acked = (await q.lease('w2')).task.id;
    await q.post(`/${acked}/ack`, { worker_id: 'w2' });
    await q.post(`/${ids[6]}/stop`, { error: 'no' });
    await q.post(`/${ids[5]}/stop`);
    const pages: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof q.send>> = await q.send(
        'GET',
        `?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      pages.push(page.tasks.map((task) => task.id));
      cursor = page.next_cursor;
    }
    expect(pages.flat()).toEqual([...ids].reverse());
    expect(pages.map((page) => page.length)).toEqual([3, 3, 1]);
    const by = async (query: string) => (await q.send('GET', `?${query}`)).tasks.map((task) => task.id);
    expect(await by('status=queued')).toEqual([ids[4], ids[3], ids[2]]);
    expect(await by('status=leased')).toEqual([leased]);
    expect(await by('status=running')).toEqual([]);
    expect(await by('status=succeeded')).toEqual([acked]);
    expect(await by('status=failed')).toEqual([ids[6]]);
    expect(await by('status=cancelled')).toEqual([ids[5]]);
    expect(await by('worker_id=w2')).toEqual([acked]);
    expect(await by('worker_id=w2&status=leased')).toEqual([]);
    for (const query of ['cursor=xyz', 'limit=0', 'limit=201', 'status=done', 'other=1']) {
      expect((await q.send('GET', `?${query}`)).status).toBe(400);
    }
  });

  test('the figures tell what waits, what is at work, and who asks', async () => {
    const q = await start();
    const ends = [10, 60, 600, 3600, 21_600, 86_400, null];
    const ages = (...counts: number[]) => ends.map((end, at) => ({ under_seconds: end, count: counts[at] ?? 0 }));
    const figures = { depth: 0, leased: 0, running: 0, oldest_queued_at: null, workers_polling: 0 };
    const none = { ...figures, scheduled: 0, failed: 0, ages: ages() };
    expect(await q.send('GET', '/stats')).toEqual({ status: 200, ...none });
    const tasks = [await q.create(), await q.create(), await q.create(), await q.create()];
    const one = await q.lease('w1');
    await q.lease('w2');
    await q.post(`/${one.task.id}/heartbeat`, { worker_id: 'w1' });
    await expect
      .poll(() => q.send('GET', '/stats'))
      .toEqual({
        status: 200,
        depth: 2,
        leased: 1,
        running: 1,
        oldest_queued_at: tasks[2]!.created_at,
        workers_polling: 2,
        scheduled: 0,
        failed: 0,
        ages: ages(2),
      });
    q.later(31_000);
    expect(await q.send('GET', '/stats')).toMatchObject({ workers_polling: 0, ages: ages(0, 2) });
    // Of any priority, of one whose time has come, and of one whose time has not; one end of a group belongs to the older one.
    const at = (ms: number) => new Date(q.clock.now() + ms).toISOString();
    await q.create({ priority: 7 });
    await q.create({ priority: -7, not_before: at(-1000) });
    await q.create({ not_before: at(5_000) });
    await q.create({ not_before: at(10 * 24 * 3600_000) });
    await q.post(`/${tasks[2]!.id}/stop`, { error: 'no' });
    await q.post(`/${tasks[3]!.id}/stop`);
    expect(await q.send('GET', '/stats')).toMatchObject({ depth: 2, scheduled: 2, failed: 1, ages: ages(2) });
    q.later(3_600_000);
    expect(await q.send('GET', '/stats')).toMatchObject({ depth: 3, scheduled: 1, ages: ages(0, 0, 0, 1, 2) });
    expect(await q.send('GET', '/stats', { token: 'eve' })).toEqual({ status: 200, ...none });
  });

  test('the workers tell what each holds, who asks, and who drains, until they are long gone', async () => {
    const q = await start();
    const workers = async () =>
      ((await q.send('GET', '/workers')).workers as { worker_id: string }[]).map(({ worker_id: id, ...one }) => [
        id,
        one,
      ]);
    expect(await workers()).toEqual([]);
    await q.create();
    await q.create();
    const began = new Date(q.clock.now()).toISOString();
    await q.lease('w2');
    await q.lease('w2');
    await q.lease('w1');
    const two = { last_seen_at: began, polling: true, draining: false, holding: 2, labels: null, images: null };
    await expect.poll(workers).toEqual([
      ['w2', two],
      ['w1', { ...two, holding: 0 }],
    ]);
    // It is one that drains from its word on, and another one when it asks again.
    await q.lease('w2', '&draining=1');
    await expect.poll(workers).toContainEqual(['w2', { ...two, polling: false, draining: true }]);
    expect(await q.send('GET', '/stats')).toMatchObject({ workers_polling: 1 });
    await q.lease('w2');
    await expect.poll(workers).toContainEqual(['w2', two]);
    q.later(60_000);
    await expect.poll(workers).toContainEqual(['w1', { ...two, holding: 0, polling: false }]);
    q.later(10 * 60_000);
    expect(await workers()).toEqual([['w2', { ...two, polling: false }]]);
    expect(await q.send('GET', '/workers', { token: 'eve' })).toMatchObject({ workers: [] });
  });

  test('to anybody else a task is not there', async () => {
    const q = await start();
    const { id } = await q.create();
    const eve = { token: 'eve' };
    expect((await q.lease('w1', '', eve)).task).toBeNull();
    await q.lease('w1');
    const answers = [
      await q.send('GET', `/${id}`, eve),
      await q.post(`/${id}/heartbeat`, { worker_id: 'w1' }, eve),
      await q.post(`/${id}/ack`, { worker_id: 'w1' }, eve),
      await q.post(`/${id}/stop`, undefined, eve),
      await q.post(`/${id}/stop`, { graceful: true }, eve),
      await q.post(`/${id}/retry`, undefined, eve),
    ];
    for (const answer of answers) expect(answer).toMatchObject({ status: 404, error: 'task_not_found' });
    expect((await q.send('GET', '', eve)).tasks).toEqual([]);
    expect(await q.task(id)).toMatchObject({ status: 'leased' });
  });

  test('a key needs the scope, and the other mount is the same queue', async () => {
    const q = await start();
    expect(await q.post('', {}, { token: 'ada/compute~admin' })).toMatchObject({
      status: 403,
      error: 'insufficient_scope',
    });
    const made = await q.post('', {}, { token: 'ada/work' });
    const other = await q.server.call('GET', '/api/v1/beta/work/queue?worker_id=w9', { token: 'ada' });
    expect(other.json).toMatchObject({ task: { id: made.id, lease_worker_id: 'w9' } });
  });

  test('the same creation twice is one task', async () => {
    const q = await start();
    const headers = { 'idempotency-key': 'k1' };
    const [first, second] = [
      await q.post('', { priority: 1 }, { headers }),
      await q.post('', { priority: 1 }, { headers }),
    ];
    expect(second).toEqual(first);
    expect(await q.post('', { priority: 2 }, { headers })).toMatchObject({
      status: 409,
      error: 'idempotency_conflict',
    });
    expect((await q.send('GET', '')).tasks).toHaveLength(1);
  });

  test('what cannot be a task is refused with a sentence', async () => {
    const q = await start();
    const large = await q.post('', { payload: { text: 'x'.repeat(10_000_000) } });
    expect(large).toMatchObject({ status: 413, error: 'too_large' });
    expect(large.message).toMatch(/^The body is larger than 1048576 bytes\. /);
    const bad: unknown[] = [
      { payload: 'text' },
      { payload: [] },
      { env: { A: 1 } },
      { env: { 'A=B': 'x' } },
      { priority: 1.5 },
      { not_before: 'tomorrow' },
      { max_attempts: 0 },
      { other: 1 },
      { sandbox_image: 'a\u0000b' },
      [],
    ];
    for (const body of bad) {
      const answer = await q.post('', body);
      expect([body, answer.status]).toEqual([body, 400]);
    }
    for (const query of [
      '',
      '?worker_id=',
      '?worker_id=a&wait=31',
      '?worker_id=a&wait=-1',
      '?worker_id=%00',
      '?worker_id=a&worker_id=b',
    ]) {
      expect((await q.send('GET', `/queue${query}`)).status).toBe(400);
    }
    expect((await q.send('GET', '')).tasks).toEqual([]);
  });
});
