/** `gantry pair` and `gantry runtime` against a real cloud of many people. */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type People, type Person, startPeople } from '../cloud-api/identity/support.ts';
import { computersOf, type Installation, signIn, startInstallation } from '../host/paired-support.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import { compileCache } from '../support/compile-cache.ts';
import { onEnd, run, scratchHome } from './support.ts';

let people: People;
let installation: Installation;
let ada: Person;
const stop = keepUntilEnd();
beforeAll(async () => {
  people = await startPeople();
  [installation, ada] = await Promise.all([startInstallation(), signIn(people)]);
}, 60_000);
afterAll(stop);

const gantry = (...argv: string[]) => run({ GANTRY_HOME: installation.home, PATH: process.env.PATH ?? '' }, argv);
const decide = async (code: string, how: 'approve' | 'deny') => person(code, how);
const person = (code: string, how: string) => ada.call('POST', `/api/v1/pairings/${code}/${how}`);
async function codeShown(): Promise<string> {
  let shown = '';
  const look = async () => {
    const { state, userCode = '' } = await installation.pairing();
    shown = userCode;
    return [state, userCode];
  };
  await expect.poll(look).toEqual(['waiting', expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/)]);
  return shown;
}

test('a wrong address, two wishes at once and a computer where nothing runs end with their own exit codes', async () => {
  expect(await gantry('pair')).toMatchObject({ code: 0, out: expect.stringContaining('is not paired') });
  expect((await gantry('pair', 'http://gantry.example')).code).toBe(64);
  expect((await gantry('pair', people.origin, '--end')).code).toBe(64);
  expect((await gantry('pair', '--status', '--end')).code).toBe(64);
  expect((await gantry('pair', '--end')).code).toBe(1);
  expect((await gantry('pair', 'http://127.0.0.1:9')).code).toBe(3);
  expect((await run({ GANTRY_HOME: scratchHome().home }, ['pair', people.origin])).code).toBe(3);
});

test('a person reads the code, is turned away, tries again, is let in, and ends it', async () => {
  const dry = await gantry('pair', people.origin, '--dry-run', '--json');
  expect(dry.json()).toEqual({ dryRun: true, plan: { cloudUrl: people.origin } });
  const first = gantry('pair', people.origin);
  const denied = await codeShown();
  expect((await gantry('pair')).out).toContain(denied);
  await decide(denied, 'deny');
  expect(await first).toMatchObject({
    code: 1,
    out: expect.stringContaining(denied),
    err: expect.stringContaining('was rejected'),
  });
  const second = gantry('pair', people.origin);
  await decide(await codeShown(), 'approve');
  const paired = await second;
  expect(paired).toMatchObject({ code: 0, err: '' });
  expect(paired.out).toMatch(new RegExp(`Open +${people.origin}/pair\\n`));
  expect(paired.out).toMatch(/This computer is paired\..*Ada/s);
  expect((await gantry('pair', '--status', '--json')).json()).toMatchObject({ state: 'paired', user: { name: 'Ada' } });
  expect((await gantry('pair', people.origin)).code).toBe(1);
  expect(await gantry('pair', '--end', '--dry-run')).toMatchObject({
    code: 0,
    out: expect.stringContaining('Would end'),
  });
  expect(await gantry('pair', '--end')).toMatchObject({ code: 0, out: expect.stringContaining('has ended') });
  await expect.poll(() => computersOf(ada)).toEqual([]);
});

test('with --json the code is one document, and the wait is left to who asked', async () => {
  const asked = await gantry('pair', people.origin, '--json');
  expect(asked.json()).toMatchObject({ state: 'waiting', userCode: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/) });
  expect(await gantry('pair', '--end')).toMatchObject({ code: 0 });
  expect((await gantry('pair', '--json')).json()).toMatchObject({ state: 'unpaired' });
});

const cli = new URL('../../src/cli/main.ts', import.meta.url).pathname;

