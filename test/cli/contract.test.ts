/** What scripts may rely on in the command line: parts and verbs, JSON, dry runs, exit codes. */
import { expect, test } from 'vitest';
import { commands, parts } from '../../src/cli/catalogue.ts';
import { examples, helpGroups } from '../../src/cli/examples.ts';
import { AppError, errorCodes, exitCode, FactoryError } from '../../src/contracts/common/errors.ts';
import { agent, run, scratchHome, startEngine } from './support.ts';

/** Every part and its verbs. Scripts call them by these names, so none may disappear. */
const specified: Record<string, string> = {
  agents: 'ls show capture transcript screen input attach explain doctor',
  teams: 'ls up down check',
  orchestration: 'send reply deliveries reports events drain threads mail steer peers',
  workflows: 'templates show check save run watch cancel gate',
  workspace:
    'campaigns board nodes node claim progress done fail retry skip proof approvals approve reject tickets plans leases',
  ledger: 'query verify export',
  gate: 'check',
  vault: 'set ls rm',
  tools: 'ls call connect approve servers',
};
const beside = 'start stop desktop cloud runtime worker admin doctor open pair why install backup restore completion';

test('every specified part and verb exists', () => {
  for (const [part, verbs] of Object.entries(specified)) {
    const names = parts.find((one) => one.name === part)?.verbs.map((verb) => verb.name) ?? [];
    expect(names, part).toEqual(expect.arrayContaining(verbs.split(' ')));
  }
  const first = [...parts.map((part) => part.name), ...commands.map((verb) => verb.name)];
  expect(first).toEqual(expect.arrayContaining(beside.split(' ')));
});

test('every command is built', () => {
  const all = [...commands, ...parts.flatMap((part) => part.verbs)];
  expect(all.filter((verb) => verb.load === undefined).map((verb) => verb.name)).toEqual([]);
});

const built = [
  ...commands.filter((verb) => verb.load !== undefined).map((verb) => [verb] as const),
  ...parts.flatMap((part) => part.verbs.filter((verb) => verb.load !== undefined).map((verb) => [verb, part] as const)),
];

test.each(built.map(([verb, part]) => [part === undefined ? verb.name : `${part.name} ${verb.name}`, verb] as const))(
  '%s has help with every option, --json, and --dry-run if it changes something',
  async (words, verb) => {
    const help = await run({}, [...words.split(' '), '--help']);
    expect(help.code).toBe(0);
    expect(help.out).toContain('--json');
    for (const option of verb.options ?? []) expect(help.out).toContain(option.flags.split(' ')[0]);
    expect(help.out.includes('--dry-run')).toBe(verb.mutation === true);
    expect(verb.about.length).toBeGreaterThan(10);
  },
);

test('every command has an example that is parsed as it stands, and every first word a group', async () => {
  const all = [
    ...commands.map((verb) => verb.name),
    ...parts.flatMap((part) => part.verbs.map((verb) => `${part.name} ${verb.name}`)),
  ];
  const without = all.filter((words) => examples[words] === undefined);
  expect(without, 'commands without an example: add one to `examples` in src/cli/examples.ts').toEqual([]);
  for (const words of all) {
    const line = (examples[words] ?? '').replace(/^source <\((.*)\)$/, '$1').replace(/ > .*$/, '');
    const argv = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map((one) => one[1] ?? one[2] ?? '');
    const from = argv.indexOf('gantry') + 1;
    expect(argv.slice(from, from + words.split(' ').length).join(' '), line).toBe(words);
    // A wrong word is complained about before help is given.
    const help = await run({}, [...argv.slice(from), '--help']);
    expect(help, line).toMatchObject({ code: 0 });
    expect(help.out).toContain(examples[words]);
  }
  const grouped = helpGroups.flatMap(([, names]) => names);
  const ungrouped = [...commands, ...parts].map(({ name }) => name).filter((name) => !grouped.includes(name));
  expect(ungrouped, 'commands without a group: add them to `helpGroups` in src/cli/examples.ts').toEqual([]);
});

