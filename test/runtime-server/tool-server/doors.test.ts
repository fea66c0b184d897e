/** The engine's doors for tools: who comes in, what is listed, how a call is answered, over MCP and REST alike. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ToolInfo } from '../../../src/contracts/tool-server/tools.ts';
import { sharedEngine } from '../factory/engine.ts';
import { startShells } from '../factory/shells.ts';
import { callOver, rest, rpc, textOf } from './wire.ts';

const shared = sharedEngine();

async function newBot(): Promise<{ address: string; token: string; id: string }> {
  const address = `worker@${await startShells(shared.current, 'worker')}`;
  const { id } = await shared.current.agent(address);
  return { address, id, token: await shared.current.botToken(address) };
}

test('a bot lists and calls tools with its own token, over MCP and over REST', async () => {
  const engine = shared.current;
  engine.write('notes/a.txt', 'one\ntwo\n');
  const { token } = await newBot();
  const listed = await rpc(engine, 'tools/list', {}, { token });
  const names = listed.result?.tools?.map(({ name }) => name) ?? [];
  expect(names).toEqual(names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  expect(names).toEqual(expect.arrayContaining(['file.read', 'shell.exec', 'time.now']));
  const plain = await rest<{ tools: ToolInfo[] }>(engine, 'GET', '', { token });
  expect(plain.body.tools.map(({ name }) => name)).toEqual(names);

  const time = await callOver(engine, 'time.now', { timezone: 'Asia/Tokyo' }, { token });
  expect(time).toMatchObject({ isError: false, structuredContent: { timezone: 'Asia/Tokyo' } });
  expect((time.structuredContent as { local: string }).local).toMatch(/\+09:00$/);
  const read = await rest(engine, 'POST', '/file.read/call', { token, body: { arguments: { path: 'notes/a.txt' } } });
  expect(read).toMatchObject({
    status: 200,
    body: { isError: false, structuredContent: { content: 'one\ntwo\n', path: 'notes/a.txt' } },
  });
  expect((await callOver(engine, 'file_read', { path: 'notes/a.txt' }, { token })).structuredContent).toEqual(
    read.body.structuredContent,
  );
});

test('what a tool cannot do is a result that a model reads; what there is not is an error', async () => {
  const engine = shared.current;
  const bad = await callOver(engine, 'time.now', { timezone: 'Mars/Olympus' });
  expect(bad.isError).toBe(true);
  expect(textOf(bad)).toContain('There is no time zone "Mars/Olympus"');
  expect(textOf(await callOver(engine, 'time.now', { zone: 'x' }))).toContain('time.now does not take this');
  expect(await rpc(engine, 'tools/call', { name: 'file.fly' })).toMatchObject({ status: 200, error: { code: -32602 } });
  expect(await rest(engine, 'GET', '/file.fly')).toMatchObject({ status: 404, body: { error: 'tool_not_found' } });
  expect(await rest(engine, 'POST', '/file.fly/call', { body: {} })).toMatchObject({ status: 404 });
  const one = await rest<ToolInfo>(engine, 'GET', '/shell_exec');
  expect(one.body).toMatchObject({ name: 'shell.exec', server: null, annotations: { readOnlyHint: false } });
});

test('names are listed safely for who asks so', async () => {
  const engine = shared.current;
  const { body } = await rest<{ tools: ToolInfo[] }>(engine, 'GET', '?names=safe');
  for (const { name } of body.tools) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  const listed = await rpc(engine, 'tools/list', {}, { query: '?names=safe' });
  expect(listed.result?.tools?.map(({ name }) => name)).toEqual(body.tools.map(({ name }) => name));
});

test('a program of the person’s may act in the workspace unasked, and never leaves it', async () => {
  const engine = shared.current;
  const written = await callOver(engine, 'file.write', { path: 'mine.txt', content: 'mine' });
  expect(written).toMatchObject({ isError: false, structuredContent: { created: true } });
  const outside = await callOver(engine, 'file.read', { path: join(engine.home, 'runtime.db') });
  expect(outside.isError).toBe(true);
  expect(textOf(outside)).toContain('lies outside of');
});

test('a bot works in its own folder with its own variables, and secrets of its person are not among them', async () => {
  const engine = shared.current;
  mkdirSync(join(engine.workspace, 'lib', 'deep'), { recursive: true });
  writeFileSync(join(engine.workspace, 'lib', 'here.txt'), 'x');
  engine.team('rooted', 'bots:\n  - {bot: worker, harness: shell, cwd: lib, env: {COLOUR: green}}\n');
  expect((await engine.call('POST', '/teams/rooted/up', {})).status).toBe(200);
  await engine.until('worker@rooted', 'idle');
  const token = await engine.botToken('worker@rooted');
  const listed = await callOver(engine, 'file.list', {}, { token });
  expect(textOf(listed)).toBe('deep/\nhere.txt');
  expect((await callOver(engine, 'file.read', { path: '../mine.txt' }, { token })).isError).toBe(true);
});
