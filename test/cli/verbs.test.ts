/** What each verb asks of the engine and what a person reads. */
import { expect, test } from 'vitest';
import { wordsOf } from '../../src/cli/computer-names.ts';
import { clockTime } from '../../src/cli/words.ts';
import { AppError } from '../../src/contracts/common/errors.ts';
import type { Delivery } from '../../src/contracts/factory/delivery.ts';
import { agent, at, run, startEngine } from './support.ts';

test('agents ls shows states as words, how long, the queue and the reason, aligned', async () => {
  const { env } = await startEngine({
    agents: [
      agent('web', { state: 'needs_you', stateReason: 'Waiting: run npm publish?', queueDepth: 2 }),
      agent('api', { state: 'working' }),
    ],
  });
  const { out, code } = await run(env, ['agents', 'ls']);
  expect(code).toBe(0);
  expect(out).toBe(`BOT       STATE      FOR    QUEUE  HARNESS  REASON
web@demo  needs you  4 min  2      shell    Waiting: run npm publish?
api@demo  working    4 min  -      shell
1 bot waiting for you. Look: npx gantry agents attach web@demo
`);
});

test('agents ls says where bots run once one runs on another computer, and how old the news of it is', async () => {
  const away = 'Attic cannot be reached since 2026-01-02T03:00:00.000Z: no route';
  const far = { runner: 'remote:computer_01FAR', machine: 'computer_01FAR', stale: true, stateReason: away };
  const shown = away.replace(/2026\S+Z/, clockTime);
  const { env } = await startEngine({ agents: [agent('web', far), agent('api', { state: 'idle' })] });
  expect((await run(env, ['agents', 'ls'])).out).toBe(`BOT       STATE         FOR    QUEUE  HARNESS  ON       REASON
web@demo  idle (stale)  4 min  -      shell    …_01FAR  ${shown}
api@demo  idle          4 min  -      shell    here
`);
});

test('teams up --on says where each bot would start, and starts nothing with --dry-run', async () => {
  const { env, seen } = await startEngine({
    answers: {
      teamUp: () => ({
        plan: [
          {
            action: 'spawn',
            agent: 'web@demo',
            harness: 'shell',
            machine: 'computer_01FAR',
            reason: 'it is not running',
          },
        ],
        applied: false,
      }),
    },
  });
  const { out } = await run(env, ['teams', 'up', 'demo', '--on', 'Attic', '--dry-run']);
  expect(out).toContain('spawn  web@demo  shell    …_01FAR  it is not running');
  expect(out).toContain('Nothing was started');
  expect(seen.at(-1)?.body).toEqual({ on: 'Attic', dryRun: true });
});

test('teams up says which secrets a bot gets as placeholders, and --json has their names', async () => {
  const step = { action: 'spawn', harness: 'shell', machine: 'computer_01', reason: 'it is not running' };
  const plan = [
    { ...step, agent: 'web@demo', placeholders: ['API_KEY'] },
    { ...step, agent: 'api@demo', placeholders: ['API_KEY', 'NPM_TOKEN'] },
    { ...step, agent: 'db@demo' },
  ];
  const { env } = await startEngine({ answers: { teamUp: () => ({ plan, applied: false }) } });
  const { out } = await run(env, ['teams', 'up', 'demo', '--dry-run']);
  expect(out.split('\n').filter((line) => line.includes('placeholder'))).toEqual([
    'web@demo gets a placeholder for API_KEY: the value goes only into requests to its host.',
    'api@demo gets placeholders for API_KEY, NPM_TOKEN: each value goes only into requests to its host.',
  ]);
  expect((await run(env, ['teams', 'up', 'demo', '--dry-run', '--json'])).json()).toMatchObject({ plan });
});

test('a hosted bot that waits has no terminal to attach to: the list names where its question is, or why it waits', async () => {
  const hosted = (stateReason: string) =>
    startEngine({
      agents: [agent('web', { binding: { type: 'hosted' }, state: 'needs_you', stateReason, pane: null })],
    });
  const asks = await hosted('asks: Run npm test');
  expect((await run(asks.env, ['agents', 'ls'])).out).toContain('Look: npx gantry workspace approvals\n');
  const keyless = await hosted('ANTHROPIC_API_KEY is not set.');
  expect((await run(keyless.env, ['agents', 'ls'])).out).toContain('Look: npx gantry why web@demo\n');
});

