/**
 * Bots on another computer as this one keeps them: two whole engines, and between them the cloud's own way to peers on a loopback
 * port. Tickets are as short as a test wants.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createToPeers } from '../../../../src/cloud-api/factory/to-peers.ts';
import { progressHeader } from '../../../../src/contracts/common/work-progress.ts';
import type { Delivery } from '../../../../src/contracts/factory/delivery.ts';
import { systemTimers } from '../../../../src/kit/clock/timers.ts';
import { createDispatcher } from '../../../../src/kit/http/dispatcher.ts';
import { everyScope } from '../../../../src/kit/http/principals.ts';
import { closeServer, createHttpServer, listenOnLoopback } from '../../../../src/kit/http/server.ts';
import { type RunOptions, runProcess } from '../../../../src/kit/process/run-process.ts';
import { answerWithinMs } from '../../../../src/runtime-server/messaging/send.ts';
import { uploadHash } from '../../../../src/runtime-server/peers/upload-hash.ts';
import { type Engine, startEngine, waitFor } from '../../engine.ts';
import { shells } from '../../shells.ts';
import { openStream } from '../../sse.ts';
import { openTicketOffice, peerComputer, type TicketClaims, type TicketOffice } from '../support.ts';

const user = 'user_ada';
let office: TicketOffice;
let here: Engine;
let there: Engine;
/** What the cloud was asked for, `METHOD path`. */
let asked: string[] = [];
let claims: () => TicketClaims = () => ({});
let origin = '';
let paired = true;
let cloudIsAway = false;
/** Sends to the other computer wait for it on their way, as in a link that was cut without a word. */
let silence: Promise<void> = Promise.resolve();
/** What happens when the time for the answer to a send is over. */
let timeIsOver: (() => void)[] = [];
const homeListeners = new Set<() => void>();
const ends: (() => Promise<void>)[] = [];
const url = 'https://git.example/team/app.git';
/** Under which a start is followed. */
const key = 'start-of-the-app';

beforeAll(async () => {
  office = await openTicketOffice();
  const onEnd = (end: () => Promise<void>) => void ends.push(end);
  const cloud = await startCloud();
  there = await startEngine({ onEnd, pairing: office.pairing, computerId: peerComputer, runGit: gitOnDisk });
  here = await startEngine({
    onEnd,
    timers: {
      ...systemTimers,
      after(ms, run) {
        if (ms === answerWithinMs) timeIsOver.push(run);
        return systemTimers.after(ms, run);
      },
    },
    peerHome: {
      // Nobody listens on the discard port.
      address: () => (!paired ? null : cloudIsAway ? 'http://127.0.0.1:9' : cloud),
      mintToken: async () => ({ token: 'device', expiresAt: Date.now() + 300_000 }),
      onChange(listener) {
        homeListeners.add(listener);
        return () => homeListeners.delete(listener);
      },
    },
  });
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

/** The part of a cloud that leads from one computer to another. */
async function startCloud(): Promise<string> {
  const bridge = await openBridge();
  const toPeers = createToPeers({
    link: {
      open: () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect((bridge.address() as AddressInfo).port, '127.0.0.1', () => resolve(socket));
          socket.once('error', reject);
        }),
    },
    computers: { resolve: async (_user, named) => (named === peerComputer ? peerComputer : null) },
    tickets: { mintTicket: () => office.mint(user, claims()) },
  });
  const dispatcher = createDispatcher({
    listener: { kind: 'tcp', origins: 'none' },
    authenticators: [
      {
        name: 'device',
        authenticate: () => ({ kind: 'device', userId: user, scopes: everyScope, via: 'device-token' }),
      },
    ],
    routes: toPeers.routes,
    owners: {},
    ids: { next: (prefix) => `${prefix}_1` },
    log: { warn() {}, error: console.error },
  });
  const computers = [
    { id: peerComputer, cloudId: 'cc_1', name: 'Attic' },
    { id: 'computer_2', cloudId: 'cc_2', name: 'Twin' },
    { id: 'computer_3', cloudId: 'cc_3', name: 'twin' },
  ];
  const server = createHttpServer((request, response) => {
    asked.push(`${request.method} ${request.url?.split('/factory-peer/')[1]}`);
    if (request.url === '/api/v1/computers') response.end(JSON.stringify({ computers }));
    else if (request.url?.endsWith('/factory-peer/send')) {
      void silence.then(() => dispatcher.handle(request, response));
    } else void dispatcher.handle(request, response);
  });
  const port = await listenOnLoopback(server, 0, '--port');
  ends.push(async () => {
    dispatcher.close('over');
    toPeers.close();
    await Promise.all([closeServer(server), new Promise((resolve) => bridge.close(resolve))]);
  });
  return `http://127.0.0.1:${port}`;
}

