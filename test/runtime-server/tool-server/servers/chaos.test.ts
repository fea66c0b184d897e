/**
 * Bad servers as real child processes: each fault is reported in words, and the other servers work as if the bad one were not
 * there.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../../support/scratch.ts';
import { alive, openServers, pidsIn, stdio, textOf } from './support.ts';

const folder = () => scratchFolder();
const open = (more = {}) =>
  openServers({
    file: join(folder(), 'runtime.db'),
    limits: { connectMs: 3_000, probeMs: 500, listMs: 1_000 },
    ...more,
  });

const bad = ['hangs-at-connect', 'hangs-at-list', 'dies-at-once'] as const;

test('servers that hang or die are told each by itself, and never keep a list, a call or an attaching waiting', async () => {
  const servers = await open();
  const good = await servers.attach('good', stdio('usual'));
  const ids = new Map<string, string>();
  for (const kind of bad) ids.set(kind, (await servers.attach(kind, stdio(kind))).id);
  await servers.until(good.id, 'connected');
  expect(servers.names()).toEqual(['good.die', 'good.echo', 'good.env', 'good.wait']);
  expect(textOf(await servers.call('good.echo', { text: 'x' }))).toBe('echo: {"text":"x"}');
  const errors = {
    'hangs-at-connect': /^The server did not answer within 3 s\.$/,
    'hangs-at-list': /^The server did not list its tools within 1 s\.$/,
    'dies-at-once': /^The server ended with code 3\. Its last output: The configuration is missing\.$/,
  };
  for (const kind of bad) {
    const id = ids.get(kind) as string;
    await expect.poll(async () => (await servers.read(id)).error, { interval: 5 }).toMatch(errors[kind]);
  }
  expect(servers.names()).toHaveLength(4);
});

test('a server that dies at once is tried again and again, ever more rarely, and leaves nobody behind', async () => {
  const file = join(folder(), 'pids');
  const servers = await open({ waits: { backoffMs: [20, 50, 100], refreshMs: 60_000 } });
  const { id } = await servers.attach('loop', stdio('dies-at-once', file));
  await expect.poll(() => existsSync(file) && pidsIn(file).length).toBeGreaterThan(4);
  await servers.http('DELETE', `/mcp/servers/${id}`);
  const pids = pidsIn(file);
  // Three times as long as until the next try, which would come by now.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(pidsIn(file)).toEqual(pids);
  expect(pids.filter(alive)).toEqual([]);
});

test('servers of the older kind are served: those that say nothing to a question they do not know, and those that end', async () => {
  const servers = await open();
  for (const kind of ['ignores-the-unknown', 'ends-at-the-unknown']) {
    const { id } = await servers.attach(kind, stdio(kind));
    await servers.until(id, 'connected');
    expect(textOf(await servers.call(`${kind}.echo`, { text: 'x' }))).toBe('echo: {"text":"x"}');
  }
});

test('a server that dies in a call is told so, with its last words, and is there again', async () => {
  const file = join(folder(), 'pids');
  const servers = await open();
  const { id } = await servers.attach('notes', stdio('usual', file));
  await servers.until(id, 'connected');
  const [waiting, dying] = await Promise.all([servers.call('notes.wait'), servers.call('notes.die')]);
  const words =
    /^The attached server "notes" was lost while notes\.(die|wait) ran, after \d+\.\d s: .* Whether it ran is unknown\.$/s;
  expect([waiting.isError, textOf(waiting)]).toEqual([true, expect.stringMatching(words)]);
  expect([dying.isError, textOf(dying)]).toEqual([true, expect.stringMatching(words)]);
  // A call does not wait for the next try: it is the next try. It was run once.
  expect(textOf(await servers.call('notes.echo', { text: 'x' }))).toBe('echo: {"text":"x"}');
  await servers.until(id, 'connected');
  expect(pidsIn(file).filter(alive)).toHaveLength(1);
});

test('a call that takes too long is ended here and at the server, and so is one whose caller leaves', async () => {
  const servers = await open();
  const { id } = await servers.attach('notes', stdio('usual'), { timeoutMs: 1000 });
  await servers.until(id, 'connected');
  expect(textOf(await servers.call('notes.wait'))).toBe(
    'The attached server "notes" did not answer notes.wait within 1 s, and was asked to stop. Whether it ran is unknown.',
  );
  const leaving = new AbortController();
  const left = servers.call('notes.wait', {}, leaving.signal);
  setTimeout(() => leaving.abort(), 50);
  expect(textOf(await left)).toMatch(/^notes\.wait was stopped after \d+\.\d s\./);
  // Told by the server itself: it counts what it was told to end.
  const { cancelled } = JSON.parse(textOf(await servers.call('notes.env'))) as { cancelled: number };
  expect(cancelled).toBe(2);
  expect((await servers.read(id)).status).toBe('connected');
});

test('50 MB in one answer fail that call alone, and are never held in memory', async () => {
  const servers = await open();
  const { id } = await servers.attach('notes', stdio('huge'));
  await servers.until(id, 'connected');
  const before = process.memoryUsage().rss;
  const answer = await servers.call('notes.echo', { text: 'x' });
  expect(textOf(answer)).toMatch(
    /^The attached server "notes" answered notes\.echo with an error after \d+\.\d s: .*The server’s answer has 5\d{7} bytes, more than 8388608\.$/,
  );
  expect((process.memoryUsage().rss - before) / 1024 / 1024).toBeLessThan(150);
  expect(await servers.read(id)).toMatchObject({ status: 'connected' });
});

test('a picture that nobody could take is replaced by a note, and what stands beside it stays', async () => {
  const servers = await open();
  const { id } = await servers.attach('notes', stdio('pictures'));
  await servers.until(id, 'connected');
  expect(await servers.call('notes.echo', { text: 'x' })).toEqual({
    content: [
      { type: 'text', text: '[image/png of 4.5 MB was left out: the limit is 3.8 MB]' },
      { type: 'text', text: 'beside it' },
    ],
    isError: false,
  });
});

test('2,000 tools, a giant schema, odd names and references that lead out cost only themselves', async () => {
  const servers = await open();
  const many = await servers.attach('many', stdio('many'));
  const giant = await servers.attach('giant', stdio('giant'));
  const odd = await servers.attach('odd', stdio('odd'));
  for (const { id } of [many, giant, odd]) await servers.until(id, 'connected');
  expect(await servers.read(many.id)).toMatchObject({ toolCount: 2000, problems: [] });
  expect(await servers.read(giant.id)).toMatchObject({
    toolCount: 1,
    problems: [expect.stringMatching(/^"giant" is left out: its input schema has \d+ characters, more than 131072\.$/)],
  });
  const read = await servers.read(odd.id);
  expect(servers.names().filter((name) => name.startsWith('odd.'))).toEqual(['odd.fine', 'odd.old']);
  expect(read.toolCount).toBe(2);
  expect(read.problems.join('\n')).toMatch(
    /"with space".*\n"out".*file:.*\n"web".*https:.*\n"number".*\nTool 7 has no name\.\n"x+" is left out: with the server’s name/s,
  );
  expect(servers.tools.list().find(({ name }) => name === 'odd.old')?.inputSchema).toEqual({
    type: 'object',
    $defs: { point: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'number' }] } },
    properties: { at: { $ref: '#/$defs/point' }, n: { type: 'number', exclusiveMinimum: 0 } },
  });
});

test('what is no JSON-RPC on stdout is passed over, and a server that floods us keeps no other from being called', async () => {
  const servers = await open();
  const garbage = await servers.attach('garbage', stdio('garbage'));
  await servers.attach('floods', stdio('floods'));
  const good = await servers.attach('good', stdio('usual'));
  for (const { id } of [garbage, good]) await servers.until(id, 'connected');
  expect(textOf(await servers.call('garbage.echo', { text: 'x' }))).toBe('echo: {"text":"x"}');
  for (let count = 0; count < 50; count += 1) {
    expect(textOf(await servers.call('good.echo', { text: 'x' }))).toBe('echo: {"text":"x"}');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

test('a bad argument is a result that says what is wrong, before anything is sent', async () => {
  const servers = await open();
  const { id } = await servers.attach('notes', stdio('fails'));
  await servers.until(id, 'connected');
  expect(await servers.call('notes.echo', {})).toEqual({
    content: [{ type: 'text', text: 'notes.echo does not take this: text is missing.' }],
    isError: true,
  });
  expect(textOf(await servers.call('notes.echo', { text: 7 }))).toBe(
    'notes.echo does not take this: text must be a text, not 7.',
  );
});

test('an error of a server is a result without the secrets that it was given', async () => {
  const servers = await open();
  const { id } = await servers.attach('notes', { ...stdio('fails'), env: { KEY: 'sk-very-secret' } });
  await servers.until(id, 'connected');
  const answer = await servers.call('notes.echo', { text: 'x' });
  expect(answer.isError).toBe(true);
  expect(textOf(answer)).toMatch(/with an error after \d+\.\d s: .*It cannot, with •••\.$/);
});

test('nobody is left behind when the runtime closes, or is killed with -9', async () => {
  const pids = join(folder(), 'pids');
  const servers = await open();
  const { id } = await servers.attach('notes', stdio('stays', pids));
  await servers.until(id, 'connected');
  await servers.close();
  expect(pidsIn(pids).filter(alive)).toEqual([]);

  const home = folder();
  const file = join(home, 'pids');
  const victim = join(import.meta.dirname, '../../../support/victims/attached-runtime.ts');
  const us = spawn(process.execPath, [victim, join(home, 'runtime.db'), JSON.stringify(stdio('stays', file))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await us.stdout.take(1).toArray();
  expect(String(said)).toBe('connected\n');
  const [child] = pidsIn(file) as [number];
  expect(alive(child)).toBe(true);
  us.kill('SIGKILL');
  await expect.poll(() => alive(child)).toBe(false);
});