test('a computer is named by its name, with the end of its id where two have one name, or by that end alone', () => {
  const machine = 'computer_01JDGT5Y7Z8A9BCDEFGHJKMNPQ';
  const named = wordsOf([
    { id: machine, name: 'Attic' },
    { id: 'computer_01JDGT5Y7Z8A9BCDEFGHJKMNXY', name: 'Attic' },
    { id: 'computer_01JDGT5Y7Z8A9BCDEFGHJKMNZZ', name: 'The one below the stairs' },
  ]);
  expect(named(machine)).toBe('Attic …JKMNPQ');
  expect(named('computer_01JDGT5Y7Z8A9BCDEFGHJKMNNO')).toBe('…JKMNNO');
  expect(named('computer_01JDGT5Y7Z8A9BCDEFGHJKMNZZ')).toBe('The one below the s…');
});

test('agents ls --json is the engine’s own document', async () => {
  const agents = [agent('web')];
  const { env } = await startEngine({ agents });
  expect((await run(env, ['agents', 'ls', '--json'])).json()).toEqual({
    agents,
    engine: { running: true, error: null },
  });
});

test('an empty list says what fills it', async () => {
  const { env } = await startEngine({
    answers: {
      listTeams: () => ({ teams: [], invalid: [] }),
      listDeliveries: () => ({ deliveries: [], nextCursor: null }),
      listThreads: () => ({ threads: [], nextCursor: null }),
    },
  });
  expect((await run(env, ['agents', 'ls'])).out).toContain('npx gantry teams demo');
  expect((await run(env, ['teams', 'ls'])).out).toContain('npx gantry teams demo');
  expect((await run(env, ['orchestration', 'deliveries'])).out).toContain('orchestration send');
  expect((await run(env, ['orchestration', 'threads'])).out).toContain('--create');
});

test('a bot whose program ended with an error is not counted as live', async () => {
  const agents = [agent('web'), agent('api', { state: 'failed', pane: null })];
  const { env } = await startEngine({
    answers: {
      listTeams: () => ({ teams: [{ name: 'demo', preset: null, presets: [], agents, edges: [] }], invalid: [] }),
    },
  });
  expect((await run(env, ['teams', 'ls'])).out).toContain('1 of 2');
});

test('a team without bots is named, and a thread names its bot as a person writes to it', async () => {
  const known = agent('web');
  const thread = (botId: string | null) => ({ id: 'thread_1', title: 'T', botId, channel: null, lastMessageAt: at });
  const { env } = await startEngine({
    agents: [known],
    answers: {
      listThreads: () => ({ threads: [thread(known.id), thread('agent_gone'), thread(null)], nextCursor: null }),
    },
  });
  const { out } = await run(env, ['orchestration', 'threads']);
  expect(out).toContain(known.address);
  expect(out).toContain('agent_gone');
  const none = await startEngine();
  expect((await run(none.env, ['agents', 'ls', '--team', 'blue'])).out).toContain('The team "blue" has no bots here.');
});

test('a delivery is a sentence: who wrote to whom, the first words, and who saw it arrive', async () => {
  const base = { to: 'tester@shop', via: 'pane', state: 'verified', evidence: 'hook', at };
  const deliveries = [
    { ...base, id: 'delivery_1', from: 'owner', firstWords: 'run the tests' },
    { ...base, id: 'delivery_2', state: 'queued', evidence: null, detail: 'working' },
  ];
  const { env } = await startEngine({ answers: { listDeliveries: () => ({ deliveries, nextCursor: null }) } });
  const { out } = await run(env, ['orchestration', 'deliveries']);
  expect(out).toContain('You → tester@shop: run the tests · verified by its hook');
  expect(out).toContain('to tester@shop · queued: the bot is working');
});

