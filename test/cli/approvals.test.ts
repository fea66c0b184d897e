/** Approvals and the gate from the command line, against a whole Gantry as `gantry start` runs it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import { type Combined, startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import { scratchHome } from '../host/support.ts';
import { keepUntilEnd, onEnd } from '../kit/http/support.ts';
import { run as runAt } from './support.ts';

let gantry: Combined;
let env: Record<string, string>;
const stop = keepUntilEnd();
beforeAll(async () => {
  const home = scratchHome();
  env = { PATH: process.env.PATH ?? '', HOME: home, GANTRY_HOME: home, GANTRY_PORT: '0', GANTRY_ENGINE_PORT: '0' };
  gantry = await startCombined({ env, settings: readSettings(env), gantry: 'npx gantry', answers: 'throw' });
  onEnd(() => gantry.close({ stopBots: true }));
});
afterAll(stop);

const run = (...argv: string[]) => runAt(env, argv);
/** As a person does it: looks, then says yes to exactly that. */
async function agree(): Promise<void> {
  const { hash } = (await run('trust', '--json')).json() as { hash: string };
  expect((await run('trust', '--yes', hash)).code).toBe(0);
}
const gateOf = (command: string, ...more: string[]) =>
  run('gate', 'check', 'shell.exec', '--command', command, ...more);

async function waiting(): Promise<Approval[]> {
  return (await run('workspace', 'approvals', '--json')).json().approvals as Approval[];
}

async function ask(command: string): Promise<Approval> {
  await gateOf(command, '--wait', '0');
  await expect.poll(async () => (await waiting()).map(({ summary }) => summary)).toEqual([command]);
  return (await waiting())[0]!;
}

test('a question waits in the list, whole; a yes from another terminal lets the one that waits go on', async () => {
  expect((await run('workspace', 'approvals')).out).toBe('Nothing waits for you.\n');
  const asking = gateOf('npm publish\n\u001b[31mnow', '--wait', '60', '--reason', 'release');
  await expect.poll(waiting).toHaveLength(1);
  const list = await run('workspace', 'approvals');
  expect(list.out).toContain('A program of yours: Run a command\n  │ npm publish\n  │ \\u{1b}[31mnow\n');
  expect(list.out).toContain('risk    high, asked by gate');
  expect(list.out).toContain('reason  release\n');
  // As long as the one who asks waits, and ten minutes for it to ask again.
  expect(list.out).toMatch(/waits, 11 min left/);
  const [approval] = await waiting();
  const dry = await run('workspace', 'approve', approval!.id, '--dry-run');
  expect([dry.code, dry.out]).toEqual([0, 'Would approve: A program of yours: Run a command\n']);
  const yes = await run('workspace', 'approve', approval!.id, '--note', 'go on');
  expect([yes.code, yes.out]).toEqual([0, 'Approved: A program of yours: Run a command\n']);
  const answer = await asking;
  expect(answer.code).toBe(0);
  expect(answer.out).toMatch(/^Yes \(approved by user_local via cli at 20.*\)\.\nNote: go on\n$/);
  expect(await waiting()).toEqual([]);
  expect((await run('workspace', 'approvals', '--all')).out).toContain('approved by user_local via cli at');
});

test('no is exit 1, nobody yet is exit 5, and a second answer is refused with who, where and when', async () => {
  const approval = await ask('make deploy');
  const not = await gateOf('make deploy', '--wait', '0');
  expect([not.code, not.out]).toEqual([5, expect.stringContaining(`Asked as ${approval.id}`)]);
  expect((await run('workspace', 'reject', approval.id)).out).toBe('Rejected: A program of yours: Run a command\n');
  await expect.poll(async () => (await gateOf('make deploy', '--wait', '20')).code).toBe(1);
  const late = await run('workspace', 'approve', approval.id, '--json');
  expect(late.code).toBe(1);
  expect(late.json().error).toMatchObject({
    code: 'refused',
    fact: expect.stringMatching(/already rejected by user_local via cli at 20/),
  });
  expect((await run('workspace', 'approve', 'apr_00000000000000000000000000')).code).toBe(2);
});

test('the policy of the workspace answers at once, and a dry run asks nobody', async () => {
  writeFileSync(
    join(gantry.workspace, '.gantry', 'policy.yaml'),
    'rules:\n  - when: {command: "npm test"}\n    then: allow\n  - when: {command: "rm *"}\n    then: deny\n',
  );
  await agree();
  expect(await gateOf('npm test')).toMatchObject({ code: 0, out: 'Yes (.gantry/policy.yaml line 2).\n' });
  expect((await gateOf('rm -rf /', '--json')).json()).toMatchObject({ verdict: 'deny', approvalId: null });
  expect((await gateOf('git push', '--dry-run')).code).toBe(5);
  expect(await waiting()).toEqual([]);
});

