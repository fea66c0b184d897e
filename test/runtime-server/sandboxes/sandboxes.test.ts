/** Where sandboxed bots may connect: rules, presets and questions, through the real proxy program. */
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import { createAuthority } from '../../../src/programs/sandbox-proxy/ca.ts';
import { createDecider } from '../../../src/runtime-server/sandboxes/decide.ts';
import type { PlacedSecret } from '../../../src/runtime-server/vault/vault.ts';
import { onEnd } from '../../support/at-end.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { hasSsh, newSshKey, startSshServer } from '../../support/ssh-server.ts';
import { sharedEngine } from '../engine.ts';
import { enter, newBot, sandboxesOf, tryConnect } from './support.ts';

const engine = sharedEngine();

const live = async (agentId: string) =>
  (await engine.current.approvals.live()).filter((each) => each.agentId === agentId);
const answer = (id: string, decision: 'approve' | 'reject') =>
  engine.current.approvals.answer({
    id,
    decision,
    note: null,
    resolvedBy: { user: 'user_local', surface: 'browser' },
    at: new Date().toISOString(),
  });

/** A server on loopback, which only a rule that names it opens. */
async function serve(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {}).end('hello')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test('a rule that names a host opens it, also in a private network, and at once; without one a private address is refused', async () => {
  const port = await serve();
  const { open, rules, sandboxes } = sandboxesOf(engine.current);
  const { socket, bot } = await open();
  const to = `127.0.0.1:${port}`;
  expect(await tryConnect(socket, to)).toMatchObject({ status: 403, reason: 'private' });
  expect(await tryConnect(socket, `localhost:${port}`)).toMatchObject({ status: 403, reason: 'private' });
  for (const host of ['*', '"*:*"', '"*.*"']) {
    rules(`rules:\n  - {when: {tool: network, host: ${host}}, then: allow}\n`);
    expect([host, await tryConnect(socket, to)]).toMatchObject([host, { status: 403, reason: 'private' }]);
  }
  rules(
    'rules:\n  - {when: {tool: network, host: localhost}, then: allow}\n  - {when: {host: 127.0.0.1}, then: allow}\n',
  );
  expect(await tryConnect(socket, to)).toMatchObject({ status: 200 });
  expect(await tryConnect(socket, `localhost:${port}`)).toMatchObject({ status: 200 });
  rules(`rules:\n  - {when: {host: "127.0.0.1:${port}", bot: ${bot.address}}, then: deny, reason: not this}\n`);
  expect(await tryConnect(socket, to)).toEqual({
    status: 403,
    reason: 'rule',
    says: expect.stringContaining('.gantry/policy.yaml line 2: not this'),
  });
  const { refused = [] } = sandboxes.refusedOf(bot.agentId);
  expect(refused.map(({ destination, times }) => [destination, times])).toEqual([
    [to, 1],
    [to, 4],
    [`localhost:${port}`, 1],
  ]);
  expect(refused[0]?.why).toBe('.gantry/policy.yaml line 2: not this');
  expect(await live(bot.agentId)).toEqual([]);
});

