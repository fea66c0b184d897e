import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { teamSchemaText } from '../../../scripts/team-schema.ts';
import { readTeamFile } from '../../../src/runtime-server/agents/team-file/read.ts';
import { resolveTeam, tightened } from '../../../src/runtime-server/agents/team-file/resolve.ts';

const around = {
  folder: 'dev',
  workspace: '/space',
  userHome: '/home/ada',
  isFolder: (path: string) => ['/space', '/space/web', '/home/ada/src'].includes(path),
  hasFile: (name: string) => name === 'CULTURE.md',
};
const read = (text: string, folder = 'dev') => readTeamFile(text, { ...around, folder });
const problems = (text: string, folder?: string) =>
  read(text, folder).problems.map(({ path, line }) => `${line}: ${path}`);

const bot = 'bots:\n  - bot: web\n    harness: shell\n';

test.each<[string, string, string[]]>([
  ['text that is no YAML', 'bots: [', ['1: ']],
  ['a file without anything', '', ['1: bots']],
  ['an empty list of bots', 'bots: []', ['1: bots']],
  ['a list instead of fields', '- bot: web', ['1: ']],
  ['a key given twice', `version: 1\nversion: 2\n${bot}`, ['2: ']],
  ['an unknown field of the team', `colour: red\n${bot}`, ['1: colour']],
  ['an unknown field of a bot', `${bot}    colour: red\n`, ['4: bots[0].colour']],
  ['an unknown harness', 'bots:\n  - bot: web\n    harness: emacs\n', ['3: bots[0].harness']],
  ['a slug with a space', 'bots:\n  - bot: the web\n    harness: shell\n', ['2: bots[0].bot']],
  ['a name that is not the folder', `name: other\n${bot}`, ['1: name']],
  ['a bot that is there twice', `${bot}  - bot: web\n    harness: claude\n`, ['4: bots[1].bot']],
  ['a terminal bot without harness', 'bots:\n  - bot: web\n', ['2: bots[0].harness']],
  ['custom without a command', 'bots:\n  - bot: web\n    harness: custom\n', ['3: bots[0].harness']],
  [
    'a command for a harness that takes none',
    'bots:\n  - bot: web\n    harness: claude\n    command: x\n',
    ['4: bots[0].command'],
  ],
  ['a sandbox that does not exist', `${bot}    sandbox: open\n`, ['4: bots[0].sandbox']],
  [
    'a sandbox of a bot without a terminal',
    'bots:\n  - bot: web\n    binding: hosted\n    model: a/b\n    sandbox: files\n',
    ['5: bots[0].sandbox'],
  ],
  ...['notes', '~', '/', '~/a/../b', '/a/'].map((path): [string, string, string[]] => [
    `${path} as a path to see`,
    `sees: { read: ["${path}"] }\n${bot}`,
    ['1: sees.read[0]'],
  ]),
  ...['4', '4GB', '0MiB', '-1GiB'].map((memory): [string, string, string[]] => [
    `${memory} as a limit of memory`,
    `caps: { memory: "${memory}" }\n${bot}`,
    ['1: caps.memory'],
  ]),
  ['a set-up without a worktree', `${bot}    setup: { command: npm ci }\n`, ['4: bots[0].setup']],
  ...['/etc', '../x', 'a/../../x', '.git', 'a/.gantry/x', '.', 'a/'].map((path): [string, string, string[]] => [
    `a copy of ${path}`,
    `setup: { copy: ["${path}"] }\n${bot}`,
    ['1: setup.copy[0]'],
  ]),
  ['a vendor binding without vendor', 'bots:\n  - bot: web\n    binding: vendor\n', ['3: bots[0].binding']],
  ['a cwd that is no folder', `${bot}    cwd: nowhere\n`, ['4: bots[0].cwd']],
  ['a variable that Gantry sets itself', `${bot}    env:\n      GANTRY_PANE: x\n`, ['4: bots[0].env']],
  ['a director that does not exist', `${bot}    directed_by: boss\n`, ['4: bots[0].directed_by']],
  [
    'edges to and from nobody',
    `${bot}edges:\n  - kind: checks\n    from: a\n    to: b\n`,
    ['6: edges[0].from', '7: edges[0].to'],
  ],
  ['a bot that checks itself', `${bot}edges:\n  - {kind: checks, from: web, to: web}\n`, ['5: edges[0]']],
  ['a bot that delegates to itself', `${bot}edges:\n  - {kind: delegates_to, from: web, to: web}\n`, ['5: edges[0]']],
  ['reach of nobody', `${bot}reach:\n  ghost: [sms]\n`, ['5: reach.ghost']],
  ['a way of reach that does not act', `${bot}reach:\n  web: [sms, slack]\n`, ['5: reach.web[1]']],
  [
    'a preset for nobody',
    `${bot}presets:\n  fast:\n    bots:\n      ghost: {model: x}\n`,
    ['7: presets.fast.bots.ghost'],
  ],
  ['a default preset that is not there', `${bot}default_preset: fast\n`, ['4: default_preset']],
  [
    'a preset that takes the command away from custom',
    `${bot}presets:\n  odd:\n    bots:\n      web: {harness: custom}\n`,
    ['7: presets.odd.bots.web.harness'],
  ],
  ['a culture file that is not there', `culture: OTHER.md\n${bot}`, ['1: culture']],
])('%s is a problem with its path and line', (_what, text, expected) => {
  expect(problems(text)).toEqual(expected);
});