/** Connections that reach the other computer as if they came through its link. */
function openBridge(): Promise<Server> {
  const bridge = createServer((socket) => there.peers?.connection(socket));
  return new Promise((resolve) => bridge.listen(0, '127.0.0.1', () => resolve(bridge)));
}

/** A clone that counted so far, and goes on when the test says so. */
let halfway: Promise<void> = Promise.resolve();
const gitOnDisk = async (options: RunOptions) => {
  if (options.command.includes('clone')) {
    options.onStderr?.('Receiving objects:  50% (5/10)\r');
    await halfway;
  }
  return runProcess({
    ...options,
    env: {
      ...options.env,
      GIT_ALLOW_PROTOCOL: 'file',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: `url.file://${origin}.insteadOf`,
      GIT_CONFIG_VALUE_0: url,
    },
  });
};

interface Up {
  readonly plan: { agent: string; reason: string }[];
}
const up = async (name: string, ...slugs: string[]) => {
  here.team(name, shells(...slugs));
  const reply = await here.call<Up>('POST', `/teams/${name}/up`, { on: 'Attic' });
  expect([reply.status, reply.body]).toEqual([200, expect.anything()]);
  for (const slug of slugs) await here.until(`${slug}@${name}`, 'idle');
  return reply.body;
};
const type = (address: string, text: string) =>
  here.call('POST', `/agents/${address}/input`, { text, keys: ['Enter'] });

test('all who look at a remote pane share one stream of it, and a late one sees the screen at once', async () => {
  await up('shared', 'web');
  asked = [];
  const viewers = await Promise.all([1, 2, 3].map(() => openStream(here, '/agents/web@shared/stream')));
  for (const viewer of viewers) await viewer.next(({ event }) => event === 'screen');
  await type('web@shared', 'echo o"ne"');
  for (const viewer of viewers) await viewer.next(({ data }) => String(data.ansi).includes('one'));
  const late = await openStream(here, '/agents/web@shared/stream');
  expect((await late.next(({ event }) => event === 'screen')).data.ansi).toContain('one');
  expect(asked.filter((line) => line.startsWith('GET stream'))).toEqual(['GET stream?to=web%40shared']);
  for (const viewer of [...viewers, late]) viewer.close();
  // The last one to leave ends it there, too.
  const again = await openStream(here, '/agents/web@shared/stream');
  await again.next(({ event }) => event === 'screen');
  expect(asked.filter((line) => line.startsWith('GET stream')).length).toBe(2);
  again.close();
  await here.call('POST', '/teams/shared/down');
});

test('a ticket that ends is no end for who looks: the next stream goes on', async () => {
  await up('tickets', 'web');
  claims = () => {
    const now = Math.floor(Date.now() / 1000);
    // Over within a second, by the tolerance of its check.
    return { iat: now - 300, exp: now - 29 };
  };
  asked = [];
  const viewer = await openStream(here, '/agents/web@tickets/stream');
  await waitFor(
    () => asked.filter((line) => line.startsWith('GET stream')).length,
    (count) => count >= 3,
  );
  await type('web@tickets', 'echo st"ill"');
  await viewer.next(({ data }) => String(data.ansi).includes('still'));
  expect(viewer.events.some(({ event }) => event === 'gone')).toBe(false);
  claims = () => ({});
  viewer.close();
  await here.call('POST', '/teams/tickets/down');
});

