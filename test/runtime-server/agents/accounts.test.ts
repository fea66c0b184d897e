/** Several sign-ins of one program: who uses which, what happens at a usage limit, and what an account may not be. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Account } from '../../../src/contracts/factory/account-routes.ts';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import type { TriedSandbox } from '../../../src/contracts/factory/sandbox-routes.ts';
import type { Spending, UsageDays } from '../../../src/contracts/factory/spending-routes.ts';
import { findBubblewrap } from '../../../src/kit/sandbox/bubblewrap.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { installStandInClaude } from '../../support/stand-in-claude/install.ts';
import { type Engine, startEngine, waitFor } from '../engine.ts';

interface Start {
  readonly config: string;
  readonly resumed: boolean;
  readonly id: string;
  readonly keys: readonly string[];
  readonly said: string;
}
interface Refused {
  readonly error: { readonly code: string; readonly fact: string; readonly action: string };
}

const inAnHour = () => {
  const at = new Date(Date.now() + 3_600_000);
  return `${at.getUTCHours() % 12 || 12}:${String(at.getUTCMinutes()).padStart(2, '0')}${at.getUTCHours() < 12 ? 'am' : 'pm'} (UTC)`;
};
const reached = (when = inAnHour()) => `You've hit your session limit · resets ${when}`;

async function open(env: Readonly<Record<string, string>> = {}) {
  const folder = scratchFolder();
  const noted = join(folder, 'starts');
  writeFileSync(noted, '');
  const bin = installStandInClaude(join(folder, 'bin'), 'limits.mjs');
  const engine = await startEngine({ env: { ...env, PATH: `${bin}:${process.env.PATH}` } });
  const folderOf = (name: string) => join(engine.home, 'accounts', 'claude', name);
  return {
    engine,
    folderOf,
    starts: () =>
      readFileSync(noted, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Start),
    /** An account that is signed in, by subscription unless its file says otherwise. */
    async add(name: string, file: Record<string, unknown> = { '.credentials.json': { claudeAiOauth: {} } }) {
      const answer = await engine.call<{ account: Account }>('POST', '/accounts', { program: 'claude', account: name });
      expect(answer).toMatchObject({ status: 200 });
      await engine.call('POST', '/teams/sign-in/down', {});
      for (const [path, text] of Object.entries(file)) writeFileSync(join(folderOf(name), path), JSON.stringify(text));
      return answer.body.account;
    },
    limit: (name: string, text: string) => writeFileSync(join(folderOf(name), 'limit.txt'), text),
    async up(more: string, env = '') {
      engine.team('ai', `bots:\n  - bot: dev\n    harness: claude\n    env: { STARTS: "${noted}"${env} }\n${more}`);
      return engine.call<Refused & { plan: { reason: string }[] }>('POST', '/teams/ai/up', {});
    },
    send: async (text: string) => (await engine.call<Delivery>('POST', '/send', { to: 'dev@ai', text })).body,
    screen: async () => (await engine.call<{ text: string }>('GET', '/agents/dev@ai/capture?lines=200')).body.text,
    accounts: async () => (await engine.call<{ accounts: Account[] }>('GET', '/accounts')).body.accounts,
  };
}

const holdOf = async (engine: Engine) =>
  (await engine.call<Spending>('GET', '/spending')).body.holds.find(({ kind }) => kind === 'usage_limit');