test('a thread says its last words, from whom to whom, and whether it is unanswered', async () => {
  const thread = { title: 'T', botId: 'agent_1', channel: null, lastMessageAt: at };
  const last = { from: 'owner', to: 'web@shop', firstWords: 'Is it ready?', direction: 'in' };
  const answered = { from: 'web@shop', to: 'owner', firstWords: 'Yes', direction: 'out' };
  const threads = [
    { ...thread, id: 'thread_1', last },
    { ...thread, id: 'thread_2', last: answered },
    { ...thread, id: 'thread_3' },
  ];
  const { env } = await startEngine({ answers: { listThreads: () => ({ threads, nextCursor: null }) } });
  const [, ...rows] = (await run(env, ['orchestration', 'threads'])).out.trim().split('\n');
  expect(rows).toEqual([
    expect.stringMatching(/unanswered · You → web@shop: Is it ready\?$/),
    expect.stringMatching(/T +web@shop → You: Yes$/),
    expect.stringMatching(/no messages yet$/),
  ]);
});

test('terminals that cannot be read are said, and what is shown is called the last known', async () => {
  const { env } = await startEngine({
    answers: {
      listAgents: () => ({
        agents: [agent('web', { stale: true })],
        engine: { running: false, error: 'The pane host is gone.' },
      }),
    },
  });
  const { out } = await run(env, ['agents', 'ls']);
  expect(out).toContain('idle (stale)');
  expect(out).toContain('The pane host is gone.');
});

test.each([
  ['agent_web', 0],
  ['web@demo', 0],
  ['web', 0],
  ['api', 64],
  ['nobody', 2],
])('a bot may be called %s', async (name, code) => {
  const { env } = await startEngine({
    agents: [agent('web'), agent('api'), agent('api', { id: 'agent_api2', address: 'api@other', team: 'other' })],
  });
  expect((await run(env, ['agents', 'show', name, '--json'])).code).toBe(code);
});

test('a screen is printed without colours where nobody looks, and no sequence of a bot gets through', async () => {
  const screen = {
    ansi: '\x1b[31mred\x1b[0m plain \x1b]0;title\x07\r\n\x1b[6nsecond',
    revision: 1,
    at,
    cols: 20,
    rows: 4,
    cursor: { x: 0, y: 0, visible: true },
  };
  const { env } = await startEngine({
    agents: [agent('web')],
    answers: { agentScreen: () => screen, captureAgent: () => ({ text: 'a\x1b]0;evil\x07b\n', at }) },
  });
  expect((await run(env, ['agents', 'screen', 'web'])).out).toBe('red plain\nsecond\n');
  expect((await run(env, ['agents', 'screen', 'web', '--json'])).json()).toEqual(screen);
  expect((await run(env, ['agents', 'capture', 'web'])).out).toBe('a\uFFFD]0;evil\uFFFDb\n');
});

test('a transcript is read page by page to its end', async () => {
  const pages: Record<string, { chunks: { at: string; text: string }[]; next: string | null }> = {
    '': { chunks: [{ at, text: 'one ' }], next: 'c1' },
    c1: { chunks: [{ at, text: 'two' }], next: 'c2' },
    c2: { chunks: [], next: 'c2' },
  };
  const { env } = await startEngine({
    agents: [agent('web')],
    answers: { agentTranscript: ({ query }) => pages[String(query.cursor ?? '')] },
  });
  expect((await run(env, ['agents', 'transcript', 'web'])).out).toBe('one two\n');
  expect((await run(env, ['agents', 'transcript', 'web', '--json'])).json()).toMatchObject({ next: 'c2' });
  expect((await run(env, ['agents', 'transcript', 'web', '--json', '--cursor', 'c1'])).json()).toMatchObject({
    chunks: [{ text: 'two' }],
  });
});

