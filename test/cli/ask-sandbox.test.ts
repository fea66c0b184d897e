/** `gantry teams up` at a terminal: what its bots run in is asked before the first start, where the team file does not say. */
import { expect, test } from 'vitest';
import type { SandboxQuestion } from '../../src/contracts/factory/teams-routes.ts';
import { run, runAtTerminal, startEngine } from './support.ts';

const question: SandboxQuestion = { file: '.gantry/teams/dev/team.yaml', suggests: 'closed', why: null };
const engineWith = (sandbox: SandboxQuestion | undefined) =>
  startEngine({
    answers: {
      teamUp: ({ body }) => {
        const { dryRun = false } = body as { dryRun?: boolean };
        return { plan: [], applied: !dryRun, ...(dryRun && sandbox !== undefined ? { sandbox } : {}) };
      },
    },
  });
const asked = (engine: Awaited<ReturnType<typeof engineWith>>) =>
  engine.seen.filter(({ op }) => op === 'teamUp').map(({ body }) => body);
const asks = /or type another: /g;
const up = ['teams', 'up', 'dev'];

test('Enter takes what is suggested, a word another, and the answer goes along with the start', async () => {
  for (const [lines, sandbox] of [
    [[''], 'closed'],
    [['open', 'FILES'], 'files'],
    [['none'], 'none'],
  ] as const) {
    const engine = await engineWith(question);
    const { code, out } = await runAtTerminal(engine, up, { asks, lines });
    expect(code).toBe(0);
    expect(out).toContain('.gantry/teams/dev/team.yaml does not say what its bots run in.');
    expect(asked(engine)).toEqual([{ dryRun: true }, { sandbox }]);
  }
});

test('what cannot be had is not offered, and the reason is said', async () => {
  const why = 'no program "nft" is on the PATH';
  const engine = await engineWith({ ...question, suggests: 'files', why });
  const { out } = await runAtTerminal(engine, up, { asks, lines: ['closed', ''] });
  expect(out).toContain(`A stricter one cannot be used: ${why}.`);
  expect(out).toContain('"closed" is not one of files, none.');
  expect(asked(engine).at(-1)).toEqual({ sandbox: 'files' });
});

test('nothing is started where the question is not answered', async () => {
  const engine = await engineWith(question);
  const { code, err } = await runAtTerminal(engine, up, { asks, lines: [null] });
  expect(code).not.toBe(0);
  expect(err).toContain('Nothing was started');
  expect(asked(engine)).toEqual([{ dryRun: true }]);
});

test('nobody is asked where the file says it, the option is given, or nobody is at the terminal', async () => {
  const said = await engineWith(undefined);
  await runAtTerminal(said, up, { asks, lines: [] });
  expect(asked(said)).toEqual([{ dryRun: true }, {}]);
  const given = await engineWith(question);
  await runAtTerminal(given, [...up, '--sandbox', 'none'], { asks, lines: [] });
  expect(asked(given)).toEqual([{ sandbox: 'none' }]);
  const alone = await engineWith(question);
  expect((await run(alone.env, up)).code).toBe(0);
  expect(asked(alone)).toEqual([{}]);
});

test('a dry run says that the file is silent, and a word that is no sandbox is refused before anything is asked', async () => {
  const engine = await engineWith(question);
  const planned = await run(engine.env, [...up, '--dry-run']);
  expect(planned.out).toContain('--sandbox closed is suggested');
  const wrong = await run(engine.env, [...up, '--sandbox', 'tight']);
  expect(wrong.err).toContain('--sandbox is "tight".');
  expect(asked(engine)).toHaveLength(1);
});
