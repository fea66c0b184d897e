/** `gantry admin` and `gantry cloud`, as an operator uses them. */
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type People, type Person, personWith, startPeople } from '../cloud-api/identity/support.ts';
import { startPair } from '../host/support.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import { signInAs } from '../support/oidc-provider.ts';
import { run, scratchHome } from './support.ts';

const stop = keepUntilEnd();
let people: People;
let ada: Person;
beforeAll(async () => {
  people = await startPeople({ settings: { computersFolder: join(tmpdir(), 'no-computer-host') } });
  ada = await personWith(people, await signInAs('ada', people.origin));
});
afterAll(stop);

const admin = (words: string, env: Record<string, string> = { GANTRY_HOME: people.home }) =>
  run(env, ['admin', ...words.split(' '), '--json']);

test('on the server’s machine the data folder is enough', async () => {
  const listed = await admin('users');
  expect(listed.code).toBe(0);
  expect(listed.json()).toMatchObject({ users: [{ id: ada.id, name: 'Ada', plan: 'free' }] });
  const shown = await run({ GANTRY_HOME: people.home }, ['admin', 'users', 'show', ada.id]);
  expect(shown.out).toMatch(/mail +ada@example\.com/);
  expect(shown.out).toContain(`${people.provider.issuer} as ada`);
});

test('a command that needs bots says that there are none on the server of a cloud', async () => {
  const listed = await run({ GANTRY_HOME: people.home }, ['agents', 'ls', '--json']);
  expect(listed.code).toBe(3);
  const { error } = listed.json() as { error: { fact: string; action: string } };
  expect(error.fact).toContain('A multi-user cloud is running');
  expect(error.action).toContain('gantry admin');
});

test('both doctors say whether the cloud’s database can be written and has lost nothing', async () => {
  const found = [
    { name: 'Database of the cloud', state: 'ok' },
    { name: 'Rows of cloud.db', state: 'ok', detail: expect.stringContaining('match what was written') },
  ];
  expect((await admin('doctor')).json()).toMatchObject({ checks: found });
  const whole = await run({ GANTRY_HOME: people.home }, ['doctor', '--json']);
  const { checks } = whole.json() as { checks: readonly { name: string }[] };
  expect(checks).toMatchObject(expect.arrayContaining(found.map((one) => expect.objectContaining(one))));
  expect(checks.map(({ name }) => name)).toContain('Node.js');
  // A server has no window, and a service of an account would be another Gantry than the cloud.
  for (const name of ['Runtime', 'Browser', 'Electron', 'Service']) {
    expect(checks.map((check) => check.name)).not.toContain(name);
  }
});

test('plans and shutting out, first as a dry run', async () => {
  expect((await admin(`users plan ${ada.id} plus --dry-run`)).json()).toEqual({
    dryRun: true,
    plan: { id: ada.id, plan: 'plus', disabled: false },
  });
  expect((await admin('users ls')).json()).toMatchObject({ users: [{ plan: 'free' }] });
  expect((await admin(`users plan ${ada.id} plus`)).json()).toMatchObject({ plan: 'plus' });
  expect((await admin(`users disable ${ada.id}`)).json()).toMatchObject({ disabledAt: expect.any(String) });
  expect((await ada.call('GET', '/api/v1/session')).status).toBe(403);
  expect((await admin(`users enable ${ada.id}`)).json()).toMatchObject({ disabledAt: null });
  expect((await ada.call('GET', '/api/v1/session')).status).toBe(200);
  expect((await admin('users show user_nobody')).code).toBe(2);
});

test('projects, flags, caps and prices', async () => {
  const created = await admin(`projects create site --user ${ada.id} --hosted-driver on`);
  expect(created.json()).toMatchObject({ id: 'site', hostedDriverEnabled: true, spendCapCents: null });
  const set = await run({ GANTRY_HOME: people.home }, ['admin', 'projects', 'set', 'site', '--spend-cap-cents', '500']);
  expect(set.out.trim()).toBe(`site of ${ada.id}: hosted driver on, a spend cap of 500 cents.`);
  expect((await admin('projects set site --spend-cap-cents none --hosted-driver off')).json()).toMatchObject({
    hostedDriverEnabled: false,
    spendCapCents: null,
  });
  expect((await admin('prices set computer_minute 1.25')).json()).toMatchObject({ cents: 1.25 });
  expect((await admin('prices')).json()).toMatchObject({ prices: [{ name: 'computer_minute', cents: 1.25 }] });
});

test('the pool of hosted computers, and why none is made', async () => {
  expect((await admin('pool')).json()).toMatchObject({
    running: 20,
    idleSeconds: 300,
    awake: 0,
    driver: { name: 'namespace', refused: expect.stringContaining('host.sock') },
  });
  const plan = { running: 3, idleSeconds: 300 };
  expect((await admin('pool set --running 3 --dry-run')).json()).toEqual({ dryRun: true, plan });
  expect((await admin('pool set --idle-minutes 10 --running 3')).json()).toMatchObject({
    running: 3,
    idleSeconds: 600,
  });
  const { out } = await run({ GANTRY_HOME: people.home }, ['admin', 'pool']);
  expect(out).toMatch(
    /^0 awake; at most 3 hosted computers awake, each for 10 minutes after its last call\.\nThe driver namespace cannot make computers: /,
  );
  expect((await admin('pool set')).out).toContain('--running');
});