describe('at its usage limit', () => {
  test('a bot goes on with the next account of its order, in the same conversation, and that is said', async () => {
    const world = await open({ ANTHROPIC_API_KEY: 'sk-of-the-person' });
    const { engine } = world;
    await world.add('work');
    await world.add('private');
    world.limit('work', reached());
    const answer = await world.up('    accounts: [work, private]\n');
    expect(answer.body.plan[0]?.reason).toContain('with the account "work"');
    await engine.until('dev@ai', 'idle');
    expect(await engine.agent('dev@ai')).toMatchObject({ account: 'work' });
    expect(await world.send('Remember the word pelican')).toMatchObject({ state: 'verified' });

    await waitFor(world.starts, (starts) => starts.length === 2);
    const after = await waitFor(
      () => engine.agent('dev@ai'),
      ({ state, account }) => account === 'private' && state !== 'starting',
    );
    const [first, second] = world.starts();
    expect(first).toMatchObject({ config: world.folderOf('work'), resumed: false, keys: [] });
    expect(second).toMatchObject({ config: world.folderOf('private'), resumed: true, id: first?.id, keys: [] });
    expect(second?.said).toContain('pelican');
    expect(after.id).toBe((await engine.agent('dev@ai')).id);
    // The bot hears why, and that it may go on.
    const told = await waitFor(
      async () => (await engine.call<{ deliveries: Delivery[] }>('GET', '/deliveries')).body.deliveries,
      (all) => all.length === 2 && all.every(({ state }) => state === 'verified'),
    );
    expect(told).toHaveLength(2);
    await engine.until('dev@ai', 'idle');
    expect(await world.screen()).toContain('usage limit of Claude Code account "work"; now on account "private"');
    expect(await holdOf(engine)).toBeUndefined();
    const rows = await engine.call<{ rows: { type: string; body: unknown }[] }>(
      'GET',
      '/ledger?type=agent.account_changed',
    );
    expect(rows.body.rows).toMatchObject([
      { body: { change: { from: 'work', to: 'private', resumed: true, paidBy: 'subscription' } } },
    ]);
    const [work, other] = await world.accounts();
    expect([work, other].find((one) => one?.name === 'work')?.limit).toMatchObject({ until: expect.any(String) });
    // Both used tokens, each its own.
    const days = await waitFor(
      async () => (await engine.call<UsageDays>('GET', '/usage/days?by=account')).body.rows,
      (all) => all.length === 2,
    );
    expect(days.map(({ name, requests }) => ({ name, requests }))).toEqual([
      { name: 'claude/private', requests: 1 },
      { name: 'claude/work', requests: 1 },
    ]);
    // It keeps it over a restart of the runtime.
    await engine.restart();
    expect(await engine.agent('dev@ai')).toMatchObject({ account: 'private' });
  });

  test('with all accounts at their limits it waits for the earliest reset', async () => {
    const world = await open();
    const { engine } = world;
    await world.add('work');
    await world.add('private');
    const soon = Math.floor(Date.now() / 1000) + 3600;
    world.limit('work', `Claude AI usage limit reached|${soon + 7200}`);
    world.limit('private', `Claude AI usage limit reached|${soon}`);
    await world.up('    accounts: [work, private]\n');
    await engine.until('dev@ai', 'idle');
    await world.send('Remember the word pelican');
    await waitFor(world.starts, (starts) => starts.length === 2);
    await waitFor(
      () => engine.agent('dev@ai'),
      ({ state, account }) => account === 'private' && state === 'blocked',
    );
    const hold = await holdOf(engine);
    const until = Date.parse(hold?.until ?? '');
    expect(until).toBeGreaterThanOrEqual(soon * 1000);
    expect(until).toBeLessThan((soon + 600) * 1000);
    expect(world.starts()).toHaveLength(2);
  });

  test('without an order it waits as ever, and so with a single account', async () => {
    const world = await open();
    const { engine } = world;
    await world.add('work');
    await world.add('private');
    world.limit('work', reached());
    await world.up('    account: work\n');
    await engine.until('dev@ai', 'idle');
    await world.send('hello');
    await engine.until('dev@ai', 'blocked');
    expect(await holdOf(engine)).toMatchObject({ reason: expect.stringContaining('session limit') });
    expect(world.starts()).toHaveLength(1);
    expect(await engine.agent('dev@ai')).toMatchObject({ account: 'work' });
  });

  test('it never goes on at another price unless the team file says so', async () => {
    const world = await open();
    const { engine } = world;
    await world.add('work');
    await world.add('billed', { '.claude.json': { primaryApiKey: 'sk-x' } });
    world.limit('work', reached());
    await world.up('    accounts: [work, billed]\n');
    await engine.until('dev@ai', 'idle');
    await world.send('hello');
    await engine.until('dev@ai', 'blocked');
    expect(world.starts()).toHaveLength(1);
    await engine.call('POST', '/teams/ai/down', {});
    // At its start, too, the limit of the first is known.
    const again = await world.up('    accounts: [work, billed]\n    accounts_may_cost: true\n');
    expect(again.body.plan[0]?.reason).toContain('with the account "billed", because "work" is at its usage limit');
    await engine.until('dev@ai', 'idle');
    expect(await engine.agent('dev@ai')).toMatchObject({ account: 'billed' });
  });
});

describe('a start is refused with a sentence', () => {
  test('where an account is missing, is a link, or is set twice', async () => {
    const world = await open();
    const { engine } = world;
    expect((await world.up('    account: work\n')).body.error).toMatchObject({
      fact: expect.stringContaining('dev@ai: Claude Code has no account "work" on this computer'),
      action: expect.stringContaining('gantry accounts add claude work'),
    });
    await world.add('work');
    const folder = world.folderOf('work');
    rmSync(folder, { recursive: true });
    expect((await world.up('    account: work\n')).body.error.fact).toContain(
      'the folder of the account "work" of Claude Code is gone',
    );
    const elsewhere = scratchFolder();
    symlinkSync(elsewhere, folder);
    expect((await world.up('    account: work\n')).body.error.fact).toContain('is a link');
    expect(await engine.call('DELETE', '/accounts/claude/work')).toMatchObject({ status: 200 });
    expect(existsSync(elsewhere)).toBe(true);
    expect(existsSync(folder)).toBe(false);
    await world.add('work');
    expect((await world.up('    account: work\n', ', ANTHROPIC_API_KEY: "sk-y"')).body.error.fact).toContain(
      'its `env` sets ANTHROPIC_API_KEY, which would take the place of its account',
    );
    expect(world.starts()).toHaveLength(0);
  });

  test('where the program cannot have several', async () => {
    const world = await open();
    world.engine.team('sh', 'bots:\n  - { bot: web, harness: shell, account: work }\n');
    const answer = await world.engine.call<Refused>('POST', '/teams/sh/up', {});
    expect(answer.body.error.fact).toContain('Shell cannot have several. It has no sign-in');
    const opencode = { program: 'opencode', account: 'work' };
    expect((await world.engine.call<Refused>('POST', '/accounts', opencode)).body.error.fact).toContain(
      'XDG_DATA_HOME',
    );
  });
});