test('help as a word is help as an option', async () => {
  expect((await run({}, ['help', 'agents', 'ls'])).out).toBe((await run({}, ['agents', 'ls', '--help'])).out);
  expect((await run({}, ['help'])).out).toBe((await run({}, ['--help'])).out);
});

test('help and version are one document with --json, too', async () => {
  expect((await run({}, ['agents', '--help', '--json'])).json()).toHaveProperty('help');
  expect((await run({}, ['--version', '--json'])).json()).toEqual({ version: '1.2.3' });
});

const wrong: [string, string[]][] = [
  ['an unknown command', ['agnets', 'ls']],
  ['help for an unknown command', ['queue', '--help']],
  ['help for an unknown verb', ['agents', 'lss', '--help']],
  ['an unknown word after help', ['help', 'queue']],
  ['an unknown verb', ['agents', 'lss']],
  ['an unknown option', ['agents', 'ls', '--bogus']],
  ['a missing argument', ['agents', 'show']],
  ['one argument too many', ['agents', 'show', 'a', 'b']],
  ['an option without its value', ['agents', 'ls', '--team']],
  ['a number that is none', ['agents', 'capture', 'web', '--lines', 'ten']],
  ['a number out of range', ['agents', 'capture', 'web', '--lines', '2001']],
  ['a team and --all', ['teams', 'down', 'demo', '--all']],
  ['neither a team nor --all', ['teams', 'down']],
  ['a shell that there is not', ['completion', 'tcsh']],
  ['a kind of name that there is not', ['completion', '--names', 'people']],
];

test.each(wrong)('%s is usage: exit code 64 and one document', async (_name, argv) => {
  const { env } = await startEngine({ agents: [agent('web')] });
  const asked = await run(env, [...argv, '--json']);
  expect(asked.code).toBe(64);
  expect(FactoryError.parse(asked.json()).error.code).toBe('usage');
  const plain = await run(env, argv);
  expect(plain).toMatchObject({ code: 64, out: '' });
  expect(plain.err.split('\n').length).toBeGreaterThanOrEqual(2);
});

test('an option that is missing is named as it is typed', async () => {
  const asked = await run({}, ['worker', '--url', 'http://127.0.0.1:9']);
  expect(asked.code).toBe(64);
  expect(asked.err).toContain('--key-file is missing.\nGive --key-file "<text>"');
});

test('an unknown word is answered with the nearest one', async () => {
  expect((await run({}, ['agnets'])).err).toContain('Did you mean agents?');
});

test.each(errorCodes)('an engine that answers %s gives its exit code and the same document', async (code) => {
  const error = new AppError(code, 'What happened.', 'What to do.');
  const { env } = await startEngine({
    answers: {
      listTeams: () => {
        throw error;
      },
    },
  });
  const asked = await run(env, ['teams', 'ls', '--json']);
  expect(asked.code).toBe(exitCode[code]);
  expect(asked.json()).toEqual(error.toFactory());
  const plain = await run(env, ['teams', 'ls']);
  expect(plain).toMatchObject({ code: exitCode[code], out: '' });
  expect(plain.err).toContain('What happened.\nWhat to do.\n');
});

test('without an engine every command that needs one ends with 3', async () => {
  const { home } = scratchHome();
  for (const argv of [
    ['agents', 'ls'],
    ['teams', 'up', 'demo'],
    ['orchestration', 'send', 'a@b', 'x'],
    ['stop'],
    ['open'],
  ]) {
    const asked = await run({ GANTRY_HOME: home }, [...argv, '--json']);
    expect(asked.code, argv.join(' ')).toBe(3);
    expect(asked.json()).toMatchObject({ error: { code: 'transport', action: expect.stringContaining('start') } });
  }
});

test('a file that a stopped engine left behind is no engine', async () => {
  const engine = await startEngine();
  const { home } = engine.places;
  const { createTokenFile, writePrivateFile } = await import('../../src/kit/secrets/token-file.ts');
  const other = scratchHome();
  createTokenFile(other.token);
  writePrivateFile(other.url, 'http://127.0.0.1:1\n');
  expect(home).not.toBe(other.home);
  expect((await run({ GANTRY_HOME: other.home }, ['agents', 'ls'])).code).toBe(3);
});