test('a folder whose name cannot be a team is a problem of that team', () => {
  expect(problems(bot, 'My Team')).toEqual(['1: ']);
});

test('circles of delegation and direction are told with the way they run, checking one another is not', () => {
  const text = `bots:
  - {bot: a, harness: shell, directed_by: c}
  - {bot: b, harness: shell}
  - {bot: c, harness: shell}
edges:
  - {kind: directs, from: a, to: b}
  - {kind: directs, from: b, to: c}
  - {kind: checks, from: a, to: b}
  - {kind: checks, from: b, to: a}
`;
  expect(read(text).problems).toEqual([
    { path: 'bots[0].directed_by', line: 2, message: 'directs forms a cycle: c → a → b → c.' },
  ]);
});

test('all problems of a file come at once, in the order of its lines', () => {
  const text = `name: other
colour: red
bots:
  - bot: web
    harness: custom
    cwd: /nowhere
  - bot: web
    harness: emacs
reach:
  ghost: [telegram]
default_preset: none
`;
  expect(problems(text)).toEqual([
    '1: name',
    '2: colour',
    '5: bots[0].harness',
    '6: bots[0].cwd',
    '7: bots[1].bot',
    '8: bots[1].harness',
    '10: reach.ghost',
    '10: reach.ghost[0]',
    '11: default_preset',
  ]);
});

test('a document that grows without end by its aliases is refused', () => {
  const lines = Array.from({ length: 20 }, (_, n) => `a${n + 1}: &a${n + 1} [${Array(9).fill(`*a${n}`).join(',')}]`);
  const bomb = `a0: &a0 [1,1,1,1,1,1,1,1,1]\n${lines.join('\n')}\n`;
  expect(read(bomb).problems.some(({ message }) => message.startsWith('Not valid YAML'))).toBe(true);
});

test('a file of more than 256 KiB is refused without reading it', () => {
  expect(read(`# ${'x'.repeat(300_000)}`).problems).toHaveLength(1);
});

test('a preset changes only what it names, and the default preset is taken without asking', () => {
  const text = `bots:
  - {bot: web, harness: claude, model: opus, env: {A: '1', B: '2'}}
  - {bot: api, harnesses: [codex, shell], cwd: ~/src}
presets:
  cheap:
    bots:
      web: {model: haiku, env: {B: '3'}}
      api: {harness: shell}
default_preset: cheap
`;
  const result = read(text);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const team = resolveTeam({ name: 'dev', file: result.file, culture: null }, null, around);
  expect(team).toMatchObject({ preset: 'cheap', presets: ['cheap'] });
  expect(team.bots).toMatchObject([
    { slug: 'web', harnesses: ['claude'], model: 'haiku', env: { A: '1', B: '3' }, cwd: '/space' },
    { slug: 'api', harnesses: ['shell'], cwd: '/home/ada/src', binding: { type: 'terminal', harness: 'shell' } },
  ]);
});

test('who directs a bot is an edge of the team', () => {
  const result = read('bots:\n  - {bot: a, harness: shell}\n  - {bot: b, harness: shell, directed_by: a}\n');
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const team = resolveTeam({ name: 'dev', file: result.file, culture: null }, null, around);
  expect(team.edges).toEqual([{ kind: 'directs', from: 'a', to: 'b' }]);
});

test('a bot with a worktree has its own set-up, or the team’s; any other has none', () => {
  const text = `setup: { command: npm ci, copy: [node_modules, packages/a/.env] }
bots:
  - { bot: a, harness: shell, worktree: true }
  - { bot: b, harness: shell, worktree: true, setup: { command: make } }
  - { bot: c, harness: shell, worktree: true, setup: {} }
  - { bot: d, harness: shell }
`;
  const result = read(text);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const team = resolveTeam({ name: 'dev', file: result.file, culture: null }, null, around);
  expect(team.bots.map(({ setup }) => setup)).toEqual([
    { command: 'npm ci', copy: ['node_modules', 'packages/a/.env'] },
    { command: 'make', copy: [] },
    null,
    null,
  ]);
});

