/** What the verbs of the work engine ask of the engine for its person, what a person reads, and how they end. */
import { expect, test } from 'vitest';
import { at, run, startEngine } from './support.ts';

const whole = { ok: true, engine: 'engine_1', rows: 12, head: { id: '11', hash: 'f'.repeat(64) }, heads: 2 };
const broken = {
  ok: false,
  engine: 'engine_1',
  rows: 3,
  id: '3',
  problem: 'changed',
  fact: 'Row 3 does not match its hash.',
  action: 'Keep a copy.',
};

test.each([
  [whole, 0, 'The ledger is whole: 12 rows, 2 exported heads.'],
  [broken, 5, 'Row 3 does not match its hash.\nRow 3: changed. Sound before it: 3 rows.\nKeep a copy.'],
])('ledger verify says %j and ends with %i', async (verdict, code, words) => {
  const { env } = await startEngine({ answers: { verifyLedger: () => verdict } });
  const said = await run(env, ['ledger', 'verify']);
  expect([said.code, said.out]).toEqual([code, expect.stringContaining(words)]);
  const asJson = await run(env, ['ledger', 'verify', '--json']);
  expect([asJson.code, asJson.json()]).toEqual([code, verdict]);
});

test('a damaged row is shown as damaged, and what rows hold acts on no terminal', async () => {
  const row = { at, type: 'x', actor: 'engine', surface: 'engine', subject: 's', hash: 'h' };
  const rows = [
    { ...row, id: '2', body: null },
    { ...row, id: '1', body: { text: 'a\u001b[31mb' } },
    {
      ...row,
      ...{ id: '0', type: 'delivery', body: { delivery: { state: 'verified', evidence: 'hook' } } },
      names: { from: 'owner', to: 'tester@dev', firstWords: 'run the \u001b[31mtests' },
    },
  ];
  const { env, seen } = await startEngine({ answers: { queryLedger: () => ({ rows, head: '2', nextCursor: 'c' }) } });
  const { out } = await run(env, ['ledger', 'query', '--type', 'x', '--after', '0', '--limit', '2']);
  expect(out).toContain('DAMAGED');
  expect(out).toContain('You → tester@dev: run the');
  expect(out).toContain('tests · verified by its hook');
  expect(out).not.toContain('\u001b[31m');
  expect(out).toContain('--cursor c');
  expect(seen.at(-1)?.query).toEqual({ type: 'x', after: '0', limit: 2 });
});

test('a secret is piped in, and stands neither in what is printed nor in the arguments', async () => {
  const { env, seen } = await startEngine({
    answers: {
      setSecret: ({ body }) => {
        const dry = (body as { dryRun?: boolean }).dryRun === true ? { dryRun: true } : {};
        return { ...dry, name: 'KEY', replaces: false, usedBy: [] };
      },
    },
  });
  const kept = await run(env, ['vault', 'set', 'KEY'], 'the value\n');
  expect(kept.code).toBe(0);
  expect(kept.out).toBe('Saved KEY. Name it in team.yaml: env: { KEY: "vault:KEY" }\n');
  expect(seen.at(-1)).toMatchObject({ params: { name: 'KEY' }, body: { value: 'the value' } });
  expect((await run(env, ['vault', 'set', 'KEY', '--dry-run'], 'x')).out).toMatch(/^Would save KEY/);
  expect(await run(env, ['vault', 'set', 'KEY', '--json'], '')).toMatchObject({ code: 64 });
  const misnamed = await run(env, ['vault', 'set', 'no spaces', '--json'], 'x');
  expect([misnamed.code, JSON.stringify(misnamed.json())]).toEqual([64, expect.stringContaining('letters, digits')]);
  expect(await run(env, ['vault', 'set', 'KEY', 'the value', '--json'])).toMatchObject({ code: 64 });
});

test('the vault lists names, who uses them, and what is missing', async () => {
  const secrets = [{ name: 'KEY', updatedAt: at, usedBy: ['a@dev'] }];
  const missing = [{ name: 'GONE', usedBy: ['b@dev'] }];
  const { env } = await startEngine({ answers: { listSecrets: () => ({ secrets, missing }) } });
  expect((await run(env, ['vault', 'ls'])).out).toMatch(/KEY .* - +a@dev\nGONE +MISSING +- +b@dev/);
});

test('a trigger’s address is printed once, and a run of a plan asks with its params', async () => {
  const trigger = { id: 'trigger_1', botId: 'agent_1', title: 't', createdAt: at, lastUsedAt: null, tickets: 0 };
  const made = { id: 'trigger_1', key: 'k', url: 'http://127.0.0.1:3010/webhooks/triggers/k', trigger };
  const { env, seen } = await startEngine({
    answers: {
      createTrigger: () => made,
      listTriggers: () => ({ triggers: [trigger] }),
      runPlan: () => ({ dagId: 'dag_1', campaignId: 'c', nodes: [] }),
    },
  });
  expect((await run(env, ['workspace', 'triggers', '--create', 't', '--bot', 'a@dev'])).out).toContain(made.url);
  expect(await run(env, ['workspace', 'triggers', '--create', 't', '--json'])).toMatchObject({ code: 64 });
  expect((await run(env, ['workspace', 'triggers'])).out).toMatch(/trigger_1 .*never/);
  const words = ['workspace', 'plans', 'plan_1', '--run', '--project', 'p', '--param', 'a=1', 'b=x=y'];
  expect((await run(env, words)).out).toContain('workflows watch dag_1');
  expect(seen.at(-1)).toMatchObject({ op: 'runPlan', body: { projectId: 'p', params: { a: '1', b: 'x=y' } } });
});

test('an interrupt tells whether a key was pressed, and ends as the note’s delivery does', async () => {
  const delivery = { id: 'delivery_1', to: 'a@dev', via: 'pane', state: 'unconfirmed', evidence: null, at };
  const { env } = await startEngine({
    answers: { steerAgent: () => ({ action: 'interrupt', interrupted: true, keys: ['C-c'], delivery }) },
  });
  const said = await run(env, ['orchestration', 'steer', 'a@dev', 'interrupt', 'stop', 'that']);
  expect([said.code, said.out]).toEqual([4, 'Its turn ended. The note is unconfirmed (delivery_1).\n']);
});
