/** Every block of code that people read is run, read by the product, or says that it is not run; every command in the prose exists. */

import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { commands, parts } from '../../src/cli/catalogue.ts';
import type { Verb } from '../../src/cli/command.ts';
import { ExecuteRequest } from '../../src/contracts/computer-use/run.ts';
import { subscribeToEvent } from '../../src/contracts/connectors/subscription.ts';
import { AttachServer } from '../../src/contracts/tool-server/servers.ts';
import { NewTask } from '../../src/contracts/work-queue/task.ts';
import { SettingsFile } from '../../src/host/settings.ts';
import { readTeamFile } from '../../src/runtime-server/agents/team-file/read.ts';
import { PolicyFile } from '../../src/runtime-server/policy/file.ts';
import { readTemplate } from '../../src/runtime-server/workflows/template/read.ts';
import { type Block, blocksOf, pages, textOf } from './blocks.ts';

const blocks = pages.flatMap(blocksOf);

/** What a block is an example of → what is wrong with it. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  team: (text) => teamProblems(text),
  task: (text) => NewTask.safeParse(JSON.parse(text)).error ?? [],
  'part of a team': (text) => teamProblems(`name: part\nbots: [{ bot: one, harness: shell }]\n${text}`),
  policy: (text) => PolicyFile.safeParse(parse(text)).error ?? [],
  settings: (text) => SettingsFile.safeParse(JSON.parse(text)).error ?? [],
  template: (text) => {
    const read = readTemplate(text, 'notes', 'md');
    return 'problems' in read ? read.problems : [];
  },
  'a run of computer use': (text) => ExecuteRequest.safeParse(JSON.parse(text)).error ?? [],
  subscription: (text) => subscribeToEvent.body.safeParse(JSON.parse(text)).error ?? [],
  // One a line.
  'attached servers': (text) =>
    text
      .split('\n')
      .map((line) => AttachServer.safeParse(JSON.parse(line)).error)
      .filter((error) => error !== undefined),
};
function teamProblems(text: string): unknown {
  const around = { folder: nameIn(text), workspace: '/w', userHome: '/h', isFolder: () => true, hasFile: () => true };
  return readTeamFile(text, around).problems;
}
const nameIn = (text: string): string => /^name: (\S+)/m.exec(text)?.[1] ?? '';

const isData = ({ language }: Block): boolean => ['json', 'yaml', 'markdown'].includes(language);

test('each block is run, read by the product, or says why it is not run', () => {
  const unsaid = blocks.filter(({ language, notRun, readAs }) => {
    if (language === 'text' || notRun !== null) return false;
    return !(language === '' || language === 'sh' || readAs !== null);
  });
  expect(
    unsaid.map(({ at, language }) => `${at} (${language}) needs <!-- read as: … --> or <!-- not run: … -->`),
  ).toEqual([]);
});

test.each(blocks.filter(isData).filter(({ notRun }) => notRun === null))(
  '$at is taken by the product as $readAs',
  ({ readAs, text }) => {
    const reader = readers[readAs ?? ''];
    if (reader === undefined) throw new Error(`Nothing reads “${readAs}”. Known: ${Object.keys(readers).join(', ')}`);
    expect(reader(text)).toEqual([]);
  },
);

test('each command that a page names exists, with its options', () => {
  const problems = pages.flatMap((file) =>
    [...textOf(file).matchAll(/(?:^|[\s`(])(?:npx )?gantry ([a-z][^`\n#]*)/gm)].flatMap(([, words = '']) =>
      problemsOf(words).map((problem) => `${file}: gantry ${words.trim().slice(0, 80)}: ${problem}`),
    ),
  );
  expect(problems).toEqual([]);
});

const verbs = new Map<string, Verb>([
  ...commands.map((verb) => [verb.name, verb] as const),
  ...parts.flatMap((part) => part.verbs.map((verb) => [`${part.name} ${verb.name}`, verb] as const)),
]);
const everywhere = ['--json', '--help', '--version'];

function problemsOf(text: string): string[] {
  const words = text
    .replace(/'[^']*'|"[^"]*"/g, 'quoted')
    .trim()
    .split(/\s+/);
  const [first = '', second = '', third = ''] = words;
  const verb = verbs.get(`${first} ${second} ${third}`) ?? verbs.get(`${first} ${second}`) ?? verbs.get(first);
  if (verb === undefined) {
    // A sentence about Gantry itself, or a part as a whole.
    return parts.some(({ name }) => name === first) && !/^[a-z]/.test(second) ? [] : [`there is no such command`];
  }
  const known = new Set([
    ...everywhere,
    ...(verb.mutation === true ? ['--dry-run'] : []),
    ...(verb.options ?? []).flatMap(({ flags }) => flags.split(/[ ,|]+/).filter((one) => one.startsWith('--'))),
  ]);
  const end = words.indexOf('--');
  const given = words.slice(0, end < 0 ? undefined : end).flatMap((word) => /^\[?(--[a-z-]+)/.exec(word)?.[1] ?? []);
  return given.filter((option) => !known.has(option)).map((option) => `it has no option ${option}`);
}
