/** What another computer of the person may do here, and what it may not (interface.md C "Peer routes"; security.md 2.3). */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FactoryError } from '../../../../src/contracts/common/errors.ts';
import type { Guest } from '../../../../src/contracts/factory/guest-routes.ts';
import { type PeerAgent, type PeerUpResult, peerRoutes } from '../../../../src/contracts/factory/peer-routes.ts';
import { rawRequest } from '../../../kit/http/support.ts';
import { type Engine, ownerToken, startEngine, waitFor } from '../engine.ts';
import { issuer, openTicketOffice, peerCaller, peerComputer, type TicketOffice, teamOf } from './support.ts';

let engine: Engine;
let office: TicketOffice;
let ada: ReturnType<typeof peerCaller>;
let bob: ReturnType<typeof peerCaller>;
let end = async () => {};
beforeAll(async () => {
  office = await openTicketOffice();
  engine = await startEngine({
    pairing: office.pairing,
    computerId: peerComputer,
    onEnd: (stop) => {
      end = stop;
    },
  });
  ada = peerCaller(() => engine, office, 'user_ada');
  bob = peerCaller(() => engine, office, 'user_bob');
});
afterAll(() => end());

const up = (name: string, body: object, who = ada) => who.call<PeerUpResult>('POST', `/teams/${name}/up`, body);
const send = (to: string, text: string, key: string) =>
  ada.call<{ state: string }>('POST', '/send', { to, text }, { headers: { 'idempotency-key': key } });
const agentsOf = async (who = ada) => (await who.call<{ agents: PeerAgent[] }>('GET', '/agents')).body.agents;
const idle = (address: string, who = ada) =>
  waitFor(
    async () => (await agentsOf(who)).find((agent) => agent.address === address),
    (agent) => agent?.state === 'idle',
  );
const pathOf = (path: string) => path.replace('/api/factory/peer', '').replace(':name', 'dev');

test('every peer route refuses whoever has no ticket for this computer now', async () => {
  const now = Math.floor(Date.now() / 1000);
  const bad = {
    junk: 'junk',
    owner: ownerToken,
    otherComputer: await office.mint('user_ada', { audience: 'computer:computer_01OTHER' }),
    accessToken: await office.mint('user_ada', { typ: 'at+jwt' }),
    otherCloud: await office.mint('user_ada', { issuer: 'https://other.example' }),
    otherKey: await (await openTicketOffice()).mint('user_ada'),
    expired: await office.mint('user_ada', { iat: now - 400, exp: now - 100 }),
    fromTheFuture: await office.mint('user_ada', { iat: now + 3600, exp: now + 3700 }),
    forYears: await office.mint('user_ada', { iat: now - 86_400, exp: now + 10 * 365 * 86_400 }),
  };
  expect((await ada.call('GET', '/hello')).status).toBe(200);
  for (const ticket of Object.values(bad)) {
    const reply = await ada.call('GET', '/hello', undefined, { ticket });
    expect([401, 429]).toContain(reply.status);
  }
  for (const route of peerRoutes) {
    const reply = await ada.call(route.method, pathOf(route.path), undefined, { ticket: bad.accessToken });
    expect([route.op, [401, 429].includes(reply.status)]).toEqual([route.op, true]);
  }
});

test('a ticket opens the peer port alone, and a wrong Host opens nothing', async () => {
  const ticket = await office.mint('user_ada');
  expect((await engine.call('GET', '/agents', undefined, { token: ticket })).status).toBe(401);
  const { port } = engine.peers as { port: number };
  const head = `GET /api/factory/peer/hello HTTP/1.1\r\nAuthorization: Bearer ${ticket}\r\nConnection: close\r\n`;
  expect(await rawRequest(port, `${head}Host: evil.example:${port}\r\n\r\n`)).toContain(' 421 ');
  expect(await rawRequest(port, `${head}Host: 127.0.0.1:${port}\r\nHost: evil.example\r\n\r\n`)).toMatch(/ 4(00|21) /);
});

