/** What another computer of the person may do here, and what it may not. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Guest } from '../../../src/contracts/factory/guest-routes.ts';
import type { PeerAgent, PeerUpResult } from '../../../src/contracts/factory/peer-routes.ts';
import { uploadHash } from '../../../src/runtime-server/peers/upload-hash.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { sharedEngine, startEngine, waitFor } from '../engine.ts';
import { openTicketOffice, peerCaller, peerComputer, teamOf } from './support.ts';

const office = await openTicketOffice();
const shared = sharedEngine({ pairing: office.pairing, computerId: peerComputer });
const ada = peerCaller(() => shared.current, office, 'user_ada');
const bob = peerCaller(() => shared.current, office, 'user_bob');

const up = (name: string, body: object, who = ada) => who.call<PeerUpResult>('POST', `/teams/${name}/up`, body);
const send = (to: string, text: string, key: string) =>
  ada.call<{ state: string }>('POST', '/send', { to, text }, { headers: { 'idempotency-key': key } });
const agentsOf = async (who = ada) => (await who.call<{ agents: PeerAgent[] }>('GET', '/agents')).body.agents;
const idle = (address: string, who = ada) =>
  waitFor(
    async () => (await agentsOf(who)).find((agent) => agent.address === address),
    (agent) => agent?.state === 'idle',
  );

test('two users with the same key and the same names send their own messages', async () => {
  const [carl, dora] = ['user_carl', 'user_dora'].map((user) => peerCaller(() => shared.current, office, user)) as [
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
  expect(body).toEqual({ computerId: peerComputer, engine: shared.current.ledger.engineId, user: 'user_ada' });
});

test('a brought team starts the named bots alone, in a workspace of its own, and can be seen, typed into, sent to and stopped', async () => {
  const dry = await up('dev', { files: teamOf('web', 'api'), bots: ['web'], dryRun: true });
  expect(dry).toMatchObject({
    status: 200,
    body: { applied: false, results: [{ agent: 'web@dev', state: 'planned' }] },
  });
  expect(existsSync(join(shared.current.home, 'peers', 'user_ada'))).toBe(false);

  const brought = await up('dev', { files: { ...teamOf('web', 'api'), 'notes/a.md': 'ä' }, bots: ['web'] });
  expect(brought.status).toBe(200);
  const root = join(shared.current.home, 'peers', 'user_ada', 'dev');
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

test('a team without its person’s yes to exactly these files is refused, in a dry run too, and nothing is written', async () => {
  const files = teamOf('web');
  for (const trusted of [undefined, uploadHash({ ...files, 'notes/a.md': 'more' })]) {
    for (const dryRun of [true, false]) {
      const refused = await up('vouched', { files, bots: ['web'], trusted, dryRun });
      expect(refused).toMatchObject({ status: 409, body: { applied: false, results: [{ state: 'failed' }] } });
      expect(JSON.stringify(refused.body.results)).toContain('without its person');
    }
  }
  expect(existsSync(join(shared.current.home, 'peers', 'user_ada', 'vouched'))).toBe(false);
});

test('the yes to a team vouches for nothing that its cloned repository brings along: a program that would read it does not start', async () => {
  const bin = scratchFolder();
  const ran = join(bin, 'ran');
  writeFileSync(join(bin, 'opencode'), `#!/bin/sh\necho "$*" >> ${ran}\n`, { mode: 0o755 });
  const engine = await startEngine({
    pairing: office.pairing,
    computerId: peerComputer,
    env: { PATH: `${bin}:${process.env.PATH}` },
  });
  const caller = peerCaller(() => engine, office, 'user_ada');
  // As a clone leaves it, beside the team's own folder.
  const root = join(engine.home, 'peers', 'user_ada', 'cloned');
  mkdirSync(join(root, '.git'), { recursive: true });
  mkdirSync(join(root, '.opencode', 'plugin'), { recursive: true });
  writeFileSync(join(root, '.opencode', 'plugin', 'evil.js'), 'evil()');
  const files = { 'team.yaml': 'bots:\n  - { bot: dev, harness: opencode }\n' };
  const refused = await up('cloned', { files, bots: ['dev'] }, caller);
  expect(refused.body).toMatchObject({ results: [{ state: 'failed' }] });
  expect(JSON.stringify(refused.body.results)).toContain('.opencode/plugin/evil.js');
  expect(JSON.stringify(refused.body.results)).toContain('for your yes');
  // Gantry may ask for its version; it is never begun in the folder.
  const begun = existsSync(ran) ? readFileSync(ran, 'utf8').split('\n') : [];
  expect(begun.filter((words) => words !== '' && words !== '--version')).toEqual([]);
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
  expect((await shared.current.call('GET', '/agents/web@mine')).status).toBe(404);
  expect((await shared.current.call('POST', '/send', { to: 'web@mine', text: 'x' })).status).toBe(404);
  expect(shared.current.factory.liveBots()).toBeGreaterThan(0);
});

test('whoever sits at this computer sees the bots that others brought, and stops them', async () => {
  await up('seen', { files: teamOf('web'), bots: ['web'] });
  await idle('web@seen');
  const { body } = await shared.current.call<{ guests: Guest[] }>('GET', '/guests');
  const live = body.guests.filter((guest) => guest.pane !== null);
  expect(live).toContainEqual(expect.objectContaining({ address: 'web@seen', user: 'user_ada', state: 'idle' }));
  const { checks } = (await shared.current.call<{ checks: { name: string; detail: string }[] }>('GET', '/doctor')).body;
  expect(checks.find((check) => check.name === 'Bots from elsewhere')?.detail).toContain('web@seen');
  const dry = await shared.current.call<{ plan: { stop: string[] } }>('POST', '/guests/down', { dryRun: true });
  expect(dry.body.plan.stop.toSorted()).toEqual(live.map((guest) => guest.address).toSorted());
  const stopped = await shared.current.call<{ stopped: string[] }>('POST', '/guests/down', {});
  expect(stopped.body.stopped.toSorted()).toEqual(dry.body.plan.stop.toSorted());
  expect((await agentsOf()).filter((agent) => agent.live)).toEqual([]);
});

test('a guest reaches its own crew by its own token, and nothing of this computer’s workspace', async () => {
  shared.current.team('own', teamOf('boss')['team.yaml']);
  await shared.current.call('POST', '/teams/own/up', {});
  await up('guests', { files: teamOf('web', 'api'), bots: ['web', 'api'] });
  await idle('web@guests');
  await idle('api@guests');
  const folders = readdirSync(join(shared.current.home, 'run', 'bots'));
  const tokens = folders.map((id) => ({
    id,
    token: readFileSync(join(shared.current.home, 'run', 'bots', id, 'token'), 'utf8').trim(),
  }));
  const mine: { id: string; token: string; agents: string[] }[] = [];
  for (const each of tokens) {
    const { status, body } = await shared.current.call<{ agents: { id: string; address: string }[] }>(
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
    shared.current.call<T>(method, path, body, { token: guest?.token ?? '' });
  const sent = await asGuest('POST', '/send', { to: 'api@guests', text: 'true' });
  expect(sent).toMatchObject({ status: 200, body: { state: 'verified' } });
  expect((await asGuest('POST', '/send', { to: 'boss@own', text: 'x' })).status).toBe(404);
  expect((await asGuest('GET', '/agents/boss@own/capture')).status).toBe(404);
  expect((await asGuest('GET', '/nodes')).status).toBe(403);
  expect((await asGuest<{ path: string }>('GET', '/workspace')).body.path).toBe(
    join(shared.current.home, 'peers', 'user_ada', 'guests'),
  );
  // Refused by what was asked, not by a name of the operation that no caller knows.
  expect(await asGuest('GET', '/campaigns')).toMatchObject({
    status: 403,
    body: { error: { fact: expect.stringMatching(/^GET \/api\/factory\/campaigns is for bots of/) } },
  });
  const asOwn = await shared.current.call(
    'POST',
    '/send',
    { to: 'web@guests', text: 'x' },
    { token: own?.token ?? '' },
  );
  expect(asOwn.status).toBe(404);
  await ada.call('POST', '/teams/guests/down');
  await shared.current.call('POST', '/teams/own/down');
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
  expect(existsSync(join(shared.current.home, 'peers', 'user_ada', 'broken'))).toBe(false);
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
      "its folder app is not sent along: without a repository only the team's own folder is",
    );
    expect(mine).toMatchObject({ agent: 'mine@apart', state: 'not_started' });
  }
  expect(existsSync(join(shared.current.home, 'peers', 'user_ada', 'apart'))).toBe(false);
});

test('a stream gives screens and then gone; it ends with its ticket', async () => {
  await up('watched', { files: teamOf('web'), bots: ['web'] });
  await idle('web@watched');
  // Within the tolerance of its check, and over in a second; in four or sixteen where no screen can be had within one.
  let short: Awaited<ReturnType<typeof ada.stream>> | undefined;
  for (const seconds of [1, 4, 16]) {
    const now = Math.floor(Date.now() / 1000);
    const ticket = await office.mint('user_ada', { iat: now - 300, exp: now - 30 + seconds });
    short = await ada.stream('/stream?to=web@watched', ticket);
    if (short.status !== 200) continue;
    await short.ended;
    if (short.events[0]?.event === 'screen') break;
  }
  expect(short?.events[0]?.event).toBe('screen');
  expect(short?.events.at(-1)).toEqual({ event: 'gone', data: { reason: 'ticket_expired' } });

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
  await shared.current.restart();
  const web = await idle('web@stay');
  expect(web?.session).toBe(body.results[0]?.session);
  const sent = await ada.call('POST', '/send', { to: 'web@stay', text: 'true' });
  expect(sent).toMatchObject({ status: 200, body: { state: 'verified' } });
  await ada.call('POST', '/teams/stay/down');
});

test('a message that cannot be taken now waits there, and its key answers what became of it', async () => {
  await up('busy', { files: teamOf('web'), bots: ['web'] });
  await idle('web@busy');
  const root = join(shared.current.home, 'peers', 'user_ada', 'busy');
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