test('from elsewhere a key with the scope admin does it, over https or on this machine, from a private file', async () => {
  const made = await run({ GANTRY_HOME: people.home }, [
    ...[
      'admin',
      'keys',
      'create',
      '--user',
      ada.id,
      '--name',
      'ops',
      '--scope',
      'admin',
      '--tools',
      'time.*',
      '--json',
    ],
  ]);
  const { secret, key } = made.json() as { secret: string; key: { id: string } };
  const { home } = scratchHome();
  const file = join(mkdtempSync(join(tmpdir(), 'gantry-key-')), 'key');
  writeFileSync(file, `${secret}\n`, { mode: 0o600 });
  const env = { GANTRY_HOME: home, GANTRY_KEY_FILE: file };
  expect((await admin(`users --url ${people.origin}`, env)).json()).toMatchObject({ users: [{ id: ada.id }] });
  for (const url of ['http://gantry.example', 'http://localhost:x@gantry.example', 'https://a:b@gantry.example']) {
    expect((await admin(`users --url ${url}`, env)).code).toBe(64);
  }
  expect((await admin(`users --url ${people.origin}`, { GANTRY_HOME: home })).code).toBe(64);
  chmodSync(file, 0o644);
  expect((await admin(`users --url ${people.origin}`, env)).code).toBe(1);
  chmodSync(file, 0o600);
  expect((await admin(`keys revoke ${key.id}`)).json()).toMatchObject({ id: key.id, revokedAt: expect.any(String) });
  expect((await admin(`users --url ${people.origin}`, env)).code).toBe(1);
  expect((await admin(`keys --user ${ada.id}`)).json()).toMatchObject({
    keys: [{ id: key.id, name: 'ops', tools: { names: ['time.*'] } }],
  });
});

test('behind a proxy the command line goes straight to where the cloud listens', async () => {
  const behind = await startPeople({ baseUrl: 'https://gantry.example', provider: people.provider });
  const listed = await admin('users ls', { GANTRY_HOME: behind.home });
  expect([listed.code, listed.json()]).toEqual([0, { users: [] }]);
});

test('a cloud of many is stopped like every Gantry, and has no bots to ask about', async () => {
  const dry = await run({ GANTRY_HOME: people.home }, ['stop', '--dry-run', '--json']);
  expect([dry.code, dry.json()]).toEqual([0, { dryRun: true, plan: { process: process.pid, bots: [] } }]);
});

test('who asks a cloud of many for a one-time address is told where people sign in', async () => {
  const reply = await run({ GANTRY_HOME: people.home }, ['open', '--json']);
  expect(reply.code).toBe(3);
  expect(reply.out).toContain(`Sign in at ${people.origin}`);
});

test('the owner of a computer administers their own Gantry with the same words', async () => {
  const pair = await startPair({});
  writeFileSync(
    pair.places.holder,
    JSON.stringify({ pid: process.pid, address: pair.web.origin, since: new Date().toISOString() }),
  );
  const listed = await admin('users', { GANTRY_HOME: pair.places.home });
  expect(listed.json()).toMatchObject({ users: [{ id: 'user_local', plan: 'ultra' }] });
});

test('what is wrong is said with the word that is wrong', async () => {
  for (const [words, says] of [
    ['users fly', '"fly"'],
    ['users plan', 'user is missing'],
    [`users plan ${ada.id} gold`, '"gold"'],
    ['projects create site', '--user is missing'],
    ['projects set site --hosted-driver maybe', '"maybe"'],
    ['projects set site --spend-cap-cents -5', 'spend-cap-cents'],
    ['prices set computer_minute free', '"free"'],
    [`keys create --user ${ada.id} --name x --scope everything`, '"everything"'],
    [`keys create --user ${ada.id} --name x`, '--scope is missing'],
  ] as const) {
    const reply = await admin(words);
    expect([words, reply.code]).toEqual([words, 64]);
    expect(reply.out).toContain(says.replaceAll('"', '\\"'));
  }
  const { home } = scratchHome();
  const none = await admin('users', { GANTRY_HOME: home });
  expect(none.code).toBe(3);
});

test('a cloud is not started without what decides who gets in', async () => {
  const { home } = scratchHome();
  const secret = join(home, 'empty');
  writeFileSync(secret, '\n');
  const good = {
    GANTRY_HOME: home,
    GANTRY_BASE_URL: 'https://gantry.example',
    GANTRY_OIDC_ISSUER: 'https://id.example',
    GANTRY_OIDC_CLIENT_ID: 'gantry',
  };
  for (const [change, says] of [
    [{ GANTRY_OIDC_ISSUER: '' }, 'GANTRY_OIDC_ISSUER'],
    [{ GANTRY_OIDC_CLIENT_ID: '' }, 'GANTRY_OIDC_CLIENT_ID'],
    [{ GANTRY_BASE_URL: '' }, 'GANTRY_BASE_URL'],
    [{ GANTRY_BASE_URL: 'gantry.example' }, '--base-url'],
    [{ GANTRY_BASE_URL: 'http://gantry.example' }, 'https'],
    [{ GANTRY_BASE_URL: 'https://gantry.example/gantry' }, 'without a path'],
    [{ GANTRY_OIDC_ISSUER: 'http://id.example' }, 'https'],
    [{ GANTRY_LISTEN: '3010' }, '--listen'],
    [{ GANTRY_LISTEN: '127.0.0.1:99999' }, '--listen'],
    [{ GANTRY_OIDC_CLIENT_SECRET_FILE: secret }, 'empty'],
    [{ GANTRY_OIDC_CLIENT_SECRET_FILE: `${secret}-none` }, 'cannot be read'],
    [{ GANTRY_TRUSTED_PROXY: 'everybody', GANTRY_LISTEN: '127.0.0.1:0' }, 'everybody'],
  ] as const) {
    const reply = await run({ ...good, ...change }, ['cloud', '--json']);
    expect([says, reply.code]).toEqual([says, 64]);
    expect(reply.out).toContain(says);
  }
  expect(() => readFileSync(join(home, 'run', 'holder.json'))).toThrow();
});
