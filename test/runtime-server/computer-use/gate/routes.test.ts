/** The doors of the device over HTTP: statuses and codes, who may come in, control, the live view. */
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSseParser, type SseMessage } from '../../../../src/contracts/common/sse-parser.ts';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { botTokenMigrations, createBotTokens } from '../../../../src/kit/http/bot-tokens.ts';
import {
  createLinkAuthenticator,
  createOwnerAuthenticator,
  linkHeaders,
  localUserId,
} from '../../../../src/kit/http/principals.ts';
import { openStore } from '../../../../src/kit/store/open-store.ts';
import { ownerToken, type Reply, serve } from '../../../kit/http/support.ts';
import { keepUntilEnd, onEnd } from '../../../support/at-end.ts';
import { click, type Rig, startRig } from './rig.ts';

const stop = keepUntilEnd();
afterAll(stop);

const linkToken = 'gantry_link_0123456789abcdefghijklmnopqrstuvwxyz';
const base = '/api/v1/computers/this-device';
let rig: Rig;
let bot: string;
let port: number;
let call: Awaited<ReturnType<typeof serve>>['call'];

beforeAll(async () => {
  rig = await startRig({ livingRun: async (id) => id === 'run_living' });
  const store = await openStore({
    file: join(rig.folder, 'bots.db'),
    migrations: botTokenMigrations,
    clock: systemClock,
  });
  onEnd(() => store.close());
  const bots = await createBotTokens({ store, clock: systemClock, userId: localUserId });
  bot = await bots.mint('agent_1');
  ({ call, port } = await serve({
    routes: rig.hands.routes,
    authenticators: [createOwnerAuthenticator(ownerToken), createLinkAuthenticator(linkToken), bots.authenticator],
  }));
});
beforeEach(() => {
  rig.script({});
  rig.gate.control.release({ kind: 'person', id: localUserId });
});

const post = (path: string, body: unknown, as: 'owner' | 'key' = 'owner'): Promise<Reply> =>
  call('POST', `${base}${path}`, as === 'owner' ? { body } : { body, ...asKey });
const asKey = {
  token: linkToken,
  headers: { [linkHeaders.user]: localUserId, [linkHeaders.surface]: 'key', [linkHeaders.client]: 'key:1' },
};
const look = { toolset: 'browser', member: 'screenshot', input: {} };
const errorOf = ({ status, json }: Reply) => [status, json.error.type, json.error.code];

test('a picture is an answer in the shape of the contract', async () => {
  const { status, json } = await post('/toolset', look);
  expect(status).toBe(200);
  expect(json).toEqual({
    is_error: false,
    content: [
      {
        type: 'image',
        media_type: 'image/png',
        width: 1280,
        height: 800,
        data: Buffer.from('a picture').toString('base64'),
      },
    ],
    screen: { width: 1280, height: 800, scale: 1, frame_width: 1280, frame_height: 800 },
  });
});

test('what asks a person is 409 with its approval, and goes through once they have answered', async () => {
  const first = await post('/toolset', click);
  expect(errorOf(first)).toEqual([409, 'conflict_error', 'approval_required']);
  const { approval, words, result } = first.json as unknown as {
    approval: Record<string, string>;
    words: string;
    result: unknown;
  };
  // Whoever answers sees the action itself, and no sentence about it.
  expect(words).toMatch(/^browser\.left_click\n/);
  expect(approval).toEqual({
    id: expect.stringMatching(/^apr_/),
    action_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    member: 'left_click',
    toolset: 'browser',
    risk: 'medium',
    confirmation_class: 'run',
    approve_url: `https://gantry.test/approvals/${approval.id}`,
    approver: 'owner',
  });
  expect(result).toMatchObject({ is_error: true, error: { code: 'approval_required' } });
  await rig.questions.answer(approval.id!, { state: 'approved', by: 'ada' });
  expect((await post('/toolset', { ...click, approval_grant: approval.id })).status).toBe(200);
  expect(errorOf(await post('/toolset', { ...click, approval_grant: approval.id }))).toEqual([
    409,
    'conflict_error',
    'approval_required',
  ]);
  const denied = (await post('/toolset', { ...click, member: 'hover' })).json as unknown as {
    approval: { id: string };
  };
  await rig.questions.answer(denied.approval.id, { state: 'denied', by: 'ada' });
  expect(errorOf(await post('/toolset', { ...click, member: 'hover', approval_grant: denied.approval.id }))).toEqual([
    403,
    'permission_error',
    'approval_denied',
  ]);
});

