/**
 * A step of a run on another machine: a cloud of many people, a computer that is paired with it, and `gantry worker` in a network of its own, from which
 * only the cloud's address can be reached. A bot's worktree goes there and comes back changed, is verified here, and its person merges it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import type { NodePage } from '../../src/contracts/factory/node.ts';
import { type People, type Person, startPeople } from '../cloud-api/identity/support.ts';
import { type Installation, pairUp, signIn, startInstallation } from '../host/paired-support.ts';
import { scratchHome } from '../host/support.ts';
import { keepUntilEnd, onEnd } from '../kit/http/support.ts';
import { text } from '../support/model-server/script.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { commandIn, createNetwork, noNetwork } from '../support/namespaces.ts';
import { startVictim } from '../support/victim.ts';

const stop = keepUntilEnd();
const waiting = { timeout: 60_000, interval: 100 };
const missing = noNetwork();
const cli = new URL('../../src/cli/main.ts', import.meta.url).pathname;
const forward = new URL('../support/forward-to-socket.ts', import.meta.url).pathname;

const team = `bots:
  - { bot: coder, binding: hosted, model: anthropic/claude-x, worktree: true }
`;
const template = {
  steps: [
    { id: 'write', executor: 'bot:coder', description: 'Begin.' },
    {
      id: 'build',
      executor: 'queue',
      in: 'write',
      blocked_by: ['write'],
      labels: { machine: 'other' },
      command: 'cat in.txt; sed s/one/two/ in.txt > out.txt; echo "key: $ANTHROPIC_API_KEY"',
      verify: { command: 'grep -q two out.txt' },
    },
  ],
};

let people: People;
let ada: Person;
let installation: Installation;
let workspace: string;
beforeAll(async () => {
  const model = await startModelServer(() => text('It is begun.'));
  onEnd(() => model.close());
  const home = scratchHome();
  workspace = join(home, 'ws');
  const git = (...args: readonly string[]) => execFileSync('git', ['-C', workspace, ...args]);
  mkdirSync(join(workspace, '.gantry', 'teams', 'ops'), { recursive: true });
  mkdirSync(join(workspace, '.gantry', 'templates'), { recursive: true });
  writeFileSync(join(workspace, '.gantry', 'teams', 'ops', 'team.yaml'), team);
  writeFileSync(join(workspace, '.gantry', 'templates', 'build.json'), JSON.stringify(template));
  writeFileSync(join(workspace, 'in.txt'), 'one\n');
  git('init', '-q', '-b', 'main');
  for (const [name, value] of Object.entries({ name: 'Ada', email: 'ada@example.test' }))
    git('config', `user.${name}`, value);
  git('add', '-A');
  git('commit', '-q', '-m', 'Begin');
  const env = { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'sk-test-canary-0123456789' };
  people = await startPeople();
  [installation, ada] = await Promise.all([startInstallation({ home, env }), signIn(people)]);
  const up = await installation.web('POST', '/api/factory/teams/ops/up', { body: {} });
  expect(up.status, up.text).toBe(200);
  await pairUp(installation, people, ada);
}, 120_000);
afterAll(stop);

async function node(dagId: string, step: string): Promise<NodePage> {
  return (await installation.engine('GET', `/api/factory/nodes/${dagId}/${step}`)).json as never as NodePage;
}

/** `gantry worker` on the other machine, with a key of this person. */
async function startOtherMachine(): Promise<void> {
  const made = await ada.call('POST', '/api/v1/keys', { body: { name: 'worker', scopes: ['work'] } });
  expect(made.status, made.text).toBe(201);
  const folder = scratchHome();
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, (made.json as never as { secret: string }).secret, { mode: 0o600 });
  const socket = join(folder, 'cloud.sock');
  const { hostname, port } = new URL(people.origin);
  const bridge = createServer((near) => {
    const far = connect(Number(port), hostname);
    near.on('error', () => far.destroy()).pipe(far);
    far.on('error', () => near.destroy()).pipe(near);
  });
  await new Promise<void>((resolve) => bridge.listen(socket, resolve));
  onEnd(async () => void bridge.close());
  const network = createNetwork();
  onEnd(() => network.close());
  const place = network.place('other');
  const run = (...words: readonly [string, ...string[]]) =>
    startVictim({ command: commandIn(place, ...words), env: { HOME: folder, GANTRY_HOME: join(folder, 'home') } });
  await run(process.execPath, forward, port, socket).until((line) => line === 'ready');
  const words = [
    '--url',
    people.origin,
    '--key-file',
    keyFile,
    '--name',
    'other',
    '--labels',
    'machine=other',
  ] as const;
  run(process.execPath, cli, 'worker', ...words);
}

test.skipIf(missing !== null)(
  'a step changes a bot’s worktree through a worker on another machine, is verified and merged (needs root)',
  async () => {
    const started = await installation.engine('POST', '/api/factory/runs', {
      body: { template: 'build', projectId: 'p', team: 'ops' },
    });
    expect(started.status, started.text).toBeLessThan(300);
    const { dagId } = started.json as never as { dagId: string };
    // Nobody is there yet: it says so, in the words that a person reads.
    const why = async () => {
      const { card } = await node(dagId, 'build');
      const asked = await installation.engine('GET', `/api/factory/why/${card.nodeId}`);
      return asked.text;
    };
    await expect.poll(why, waiting).toContain('no connected worker has the label machine=other');
    await startOtherMachine();
    const status = async () => (await node(dagId, 'build')).card.status;
    await expect.poll(status, waiting).toBe('done');
    const page = await node(dagId, 'build');
    expect(page.card).toMatchObject({ assignee: 'queue', cause: 'proven', proof: { proven: 2, total: 2 } });
    expect(page.output).toBe('one\nkey: ');
    expect(page.files.map(({ name }) => name)).toEqual(expect.arrayContaining(['build-1.log', 'build-1.diff']));
    expect(page.history.map(({ cause }) => cause)).toContain('at_worker');
    const { agents } = (await installation.web('GET', '/api/factory/agents')).json as never as { agents: Agent[] };
    const merged = await installation.engine('POST', `/api/factory/agents/${agents[0]?.id}/merge`, {
      body: { commit: 'Build it' },
    });
    expect(merged.status, merged.text).toBe(200);
    expect(readFileSync(join(workspace, 'out.txt'), 'utf8')).toBe('two\n');
  },
  180_000,
);