/** Mutations of what is built, with the body or query that their dry run must have. */
const dry: [string[], string | null, unknown][] = [
  [['teams', 'up', 'demo', '--dry-run'], 'teamUp', { body: { dryRun: true } }],
  [['teams', 'down', 'demo', '--dry-run'], 'teamDown', { query: { dryRun: true } }],
  [['teams', 'down', '--all', '--dry-run'], 'teamDown', { query: { dryRun: true } }],
  [['teams', 'demo', '--dry-run'], 'addDemo', { body: { dryRun: true } }],
  [['orchestration', 'send', 'web@demo', 'x', '--dry-run'], 'sendMessage', { body: { dryRun: true } }],
  [
    ['orchestration', 'reply', 'thread_1', 'x', '--dry-run'],
    'sendMessage',
    { body: { to: 'channel:thread_1', dryRun: true } },
  ],
  [['orchestration', 'drain', '--dry-run'], 'drainQueue', { body: { dryRun: true } }],
  [['orchestration', 'threads', '--create', 't', '--dry-run'], 'createThread', { body: { dryRun: true } }],
  [['agents', 'input', 'web', 'x', '--dry-run'], null, {}],
  [['desktop', 'install', '--dry-run'], null, {}],
];

test.each(dry)('%j asks the engine for its plan and nothing more', async (argv, op, expected) => {
  const plan = { to: 'web@demo', via: 'pane', threadId: null, records: ['delivery'] };
  const engine = await startEngine({
    agents: [agent('web')],
    answers: {
      teamUp: () => ({ plan: [], applied: false }),
      teamDown: () => ({ dryRun: true, plan: [] }),
      addDemo: () => ({ team: 'demo', written: ['a'], applied: false }),
      sendMessage: () => ({ dryRun: true, plan }),
      drainQueue: () => ({ tried: [], left: 0, dryRun: true }),
      createThread: () => ({ dryRun: true, plan: { title: 't', botId: null } }),
    },
  });
  const asked = await run(engine.env, [...argv, '--json']);
  expect(asked.code).toBe(0);
  asked.json();
  const calls = engine.seen.filter((one) => !['factoryHealth', 'listAgents'].includes(one.op));
  expect(calls.map((one) => one.op)).toEqual(op === null ? [] : [op]);
  if (op !== null) expect(calls[0]).toMatchObject(expected as object);
  expect((await run(engine.env, argv)).out).not.toBe('');
});

test('what a problem quotes from elsewhere acts on no terminal', async () => {
  const said = () => {
    throw new AppError('refused', 'The cloud says: \u001b]0;yours\u0007\u001b[2J.', 'Ask \u001b[8mit.');
  };
  const { env } = await startEngine({ answers: { listTeams: said } });
  const asked = await run(env, ['teams', 'ls']);
  expect(asked.code).toBe(1);
  expect(asked.err).toContain('The cloud says: ');
  expect(asked.err).not.toMatch(/(?!\n)\p{Cc}/u);
});

test('times in a problem are those of the person’s clock; the document keeps the wire’s', async () => {
  const said = () => {
    throw new AppError('transport', 'Attic is not linked, since 2026-01-02T03:00:00.000Z.', 'Start it.');
  };
  const { env } = await startEngine({ answers: { listTeams: said } });
  expect((await run(env, ['teams', 'ls'])).err).toMatch(/^Attic is not linked, since 2026-01-0\d \d\d:\d\d\.\n/);
  expect((await run(env, ['teams', 'ls', '--json'])).json()).toMatchObject({
    error: { fact: 'Attic is not linked, since 2026-01-02T03:00:00.000Z.' },
  });
});

test('a fault of our own is internal, 70, without a stack', async () => {
  const { env } = await startEngine({ answers: { listTeams: () => ({ nonsense: true }) } });
  const asked = await run(env, ['teams', 'ls', '--json']);
  expect(asked.code).toBe(70);
  expect(asked.out).not.toMatch(/\bat .*\.ts/);
  expect(asked.err).toBe('');
});
