/** The form of a new run: who can be chosen, what a link fills in, which images go along, and where a run stands on Home. */
import { expect, test } from 'vitest';
import {
  largestQuickImage,
  type QuickBot,
  type QuickChoices,
  type QuickRun,
} from '../../../../../src/contracts/factory/quick-run-routes.ts';
import { firstWho, prefillOf, readWho, whoChoices } from '../../../../../src/renderer/areas/floor/runs/new-run.ts';
import {
  diffWords,
  endedRows,
  folderOf,
  quickRowSays,
  rowOfBot,
  siblingsOf,
  underWayRows,
} from '../../../../../src/renderer/areas/floor/runs/quick-rows.ts';
import { withImages } from '../../../../../src/renderer/areas/home/images.ts';

const choices: QuickChoices = {
  repositories: [{ path: '/code/house', name: 'house', branch: 'main', lastUsed: null }],
  programs: [
    { harness: 'claude', installed: true, signedIn: true, version: '2.1', fix: null },
    { harness: 'qwen', installed: true, signedIn: null, version: '1', fix: null },
    { harness: 'codex', installed: true, signedIn: false, version: '1', fix: 'codex login' },
    { harness: 'gemini', installed: false, signedIn: null, version: null, fix: 'npm i' },
  ],
  models: ['anthropic/big', 'lab/small'],
  providers: [
    { name: 'anthropic', ready: false },
    { name: 'lab', ready: true },
  ],
};
const options = whoChoices(choices);

test('a bot is written as a program, a program with its model, or a hosted model, and nothing else is one', () => {
  expect(readWho('claude')).toEqual({ harness: 'claude' });
  expect(readWho('claude:opus')).toEqual({ harness: 'claude', model: 'opus' });
  expect(readWho(' lab/small:latest ')).toEqual({ model: 'lab/small:latest' });
  for (const word of ['', 'shell', 'custom', 'lab/', '/small', 'lab small/x']) expect(readWho(word), word).toBeNull();
});

test('who cannot be started says why and is not chosen', () => {
  expect(options.map(({ key, not }) => [key, not])).toEqual([
    ['claude', null],
    ['qwen', null],
    ['codex', 'Not signed in'],
    ['gemini', 'Not installed'],
    ['anthropic/big', 'No key'],
    ['lab/small', null],
  ]);
  expect(firstWho(options, [])).toEqual(['claude']);
  expect(firstWho(options, ['codex', 'lab/small', 'qwen'])).toEqual(['lab/small', 'qwen']);
  expect(firstWho(whoChoices({ ...choices, programs: [], models: [] }), ['claude'])).toEqual([]);
});

test('a link fills in only a repository that was used here and bots that can be chosen, and says what it left out', () => {
  const of = (link: Parameters<typeof prefillOf>[0]) => prefillOf(link, choices.repositories, options);
  expect(of({ prompt: 'Fix it', repo: 'house', who: 'claude, lab/small' })).toEqual({
    prompt: 'Fix it',
    repository: '/code/house',
    who: ['claude', 'lab/small'],
    left: null,
  });
  const refused = of({ repo: '/tmp/evil', who: 'codex,shell' });
  expect(refused).toMatchObject({ prompt: null, repository: null, who: [] });
  expect(refused.left).toContain('/tmp/evil, which was not used here before');
  expect(refused.left).toContain('codex, shell, which cannot be started here');
});

test('images get names of their own without a path; what is none, too large or too many is named and left out', async () => {
  const file = (name: string, type: string, size = 3) => new File([new Uint8Array(size).fill(65)], name, { type });
  const two = await withImages([], [file('image.png', 'image/png'), file('image.png', 'image/png')]);
  expect(two).toEqual({
    images: [
      { name: 'image.png', data: 'QUFB' },
      { name: 'image-2.png', data: 'QUFB' },
    ],
    problem: null,
  });
  const odd = await withImages([], [file('../../.ssh/ke\u202ey.exe', 'image/webp')]);
  expect(odd.images[0]?.name).toMatch(/^[^/\\\p{C}]+\.webp$/u);
  expect((await withImages([], [file('notes.txt', 'text/plain')])).problem).toContain('notes.txt');
  expect((await withImages([], [file('huge.png', 'image/png', largestQuickImage + 1)])).images).toEqual([]);
  const many = await withImages(
    [],
    Array.from({ length: 9 }, () => file('shot.gif', 'image/gif')),
  );
  expect(many.images).toHaveLength(8);
  expect(many.problem).toContain('at most 8');
});

const bot = (of: Partial<QuickBot>): QuickBot => ({
  ...{
    agentId: 'a1',
    address: 'claude@q1',
    name: 'claude',
    team: 'q1',
    harness: 'claude',
    model: null,
    sandbox: 'none',
  },
  ...{ dagId: 'd1', nodeId: 'n1', status: 'working', state: 'working', stateReason: null, lastLine: null },
  ...{ branch: 'b', diff: null, outcome: null, outcomeAt: null },
  ...of,
});
const run = (...bots: QuickBot[]): QuickRun => ({
  ...{ id: 'd1', title: 'Fix it', prompt: 'Fix it', repository: '/code/house', baseBranch: 'main', baseCommit: 'c' },
  ...{ startedAt: '2026-03-04T10:00:00.000Z', status: 'running', savedAs: null, bots },
});
const names = (rows: readonly { bot: QuickBot }[]) => rows.map((row) => row.bot.name);

test('a bot is under way until its step is closed, stays until it has an outcome, and goes once that was seen', () => {
  const runs = [
    run(
      bot({ name: 'one' }),
      bot({ name: 'two', status: 'done' }),
      bot({ name: 'three', status: 'done', outcome: 'merged', outcomeAt: '2026-03-04T12:00:00.000Z' }),
      bot({ name: 'four', status: 'working', outcome: 'discarded', outcomeAt: '2026-03-04T09:00:00.000Z' }),
    ),
  ];
  expect(names(underWayRows(runs))).toEqual(['one']);
  expect(names(endedRows(runs, '2026-03-04T11:00:00.000Z'))).toEqual(['two', 'three']);
  expect(names(endedRows(runs, null))).toEqual(['two']);
  expect(siblingsOf({ run: runs[0]!, bot: runs[0]!.bots[1]! }).map(({ name }) => name)).toEqual(['one']);
});

test('the row of a bot is that of its run until the run has its outcome', () => {
  const rowOf = (of: Partial<QuickBot>) => rowOfBot([run(bot({ agentId: 'a0' }), bot(of))], 'a1')?.bot.agentId;
  expect([rowOf({}), rowOf({ status: 'done' })]).toEqual(['a1', 'a1']);
  expect(rowOf({ outcome: 'merged' })).toBeUndefined();
});

test('a run is found by its prompt, who works on it, where, and what was said last; its group is the folder of its repository', () => {
  const [row] = underWayRows([run(bot({ lastLine: 'counting bricks' }))]);
  for (const text of ['FIX', 'claude house', 'bricks']) expect([text, quickRowSays(row!, text)]).toEqual([text, true]);
  expect(quickRowSays(row!, 'fix gemini')).toBe(false);
  expect(folderOf(row!)).toBe('house');
  expect(folderOf({ ...row!, run: { ...row!.run, repository: 'C:\\code\\shop\\' } })).toBe('shop');
});

test('a diff says its size in words', () => {
  expect(diffWords(null)).toBe('');
  expect(diffWords({ files: 0, added: 0, removed: 0 })).toBe('No changes');
  expect(diffWords({ files: 1, added: 3, removed: 0 })).toBe('+3 −0 in 1 file');
});