test('where TLS is opened, a server of a company’s own authority is trusted if Gantry was started with that authority', async () => {
  const authority = await createAuthority(systemClock, '02'.repeat(32));
  const context = await authority.contextFor('localhost');
  const server = createTlsServer({ SNICallback: (_name, done) => done(null, context) }, (_incoming, response) =>
    response.end('hello'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const file = join(scratchFolder(), 'authority.pem');
  writeFileSync(file, authority.certificate);
  const place = { host: 'localhost', port, header: 'authorization', form: 'bearer', methods: null } as const;
  const keys = [{ ...place, name: 'KEY', placeholder: 'placeholder-of-a-key', value: 'value-of-a-key' }];
  for (const [env, says] of [
    [{ NODE_EXTRA_CA_CERTS: file }, 'hello'],
    [{}, ''],
  ] as const) {
    const { open, rules } = sandboxesOf(engine.current, { env, keys });
    rules('rules:\n  - {when: {tool: network, host: localhost}, then: allow}\n');
    const { socket, authority: own } = await open();
    const client = enter(socket);
    client.write(`CONNECT localhost:${port} HTTP/1.1\r\nhost: localhost:${port}\r\n\r\n`);
    const [head] = (await once(client, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/^HTTP\/1\.1 200 /);
    const tls = connectTls({ socket: client, servername: 'localhost', ca: own ?? '' }).on('error', () => {});
    tls.write(`GET / HTTP/1.1\r\nhost: localhost:${port}\r\nconnection: close\r\n\r\n`);
    const said = await text(tls).catch(() => '');
    expect(said.split('\r\n\r\n')[1] ?? '').toContain(says);
    expect(said === '').toBe(says === '');
  }
});

test('Gantry’s own ports stay closed whatever a rule says', async () => {
  const port = await serve();
  const { open, rules } = sandboxesOf(engine.current);
  rules('rules:\n  - {when: {host: "{127.0.0.1,localhost}"}, then: allow}\n');
  const { socket } = await open({ enginePort: port });
  expect(await tryConnect(socket, `127.0.0.1:${port}`)).toMatchObject({ status: 403, reason: 'private' });
  expect(await tryConnect(socket, `localhost:${port}`)).toMatchObject({ status: 403, reason: 'private' });
  expect(await tryConnect(socket, '127.0.0.1:3010')).toMatchObject({ status: 403, reason: 'private' });
});

test('another destination is asked about once, however many connections wait; a yes counts for it and for this start', async () => {
  const { open } = sandboxesOf(engine.current);
  const { socket, bot } = await open();
  // Nothing resolves this name: what was allowed is then not found.
  const to = 'registry.invalid:443';
  const waiting = Array.from({ length: 5 }, () => tryConnect(socket, to));
  await expect.poll(() => live(bot.agentId)).toHaveLength(1);
  const [question] = await live(bot.agentId);
  expect(question).toMatchObject({
    kind: 'destination',
    source: 'gate',
    risk: 'medium',
    title: `${bot.address} wants ${to}`,
    summary: `connect to ${to}`,
  });
  expect(await answer(question!.id, 'approve')).toBe('applied');
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([502, 502, 502, 502, 502]);
  expect(await tryConnect(socket, 'REGISTRY.invalid.:443')).toMatchObject({ status: 502 });
  expect(await live(bot.agentId)).toEqual([]);
  const other = tryConnect(socket, 'registry.invalid:8443');
  await expect.poll(() => live(bot.agentId)).toHaveLength(1);
  await answer((await live(bot.agentId))[0]!.id, 'reject');
  expect(await other).toMatchObject({ status: 403, reason: 'rejected' });
});

test('a yes opens no name that leads into a private network, and neither does a preset', async () => {
  const bot = newBot({ presets: ['agent'], apis: ['api.invalid'] });
  const decider = createDecider(bot, {
    policy: {
      decide: ({ preset, privateHost }) => ({ verdict: privateHost ? 'deny' : preset ? 'allow' : 'ask', rule: '' }),
    },
    approvals: engine.current.approvals,
    clock: systemClock,
    timers: systemTimers,
    ownPorts: () => [],
  });
  onEnd(() => decider.close());
  expect(await decider.decide({ host: 'api.invalid', port: 443 })).toEqual({ allow: true, isPrivateAllowed: false });
  const asked = decider.decide({ host: 'rebound.invalid', port: 443 });
  await expect.poll(() => live(bot.agentId)).toHaveLength(1);
  await answer((await live(bot.agentId))[0]!.id, 'approve');
  expect(await asked).toEqual({ allow: true, isPrivateAllowed: false });
});

test('a no counts for ten minutes; then the bot may ask again', async () => {
  let now = 1_000_000;
  const { open } = sandboxesOf(engine.current, { now: () => now });
  const { socket, bot } = await open();
  const first = tryConnect(socket, 'evil.invalid:443');
  await expect.poll(() => live(bot.agentId)).toHaveLength(1);
  await answer((await live(bot.agentId))[0]!.id, 'reject');
  expect(await first).toMatchObject({ status: 403, reason: 'rejected' });
  now += 9 * 60_000;
  expect(await tryConnect(socket, 'evil.invalid:443')).toMatchObject({
    status: 403,
    reason: 'rejected',
    says: 'Gantry has not opened evil.invalid:443: a person said no; it can be asked again in 1 min.',
  });
  expect(await live(bot.agentId)).toEqual([]);
  now += 2 * 60_000;
  void tryConnect(socket, 'evil.invalid:443');
  await expect.poll(() => live(bot.agentId)).toHaveLength(1);
});

test('a program does not wait for ever: it hears that its person was asked, and a later answer counts', async () => {
  const { open } = sandboxesOf(engine.current, { waitsMs: 50 });
  const { socket, bot } = await open();
  expect(await tryConnect(socket, 'slow.invalid:443')).toEqual({
    status: 403,
    reason: 'asked',
    says: 'Gantry has not opened slow.invalid:443: asked; answer it in the inbox, then try again.',
  });
  const [question] = await live(bot.agentId);
  expect(await tryConnect(socket, 'slow.invalid:443')).toMatchObject({ reason: 'asked' });
  expect(await live(bot.agentId)).toHaveLength(1);
  await answer(question!.id, 'approve');
  await expect.poll(() => tryConnect(socket, 'slow.invalid:443')).toMatchObject({ status: 502 });
});

test('at most 20 destinations of a bot wait for an answer', async () => {
  const { open, sandboxes } = sandboxesOf(engine.current, { waitsMs: 50 });
  const { socket, bot } = await open();
  for (let count = 0; count < 20; count += 1) {
    expect(await tryConnect(socket, `n${count}.invalid:443`)).toMatchObject({ reason: 'asked' });
  }
  expect(await tryConnect(socket, 'one-more.invalid:443')).toMatchObject({ status: 403, reason: 'limit' });
  expect(await live(bot.agentId)).toHaveLength(20);
  expect(sandboxes.refusedOf(bot.agentId).refused).toHaveLength(10);
  expect(sandboxes.refusedOf(bot.agentId).refused?.[0]).toMatchObject({
    destination: 'one-more.invalid:443',
    times: 1,
  });
});

test('presets of the team file are allowed without a question, each by host and port; a rule comes first', async () => {
  const { open, rules } = sandboxesOf(engine.current, { waitsMs: 20 });
  const { socket, bot } = await open({
    presets: ['agent', 'remote'],
    apis: ['api.invalid'],
    remotes: ['git.invalid:2222'],
  });
  expect(await tryConnect(socket, 'api.invalid:443')).toMatchObject({ status: 502 });
  expect(await tryConnect(socket, 'git.invalid:2222')).toMatchObject({ status: 502 });
  expect(await live(bot.agentId)).toEqual([]);
  for (const to of ['api.invalid:80', 'git.invalid:443', 'sub.api.invalid:443', 'registry.npmjs.org:443']) {
    expect([to, await tryConnect(socket, to)]).toMatchObject([to, { reason: 'asked' }]);
  }
  rules('rules:\n  - {when: {host: api.invalid}, then: deny}\n  - {when: {host: "git.invalid:*"}, then: ask}\n');
  expect(await tryConnect(socket, 'api.invalid:443')).toMatchObject({ status: 403, reason: 'rule' });
  expect(await tryConnect(socket, 'git.invalid:2222')).toMatchObject({ status: 403, reason: 'asked' });
});

test('each start has a socket of its own in a folder that only its person enters; it goes with the start', async () => {
  const { open, home, sandboxes } = sandboxesOf(engine.current);
  const one = await open();
  const two = await open();
  expect(one.socket).toMatch(new RegExp(`^${home}/run/sandboxes/[0-9a-f]{16}/out\\.sock$`));
  expect(two.socket).not.toBe(one.socket);
  expect(statSync(dirname(one.socket)).mode & 0o777).toBe(0o700);
  const again = await sandboxes.open(one.bot);
  expect(again.socket).toBe(one.socket);
  // The end of an earlier opening of the same start ends nothing.
  await one.close();
  expect(await tryConnect(one.socket, '127.0.0.1:9')).toMatchObject({ reason: 'private' });
  await again.close();
  expect(existsSync(join(one.socket, '..'))).toBe(false);
  expect(await tryConnect(one.socket, '127.0.0.1:9')).toMatchObject({ status: 0 });
  expect(await tryConnect(two.socket, '127.0.0.1:9')).toMatchObject({ reason: 'private' });
});

test('folders of ended starts are removed; those of running bots and of open starts stay', async () => {
  const { open, home, sandboxes } = sandboxesOf(engine.current);
  sandboxes.removeLeft([]);
  const runs = await open();
  const earlier = await open();
  await earlier.close();
  const folder = join(home, 'run', 'sandboxes');
  // As a runtime leaves them that was killed.
  for (const name of [basename(dirname(earlier.socket)), '0123456789abcdef']) {
    mkdirSync(join(folder, name, 'more'), { recursive: true });
  }
  mkdirSync(join(folder, 'not-a-start'));
  sandboxes.removeLeft([earlier.bot.start]);
  expect(readdirSync(folder).toSorted()).toEqual(
    [basename(dirname(runs.socket)), basename(dirname(earlier.socket)), 'not-a-start'].toSorted(),
  );
  expect(await tryConnect(runs.socket, '127.0.0.1:9')).toMatchObject({ reason: 'private' });
  sandboxes.removeLeft([]);
  expect(readdirSync(folder).toSorted()).toEqual([basename(dirname(runs.socket)), 'not-a-start'].toSorted());
});

test('a proxy that is killed is started again with all its sockets; connections end at once and none is made meanwhile', async () => {
  const { open, sandboxes } = sandboxesOf(engine.current);
  const bots = [await open(), await open()];
  const before = sandboxes.pid()!;
  const held = enter(bots[0]!.socket);
  held.write('CONNECT held.invalid:443 HTTP/1.1\r\nhost: x\r\n\r\n');
  await expect.poll(() => live(bots[0]!.bot.agentId)).toHaveLength(1);
  const ended = new Promise((done) => held.resume().once('end', done).once('close', done));
  process.kill(before, 'SIGKILL');
  await ended;
  for (const { socket } of bots) {
    await expect.poll(() => tryConnect(socket, '127.0.0.1:9')).toMatchObject({ reason: 'private' });
  }
  expect(sandboxes.pid()).not.toBe(before);
  expect(await live(bots[0]!.bot.agentId)).toHaveLength(1);
});

test('a proxy ends with its runtime, and a connection is refused at once; the next runtime takes the same socket', async () => {
  const first = sandboxesOf(engine.current);
  const bot = newBot();
  const { socket } = await first.sandboxes.open(bot);
  const pid = first.sandboxes.pid()!;
  await first.sandboxes.end();
  expect(() => process.kill(pid, 0)).toThrow();
  const client = connect(socket);
  const [fault] = await once(client, 'error').catch((error: unknown) => [error]);
  expect(fault).toMatchObject({ code: 'ECONNREFUSED' });
  const next = sandboxesOf(engine.current, { home: first.home });
  expect((await next.sandboxes.open(bot)).socket).toBe(socket);
  expect(await tryConnect(socket, '127.0.0.1:9')).toMatchObject({ reason: 'private' });
});

const sshKey = (value: string, port: number): PlacedSecret => ({
  ...{ name: 'DEPLOY_KEY', placeholder: 'x'.repeat(20), value },
  ...{ host: '127.0.0.1', port, form: 'ssh' },
});

/** Whose `known_hosts` has this line. */
function person(known: string): string {
  const userHome = scratchFolder();
  mkdirSync(join(userHome, '.ssh'));
  writeFileSync(join(userHome, '.ssh', 'known_hosts'), known);
  return userHome;
}

const path = process.env.PATH ?? '';
const listed = async (socket: string) =>
  (
    await runProcess({ command: ['ssh-add', '-L'], env: { PATH: path, SSH_AUTH_SOCK: socket }, deadlineMs: 20_000 })
  ).stdout.trim();

/** OpenSSH's agents that listen in this folder: the socket of each, by pid. */
async function agentsIn(folder: string): Promise<Record<string, string | undefined>> {
  const command = ['pgrep', '-a', '-f', `^ssh-agent .* ${folder}/`] as const;
  const { stdout } = await runProcess({ command, env: { PATH: path }, deadlineMs: 20_000 });
  const lines = stdout.split('\n').filter(Boolean);
  return Object.fromEntries(lines.map((line) => [line.split(' ')[0], line.split(' ').at(-1)]));
}

test.skipIf(!hasSsh)(
  'an SSH key has an agent beside its sandbox, for hosts that its person knows, again after a kill and a restart',
  async () => {
    const key = await newSshKey();
    const { known, port } = await startSshServer([key]);
    const options = { userHome: person(known), env: { PATH: path }, keys: [sshKey(key.secret, port)] };
    const first = sandboxesOf(engine.current, options);
    const bot = newBot();
    const { ssh, socket } = await first.sandboxes.open(bot);
    expect(readdirSync(ssh!.folder).sort()).toEqual(['known_hosts', 's']);
    expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700);
    expect(readFileSync(ssh!.knownHosts, 'utf8')).toBe(known);
    expect(await listed(ssh!.socket)).toBe(key.open);
    const [[oldAgent, oldSocket] = []] = Object.entries(await agentsIn(dirname(ssh!.folder)));
    expect(oldSocket).toMatch(/^\//);
    process.kill(first.sandboxes.pid()!, 'SIGKILL');
    await expect.poll(() => listed(ssh!.socket)).toBe(key.open);
    // The old agent removes its socket as it ends, a second after the kill: that must not be the socket of the new one.
    await expect.poll(() => agentsIn(dirname(ssh!.folder))).not.toHaveProperty(oldAgent!);
    expect(Object.values(await agentsIn(dirname(ssh!.folder)))).not.toContain(oldSocket);
    expect(await listed(ssh!.socket)).toBe(key.open);
    const mounted = statSync(ssh!.knownHosts).ino;
    await first.sandboxes.end();
    expect(await listed(ssh!.socket)).toBe('');
    const next = sandboxesOf(engine.current, { ...options, home: first.home });
    const again = await next.sandboxes.open(bot);
    expect(again.ssh).toEqual(ssh);
    expect(statSync(ssh!.knownHosts).ino).toBe(mounted);
    expect(await listed(ssh!.socket)).toBe(key.open);
    await again.close();
    expect(existsSync(dirname(socket))).toBe(false);
  },
);

test.skipIf(!hasSsh)(
  'a bot with an SSH key for a host that its person does not know does not start, and hears how to know it',
  async () => {
    const key = await newSshKey();
    const { open, home } = sandboxesOf(engine.current, {
      ...{ userHome: person(''), env: { PATH: path }, keys: [sshKey(key.secret, 2222)] },
    });
    await expect(open()).rejects.toMatchObject({
      code: 'usage',
      fact: expect.stringContaining('[127.0.0.1]:2222'),
      action: expect.stringContaining('ssh -p 2222 git@127.0.0.1'),
    });
    expect(readdirSync(join(home, 'run', 'sandboxes'))).toEqual([]);
  },
);