function startRuntime(home: string, ...argv: string[]) {
  const ports = ['--engine-port', '0', '--peer-port', '0', '--workspace', join(home, 'ws')];
  mkdirSync(join(home, 'ws'), { recursive: true });
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [cli, 'runtime', ...ports, ...argv], {
    env: { PATH, HOME, GANTRY_HOME: home, ...compileCache },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const read = (data: Buffer) => {
    text += data.toString();
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  // Not `exit`: what it said last may still be on its way then.
  const exit = new Promise<number | null>((resolve) => child.on('close', resolve));
  onEnd(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  return {
    exit,
    text: () => text,
    until: (pattern: RegExp) => expect.poll(() => text).toMatch(pattern),
    end: () => child.kill('SIGTERM'),
  };
}

test('a runtime without a web interface pairs, is reached, and is paired again when it comes back', async () => {
  const { home } = scratchHome();
  const first = startRuntime(home, '--cloud', people.origin);
  await first.until(/Code +([A-Z]{4}-[A-Z]{4})/);
  const code = /Code +([A-Z]{4}-[A-Z]{4})/.exec(first.text())?.[1] ?? '';
  await decide(code, 'deny');
  await first.until(/was rejected.*A new code:.*Code +[A-Z]{4}-[A-Z]{4}/s);
  const next = /A new code:.*Code +([A-Z]{4}-[A-Z]{4})/s.exec(first.text())?.[1] ?? '';
  await decide(next, 'approve');
  await first.until(/This computer is paired\./);
  await expect.poll(async () => (await computersOf(ada))[0]?.state).toBe('linked');
  await expect.poll(async () => (await ada.call('GET', '/api/factory/teams')).status).toBe(200);
  // There is no web port here: the person answers in the cloud.
  const here = { GANTRY_HOME: home, PATH: process.env.PATH ?? '' };
  await expect
    .poll(async () => (await run(here, ['pair', '--json'])).json())
    .toMatchObject({ state: 'paired', link: { linked: true } });
  // Who only sees this terminal is told what waits, and where it is answered.
  await run(here, ['gate', 'check', 'shell.exec', '--command', 'npm publish', '--wait', '0']);
  await first.until(
    new RegExp(`Approval needed: A program of yours: Run a command. Answer it at ${people.origin}/inbox`),
  );
  const [question] = (await run(here, ['workspace', 'approvals', '--json'])).json().approvals as { id: string }[];
  // No command here can answer it, so none is named.
  const list = await run(here, ['workspace', 'approvals']);
  expect(list.out).toContain(`Answer at ${people.origin}/inbox`);
  expect(list.out).not.toContain('workspace approve');
  await ada.call('POST', `/api/factory/approvals/${question!.id}/resolve`, { body: { decision: 'reject' } });
  await expect.poll(async () => (await run(here, ['workspace', 'approvals'])).out).toContain('No approvals wait');
  expect(await run(here, ['workspace', 'approvals'])).toMatchObject({
    code: 0,
    out: 'No approvals wait on this computer. Those in the home cloud are not shown.\n',
  });
  for (const words of [['open'], ['workspace', 'approve', 'apr_1']]) {
    expect(await run(here, words)).toMatchObject({
      code: 3,
      err: expect.stringContaining(`the cloud it is paired with: ${people.origin}`),
    });
  }
  first.end();
  expect(await first.exit).toBe(0);
  await expect.poll(async () => (await computersOf(ada))[0]?.state).toBe('away');
  const second = startRuntime(home);
  await second.until(/The runtime is ready/);
  await expect.poll(async () => (await computersOf(ada))[0]?.state).toBe('linked');
  second.end();
  expect(await second.exit).toBe(0);
  const elsewhere = await run({ GANTRY_HOME: home }, ['runtime', '--cloud', 'https://gantry.example']);
  expect(elsewhere).toMatchObject({ code: 1, err: expect.stringContaining(`paired with ${people.origin}`) });
}, 120_000);

test('an unpaired runtime that is not told where to starts nothing and says so', async () => {
  const { home } = scratchHome();
  const lost = await run({ GANTRY_HOME: home }, ['runtime']);
  expect(lost).toMatchObject({ code: 64, err: expect.stringContaining('--cloud') });
});