test('agents input sends text and keys in one request', async () => {
  const engine = await startEngine({ agents: [agent('web')], answers: { agentInput: () => ({ ok: true }) } });
  expect((await run(engine.env, ['agents', 'input', 'web', 'ls', '-la', '--key', 'Enter', 'C-c'])).code).toBe(64);
  expect((await run(engine.env, ['agents', 'input', 'web', '--key', 'Enter', 'C-c', '--', 'ls', '-la'])).code).toBe(0);
  expect(engine.seen.at(-1)).toMatchObject({ op: 'agentInput', body: { text: 'ls -la', keys: ['Enter', 'C-c'] } });
  expect((await run(engine.env, ['agents', 'input', 'web'])).code).toBe(64);
  expect((await run(engine.env, ['agents', 'input', 'web', '--dry-run'])).code).toBe(64);
});

const delivery = (change: Partial<Delivery>): Delivery => ({
  id: 'delivery_1',
  to: 'web@demo',
  via: 'pane',
  state: 'verified',
  evidence: 'hook',
  at,
  ...change,
});

test.each([
  ['verified', 'hook', 0, 'web@demo: verified by its hook (delivery_1)'],
  ['queued', null, 0, 'queued: the bot is working'],
  ['best_effort', null, 0, 'best effort'],
  ['unconfirmed', null, 4, 'agents screen web@demo'],
  ['failed', null, 3, 'failed'],
] as const)('a %s send ends with its exit code and says so', async (state, evidence, code, words) => {
  const answer = delivery({ state, evidence, detail: state === 'queued' ? 'the bot is working' : undefined });
  const engine = await startEngine({ answers: { sendMessage: () => answer } });
  const plain = await run(engine.env, ['orchestration', 'send', 'web@demo', 'Hello', 'you']);
  expect(plain.code).toBe(code);
  expect(plain.out).toContain(words);
  expect(engine.seen.at(-1)?.body).toEqual({ to: 'web@demo', text: 'Hello you' });
  const asked = await run(engine.env, ['orchestration', 'send', 'web@demo', 'Hello', '--json']);
  expect(asked.code).toBe(code);
  expect(asked.json()).toEqual(JSON.parse(JSON.stringify(answer)));
});

test.each([
  ['working', 'queued: the bot is working'],
  ['needs_you: it asks whether to trust the folder', 'queued: the bot needs you: it asks whether to trust the folder'],
  ['it was sent to the queue', 'queued: it was sent to the queue'],
])('a send that waits for %j says why as a person would', async (detail, words) => {
  const engine = await startEngine({
    answers: { sendMessage: () => delivery({ state: 'queued', evidence: null, detail }) },
  });
  expect((await run(engine.env, ['orchestration', 'send', 'web@demo', 'x'])).out).toContain(words);
});

test.each([[], ['--json']])('what the engine tells to run is named as it is called here %j', async (...json) => {
  const engine = await startEngine({
    answers: {
      sendMessage: () => {
        throw new AppError('not_found', 'No thread has the id x.', 'List them with `gantry orchestration threads`.');
      },
    },
  });
  const told = await run(engine.env, ['orchestration', 'reply', 'x', 'y', ...json]);
  expect(told.code).toBe(2);
  expect(told.out + told.err).toContain('`npx gantry orchestration threads`');
});

test.each([
  [[], {}],
  [['--queue'], { queue: true }],
  [['--no-queue'], { queue: false }],
  [
    ['--raw', '--key', 'k', '--thread', 't', '--dag', 'd', '--node', 'n'],
    { raw: true, idempotencyKey: 'k', threadId: 't', dagId: 'd', nodeId: 'n' },
  ],
] as const)('send %j asks for exactly that', async (options, body) => {
  const engine = await startEngine({ answers: { sendMessage: () => delivery({}) } });
  await run(engine.env, ['orchestration', 'send', 'web@demo', 'x', ...options]);
  expect(engine.seen.at(-1)?.body).toEqual({ to: 'web@demo', text: 'x', ...body });
});