test.each([
  ['an unknown toolset', { ...look, toolset: 'terminal' }, 'invalid_toolset'],
  ['an unknown member', { ...look, member: 'peek' }, 'invalid_toolset_call'],
  ['an unknown field', { ...look, speed: 1 }, 'invalid_toolset_call'],
  ['an unknown field of the input', { ...look, input: { full: true } }, 'invalid_toolset_call'],
  [
    'malformed coordinates',
    { ...click, input: { target: { type: 'coordinate', x: 'left', y: 1 } } },
    'invalid_toolset_call',
  ],
])('%s is 400', async (_name, body, code) => {
  expect(errorOf(await post('/toolset', body))).toEqual([400, 'invalid_request_error', code]);
});

test('what is no call is answered with where the schema of its members stands', async () => {
  const answer = await post('/toolset', { ...look, member: 'peek' });
  expect(answer.json).toMatchObject({ error: { message: expect.stringContaining('/toolset/schema?toolset=browser') } });
});

test.each([
  ['browser_crashed', look],
  ['display_unavailable', { toolset: 'computer', member: 'screenshot', input: {} }],
])('%s is 503, and the next call is a new beginning', async (code, body) => {
  const fault = { sort: 'device', code, message: 'It is not there.' } as const;
  rig.script({ actFault: fault as NonNullable<Parameters<Rig['script']>[0]['actFault']> });
  expect(errorOf(await post('/toolset', body))).toEqual([503, 'api_error', code]);
  rig.script({});
  expect((await post('/toolset', body)).status).toBe(200);
});

test('another computer is not found here', async () => {
  const foreign = await call('POST', '/api/v1/computers/computer_2/toolset', { body: look });
  expect(errorOf(foreign)).toEqual([404, 'not_found_error', 'computer_not_found']);
});

test('of two controllers one acts: a person takes control, a run and a key are told to wait, then it is given back', async () => {
  await post('/toolset', { ...look, run_id: 'run_1' }, 'key');
  expect(errorOf(await post('/toolset', look, 'key'))).toEqual([423, 'conflict_error', 'take_control_first']);
  expect(errorOf(await post('/toolset', look))).toEqual([423, 'conflict_error', 'take_control_first']);
  const taken = await post('/control/take', {});
  expect(taken.json).toMatchObject({ holder: { kind: 'person', id: localUserId } });
  expect(errorOf(await post('/toolset', { ...look, run_id: 'run_1' }, 'key'))).toEqual([
    423,
    'conflict_error',
    'take_control_first',
  ]);
  // A person who has control acts unasked.
  expect((await post('/toolset', click)).status).toBe(200);
  expect((await post('/control/renew', {})).json).toMatchObject({ holder: { kind: 'person' } });
  expect((await post('/control/release', {})).json).toEqual({ holder: null, since: null, expires_at: null });
  expect((await post('/toolset', look, 'key')).status).toBe(200);
});

test('nobody acts in the name of a run that lives here: it alone holds as it', async () => {
  const before = rig.acts().length;
  for (const as of ['key', 'owner'] as const) {
    const reply = await post('/toolset', { ...look, run_id: 'run_living', turn_id: 'run_living.0', call_index: 0 }, as);
    expect(errorOf(reply)).toEqual([400, 'invalid_request_error', 'invalid_toolset_call']);
  }
  expect(rig.acts()).toHaveLength(before);
  expect(rig.gate.control.now().holder?.id).not.toBe('run_living');
});

test('a key cannot take control, whatever it sends', async () => {
  for (const verb of ['take', 'renew', 'release']) {
    expect((await post(`/control/${verb}`, {}, 'key')).status).toBe(403);
  }
  expect(rig.gate.control.now().holder?.kind).not.toBe('person');
});

test('each key has a browser of its own; a person has the same one wherever they sit', async () => {
  await post('/toolset', look, 'key');
  const other = { ...asKey, headers: { ...asKey.headers, [linkHeaders.client]: 'key:2' } };
  await call('POST', `${base}/toolset`, { body: look, ...other });
  const seat = { token: linkToken, headers: { [linkHeaders.user]: localUserId, [linkHeaders.surface]: 'browser' } };
  await call('POST', `${base}/toolset`, { body: look, ...seat });
  await post('/toolset', look);
  const rows = (
    await rig.store.read((tx) => tx.all<{ place: string }>('SELECT place FROM computer_use_action ORDER BY id'))
  ).slice(-4);
  const [one, two, browser, cli] = rows.map((row) => row.place);
  expect(browser).toBe('browser:default');
  expect(cli).toBe('browser:default');
  expect(new Set([one, two, browser]).size).toBe(3);
});

