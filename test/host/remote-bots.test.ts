/**
 * Bots on another computer, end to end: two computers and their cloud, all as their commands start them. Every byte
 * between them goes through a proxy that can be cut.
 */

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSseParser } from '../../src/contracts/common/sse-parser.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import type { Delivery } from '../../src/contracts/factory/delivery.ts';
import { run } from '../cli/support.ts';
import { type People, type Person, startPeople } from '../cloud-api/identity/support.ts';
import { caller, keepUntilEnd, onEnd } from '../kit/http/support.ts';
import { type CutProxy, startCutProxy } from '../support/cut-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { computersOf, type Installation, pairUp, signIn, startInstallation } from './paired-support.ts';

let proxy: CutProxy;
let people: People;
let ada: Person;
let bob: Person;
/** Where the person sits, and where the bots run. */
let here: Installation;
let there: Installation;
let far: string;
const stop = keepUntilEnd();
beforeAll(async () => {
  const port = await freePort();
  proxy = await startCutProxy({ target: { host: '127.0.0.1', port }, cutAfter: () => null });
  onEnd(() => proxy.close());
  const baseUrl = `http://127.0.0.1:${proxy.port}`;
  people = { ...(await startPeople({ port, baseUrl })), call: caller(proxy.port, null) };
  [here, there, ada, bob] = await Promise.all([
    startInstallation(),
    startInstallation(),
    signIn(people),
    signIn(people, 'bob'),
  ]);
}, 90_000);
afterAll(stop);

const team = (name: string, ...slugs: string[]) => {
  const folder = join(here.home, 'ws', '.gantry', 'teams', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'team.yaml'),
    `bots:\n${slugs.map((slug) => `  - {bot: ${slug}, harness: shell}\n`).join('')}`,
  );
};
const factory = async <T>(method: string, path: string, body?: unknown, installation = here) => {
  const reply = await installation.engine(method, `/api/factory${path}`, body === undefined ? {} : { body });
  return { status: reply.status, body: reply.json as never as T };
};
const up = async (name: string, on = 'Attic', more: object = {}) => {
  await here.agree();
  return factory<{ plan: { agent: string; action: string; machine?: string; reason: string }[]; applied: boolean }>(
    'POST',
    `/teams/${name}/up`,
    { on, ...more },
  );
};
const agent = async (address: string) => (await factory<Agent>('GET', `/agents/${address}`)).body;
const until = (address: string, wanted: Partial<Agent>) => expect.poll(() => agent(address)).toMatchObject(wanted);
const capture = async (address: string) =>
  (await factory<{ text: string }>('GET', `/agents/${address}/capture?lines=50`)).body.text;
const send = (to: string, text: string, more: object = {}) => factory<Delivery>('POST', '/send', { to, text, ...more });

async function watch(address: string) {
  const events: { event: string; data: { ansi?: string; reason?: string } }[] = [];
  const abort = new AbortController();
  onEnd(async () => abort.abort());
  const { body } = await here.engineStream(`/api/factory/agents/${address}/stream`, abort.signal);
  const parser = createSseParser();
  const decoder = new TextDecoder();
  const ended = (async () => {
    for await (const bytes of body ?? []) {
      for (const { event, data } of parser.push(decoder.decode(bytes, { stream: true }))) {
        events.push({ event, data: JSON.parse(data) });
      }
    }
  })().catch(() => {});
  const shows = (text: string) =>
    expect.poll(() => events.findLast((each) => each.event === 'screen')?.data.ansi ?? '').toContain(text);
  return { events, ended, shows, close: () => abort.abort() };
}

test('without a pairing there is no other computer, and with one it has a name', async () => {
  team('alone', 'web');
  const alone = await up('alone', 'Attic');
  expect(alone).toMatchObject({
    status: 404,
    body: { error: { code: 'not_found', fact: expect.stringContaining('Attic') } },
  });
  await pairUp(here, people, ada);
  far = (await pairUp(there, people, ada)).computerId ?? '';
  const named = await ada.call('PATCH', `/api/v1/computers/${far}`, { body: { name: 'Attic' } });
  expect(named.json).toMatchObject({ id: far, name: 'Attic', state: 'linked' });
});