test('the peer port serves nothing but peer routes, and no web page', async () => {
  const { port } = engine.peers as { port: number };
  const headers = { authorization: `Bearer ${await office.mint('user_ada')}` };
  for (const path of ['/api/factory/agents', '/api/factory/teams', '/api/v1/session', '/']) {
    expect((await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status).toBe(404);
  }
  const page = await fetch(`http://127.0.0.1:${port}/api/factory/peer/hello`, {
    headers: { ...headers, origin: 'http://evil.example' },
  });
  expect(page.status).toBe(403);
});

test('whatever comes in with a ticket, a peer route answers in its shape and never with a fault', async () => {
  const word = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom('__proto__', 'constructor', '..', 'web@dev', 'a'.repeat(300), '\u202e', ''),
  );
  const names = fc.constantFrom('to', 'text', 'keys', 'cols', 'rows', 'files', 'bots', 'repo', 'preset', 'dryRun', 'x');
  const body = fc.oneof(fc.jsonValue(), fc.dictionary(names, fc.oneof(fc.jsonValue(), word)));
  const ticket = await office.mint('user_fuzz');
  const open = new Set(['peerHello', 'peerAgents', 'peerEvents']);
  for (const route of peerRoutes.filter(({ op }) => !open.has(op))) {
    await fc.assert(
      fc.asyncProperty(word, fc.dictionary(word, word, { maxKeys: 3 }), body, async (name, query, sent) => {
        const path = route.path
          .replace('/api/factory/peer', '')
          .replace(':name', encodeURIComponent(name.toWellFormed()));
        const search = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, value])).toString();
        const reply = await ada.call(
          route.method,
          search === '' ? path : `${path}?${search}`,
          route.method === 'GET' ? undefined : sent,
          { ticket },
        );
        expect([400, 404, 409]).toContain(reply.status);
        expect(FactoryError.safeParse(reply.body).success).toBe(true);
      }),
      { numRuns: 12 },
    );
  }
});

test('two users with the same key and the same names send their own messages', async () => {
  const [carl, dora] = ['user_carl', 'user_dora'].map((user) => peerCaller(() => engine, office, user)) as [
    typeof ada,
    typeof ada,
  ];
  for (const who of [carl, dora]) await up('same', { files: teamOf('web'), bots: ['web'] }, who);
  await idle('web@same', carl);
  await idle('web@same', dora);
  const headers = { 'idempotency-key': 'same' };
  const [first, second] = await Promise.all(
    [carl, dora].map((who) =>
      who.call<{ messageId: string }>('POST', '/send', { to: 'web@same', text: 'true' }, { headers }),
    ),
  );
  expect([first?.status, second?.status]).toEqual([200, 200]);
  expect(first?.body.messageId).not.toBe(second?.body.messageId);
  for (const who of [carl, dora]) await who.call('POST', '/teams/same/down');
});

test('hello names the computer, its engine and the user of the ticket', async () => {
  const { body } = await ada.call('GET', '/hello');
  expect(body).toEqual({ computerId: peerComputer, engine: engine.ledger.engineId, user: 'user_ada' });
});