test('a bot that ends by itself there is offline here, with the reason, and its viewers are told', async () => {
  await up('ends', 'web', 'api');
  const viewer = await openStream(here, '/agents/web@ends/stream');
  await viewer.next(({ event }) => event === 'screen');
  await type('web@ends', 'exit 3');
  await viewer.ended;
  expect(viewer.events.at(-1)?.event).toBe('gone');
  const ended = await waitFor(
    () => here.agent('web@ends'),
    (agent) => agent.pane === null,
  );
  expect(ended).toMatchObject({ state: 'offline', runner: 'local', stateReason: expect.stringContaining('3') });
  expect((await type('web@ends', 'x')).status).toBe(404);
  const sent = await here.call<{ state: string }>('POST', '/send', { to: 'web@ends', text: 'x' });
  expect(sent.body.state).toBe('queued');
  const again = await here.call<Up>('POST', '/teams/ends/up', { on: peerComputer });
  expect(again.status).toBe(200);
  await here.until('web@ends', 'idle');
  await here.call('POST', '/teams/ends/down');
});

test('a bot that was started anew there while this computer was off goes on here with its new pane', async () => {
  await up('anew', 'web');
  const { pane } = await here.agent('web@anew');
  await here.stop();
  const authorization = `Bearer ${await office.mint(user)}`;
  const peer = async (path: string, body: object) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const target = `http://127.0.0.1:${there.peers?.port}/api/factory/peer/${path}`;
    return (await fetch(target, { method: 'POST', headers, body: JSON.stringify(body) })).status;
  };
  expect(await peer('stop', { to: 'web@anew' })).toBe(200);
  const files = { 'team.yaml': shells('web') };
  expect(await peer('teams/anew/up', { files, trusted: uploadHash(files), bots: ['web'] })).toBe(200);
  await here.restart();
  const anew = await waitFor(
    () => here.agent('web@anew'),
    (agent) => agent.state === 'idle' && agent.pane?.id !== pane?.id,
  );
  expect(anew).toMatchObject({ runner: `remote:${peerComputer}`, stale: false });
  await type('web@anew', 'echo ne"w"');
  await waitFor(
    async () => (await here.call<{ text: string }>('GET', '/agents/web@anew/capture')).body.text,
    (text) => text.includes('new\n'),
  );
  await here.call('POST', '/teams/anew/down');
});

test('that a bot there needs its person is told by the computer it runs on, and by that alone', async () => {
  await up('needy', 'web');
  await type('web@needy', 'echo "unfinished');
  await here.until('web@needy', 'needs_you');
  const needs = ({ told }: Engine) => told.filter((event) => event.type === 'thread.needs_user');
  const [told] = await waitFor(
    () => needs(there),
    ({ length }) => length === 1,
  );
  expect(told?.data).toMatchObject({ botName: 'web', reason: expect.stringContaining('unfinished command') });
  // Both began to wait at nearly the same time: one question more, and whoever tells has told of the first.
  await type('web@needy', '"');
  await here.until('web@needy', 'idle');
  await type('web@needy', 'echo "again');
  await waitFor(
    () => needs(there),
    ({ length }) => length === 2,
  );
  expect(needs(here)).toEqual([]);
  await here.call('POST', '/teams/needy/down');
});