test('a team starts on another computer by its name, and its bot is seen, typed into, written to and stopped from here', async () => {
  team('crew', 'web', 'api');
  const dry = await up('crew', 'attic', { dryRun: true });
  expect(dry.body).toMatchObject({ applied: false, plan: [{ agent: 'web@crew', action: 'spawn', machine: far }, {}] });
  expect(await agent('web@crew')).toMatchObject({ state: 'offline', runner: 'local', pane: null });

  const started = await up('crew');
  expect(started).toMatchObject({ status: 200, body: { applied: true } });
  await until('web@crew', { state: 'idle', stale: false, machine: far, runner: `remote:${far}` });
  const web = await agent('web@crew');
  expect(web).toMatchObject({
    pane: { id: expect.stringMatching(/^pane_/), attachable: true },
    binding: { harness: 'shell' },
  });
  expect(here.gantry.liveBots()).toBe(0);
  expect(there.gantry.liveBots()).toBe(2);

  const first = await watch('web@crew');
  const second = await watch('web@crew');
  const typed = await factory('POST', '/agents/web@crew/input', { text: 'pwd; echo ma"rk"', keys: ['Enter'] });
  expect(typed).toEqual({ status: 200, body: { ok: true } });
  await first.shows('mark');
  await second.shows('mark');
  expect(await capture('web@crew')).toContain(join(there.home, 'peers'));
  const screen = await factory<{ ansi: string }>('GET', '/agents/web@crew/screen');
  expect(screen.body.ansi).toContain('mark');
  const sized = await factory('POST', '/agents/web@crew/size', { cols: 90, rows: 20 });
  expect(sized.body).toMatchObject({ ok: true, cols: 90, rows: 20 });
  const lines = await factory<{ lines: number }>('GET', '/agents/web@crew/scrollback?lines=5');
  expect(lines.status).toBe(200);
  const said = await factory<{ chunks: { text: string }[] }>('GET', '/agents/web@crew/transcript');
  expect(said.body.chunks.map((chunk) => chunk.text).join('')).toContain('mark');

  await until('api@crew', { state: 'idle' });
  const sent = await send('api@crew', 'echo from here', { idempotencyKey: 'once' });
  expect(sent).toMatchObject({ status: 200, body: { via: 'peer', state: 'verified', evidence: expect.any(String) } });
  expect(await capture('api@crew')).toContain('From owner (another computer)');
  expect((await send('api@crew', 'x', { raw: true })).body.state).toBe('failed');

  const down = await factory<{ stopped: string[] }>('POST', '/teams/crew/down');
  expect(down.body.stopped.toSorted()).toEqual(['api@crew', 'web@crew']);
  await first.ended;
  expect(first.events.at(-1)?.event).toBe('gone');
  expect(there.gantry.liveBots()).toBe(0);
  await until('web@crew', { state: 'offline', runner: 'local', pane: null });
  expect((await factory('GET', '/agents/web@crew/screen')).status).toBe(404);
});

test('the command line starts a team there, lists where each bot runs, and counts it with the computer it runs on', async () => {
  team('cli', 'web');
  const env = { GANTRY_HOME: here.home, PATH: process.env.PATH ?? '' };
  await here.agree();
  const started = await run(env, ['teams', 'up', 'cli', '--on', 'Attic']);
  expect([started.code, started.out]).toEqual([0, expect.stringMatching(/^spawn +web@cli +shell +Attic +\S/m)]);
  await until('web@cli', { state: 'idle' });
  expect((await run(env, ['agents', 'ls', '--team', 'cli'])).out).toMatch(/^web@cli +idle .* Attic( |$)/m);
  expect((await run(env, ['stop', '--all', '--dry-run', '--json'])).json()).toMatchObject({ plan: { bots: [] } });
  const at = { GANTRY_HOME: there.home, PATH: process.env.PATH ?? '' };
  expect((await run(at, ['stop', '--all', '--dry-run', '--json'])).json()).toMatchObject({
    plan: { bots: ['web@cli'] },
  });
  expect((await run(env, ['teams', 'down', 'cli'])).out).toContain('1 bot stopped');
});