test('the strictest sandbox of bot and team holds, and both say what is seen', () => {
  const text = `sees: { read: [~/notes] }
bots:
  - { bot: a, harness: shell, sandbox: files, sees: { write: [/data] } }
  - { bot: b, harness: shell, sandbox: none }
  - { bot: c, binding: hosted, model: a/b }
`;
  const sandboxes = (file: string) => {
    const result = read(file);
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    return resolveTeam({ name: 'dev', file: result.file, culture: null }, null, around).bots.map((bot) => bot.sandbox);
  };
  const notes = { mode: 'files', read: ['/home/ada/notes'], write: [] };
  expect(sandboxes(text)).toEqual([{ ...notes, write: ['/data'] }, null, null]);
  expect(sandboxes(`sandbox: files\n${text}`)).toEqual([{ ...notes, write: ['/data'] }, notes, null]);
});

test('of the limits of bot and team the lower holds, and a file that waits can only lower it', () => {
  const capsIn = (text: string) => {
    const result = read(text);
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    return resolveTeam({ name: 'dev', file: result.file, culture: null }, null, around);
  };
  const bots = (memory: string) =>
    `bots:\n  - { bot: a, harness: shell, sandbox: files, caps: { memory: ${memory}, processes: 100 } }\n`;
  const agreed = capsIn(`caps: { memory: 1GiB, processes: 200 }\n${bots('2GiB')}`);
  expect(agreed.bots[0]?.sandbox?.caps).toEqual({ memory: 1024, processes: 100 });
  const after = (memory: string) => tightened(agreed, capsIn(bots(memory))).bots[0]?.sandbox?.caps;
  expect(after('512MiB')).toEqual({ memory: 512, processes: 100 });
  expect(after('8GiB')).toEqual({ memory: 1024, processes: 100 });
});

test('a file that waits makes sandboxes stricter: it adds them, shows less, and never takes one away', () => {
  const team = (text: string) => {
    const result = read(text);
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    return resolveTeam({ name: 'dev', file: result.file, culture: null }, null, around);
  };
  const agreed = team(`bots:
  - { bot: a, harness: shell, sandbox: files, sees: { read: [/one], write: [/two, /three] } }
  - { bot: b, harness: shell, sees: { read: [/one] } }
  - { bot: c, harness: shell, sandbox: files }
`);
  const waiting = team(`bots:
  - { bot: a, harness: shell, sandbox: files, sees: { read: [/two, /new], write: [/three] } }
  - { bot: b, harness: shell, sandbox: files, sees: { read: [/one], write: [/new] } }
  - { bot: c, harness: shell, sandbox: none }
`);
  expect(tightened(agreed, waiting).bots.map(({ sandbox }) => sandbox)).toEqual([
    { mode: 'files', read: ['/two'], write: ['/three'] },
    { mode: 'files', read: ['/one'], write: [] },
    { mode: 'files', read: [], write: [] },
  ]);
  expect(tightened(agreed, null)).toEqual(agreed);
  const closed = team(
    'bots:\n  - { bot: a, harness: shell, sandbox: closed, network: { presets: [agent, packages] } }\n',
  );
  const opening = team(
    'bots:\n  - { bot: a, harness: shell, sandbox: files, network: { presets: [remote, agent] } }\n',
  );
  const network = { presets: ['agent'], ports: [] };
  expect(tightened(closed, opening).bots[0]?.sandbox).toEqual({ mode: 'closed', read: [], write: [], network });
});

test('of the network a bot names its own presets, or has its team’s, and the ports of both', () => {
  const networks = (text: string) => {
    const result = read(text);
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    const { bots } = resolveTeam({ name: 'dev', file: result.file, culture: null }, null, around);
    return bots.map(({ sandbox }) => sandbox?.network);
  };
  const bots = `bots:
  - { bot: a, harness: shell, sandbox: closed, network: { presets: [remote], ports: [5432] } }
  - { bot: b, harness: shell, sandbox: closed }
`;
  expect(networks(bots)).toEqual([{ presets: ['remote'], ports: [5432] }, undefined]);
  expect(networks(`network: { presets: [packages], ports: [6379] }\n${bots}`)).toEqual([
    { presets: ['remote'], ports: [6379, 5432] },
    { presets: ['packages'], ports: [6379] },
  ]);
});

test('the published JSON Schema is the one that is checked (else run: npm run references)', () => {
  const published = readFileSync(join(import.meta.dirname, '../../../docs/team.schema.json'), 'utf8');
  expect(published).toBe(teamSchemaText());
});

test('the example of hosted bots in the documentation is a sound team', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/examples/hosted-team.yaml'), 'utf8');
  expect(read(text, 'crew').problems).toEqual([]);
});