test('a bot of this computer that writes to one there is named in the message', async () => {
  await up('talk', 'web');
  here.team('local', shells('dev'));
  await here.call('POST', '/teams/local/up', {});
  await here.until('dev@local', 'idle');
  const token = await here.botToken('dev@local');
  const sent = await here.call<{ state: string }>('POST', '/send', { to: 'web@talk', text: 'true' }, { token });
  expect(sent.body.state).toBe('verified');
  const { body } = await here.call<{ text: string }>('GET', '/agents/web@talk/capture');
  expect(body.text).toContain('From dev@local (another computer)');
  await here.call('POST', '/teams/talk/down');
  await here.call('POST', '/teams/local/down');
});

test.each([
  ['may wait', {}, 'queued', 'its computer has not answered yet; Gantry asks again, and it arrives once'],
  [
    'may not wait',
    { queue: false },
    'unconfirmed',
    'its computer has not answered: whether it arrived there is unknown',
  ],
])(
  'a message into a link that is silent says so (it %s), and arrives once when that speaks',
  async (_how, queue, state, detail) => {
    const team = `silent-${state}`;
    await up(team, 'web');
    let speak = () => {};
    silence = new Promise((resolve) => {
      speak = resolve;
    });
    asked = [];
    timeIsOver = [];
    const sending = here.call<Delivery>('POST', '/send', { to: `web@${team}`, text: 'echo once', ...queue });
    await waitFor(
      () => asked,
      (calls) => calls.includes('POST send'),
    );
    for (const over of timeIsOver) over();
    expect((await sending).body).toMatchObject({ state, via: 'peer', detail });
    speak();
    const { id } = (await sending).body;
    await waitFor(
      async () => (await here.call<{ deliveries: Delivery[] }>('GET', '/deliveries')).body.deliveries,
      (all) => all.some((one) => one.id === id && one.state === 'verified'),
    );
    const { body } = await here.call<{ text: string }>('GET', `/agents/web@${team}/capture`);
    expect(body.text.match(/^echo once$/gm)).toHaveLength(1);
    await here.call('POST', `/teams/${team}/down`);
  },
);

test('a workspace whose commit is pushed is cloned there, with how far the clone is; one that is not goes without, and the plan says so', async () => {
  const git = (...args: string[]) => {
    const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'init.defaultBranch=main'];
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    return execFileSync('git', ['-C', here.workspace, ...who, ...args], { encoding: 'utf8', env }).trim();
  };
  origin = here.workspace;
  git('init', '-q');
  here.write('.gitignore', '.gantry/\n');
  here.write('README.md', 'cloned\n');
  git('add', '-A');
  git('commit', '-q', '-m', 'one');
  git('remote', 'add', 'origin', 'https://token:secret@git.example/team/app.git');
  const alone = await up('plain', 'web');
  expect(alone.plan[0]?.reason).toContain('is not pushed');
  await here.call('POST', '/teams/plain/down');

  git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  here.write('README.md', 'changed\n');
  const { promise, resolve } = Promise.withResolvers<void>();
  halfway = promise;
  here.team('app', shells('web'));
  const starting = here.call<Up>('POST', '/teams/app/up', { on: 'Attic' }, { headers: { [progressHeader]: key } });
  const progress = async () => (await here.call<{ progress: unknown }>('GET', `/progress/${key}`)).body.progress;
  const told = { what: 'Attic: Receiving objects', done: 5, total: 10, unit: 'objects' };
  expect(await waitFor(progress, (found) => found !== null)).toMatchObject(told);
  resolve();
  const cloned = (await starting).body;
  expect(await progress()).toBe(null);
  await here.until('web@app', 'idle');
  expect(cloned.plan[0]?.reason).toContain(`in a clone of ${url} at `);
  expect(cloned.plan[0]?.reason).toContain('without what is not committed here');
  expect(JSON.stringify(cloned)).not.toContain('secret');
  await type('web@app', 'cat README.md; git status --short | wc -l');
  await waitFor(
    async () => (await here.call<{ text: string }>('GET', '/agents/web@app/capture')).body.text,
    (text) => text.includes('cloned'),
  );
  mkdirSync(join(there.home, 'peers', user, 'app', '.gantry', 'ledger'), { recursive: true });
  writeFileSync(join(there.home, 'peers', user, 'app', '.gantry', 'ledger', 'x'), '');
  git('commit', '-q', '-a', '-m', 'two');
  git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  const moved = await here.call<{ error: { fact: string } }>('POST', '/teams/app/up', { on: 'Attic' });
  expect([moved.status, moved.body.error.fact]).toEqual([400, expect.stringContaining('on another commit')]);
  await here.call('POST', '/teams/app/down');
  await up('app', 'web');
  await type('web@app', 'cat README.md');
  await waitFor(
    async () => (await here.call<{ text: string }>('GET', '/agents/web@app/capture')).body.text,
    (text) => text.includes('changed'),
  );
  await here.call('POST', '/teams/app/down');
});