test('what waits there is told here once it arrives, and a message that may not wait is refused', async () => {
  team('slow', 'web');
  await up('slow');
  await until('web@slow', { state: 'idle' });
  await factory('POST', '/agents/web@slow/input', { text: 'until [ -e go ]; do sleep 0.05; done', keys: ['Enter'] });
  await until('web@slow', { state: 'working' });
  expect((await send('web@slow', 'echo no', { queue: false })).status).toBe(409);
  const waiting = await send('web@slow', 'echo later');
  expect(waiting.body).toMatchObject({ state: 'queued', via: 'peer', detail: expect.stringContaining('Attic') });
  writeFileSync(join(there.home, 'peers', ada.id, 'slow', 'go'), '');
  const state = async () => {
    const { body } = await factory<{ deliveries: Delivery[] }>('GET', '/deliveries?agent=web@slow');
    return body.deliveries.find((delivery) => delivery.id === waiting.body.id)?.state;
  };
  await expect.poll(state).toBe('verified');
  expect((await capture('web@slow')).split('echo later').length).toBe(2);
  await factory('POST', '/teams/slow/down');
});

test('a cut link ends nothing: the stream goes on with the same pane, and what was typed before and after is there', async () => {
  team('cut', 'web');
  await up('cut');
  await until('web@cut', { state: 'idle' });
  const { pane } = await agent('web@cut');
  const stream = await watch('web@cut');
  await factory('POST', '/agents/web@cut/input', { text: 'echo be"fore"', keys: ['Enter'] });
  await stream.shows('before');
  const cuts = proxy.cuts();
  proxy.cutAll();
  expect(proxy.cuts()).toBeGreaterThan(cuts);
  // The person tries again until the link is back.
  await expect
    .poll(() => factory('POST', '/agents/web@cut/input', { text: 'echo af"ter"', keys: ['Enter'] }), {
      timeout: 30_000,
    })
    .toMatchObject({ status: 200 });
  await stream.shows('after');
  expect(stream.events.some((each) => each.event === 'gone')).toBe(false);
  await until('web@cut', { stale: false });
  expect((await agent('web@cut')).pane).toEqual(pane);
  stream.close();
  await factory('POST', '/teams/cut/down');
});

test('while its computer is away a bot shows the last that was seen, and is itself again when that is back', async () => {
  team('away', 'web');
  await up('away');
  await until('web@away', { state: 'idle' });
  const { pane } = await agent('web@away');
  const stream = await watch('web@away');
  await factory('POST', '/agents/web@away/input', { text: 'echo ke"pt"', keys: ['Enter'] });
  await stream.shows('kept');
  const { home } = there;
  await there.gantry.close();

  await until('web@away', { stale: true, pane, stateReason: expect.stringContaining('Attic cannot be reached since') });
  const screen = await factory<{ ansi: string; at: string }>('GET', '/agents/web@away/screen');
  expect(screen).toMatchObject({ status: 200, body: { ansi: expect.stringContaining('kept') } });
  expect(await factory('POST', '/agents/web@away/input', { text: 'x' })).toMatchObject({ status: 502 });
  const queued = await send('web@away', 'echo wai"ted"');
  expect(queued.body).toMatchObject({ state: 'queued', via: 'peer' });
  expect((await factory('POST', '/teams/away/down')).status).toBe(502);

  there = await startInstallation({ home });
  await until('web@away', { stale: false, pane });
  await stream.shows('waited');
  expect(stream.events.some((each) => each.event === 'gone')).toBe(false);

  const again = here.home;
  await here.gantry.close();
  here = await startInstallation({ home: again });
  await until('web@away', { stale: false, pane, runner: `remote:${far}` });
  expect(await capture('web@away')).toContain('waited');
  expect((await factory<{ stopped: string[] }>('POST', '/teams/away/down')).body).toEqual({ stopped: ['web@away'] });
  expect(there.gantry.liveBots()).toBe(0);
});

