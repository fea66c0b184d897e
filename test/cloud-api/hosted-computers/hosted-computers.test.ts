/** Hosted computers as programs use them, on every database, with a driver whose wire is real. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { createSubstituteDriver, refusal, result } from './substitute-driver.ts';
import { key, otherKey, startHosted, type TestHosted } from './support.ts';

describe.each(engines)('hosted computers on $name', (engine) => {
  const open = async (more: Parameters<TestHosted['project']>[0] = {}) => {
    const hosted = await startHosted(engine);
    await hosted.project(more);
    return hosted;
  };

  test('a key makes a computer, drives it, stops, starts and deletes it, and its events tell all of it without a gap', async () => {
    const { send, at, create, act, substitute, clock } = await open();
    const made = await create({ name: '  Shop ', account_id: 'acct_1', metadata: { a: [1] } });
    expect(made).toEqual({
      id: expect.stringMatching(/^cmp_[0-9A-Za-z]+$/),
      object: 'computer',
      name: 'Shop',
      status: 'running',
      sleeping: false,
      sleep_keeps: 'memory',
      toolset: 'desktop',
      egress: 'public',
      image: null,
      memory_mib: null,
      processes: null,
      lifetime_seconds: null,
      account_id: 'acct_1',
      key_id: 'key_1',
      metadata: { a: [1] },
      created_at: new Date(clock.now()).toISOString(),
      started_at: new Date(clock.now()).toISOString(),
    });
    const { id } = made;
    expect(await act(id)).toMatchObject({ status: 200, is_error: false, content: [{ type: 'text', text: 'done' }] });
    const heard = substitute.heard[0]!;
    expect([heard.method, heard.path]).toEqual(['POST', '/api/v1/computers/this-device/toolset']);
    expect(heard.body).toEqual({ toolset: 'computer', member: 'screenshot', input: {} });
    expect(heard.headers).toMatchObject({
      'x-platform-user-id': `platform-drv:${id}`,
      'x-gantry-surface': 'key',
      'x-gantry-client': 'key:key_1',
    });
    expect((await send('POST', at(id, '/stop'))).body).toMatchObject({ id, status: 'stopped', sleeping: false });
    expect((await send('GET', at(id))).body.status).toBe('stopped');
    expect(substitute.state(id)).toBe('stopped');
    expect(await act(id)).toMatchObject({
      status: 409,
      error: { type: 'conflict_error', code: 'computer_not_running' },
    });
    expect((await send('POST', at(id, '/start'))).body.status).toBe('running');
    expect((await act(id)).status).toBe(200);
    expect((await send('DELETE', at(id))).body.status).toBe('deleted');
    expect(substitute.computers()).toEqual([]);
    expect(await send('GET', at(id))).toMatchObject({ status: 404, error: { code: 'computer_not_found' } });
  });

  test('a computer without a screen, or without a network, is what was asked for, says so, and is made so again', async () => {
    const { send, at, create, act, substitute } = await open();
    const made = await create({ toolset: 'shell', egress: 'none' });
    expect(made).toMatchObject({ toolset: 'shell', egress: 'none' });
    expect((await send('GET', at(made.id))).body).toMatchObject({ toolset: 'shell', egress: 'none' });
    const spec = { computer: made.id, image: null, toolset: 'shell', egress: 'none', lifetime: null };
    expect(substitute.specs).toEqual([
      { ...spec, key: expect.stringContaining(made.id), limits: { memory: null, processes: null } },
    ]);
    const ran = { exec: { exit_code: 3, truncated: false }, file: { size: 1, next_offset: null } };
    substitute.settings.answer = () => ({ status: 200, body: result(ran) });
    const call = { toolset: 'shell', member: 'exec', input: { command: 'ls' } };
    expect(await act(made.id, call)).toMatchObject({ status: 200, ...ran });
    expect(substitute.heard.at(-1)!.body).toEqual(call);
    await substitute.vanishes(made.id);
    await expect.poll(async () => (await send('GET', at(made.id))).body.status).toBe('error');
    expect((await send('POST', at(made.id, '/start'))).status).toBe(200);
    expect(substitute.specs[1]).toEqual(substitute.specs[0]);
    expect((await create()).toolset).toBe('desktop');
    for (const body of [{ toolset: 'browser' }, { egress: 'everything' }]) {
      expect((await send('POST', '/v1/computers', { body })).status).toBe(400);
    }
  });

  test('a computer is made of the image, with the limits and for the time that were asked for, and is made so again', async () => {
    const hosted = await startHosted(engine, { bounds: { images: null, lifetime: 7_200_000 } });
    await hosted.project();
    const { send, at, create, substitute } = hosted;
    const asked = { image: 'acme/computer:2', memory_mib: 512, processes: 200, lifetime_seconds: 3600 };
    const made = await create(asked);
    expect(made).toMatchObject(asked);
    expect((await send('GET', at(made.id))).body).toMatchObject(asked);
    const spec = { image: 'acme/computer:2', limits: { memory: 512, processes: 200 }, lifetime: 3_600_000 };
    expect(substitute.specs).toMatchObject([spec]);
    await substitute.vanishes(made.id);
    await expect.poll(async () => (await send('GET', at(made.id))).body.status).toBe('error');
    expect((await send('POST', at(made.id, '/start'))).status).toBe(200);
    expect(substitute.specs[1]).toEqual(substitute.specs[0]);
    // Who asks for none gets the longest.
    expect(await create()).toMatchObject({ image: null, memory_mib: null, lifetime_seconds: 7200 });
    expect(substitute.specs[2]).toMatchObject({ image: null, lifetime: 7_200_000 });
    const wrong = [{ image: '../x' }, { image: 'a b' }, { memory_mib: 1 }, { processes: 1.5 }, { lifetime_seconds: 0 }];
    for (const body of wrong) expect((await send('POST', '/v1/computers', { body })).status).toBe(400);
  });

  test('what its operator or its driver does not allow is refused with the value, and nothing of it remains', async () => {
    const images = [{ userId: 'user_bob', beginning: 'acme/' }, ...[{ userId: null, beginning: 'shared' }]];
    const hosted = await startHosted(engine, { bounds: { images, lifetime: 60_000 } });
    await hosted.project();
    const { send, substitute, create } = hosted;
    const refused = async (body: object) => {
      const { status, error } = await send('POST', '/v1/computers', { body });
      return `${status} ${error.code}: ${error.message}`;
    };
    expect(await refused({ image: 'acme/computer' })).toBe(
      '400 image_not_allowed: The image acme/computer is not allowed here. Name an image that your administrator allows (GANTRY_COMPUTERS_IMAGES), or none for the usual one.',
    );
    expect(await refused({ lifetime_seconds: 61 })).toMatch(
      /^400 lifetime_too_long: A lifetime of 61 s is longer than the 60 s that are allowed here\./,
    );
    expect(substitute.specs).toEqual([]);
    substitute.settings.unsupported = 'A computer can have 2048 MiB of memory here, not 4096.';
    expect(await refused({ memory_mib: 4096 })).toBe(
      '400 unsupported: A computer can have 2048 MiB of memory here, not 4096. Ask for less, or leave it out for what is usual here.',
    );
    expect((await send('GET', '/v1/computers')).computers).toEqual([]);
    substitute.settings.unsupported = null;
    expect(await create({ image: 'shared:1' })).toMatchObject({ image: 'shared:1', lifetime_seconds: 60 });
  });

  test('events are gap-free, paged, and a stream goes on behind the last one that was seen', async () => {
    const { send, at, create, act, server, types } = await open();
    const { id } = await create();
    await act(id);
    await act(id, { member: 'left_click', input: { coordinate: [1, 2] }, turn_id: 't', call_index: 0 });
    expect(await types(id)).toEqual(['computer.created', 'computer.started', 'action.completed', 'action.completed']);
    const page = await send('GET', at(id, '/events?limit=2'));
    expect(page.events.map(({ index }) => index)).toEqual([0, 1]);
    const rest = await send('GET', at(id, `/events?after=${page.next_cursor}`));
    expect([rest.events.map(({ index }) => index), rest.next_cursor]).toEqual([[2, 3], null]);
    const stream = async (headers: Record<string, string>, until: number) => {
      const abort = new AbortController();
      const answer = await fetch(`http://127.0.0.1:${server.port}${at(id, '/events/stream?after=0')}`, {
        headers: { authorization: `Bearer ${key}`, ...headers },
        signal: abort.signal,
      });
      let text = '';
      const seen = () =>
        [...text.matchAll(/^id: (\d+)\ndata: (.*)$/gm)].map((match) => [Number(match[1]), JSON.parse(match[2]!).index]);
      for await (const chunk of answer.body!) {
        text += Buffer.from(chunk).toString();
        if (seen().some(([index]) => index === until)) break;
      }
      abort.abort();
      return seen().map(([header, index]) => (header === index ? index : null));
    };
    const reading = stream({ 'last-event-id': '2' }, 5);
    expect(await stream({}, 3)).toEqual([1, 2, 3]);
    await send('POST', at(id, '/stop'));
    await send('POST', at(id, '/start'));
    expect(await reading).toEqual([3, 4, 5]);
  });

  test('the flag comes first, then the scope; the settings answer every key', async () => {
    const { send, at, project, projects } = await startHosted(engine);
    const off = { status: 404, error: { type: 'not_found_error', code: 'hosted_driver_disabled' } };
    const settings = (token: string) => send('GET', '/v1/computer_settings', { token });
    const usual = { approval_mode: 'owner', per_key_concurrency: 2, browser_toolset: true };
    for (const made of [false, true]) {
      if (made) await project({ hostedDriverEnabled: false });
      for (const token of [key, 'ada/work', 'ada']) {
        expect(await settings(token)).toMatchObject({ status: 200, hosted_driver_enabled: false, ...usual });
        for (const [method, path] of [
          ['GET', '/v1/computers'],
          ['POST', '/v1/computers'],
          ['GET', at('cmp_1')],
          ['DELETE', at('cmp_1')],
          ['POST', at('cmp_1', '/start')],
          ['POST', at('cmp_1', '/toolset')],
          ['GET', at('cmp_1', '/events/stream')],
        ] as const) {
          expect([path, await send(method, path, { token })]).toMatchObject([path, off]);
        }
      }
      expect(await send('PATCH', '/v1/computer_settings', { token: 'ada', body: {} })).toMatchObject(off);
    }
    await projects.change('shop', { hostedDriverEnabled: true });
    expect(await send('GET', '/v1/computers', { token: 'ada/work' })).toMatchObject({
      status: 403,
      error: { type: 'permission_error', code: 'insufficient_scope' },
    });
    expect(await settings('ada/work')).toMatchObject({ status: 200, hosted_driver_enabled: true });
    expect(await send('GET', '/v1/computers')).toMatchObject({ status: 200, computers: [], next_cursor: null });
    expect(await send('PATCH', '/v1/computer_settings', { body: { browser_toolset: false } })).toMatchObject({
      status: 403,
    });
    const change = (body: unknown) => send('PATCH', '/v1/computer_settings', { token: 'ada', body });
    expect(await change({ browser_toolset: false, per_key_concurrency: 10 })).toMatchObject({
      status: 200,
      browser_toolset: false,
    });
    expect((await change({ per_key_concurrency: 11 })).status).toBe(400);
    expect((await change({ hosted_driver_enabled: true })).status).toBe(400);
    expect(await settings(key)).toMatchObject({
      browser_toolset: false,
      per_key_concurrency: 10,
      approval_mode: 'owner',
    });
  });

  test('computers belong to a project: the oldest unless a header names another of the caller’s; strangers find nothing', async () => {
    const { send, at, create, project, clock } = await open();
    clock.jump(1000);
    await project({ id: 'lab' });
    await project({ id: 'bobs', userId: 'user_bob' });
    const lab = { headers: { 'x-gantry-project': 'lab' } };
    const [one, two] = [await create(), await create({}, lab)];
    const ids = async (more = {}) => (await send('GET', '/v1/computers', more)).computers.map(({ id }) => id);
    expect([await ids(), await ids(lab)]).toEqual([[one.id], [two.id]]);
    expect((await send('GET', at(two.id))).status).toBe(200);
    expect((await send('GET', at(one.id), lab)).status).toBe(404);
    for (const named of ['bobs', 'nothing']) {
      expect(await send('GET', '/v1/computers', { headers: { 'x-gantry-project': named } })).toMatchObject({
        status: 404,
        error: { code: 'project_not_found' },
      });
    }
    const rest = ['', '/events', '/events/stream', '/meters', '/approvals', '/toolset/schema?toolset=computer'];
    const posts = [
      ['/start', {}],
      ['/stop', {}],
      ['/toolset', { toolset: 'computer', member: 'wait', input: {} }],
    ] as const;
    for (const token of ['bob', 'bob/computers/key_9']) {
      const asked = [
        ...rest.map((path) => ['GET', path, undefined] as const),
        ...posts.map(([path, body]) => ['POST', path, body] as const),
        ['POST', '/approvals/apr_1', { decision: 'approve' }] as const,
        ['DELETE', '', undefined] as const,
      ];
      for (const [method, path, body] of asked) {
        const [foreign, unknown] = [
          await send(method, at(one.id, path), { token, body }),
          await send(method, at('cmp_nothing1', path), { token, body }),
        ];
        expect([path, foreign.status, foreign.error.code]).toEqual([path, 404, 'computer_not_found']);
        expect(foreign.error.message.replace(one.id, '')).toBe(unknown.error.message.replace('cmp_nothing1', ''));
      }
      expect(await ids({ token })).toEqual([]);
    }
  });

  test('lists are newest first, in pages, by status', async () => {
    const { send, at, create, clock } = await open();
    await send('PATCH', '/v1/computer_settings', { token: 'ada', body: { per_key_concurrency: 10 } });
    const made: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      clock.jump(count % 2);
      made.unshift((await create()).id);
    }
    await send('DELETE', at(made[1]!));
    await send('POST', at(made[0]!, '/stop'));
    const left = made.filter((_, index) => index !== 1);
    const first = await send('GET', '/v1/computers?limit=3');
    const second = await send('GET', `/v1/computers?limit=3&cursor=${first.next_cursor}`);
    expect([...first.computers, ...second.computers].map(({ id }) => id)).toEqual(left);
    expect(second.next_cursor).toBeNull();
    const of = async (status: string) =>
      (await send('GET', `/v1/computers?status=${status}`)).computers.map(({ id }) => id);
    expect([await of('stopped'), await of('running'), await of('deleted')]).toEqual([[left[0]], left.slice(1), []]);
    expect((await send('GET', '/v1/computers?cursor=junk')).status).toBe(400);
    expect((await send('GET', '/v1/computers?status=asleep')).status).toBe(400);
  });

  test('a bad name or bad metadata has its own code, and nothing is made; a repeated key makes one computer', async () => {
    const { send, substitute } = await open();
    const code = async (body: unknown) => {
      const answer = await send('POST', '/v1/computers', { body });
      return [answer.status, answer.error.code];
    };
    expect(await code({ name: 'x'.repeat(121) })).toEqual([400, 'invalid_name']);
    expect(await code({ name: 7 })).toEqual([400, 'invalid_name']);
    expect(await code({ metadata: { long: 'é'.repeat(4096) } })).toEqual([400, 'invalid_metadata']);
    expect(await code({ metadata: [] })).toEqual([400, 'invalid_metadata']);
    expect(await code({ size: 'large' })).toEqual([400, 'bad_request']);
    expect(substitute.done).toEqual([]);
    const headers = { 'idempotency-key': 'once' };
    const body = { name: 'x'.repeat(120), metadata: { fits: 'x'.repeat(8 * 1024 - '{"fits":""}'.length) } };
    const both = await Promise.all([1, 2].map(() => send('POST', '/v1/computers', { body, headers })));
    expect(both[0]).toEqual(both[1]);
    expect([both[0]!.status, substitute.computers().length]).toEqual([201, 1]);
    expect((await send('POST', '/v1/computers', { body: {}, headers })).status).toBe(409);
  });

  test('where no computer can be made it says why, and nothing is left of it', async () => {
    const { send, substitute } = await open();
    const why = async () => {
      const answer = await send('POST', '/v1/computers');
      expect([answer.status, answer.error.type, answer.error.code]).toEqual([503, 'api_error', 'computer_unavailable']);
      return answer.error.message;
    };
    substitute.settings.refused = 'No computer-host runs here.';
    expect(await why()).toContain('No computer-host runs here.');
    substitute.settings.refused = null;
    substitute.settings.egress = 'none';
    expect(await why()).toContain('cannot keep computers out of private networks');
    substitute.settings.egress = 'enforced';
    for (const op of ['create', 'start']) {
      substitute.settings.fails = op;
      expect(await why()).toContain(`${op} did not work.`);
    }
    expect(substitute.computers()).toEqual([]);
    expect((await send('GET', '/v1/computers')).computers).toEqual([]);
  });

  test('a call that is none is told apart, and neither is counted', async () => {
    const { create, act, meters, substitute, types } = await open();
    const { id } = await create();
    const code = async (body: Record<string, unknown>) => {
      const answer = await act(id, body);
      return [answer.status, answer.error.code];
    };
    expect(await code({ toolset: 'phone' })).toEqual([400, 'invalid_toolset']);
    expect(await code({ input: 'x' })).toEqual([400, 'invalid_toolset_call']);
    expect(await code({ colour: 'red' })).toEqual([400, 'invalid_toolset_call']);
    expect(substitute.heard).toEqual([]);
    substitute.settings.answer = () => ({
      status: 400,
      body: refusal('invalid_request_error', 'invalid_toolset_call'),
    });
    expect(await code({ member: 'fly' })).toEqual([400, 'invalid_toolset_call']);
    substitute.settings.answer = () => ({ status: 423, body: refusal('conflict_error', 'take_control_first') });
    expect(await code({})).toEqual([423, 'take_control_first']);
    substitute.settings.answer = () => ({ status: 503, body: refusal('api_error', 'browser_crashed') });
    expect(await code({})).toEqual([503, 'browser_crashed']);
    expect((await meters(id)).actions).toBe(0);
    expect((await types(id)).slice(2)).toEqual(['action.failed']);
  });

  test('an action is counted once per turn and index, and a call that was not executed never', async () => {
    const { create, act, meters, substitute, types } = await open();
    const { id } = await create();
    const turn = { turn_id: 'turn', call_index: 0 };
    for (let count = 0; count < 3; count += 1) expect((await act(id, turn)).status).toBe(200);
    await Promise.all([act(id, turn), act(id, turn)]);
    expect((await meters(id)).actions).toBe(1);
    await act(id, { ...turn, call_index: 1 });
    await act(id);
    await act(id);
    expect((await meters(id)).actions).toBe(4);
    const error = { code: 'not_executed', message: 'An earlier call failed.' };
    substitute.settings.answer = () => ({ status: 200, body: result({ is_error: true, error }) });
    expect(await act(id, { ...turn, call_index: 2 })).toMatchObject({ status: 200, is_error: true, error });
    expect((await meters(id)).actions).toBe(4);
    substitute.settings.answer = () => ({
      status: 200,
      body: result({ is_error: true, error: { code: 'element_not_found', message: 'It is gone.' } }),
    });
    await act(id, { ...turn, call_index: 3 });
    expect((await meters(id)).actions).toBe(5);
    const told = (await types(id)).slice(2);
    expect(told.filter((type) => type === 'action.completed')).toHaveLength(4);
    expect(told.filter((type) => type === 'action.failed')).toHaveLength(2);
  });

  test('what is done anew is counted anew: for another run, by another key, as another member', async () => {
    const { create, act, meters } = await open();
    const { id } = await create();
    const turn = { turn_id: 'turn', call_index: 0 };
    for (let count = 0; count < 2; count += 1) {
      await act(id, turn);
      await act(id, { ...turn, run_id: 'run_1' });
      await act(id, { ...turn, run_id: 'run_2' });
      await act(id, turn, { token: otherKey });
      await act(id, { ...turn, member: 'left_click', input: { coordinate: [1, 2] } });
    }
    expect((await meters(id)).actions).toBe(5);
  });

  test('the browser toolset can be switched off', async () => {
    const { send, create, act, substitute } = await open();
    const { id } = await create();
    await send('PATCH', '/v1/computer_settings', { token: 'ada', body: { browser_toolset: false } });
    expect(await act(id, { toolset: 'browser' })).toMatchObject({
      status: 403,
      error: { code: 'browser_toolset_disabled' },
    });
    expect(substitute.heard).toEqual([]);
    expect((await act(id)).status).toBe(200);
  });

  test('a person with hosted computers reads where they are made, and of other people only how many are awake', async () => {
    const rules = [
      { userId: null, beginning: 'acme/' },
      { userId: 'user_ada', beginning: 'ada/' },
      { userId: 'user_grace', beginning: 'grace/' },
    ];
    const driver = { images: true };
    const substitute = createSubstituteDriver(() => clock.now());
    onTestFinished(() => substitute.close());
    const clock = createTestClock();
    const { send, project, create } = await startHosted(engine, {
      clock,
      substitute,
      driver: {
        ...substitute.driver,
        capabilities: async () => ({ ...(await substitute.driver.capabilities()), ...driver }),
        hosts: async () => [
          ...(await substitute.driver.hosts()),
          { ...(await substitute.driver.hosts())[0]!, name: 'attic', provenAt: null, most: null },
        ],
      },
      bounds: { images: rules, lifetime: 3_600_000 },
    });
    const read = (token = key) => send('GET', '/v1/computer_pool', { token });
    expect(await read()).toMatchObject({ status: 404, error: { code: 'hosted_driver_disabled' } });
    await project();
    await project({ id: 'other', userId: 'user_grace' });
    const theirs = await create({ name: 'secret' }, { token: 'grace/computers' });
    expect(await read('ada/compute')).toMatchObject({ status: 403 });
    const at = new Date(clock.now()).toISOString();
    const here = { name: null, refused: null, memory_mib: 2048, processes: 1024, egress_proven_at: at };
    expect((await read()).body).toEqual({
      driver: 'substitute',
      refused: null,
      wall: 'namespace',
      egress: 'enforced',
      sleep_keeps: 'memory',
      idle_seconds: 300,
      running: 20,
      awake: 1,
      warm: null,
      images: ['acme/', 'ada/'],
      lifetime_seconds: 3600,
      hosts: [
        { ...here, computers: 1, most: 20 },
        { ...here, name: 'attic', egress_proven_at: null, computers: 1, most: null },
      ],
    });
    driver.images = false;
    substitute.settings.refused = `From inside of ${theirs.id}, 10.0.0.1 answered.`;
    const refused = 'From inside of a computer, 10.0.0.1 answered.';
    expect(await read()).toMatchObject({ refused, images: [], hosts: [{ refused }, { refused }] });
  });

  test('a key has so many computers awake and so many calls under way, the pool so many in all', async () => {
    const { send, at, create, act, substitute, clock, until } = await open();
    const [one] = [await create(), await create()];
    const full = { status: 429, error: { type: 'rate_limit_error', code: 'concurrency_limit' } };
    expect(await send('POST', '/v1/computers')).toMatchObject(full);
    const third = await create({}, { token: otherKey });
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    substitute.settings.answer = async () => {
      await held;
      return { status: 200, body: result() };
    };
    const under = [act(one.id), act(third.id)];
    await expect.poll(() => substitute.heard.length).toBe(2);
    expect(await act(one.id)).toMatchObject(full);
    const others = act(one.id, {}, { token: otherKey });
    await expect.poll(() => substitute.heard.length).toBe(3);
    release();
    expect((await Promise.all([...under, others])).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await act(one.id)).status).toBe(200);
    const pool = (body?: unknown) =>
      send(body === undefined ? 'GET' : 'PATCH', '/api/v1/admin/pool', { token: 'ada/admin', body });
    expect(await pool({ running: 3 })).toMatchObject({ status: 200, running: 3, idleSeconds: 300, awake: 3 });
    expect(await send('POST', '/v1/computers', { token: otherKey })).toMatchObject({
      status: 503,
      error: { code: 'computer_unavailable', message: expect.stringContaining('All 3') },
    });
    // One that sleeps makes room, and needs some to wake.
    clock.jump(300_000);
    await until(async () => (await pool()).awake === 0);
    await pool({ running: 1 });
    expect((await act(third.id)).status).toBe(200);
    expect(await act(one.id)).toMatchObject({ status: 503, error: { code: 'computer_unavailable' } });
    expect(await send('GET', at(one.id))).toMatchObject({ status: 200, sleeping: true });
    expect(await pool({ running: 7, dryRun: true })).toMatchObject({
      dryRun: true,
      plan: { running: 7, idleSeconds: 300 },
    });
    expect(await pool()).toMatchObject({ running: 1 });
  });
});