test('a brought team starts the named bots alone, in a workspace of its own, and can be seen, typed into, sent to and stopped', async () => {
  const dry = await up('dev', { files: teamOf('web', 'api'), bots: ['web'], dryRun: true });
  expect(dry).toMatchObject({
    status: 200,
    body: { applied: false, results: [{ agent: 'web@dev', state: 'planned' }] },
  });
  expect(existsSync(join(engine.home, 'peers', 'user_ada'))).toBe(false);

  const brought = await up('dev', { files: { ...teamOf('web', 'api'), 'notes/a.md': 'ä' }, bots: ['web'] });
  expect(brought.status).toBe(200);
  const root = join(engine.home, 'peers', 'user_ada', 'dev');
  expect(brought.body).toMatchObject({ applied: true, root, results: [{ agent: 'web@dev', state: 'started' }] });
  expect(brought.body.plan.map(({ agent, action }) => [agent, action])).toEqual([
    ['web@dev', 'spawn'],
    ['api@dev', 'skip'],
  ]);
  expect(readFileSync(join(root, '.gantry', 'teams', 'dev', 'notes', 'a.md'), 'utf8')).toBe('ä');
  const web = await idle('web@dev');
  expect(web).toMatchObject({ live: true, harness: 'shell', session: brought.body.results[0]?.session });
  expect((await agentsOf()).find((agent) => agent.address === 'api@dev')).toMatchObject({ live: false, session: null });

  const typed = await ada.call('POST', '/input', {
    to: 'web@dev',
    text: 'echo $GANTRY_WORKSPACE; pwd',
    keys: ['Enter'],
  });
  expect(typed).toEqual({ status: 200, body: { ok: true } });
  const seen = await waitFor(
    async () => (await ada.call<{ text: string }>('GET', '/capture?to=web@dev&lines=20')).body,
    (capture) => capture.text.split(root).length > 2,
  );
  expect(seen).toMatchObject({ to: 'web@dev', session: web?.session, lines: 20 });
  const screen = await ada.call('GET', '/screen?to=web@dev');
  expect(screen.body).toMatchObject({ ansi: expect.any(String), revision: expect.any(Number), at: expect.any(String) });

  // What a person typed a moment ago holds it back for a while; the key keeps it one message.
  const sent = await waitFor(
    () => send('web@dev', 'echo from afar', 'first'),
    ({ body }) => body.state === 'verified',
  );
  expect(sent).toMatchObject({ status: 200, body: { to: 'web@dev', messageId: expect.any(String) } });

  const again = await up('dev', { files: teamOf('web', 'api'), bots: ['web'] });
  expect(again.body).toMatchObject({ applied: true, results: [{ state: 'running', session: web?.session }] });
  expect(readdirSync(join(root, '.gantry', 'teams'))).toEqual(['dev']);
  expect(existsSync(join(root, '.gantry', 'teams', 'dev', 'notes'))).toBe(false);

  expect((await ada.call('POST', '/stop', { to: 'web@dev' })).body).toEqual({ stopped: ['web@dev'] });
  expect((await ada.call('GET', '/screen?to=web@dev')).status).toBe(404);
  await up('dev', { files: teamOf('web', 'api'), bots: ['web', 'api'] });
  const down = await ada.call<{ stopped: string[] }>('POST', '/teams/dev/down');
  expect(down.body.stopped.toSorted()).toEqual(['api@dev', 'web@dev']);
});

test('one user’s bots and teams are not there for another, nor for the bots and people of this computer', async () => {
  await up('mine', { files: teamOf('web'), bots: ['web'] });
  await idle('web@mine');
  expect(await agentsOf(bob)).toEqual([]);
  const unknown = await bob.call('GET', '/capture?to=web@nowhere');
  for (const [method, path, body] of [
    ['GET', '/capture?to=web@mine', undefined],
    ['GET', '/screen?to=web@mine', undefined],
    ['GET', '/stream?to=web@mine', undefined],
    ['GET', '/transcript?to=web@mine', undefined],
    ['POST', '/send', { to: 'web@mine', text: 'x' }],
    ['POST', '/input', { to: 'web@mine', text: 'x' }],
    ['POST', '/stop', { to: 'web@mine' }],
    ['POST', '/teams/mine/down', undefined],
  ] as const) {
    const reply = await bob.call<{ error: { fact: string } }>(method, path, body);
    expect([path, reply.status]).toEqual([path, 404]);
  }
  const foreign = await bob.call<{ error: { fact: string } }>('GET', '/capture?to=web@mine');
  expect(JSON.stringify(foreign.body).replace('web@mine', 'web@nowhere')).toBe(JSON.stringify(unknown.body));
  expect((await engine.call('GET', '/agents/web@mine')).status).toBe(404);
  expect((await engine.call('POST', '/send', { to: 'web@mine', text: 'x' })).status).toBe(404);
  expect(engine.factory.liveBots()).toBeGreaterThan(0);
});

test('whoever sits at this computer sees the bots that others brought, and stops them', async () => {
  await up('seen', { files: teamOf('web'), bots: ['web'] });
  await idle('web@seen');
  const { body } = await engine.call<{ guests: Guest[] }>('GET', '/guests');
  const live = body.guests.filter((guest) => guest.pane !== null);
  expect(live).toContainEqual(expect.objectContaining({ address: 'web@seen', user: 'user_ada', state: 'idle' }));
  const { checks } = (await engine.call<{ checks: { name: string; detail: string }[] }>('GET', '/doctor')).body;
  expect(checks.find((check) => check.name === 'Bots from elsewhere')?.detail).toContain('web@seen');
  const dry = await engine.call<{ plan: { stop: string[] } }>('POST', '/guests/down', { dryRun: true });
  expect(dry.body.plan.stop.toSorted()).toEqual(live.map((guest) => guest.address).toSorted());
  const stopped = await engine.call<{ stopped: string[] }>('POST', '/guests/down', {});
  expect(stopped.body.stopped.toSorted()).toEqual(dry.body.plan.stop.toSorted());
  expect((await agentsOf()).filter((agent) => agent.live)).toEqual([]);
});