test('an account opens the program’s own sign-in in a terminal, in a folder that only its person may read', async () => {
  const world = await open();
  const { engine } = world;
  const account = (await engine.call<{ account: Account }>('POST', '/accounts', { program: 'claude', account: 'work' }))
    .body.account;
  expect(account).toMatchObject({ signedIn: false, signingIn: { address: 'claude-work@sign-in' }, bots: [] });
  expect(statSync(world.folderOf('work')).mode & 0o777).toBe(0o700);
  await waitFor(
    async () => (await engine.call<{ text: string }>('GET', '/agents/claude-work@sign-in/capture')).body.text,
    (text) => text?.includes(`Signing in to ${world.folderOf('work')}`) === true,
  );
  // Opened again, it is the same terminal.
  const again = await engine.call<{ account: Account }>('POST', '/accounts/claude/work/sign-in', {});
  expect(again.body.account.signingIn).toEqual(account.signingIn);
  const names = { program: 'claude', account: 'work' };
  expect(await engine.call('POST', '/accounts', names)).toMatchObject({ status: 409 });
  expect(await engine.call('POST', '/accounts', { ...names, account: 'default' })).toMatchObject({ status: 400 });
  expect(await engine.call('POST', '/accounts', { ...names, account: '../x' })).toMatchObject({ status: 400 });
  expect(await engine.call('DELETE', '/accounts/claude/work')).toMatchObject({ status: 200 });
  expect(existsSync(world.folderOf('work'))).toBe(false);
  expect(await world.accounts()).toEqual([]);
});

test('a folder that lies there already is not taken for an account, and no bot may add or remove one', async () => {
  const world = await open();
  const { engine } = world;
  mkdirSync(world.folderOf('work'), { recursive: true });
  const names = { program: 'claude', account: 'work' };
  expect(await engine.call<Refused>('POST', '/accounts', names)).toMatchObject({ status: 409 });
  expect(readdirSync(world.folderOf('work'))).toEqual([]);
  await world.add('private');
  await world.up('    account: private\n');
  await engine.until('dev@ai', 'idle');
  const token = await engine.botToken('dev@ai');
  expect((await engine.call('POST', '/accounts', { ...names, account: 'x' }, { token })).status).toBe(403);
  expect((await engine.call('DELETE', '/accounts/claude/private', undefined, { token })).status).toBe(403);
  const inUse = await engine.call<Refused>('DELETE', '/accounts/claude/private');
  expect(inUse).toMatchObject({ status: 409, body: { error: { fact: expect.stringContaining('in use by dev@ai') } } });
  expect(existsSync(world.folderOf('private'))).toBe(true);
});

const found = await findBubblewrap({
  path: process.env.PATH ?? '',
  sandbox: { mounts: [{ at: '/', shows: 'read' }], network: 'host', terminal: 'none', ends: 'with-parent', cwd: '/' },
});

test.skipIf(typeof found === 'string')(
  'in a sandbox a bot sees the folder of its own account, and no other sign-in',
  async () => {
    const world = await open();
    const { engine } = world;
    mkdirSync(join(engine.home, '..', 'user', '.claude'), { recursive: true });
    await world.add('work');
    await world.add('private');
    engine.team('ai', 'bots:\n  - { bot: dev, harness: claude, sandbox: files, account: work }\n');
    await engine.agree();
    const { bots } = (await engine.call<{ bots: TriedSandbox[] }>('GET', '/teams/ai/sandbox')).body;
    expect(bots[0]).toMatchObject({ sandbox: 'files', trouble: null });
    const can = (path: string) => bots[0]?.rows.find(({ what }) => what === path)?.found;
    expect(can(world.folderOf('work'))).toBe('change');
    expect(can(world.folderOf('private'))).toBe('nothing');
    expect(can(join(engine.home, '..', 'user', '.claude'))).toBe('nothing');
    expect(bots[0]?.rows.find(({ what }) => what === 'account')?.note).toBe('work, paid: a subscription');
  },
);