test('a computer that is not the person’s, or nobody’s, is not there; nor is the way to it for a stranger', async () => {
  team('lost', 'web');
  const unknown = await up('lost', 'Cellar');
  expect(unknown).toMatchObject({
    status: 404,
    body: { error: { code: 'not_found', fact: expect.stringContaining('Cellar') } },
  });
  const path = (id: string, rest: string) => `/api/v1/computers/${id}/factory-peer/${rest}`;
  const computer = (await computersOf(ada)).find(({ id }) => id === far);
  for (const id of [far, computer?.cloudId ?? '']) {
    expect((await ada.call('GET', path(id, 'hello'))).json).toMatchObject({ computerId: far, user: ada.id });
    expect((await bob.call('GET', path(id, 'hello'))).status).toBe(404);
  }
  expect((await people.call('GET', path(far, 'hello'))).status).toBe(401);
  expect((await ada.call('GET', path(far, '../agents'))).status).toBe(404);
  expect((await ada.call('GET', path('computer_01NOBODY', 'hello'))).status).toBe(404);
});

test('a bot whose file names another computer starts there, and the rest of its team here', async () => {
  const folder = join(here.home, 'ws', '.gantry', 'teams', 'both');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'team.yaml'),
    'bots:\n  - {bot: near, harness: shell}\n  - {bot: far, harness: shell, machine: Attic}\n  - {bot: none, harness: shell, machine: Cellar}\n',
  );
  await here.agree();
  const { body } = await factory<{ plan: { agent: string; action: string }[] }>('POST', '/teams/both/up', {});
  expect(Object.fromEntries(body.plan.map((step) => [step.agent, step.action]))).toEqual({
    'near@both': 'spawn',
    'far@both': 'spawn',
    'none@both': 'skip',
  });
  await until('near@both', { state: 'idle', runner: 'local' });
  await until('far@both', { state: 'idle', runner: `remote:${far}` });
  const template = { name: 'work', steps: [{ id: 'a', title: 'A', executor: 'bot:far@both' }] };
  mkdirSync(join(here.home, 'ws', '.gantry', 'templates'), { recursive: true });
  writeFileSync(join(here.home, 'ws', '.gantry', 'templates', 'work.json'), JSON.stringify(template));
  await here.agree();
  const run = await factory<{ error: { fact: string } }>('POST', '/runs', { template: 'work', projectId: 'p1' });
  expect([run.status, run.body.error.fact]).toEqual([400, expect.stringContaining('far@both runs on Attic')]);
  const down = await factory<{ stopped: string[] }>('POST', '/teams/both/down');
  expect(down.body.stopped.toSorted()).toEqual(['far@both', 'near@both']);
  expect(here.gantry.liveBots() + there.gantry.liveBots()).toBe(0);
});

test('a link that is cut in the middle of an upload leaves no half team, and the next try brings it whole', async () => {
  team('large', 'web');
  for (let index = 0; index < 30; index += 1) {
    writeFileSync(join(here.home, 'ws', '.gantry', 'teams', 'large', `n${index}.md`), 'x'.repeat(100_000));
  }
  const first = up('large');
  await new Promise((resolve) => setImmediate(resolve));
  proxy.cutAll();
  const tried = await first;
  expect([200, 502]).toContain(tried.status);
  await expect.poll(() => up('large')).toMatchObject({ status: 200, body: { applied: true } });
  await until('web@large', { state: 'idle', runner: `remote:${far}` });
  expect(there.gantry.liveBots()).toBe(1);
  const files = readdirSync(join(there.home, 'peers', ada.id, 'large', '.gantry', 'teams'));
  expect(files).toEqual(['large']);
  await factory('POST', '/teams/large/down');
});

test('what cannot start there is named with its computer, and nothing is started', async () => {
  const folder = join(here.home, 'ws', '.gantry', 'teams', 'bad');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'team.yaml'),
    'bots:\n  - {bot: web, harness: shell}\n  - {bot: key, harness: shell, env: {KEY: "vault:KEY"}}\n',
  );
  await here.agree();
  const reply = await factory<{ error: { fact: string } }>('POST', '/teams/bad/up', { on: far });
  expect(reply.status).toBe(400);
  expect(reply.body.error.fact).toContain('key@bad on Attic');
  expect(await agent('web@bad')).toMatchObject({ state: 'offline', runner: 'local' });
  expect(there.gantry.liveBots()).toBe(0);
});