test('a guest reaches its own crew by its own token, and nothing of this computer’s workspace', async () => {
  engine.team('own', teamOf('boss')['team.yaml']);
  await engine.call('POST', '/teams/own/up', {});
  await up('guests', { files: teamOf('web', 'api'), bots: ['web', 'api'] });
  await idle('web@guests');
  await idle('api@guests');
  const folders = readdirSync(join(engine.home, 'run', 'bots'));
  const tokens = folders.map((id) => ({
    id,
    token: readFileSync(join(engine.home, 'run', 'bots', id, 'token'), 'utf8').trim(),
  }));
  const mine: { id: string; token: string; agents: string[] }[] = [];
  for (const each of tokens) {
    const { status, body } = await engine.call<{ agents: { id: string; address: string }[] }>(
      'GET',
      '/agents',
      undefined,
      each,
    );
    if (status === 200) mine.push({ ...each, agents: body.agents.map((agent) => agent.address) });
  }
  const guest = mine.find((each) => each.agents.includes('web@guests'));
  expect(guest?.agents).toEqual(['web@guests', 'api@guests']);
  const own = mine.find((each) => each.agents.includes('boss@own'));
  expect(own?.agents.some((address) => address.endsWith('@guests'))).toBe(false);

  const asGuest = <T>(method: string, path: string, body?: unknown) =>
    engine.call<T>(method, path, body, { token: guest?.token ?? '' });
  const sent = await asGuest('POST', '/send', { to: 'api@guests', text: 'true' });
  expect(sent).toMatchObject({ status: 200, body: { state: 'verified' } });
  expect((await asGuest('POST', '/send', { to: 'boss@own', text: 'x' })).status).toBe(404);
  expect((await asGuest('GET', '/agents/boss@own/capture')).status).toBe(404);
  expect((await asGuest('GET', '/nodes')).status).toBe(403);
  expect((await asGuest<{ path: string }>('GET', '/workspace')).body.path).toBe(
    join(engine.home, 'peers', 'user_ada', 'guests'),
  );
  expect((await asGuest('GET', '/campaigns')).status).toBe(403);
  const asOwn = await engine.call('POST', '/send', { to: 'web@guests', text: 'x' }, { token: own?.token ?? '' });
  expect(asOwn.status).toBe(404);
  await ada.call('POST', '/teams/guests/down');
  await engine.call('POST', '/teams/own/down');
});

test('a step that fails answers 409 with the same body, and nothing new runs', async () => {
  const files = {
    'team.yaml': `bots:
  - {bot: web, harness: shell}
  - {bot: far, harness: shell, cwd: /etc}
  - {bot: key, harness: shell, env: {KEY: "vault:KEY"}}
  - {bot: loop, binding: hosted, model: anthropic/claude-sonnet-4-5}
  - {bot: none, harness: custom, command: /no/such/program}
`,
  };
  const reply = await up('broken', { files, bots: ['web', 'far', 'key', 'loop'] });
  expect(reply.status).toBe(409);
  expect(reply.body).toMatchObject({ applied: false, root: expect.stringContaining('broken') });
  expect(reply.body.results.map(({ agent, state }) => [agent, state])).toEqual([
    ['web@broken', 'not_started'],
    ['far@broken', 'failed'],
    ['key@broken', 'failed'],
    ['loop@broken', 'failed'],
  ]);
  expect(existsSync(join(engine.home, 'peers', 'user_ada', 'broken'))).toBe(false);
  const missing = await up('broken', { files, bots: ['web', 'none'] });
  expect(missing.status).toBe(409);
  expect(missing.body.results.find((one) => one.agent === 'none@broken')?.error?.fact).toContain('/no/such/program');
  expect((await agentsOf()).filter((agent) => agent.live && agent.address.endsWith('@broken'))).toEqual([]);
  const strange = await up('broken', { files, bots: ['nobody'] });
  expect(strange.status).toBe(400);
});

test('a bot whose folder does not come along hinders the whole team, in a dry run too, and is told in one sentence', async () => {
  const files = {
    'team.yaml':
      'bots:\n  - {bot: web, harness: shell, cwd: app}\n  - {bot: mine, harness: shell, cwd: .gantry/teams/apart/notes}\n',
    'notes/a.txt': 'a',
  };
  for (const dryRun of [true, false]) {
    const reply = await up('apart', { files, bots: ['web', 'mine'], dryRun });
    expect(reply.status).toBe(409);
    const [web, mine] = reply.body.results;
    expect(web?.error?.fact).toBe(
      "its folder app does not come along: without a repository only the team's own folder does",
    );
    expect(mine).toMatchObject({ agent: 'mine@apart', state: 'not_started' });
  }
  expect(existsSync(join(engine.home, 'peers', 'user_ada', 'apart'))).toBe(false);
});