test('the schema names every member with its class, and which have to be enabled', async () => {
  const { json } = await call('GET', `${base}/toolset/schema?toolset=browser`);
  const { members } = json as unknown as {
    members: { name: string; class: string; enabled: boolean; input_schema: object }[];
  };
  expect(members).toHaveLength(31);
  expect(members.filter((member) => !member.enabled).map((member) => member.name)).toEqual([
    'read_console',
    'read_network',
    'file_upload',
    'javascript_exec',
  ]);
  expect(members.find((member) => member.name === 'left_click')).toMatchObject({
    class: 'act',
    input_schema: { type: 'object', required: ['target'], additionalProperties: false },
  });
  const computer = await call('GET', `${base}/toolset/schema?toolset=computer`);
  expect((computer.json as unknown as { members: unknown[] }).members).toHaveLength(17);
});

test('a bot reaches none of these doors', async () => {
  const before = rig.acts().length;
  for (const [method, path] of [
    ['POST', '/toolset'],
    ['GET', '/toolset/schema?toolset=browser'],
    ['GET', '/view'],
    ['POST', '/control/take'],
    ['POST', '/control/renew'],
    ['POST', '/control/release'],
  ] as const) {
    const reply = await call(method, `${base}${path}`, { token: bot, ...(method === 'POST' ? { body: look } : {}) });
    expect([path, reply.status]).toEqual([path, 403]);
  }
  expect(rig.acts()).toHaveLength(before);
});

/** Reads the stream until `done` holds. */
async function watch(query: string, done: (events: readonly SseMessage[]) => boolean, during: () => Promise<unknown>) {
  const ends = new AbortController();
  const headers = { authorization: `Bearer ${ownerToken}` };
  const response = await fetch(`http://127.0.0.1:${port}${base}/view${query}`, { headers, signal: ends.signal });
  expect(response.status).toBe(200);
  const parser = createSseParser();
  const events: SseMessage[] = [];
  const read = (async () => {
    const text = new TextDecoder();
    for await (const chunk of response.body!) {
      events.push(...parser.push(text.decode(chunk as Uint8Array, { stream: true })));
      if (done(events)) return;
    }
  })();
  await during();
  await read;
  ends.abort();
  return events.map(({ event, data }) => ({ event, data: JSON.parse(data) as Record<string, unknown> | null }));
}

test('the live view shows frames, the pointer, what comes next before it happens, and who has control', async () => {
  const events = await watch(
    '',
    (seen) =>
      ['next', 'frame', 'control'].every(
        (name) => seen.filter(({ event }) => event === name).length >= 2 || name === 'frame',
      ) && seen.some(({ event }) => event === 'frame'),
    async () => {
      await post('/control/take', {});
      await post('/toolset', click);
    },
  );
  expect(events[0]).toMatchObject({ event: 'control' });
  expect(events.filter(({ event }) => event === 'control').at(-1)?.data).toMatchObject({ holder: { kind: 'person' } });
  const next = events.filter(({ event }) => event === 'next').map(({ data }) => data);
  expect(next.slice(0, 2)).toEqual([{ member: 'left_click', words: 'Click at 10, 20', region: null }, null]);
  expect(events.find(({ event }) => event === 'frame')?.data).toMatchObject({
    data: Buffer.from('jpeg').toString('base64'),
    width: 2,
    height: 1,
  });
});

test('frames are made while somebody watches, and no longer', async () => {
  await post('/toolset', look);
  const watches = () => rig.acts().flatMap((line) => (line.do === 'watch' ? [line.fps] : []));
  await watch(
    '',
    (seen) => seen.some(({ event }) => event === 'pointer'),
    async () => {},
  );
  await expect.poll(() => watches().at(-1)).toBe(0);
  const before = watches().length;
  await watch(
    '?browser_session_id=default',
    (seen) => seen.some(({ event }) => event === 'frame'),
    async () => {},
  );
  await expect.poll(() => watches().slice(before)).toEqual([10, 0]);
});

test('who watches hears that the executor is gone, and sees frames again once it is back', async () => {
  await post('/toolset', look);
  const events = await watch(
    '',
    (seen) =>
      seen.findLastIndex(({ event }) => event === 'frame') > seen.findIndex(({ event }) => event === 'gone') &&
      seen.some(({ event }) => event === 'gone'),
    async () => {
      rig.script({ dieAt: 'act' });
      await post('/toolset', look);
      rig.script({});
      await post('/toolset', look);
    },
  );
  const gone = events.findIndex(({ event }) => event === 'gone');
  expect(events[gone]?.data).toMatchObject({ code: 'browser_crashed' });
  expect(events.slice(gone).some(({ event }) => event === 'frame')).toBe(true);
});