test('events tell of questions and answers between the engine’s, and an answer’s id goes on where it came', async () => {
  const events = async (...more: string[]) => {
    const ran = await run('orchestration', 'events', '--json', '--for', '20', ...more);
    expect([ran.code, ran.err]).toEqual([0, '']);
    return ran.json() as unknown as { events: Told[]; lastEventId: string };
  };
  interface Told {
    readonly id: string;
    readonly type: string;
    readonly data: { readonly id?: string; readonly state?: string; readonly team?: string };
  }
  const newTeam = async (name: string) => {
    const folder = join(gantry.workspace, '.gantry', 'teams', name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'team.yaml'), 'bots:\n  - { bot: a, harness: shell }\n');
    await run('teams', 'ls');
  };
  await newTeam('before');
  // Before anybody listens: what waits for its person is told, too.
  await run('trust', '--yes');
  let listening = true;
  const both = Promise.all([
    events('--limit', '4'),
    run('orchestration', 'events', '--for', '20', '--limit', '4'),
  ]).finally(() => {
    listening = false;
  });
  // When they begin to listen is not known: questions are asked until they have heard.
  for (let n = 1; listening; n += 1) {
    const approval = await ask(`git tag v${n}`);
    await run('workspace', 'reject', approval.id);
  }
  const [{ events: told, lastEventId }, plain] = await both;
  // Events of the engine may come between the two.
  const heard = told.filter(({ type }) => type.startsWith('approval.'));
  const at = heard.findIndex(({ type }) => type === 'approval.requested');
  expect(heard.slice(at, at + 2)).toMatchObject([
    { type: 'approval.requested', data: { state: 'pending' } },
    { type: 'approval.resolved', data: { state: 'resolved', id: heard[at]?.data.id } },
  ]);
  expect(plain.out).toMatch(/approval\.resolved +apr_\w+: rejected by user_local via cli, A program of yours/);
  expect(lastEventId).toBe(told.at(-1)?.id);
  // The engine's events have numbers of their own, and one may be the last that was heard.
  const answerId = heard[at + 1]!.id;
  expect(answerId).toContain('~apr-');
  await newTeam('after');
  // That the new file waits for its person is told beside it, and so are the engine's events since the answer.
  await expect
    .poll(async () => {
      const ran = await run('orchestration', 'events', '--json', '--for', '1', '--after', answerId);
      return ran.json().events as Told[];
    })
    .toContainEqual(
      expect.objectContaining({
        id: expect.stringMatching(/^\d+$/),
        type: 'team.changed',
        data: expect.objectContaining({ team: 'after' }),
      }),
    );
  // A bot is told what its engine tells, which knows no such id.
  const places = placesIn(env.GANTRY_HOME!);
  const bot = { ...env, GANTRY_TOKEN_FILE: places.token, GANTRY_URL_FILE: places.url };
  const own = await runAt(bot, ['orchestration', 'events', '--after', answerId, '--for', '1', '--json']);
  // What happens while it listens may follow.
  expect((own.json().events as Told[])[0]).toMatchObject({ type: 'reset' });
});

test('a bot cannot answer, whatever it says it is', async () => {
  const approval = await ask('git push');
  const places = placesIn(env.GANTRY_HOME!);
  const bot = { ...env, GANTRY_TOKEN_FILE: places.token, GANTRY_URL_FILE: places.url };
  const refused = await runAt(bot, ['workspace', 'approve', approval.id, '--json']);
  expect([refused.code, refused.json().error]).toMatchObject([
    1,
    { code: 'refused', fact: 'A bot cannot answer approvals.' },
  ]);
  expect(await waiting()).toHaveLength(1);
  expect(readFileSync(places.token, 'utf8')).not.toBe('');
  await run('workspace', 'reject', approval.id);
});

test('gantry alone shows the question that waits; open leads to the page that is named', async () => {
  const approval = await ask('npm version patch');
  const shown = await run();
  expect(shown.code).toBe(0);
  expect(shown.out).toContain('1 approval\n');
  expect(shown.out).toContain(`  ${approval.id}  high`);
  expect(shown.out).toMatch(/Read and answer: .*gantry workspace approvals/);
  expect((await run('workspace', 'reject', approval.id)).code).toBe(0);
  expect((await run()).out).toMatch(/^Nothing needs you\./);
  const opened = await run('open', 'Inbox', '--no-open');
  expect(opened.code).toBe(0);
  expect(new URL(opened.out.split('\n')[0]!).searchParams.get('next')).toBe('/inbox');
  const none = await run('open', 'nobody', '--no-open');
  expect(none.code).toBe(2);
  expect(none.err).toContain('No bot, team, run or page is called "nobody".');
});

test('gantry wait ends with the answer to an approval: yes is 0, no is 6, nobody yet is 4', async () => {
  const first = await ask('npm run release');
  expect((await run('wait', first.id, '--timeout', '0')).code).toBe(4);
  const waits = [
    run('wait', first.id, '--timeout', '5m'),
    run('wait', first.id, '--for', 'rejected', '--timeout', '5m'),
  ];
  await run('workspace', 'approve', first.id, '--note', 'go on');
  const [yes, no] = await Promise.all(waits);
  expect([yes?.code, yes?.out]).toEqual([0, '“A program of yours: Run a command”: approved, go on.\n']);
  expect(no?.code).toBe(6);
});