test('a stream gives screens and then gone; it ends with its ticket', async () => {
  await up('watched', { files: teamOf('web'), bots: ['web'] });
  await idle('web@watched');
  const now = Math.floor(Date.now() / 1000);
  // Within the tolerance of its check, and over in a second.
  const short = await ada.stream(
    '/stream?to=web@watched',
    await office.mint('user_ada', { iat: now - 300, exp: now - 29 }),
  );
  expect(short.status).toBe(200);
  await short.next(({ event }) => event === 'screen');
  await short.ended;
  expect(short.events.at(-1)).toEqual({ event: 'gone', data: { reason: 'ticket_expired' } });

  const stream = await ada.stream('/stream?to=web@watched');
  const events = await ada.stream('/events');
  await events.next(({ event }) => event === 'agents');
  await ada.call('POST', '/input', { to: 'web@watched', text: 'echo ma"rk"', keys: ['Enter'] });
  await stream.next(({ event, data }) => event === 'screen' && String(data.ansi).includes('mark'));
  await ada.call('POST', '/stop', { to: 'web@watched' });
  await stream.ended;
  expect(stream.events.at(-1)?.event).toBe('gone');
  await events.next(({ data }) =>
    (data.agents as PeerAgent[]).some((agent) => agent.address === 'web@watched' && !agent.live),
  );
  events.close();
});

test('guests live through a restart of the runtime, and are found again', async () => {
  const { body } = await up('stay', { files: teamOf('web'), bots: ['web'] });
  await idle('web@stay');
  await engine.restart();
  const web = await idle('web@stay');
  expect(web?.session).toBe(body.results[0]?.session);
  const sent = await ada.call('POST', '/send', { to: 'web@stay', text: 'true' });
  expect(sent).toMatchObject({ status: 200, body: { state: 'verified' } });
  await ada.call('POST', '/teams/stay/down');
});

test('without a pairing the port is closed and streams end; with one it opens again', async () => {
  const events = await ada.stream('/events');
  office.pairing.set(null);
  await events.ended;
  await waitFor(
    () => engine.peers?.port ?? null,
    (port) => port === null,
  );
  office.pairing.set({ ...office.facts, issuer });
  expect((await ada.call('GET', '/hello')).status).toBe(200);
});

test('what the pairing before let in ends when somebody else of the same cloud pairs', async () => {
  const events = await ada.stream('/events');
  office.pairing.set({ ...office.facts, user: 'user_bob' });
  await events.ended;
  expect(events.events.at(-1)).toEqual({ event: 'closing', data: { reason: expect.stringContaining('not paired') } });
  office.pairing.set(office.facts);
});

test('a message that cannot be taken now waits there, and its key answers what became of it', async () => {
  await up('busy', { files: teamOf('web'), bots: ['web'] });
  await idle('web@busy');
  const root = join(engine.home, 'peers', 'user_ada', 'busy');
  mkdirSync(root, { recursive: true });
  await ada.call('POST', '/input', {
    to: 'web@busy',
    text: 'until [ -e free ]; do sleep 0.05; done',
    keys: ['Enter'],
  });
  await waitFor(
    async () => (await agentsOf()).find((agent) => agent.address === 'web@busy'),
    (agent) => agent?.state === 'working',
  );
  const headers = { 'idempotency-key': 'dlv_1' };
  const message = { to: 'web@busy', text: 'true' };
  const first = await ada.call('POST', '/send', message, { headers });
  expect(first).toMatchObject({ status: 200, body: { state: 'queued', depth: 1, reason: expect.any(String) } });
  expect((await ada.call('POST', '/send', { ...message, queue: false })).status).toBe(409);
  writeFileSync(join(root, 'free'), '');
  const later = await waitFor(
    () => ada.call<{ state: string }>('POST', '/send', message, { headers }),
    (reply) => reply.body.state === 'verified',
  );
  expect(later.status).toBe(200);
  await ada.call('POST', '/teams/busy/down');
});