test('the text of a message may come from stdin, and an empty one is refused', async () => {
  const engine = await startEngine({ answers: { sendMessage: () => delivery({}) } });
  await run(engine.env, ['orchestration', 'send', 'web@demo'], 'two\nlines\n');
  expect(engine.seen.at(-1)?.body).toEqual({ to: 'web@demo', text: 'two\nlines' });
  await run(engine.env, ['orchestration', 'reply', 'thread_1', '-'], '--json looks like an option\n');
  expect(engine.seen.at(-1)?.body).toEqual({ to: 'channel:thread_1', text: '--json looks like an option' });
  expect((await run(engine.env, ['orchestration', 'send', 'web@demo'], '')).code).toBe(64);
  expect((await run(engine.env, ['orchestration', 'send', 'web@demo'])).code).toBe(64);
});

test('teams down --all stops every team that has a live bot, once', async () => {
  const engine = await startEngine({
    agents: [
      agent('web'),
      agent('api'),
      agent('old', { address: 'old@gone', team: 'gone' }),
      agent('off', { address: 'off@quiet', team: 'quiet', pane: null, state: 'offline' }),
    ],
    answers: { teamDown: ({ params }) => ({ stopped: [`x@${params.name}`] }) },
  });
  expect((await run(engine.env, ['teams', 'down', '--all', '--json'])).json()).toEqual({
    stopped: ['x@demo', 'x@gone'],
  });
});

test('teams down does not call a bot stopped that it only lets go of', async () => {
  const { env } = await startEngine({ answers: { teamDown: () => ({ stopped: [], letGo: ['x@demo'] }) } });
  const down = await run(env, ['teams', 'down', 'demo']);
  expect(down.out).toMatch(/^Gantry no longer controls x@demo: .* it may still run there\.\n$/);
});

test('teams check names every problem with its line and ends with 64', async () => {
  const problems = [
    { path: 'bots[0].harness', line: 4, message: 'Unknown harness.' },
    { path: 'edges', line: null, message: 'No such bot.' },
  ];
  const { env } = await startEngine({
    answers: {
      checkTeam: () => ({ team: 'demo', ok: false, problems }),
      listTeams: () => ({ teams: [], invalid: [{ name: 'demo', problems }] }),
    },
  });
  for (const argv of [
    ['teams', 'check', 'demo'],
    ['teams', 'check'],
  ]) {
    const ran = await run(env, argv);
    expect(ran.code).toBe(64);
    expect(ran.out).toBe('demo: 2 problems\n  line 4, bots[0].harness: Unknown harness.\n  edges: No such bot.\n');
  }
  expect((await run(env, ['teams', 'ls'])).out).toContain('line 4, bots[0].harness');
});

test('events --json is one document with what came until the limit', async () => {
  const { env } = await startEngine({
    answers: {
      factoryEvents: (_seen, sink) => {
        sink?.send({ id: '7', data: { type: 'team.changed', at, data: { team: 'demo', change: 'up', agents: [] } } });
        sink?.send({ data: { type: 'agent.state', at, data: { agentId: 'a', state: 'idle', pane: null } } });
        return new Promise(() => {});
      },
    },
  });
  const ran = await run(env, ['orchestration', 'events', '--after', '0', '--limit', '2', '--json']);
  expect(ran.json()).toMatchObject({ events: [{ id: '7', type: 'team.changed' }, { id: null }], lastEventId: '7' });
  const plain = await run(env, ['orchestration', 'events', '--limit', '2']);
  expect(plain.out).toContain('team.changed');
  expect(plain.out).toContain('a is idle');
});

test('doctor without an engine still reports this computer, and says what was not checked', async () => {
  const ran = await run({ GANTRY_HOME: '/nonexistent/gantry', PATH: '' }, ['doctor']);
  expect(ran.code).toBe(0);
  expect(ran.out).toContain('Node');
  expect(ran.out).toContain('were not checked');
});

test('completion scripts are accepted by their shell', async () => {
  const { spawnSync } = await import('node:child_process');
  const { out } = await run({}, ['completion', 'bash']);
  const asked = `${out}\nCOMP_WORDS=(gantry teams ''); COMP_CWORD=2; _gantry; echo "\${COMPREPLY[@]}"`;
  const bash = spawnSync('bash', ['-c', asked], { encoding: 'utf8' });
  expect(bash.stderr).toBe('');
  expect(bash.stdout.trim()).toBe('ls up down check demo');
});