test('the plan for another computer says that setup: of a bot is not run there, of each bot that has one', async () => {
  origin = here.workspace;
  here.team(
    'ready',
    'setup: { command: npm ci }\nbots:\n  - { bot: web, harness: shell, worktree: true }\n  - { bot: api, harness: shell }\n',
  );
  for (const dryRun of [true, false]) {
    const reply = await here.call<Up>('POST', '/teams/ready/up', { on: 'Attic', dryRun });
    expect([reply.status, reply.body]).toEqual([200, expect.anything()]);
    const said = reply.body.plan.map(({ agent, reason }) => [agent, reason.includes('setup: does not run')]);
    expect(said).toEqual([
      ['web@ready', true],
      ['api@ready', false],
    ]);
  }
  await here.call('POST', '/teams/ready/down');
});

test('a computer is found by its id, its cloud id or its name; of two with one name an id is asked for', async () => {
  here.team('named', shells('web'));
  const to = (on: string) =>
    here.call<{ error?: { fact: string; action: string } }>('POST', '/teams/named/up', { on, dryRun: true });
  for (const on of [peerComputer, 'cc_1', 'attic']) expect((await to(on)).status).toBe(200);
  const twins = await to('Twin');
  expect([twins.status, twins.body.error?.action]).toEqual([400, expect.stringContaining('computer_2, computer_3')]);
  const none = await to('Cellar');
  expect([none.status, none.body.error?.action]).toEqual([404, expect.stringContaining('Attic, Twin, twin')]);
});

test('while the cloud is away the bots of this computer start, and those of another one are left for later', async () => {
  here.team('half', 'bots:\n  - {bot: near, harness: shell}\n  - {bot: far, harness: shell, machine: Attic}\n');
  cloudIsAway = true;
  const first = await here.call<{ plan: { agent: string; action: string }[] }>('POST', '/teams/half/up', {});
  cloudIsAway = false;
  expect(first.body.plan.map(({ agent, action }) => [agent, action])).toEqual([
    ['near@half', 'spawn'],
    ['far@half', 'skip'],
  ]);
  await here.call('POST', '/teams/half/up', {});
  await here.until('far@half', 'idle');
  expect(await here.agent('far@half')).toMatchObject({ machine: peerComputer });
  await here.call('POST', '/teams/half/down');
});

test('once this computer is paired with nobody, its remote bots are stale, and down forgets them', async () => {
  await up('left', 'web');
  paired = false;
  for (const listener of homeListeners) listener();
  await there.stop();
  const agent = await waitFor(
    () => here.agent('web@left'),
    (now) => now.stale,
  );
  expect(agent.stateReason).toContain('Attic cannot be reached');
  expect((await type('web@left', 'x')).status).toBe(502);
  const down = await here.call<{ stopped: string[] }>('POST', '/teams/left/down');
  expect(down.body).toEqual({ stopped: [], letGo: ['web@left'] });
  expect(await here.agent('web@left')).toMatchObject({ state: 'offline', runner: 'local', stale: false });
});
