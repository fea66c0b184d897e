/** The engine's doors for tools: who comes in, what is listed, how a call is answered, over MCP and REST alike. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ToolInfo } from '../../../src/contracts/tool-server/tools.ts';
import { baseHeaders } from '../../../src/kit/http/base-headers.ts';
import type { ForeignTool, ForeignTools } from '../../../src/runtime-server/tool-server/foreign-tools.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { ownerToken, sharedEngine, waitFor } from '../engine.ts';
import { openTicketOffice, peerCaller, peerComputer, teamOf } from '../peers/support.ts';
import { startShells } from '../shells.ts';
import { callOver, rest, rpc, textOf } from './wire.ts';

/** An attached server whose tools take any arguments. */
let attached: ForeignTool[] = [];
let revision = 1;
const foreignCalls: { name: string; args: object }[] = [];
const foreign: ForeignTools = {
  list: () => attached,
  get revision() {
    return revision;
  },
  prompts: {
    list: () => [{ name: 'notes.review', server: 'notes', arguments: [{ name: 'path', required: true }] }],
    async get(name, args) {
      foreignCalls.push({ name, args });
      return { messages: [{ role: 'user', content: { type: 'text', text: `Review ${args.path}` } }] };
    },
  },
  async call(name, args) {
    foreignCalls.push({ name, args });
    return {
      content: [
        { type: 'text', text: `did ${name}` },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ],
      isError: false,
    };
  },
  follow: (name, _task, options) => foreign.call(name, {}, options),
};
function attach(...names: string[]): void {
  attached = names.map((name) => ({
    name,
    server: name.split('.')[0] ?? '',
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
  }));
  revision += 1;
}

const office = await openTicketOffice();
/** Patience of calls, moved by hand; all else keeps real time. */
const patience = createTestClock();
const shared = sharedEngine({
  tools: { foreign },
  toolTimers: patience,
  pairing: office.pairing,
  computerId: peerComputer,
});

async function newBot(): Promise<{ address: string; token: string; id: string }> {
  const address = `worker@${await startShells(shared.current, 'worker')}`;
  const { id } = await shared.current.agent(address);
  return { address, id, token: await shared.current.botToken(address) };
}

test('an answer over MCP carries what all answers of the API carry', async () => {
  const { url } = shared.current;
  const asked = [
    [1, 200],
    [undefined, 202],
  ] as const;
  for (const [id, status] of asked) {
    const reply = await fetch(`${url}/mcp/server`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ownerToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }),
    });
    expect(reply.status).toBe(status);
    expect(Object.fromEntries(reply.headers)).toMatchObject(baseHeaders);
    expect(reply.headers.get('x-request-id')).toMatch(/^req_[^, ]+$/);
  }
});

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
  expect(textOf(outside)).toContain('is outside');
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

/** The newest question, once there is one that is not `known`. */
async function question(known: readonly string[] = []) {
  const live = await waitFor(
    () => shared.current.approvals.live(),
    (held) => held.some(({ id }) => !known.includes(id)),
  );
  const [found] = live.filter(({ id }) => !known.includes(id));
  if (found === undefined) throw new Error('no question');
  return found;
}
const answer = (id: string, decision: 'approve' | 'reject') =>
  shared.current.approvals.answer({
    id,
    decision,
    note: null,
    resolvedBy: { user: 'user_local', surface: 'browser' },
    at: new Date().toISOString(),
  });

test('over REST a call that nobody answered is 409 with the approval’s id, and the same call runs once after the yes', async () => {
  const engine = shared.current;
  const { token, address, id } = await newBot();
  const body = { arguments: { path: 'asked.txt', content: 'x' } };
  const call = () => rest<Record<string, unknown>>(engine, 'POST', '/file.write/call', { token, body });
  const first = call();
  const asked = await question();
  expect(asked).toMatchObject({ agentId: id, title: `${address}: Create asked.txt`, risk: 'medium' });
  await patience.advance(51_000);
  expect(await first).toMatchObject({
    status: 409,
    body: { error: 'approval_required', approvalId: asked.id, retryable: true },
  });
  expect(String((await first).body.message)).toContain(asked.id);
  await answer(asked.id, 'approve');
  expect(await call()).toMatchObject({ status: 200, body: { isError: false, structuredContent: { created: true } } });
});

test('over MCP the same is a result that is an error, so that a model reads it', async () => {
  const engine = shared.current;
  const { token } = await newBot();
  const known = (await engine.approvals.live()).map(({ id }) => id);
  const waits = callOver(engine, 'shell.exec', { command: 'true' }, { token });
  const asked = await question(known);
  await patience.advance(51_000);
  expect(await waits).toMatchObject({
    isError: true,
    structuredContent: { error: 'approval_required', approvalId: asked.id, retryable: true },
  });
  await answer(asked.id, 'reject');
  expect(textOf(await callOver(engine, 'shell.exec', { command: 'true' }, { token }))).toContain('A person said no.');
});

test('a prompt of an attached server is listed beside Gantry’s own; a bot may fill it in only with a person’s yes', async () => {
  const engine = shared.current;
  const { prompts } = (await rpc(engine, 'prompts/list')).result as unknown as { prompts: { name: string }[] };
  expect(prompts).toContainEqual({ name: 'notes.review', arguments: [{ name: 'path', required: true }] });
  const get = (options = {}) =>
    rpc(engine, 'prompts/get', { name: 'notes.review', arguments: { path: 'a.ts' } }, options);
  const filled = { messages: [{ role: 'user', content: { type: 'text', text: 'Review a.ts' } }] };
  expect((await get()).result).toMatchObject(filled);
  expect((await rpc(engine, 'prompts/get', { name: 'notes.review' })).error).toMatchObject({ code: -32602 });
  const { token } = await newBot();
  const known = (await engine.approvals.live()).map(({ id }) => id);
  const before = foreignCalls.length;
  const waits = get({ token });
  const asked = await question(known);
  expect(asked.title).toContain('Get the prompt notes.review');
  await patience.advance(51_000);
  expect((await waits).error).toMatchObject({ data: { code: 'approval_required', approvalId: asked.id } });
  expect(foreignCalls).toHaveLength(before);
  await answer(asked.id, 'approve');
  expect((await get({ token })).result).toMatchObject(filled);
  // It is no tool.
  expect((await rest(engine, 'GET', '/prompt:notes.review')).status).toBe(404);
});

test('what acted is told in the ledger by whoever called, without its words; what looked is not', async () => {
  const engine = shared.current;
  const { token, id } = await newBot();
  const told = () =>
    engine.ledger.query({ types: ['tool.called'], order: 'descending', limit: 100 }).then((rows) => rows.length);
  const before = await told();
  await callOver(engine, 'time.now', {}, { token });
  await callOver(engine, 'file.exists', { path: 'x' }, { token });
  expect(await told()).toBe(before);
  await callOver(engine, 'file.write', { path: 'told.txt', content: 'secret words' });
  const [row] = await engine.ledger.query({ types: ['tool.called'], order: 'descending', limit: 1 });
  expect(row).toMatchObject({
    actor: 'user_local',
    surface: 'cli',
    subject: 'client:user_local/cli',
    body: { v: 1, tool: 'file.write', verdict: 'allow', acted: true, isError: false, approvalId: null },
  });
  expect(JSON.stringify(row)).not.toContain('secret words');
  engine.write('.gantry/policy.yaml', 'rules:\n  - when: {tool: shell}\n    then: deny\n');
  await callOver(engine, 'shell.exec', { command: 'true' }, { token });
  engine.write('.gantry/policy.yaml', 'rules: []\n');
  const [denied] = await engine.ledger.query({ types: ['tool.called'], order: 'descending', limit: 1 });
  expect(denied).toMatchObject({ actor: id, surface: 'bot', body: { verdict: 'deny', acted: false, isError: true } });
});

test('tools of attached servers stand in the same list as soon as they are there, and act whatever they say of themselves', async () => {
  const engine = shared.current;
  const { token } = await newBot();
  attach('zeta.open', 'browser.find', 'Éclair.x');
  const listed = await rpc(engine, 'tools/list', {}, { token });
  const names = listed.result?.tools?.map(({ name }) => name) ?? [];
  expect(names.slice(-3)).toEqual(['time.now', 'zeta.open', 'Éclair.x']);
  expect(names).toEqual(names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  const one = await rest<ToolInfo>(engine, 'GET', '/zeta.open', { token });
  expect(one.body).toMatchObject({ server: 'zeta', annotations: { readOnlyHint: true } });
  // A person's client may act.
  expect(await callOver(engine, 'browser.find', { any: 1 })).toEqual(
    expect.objectContaining({
      isError: false,
      content: [
        { type: 'text', text: 'did browser.find' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ],
    }),
  );
  // A bot is asked about, though the name is one that looks.
  const known = (await engine.approvals.live()).map(({ id }) => id);
  foreignCalls.length = 0;
  const waits = callOver(engine, 'browser.find', { any: 2 }, { token });
  const asked = await question(known);
  expect(asked.summary).toContain('browser.find of the attached server browser\n{\n  "any": 2\n}');
  expect(foreignCalls).toEqual([]);
  await answer(asked.id, 'approve');
  expect((await waits).isError).toBe(false);
  expect(foreignCalls).toEqual([{ name: 'browser.find', args: { any: 2 } }]);
  attach();
  expect((await rpc(engine, 'tools/call', { name: 'zeta.open' }, { token })).error?.code).toBe(-32602);
});

test('a bot that another computer brought has no tools here', async () => {
  const engine = shared.current;
  const before = new Set(readdirSync(join(engine.home, 'run', 'bots')));
  const ada = peerCaller(() => engine, office, 'user_ada');
  const up = await ada.call('POST', '/teams/dev/up', { files: teamOf('web'), bots: ['web'] });
  expect(up.status, JSON.stringify(up.body)).toBe(200);
  const [guest = ''] = readdirSync(join(engine.home, 'run', 'bots')).filter((id) => !before.has(id));
  const token = readFileSync(join(engine.home, 'run', 'bots', guest, 'token'), 'utf8').trim();
  for (const method of ['tools/list', 'tools/call', 'initialize', 'resources/list']) {
    expect([method, (await rpc(engine, method, { name: 'time.now' }, { token })).status]).toEqual([method, 403]);
  }
  expect((await rest(engine, 'GET', '', { token })).status).toBe(403);
  expect((await rest(engine, 'GET', '/time.now', { token })).status).toBe(403);
  expect((await rest(engine, 'POST', '/time.now/call', { token, body: {} })).status).toBe(403);
});

test('a link that takes a folder’s place while it is read leads no call outside', async () => {
  const engine = shared.current;
  const swap = join(engine.workspace, 'swap');
  const kept = join(engine.workspace, 'kept');
  const elsewhere = join(engine.home, 'elsewhere');
  mkdirSync(swap);
  mkdirSync(elsewhere);
  writeFileSync(join(swap, 'a.txt'), 'inside');
  writeFileSync(join(elsewhere, 'a.txt'), 'OUTSIDE');
  let going = true;
  const swapping = (async () => {
    while (going) {
      renameSync(swap, kept);
      symlinkSync(elsewhere, swap);
      await new Promise((resolve) => setImmediate(resolve));
      rmSync(swap);
      renameSync(kept, swap);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  const seen = { inside: 0, refused: 0 };
  // Until both sides of the race were met, however slow the machine is; more often where it is not.
  const end = Date.now() + 8000;
  const met = (times: number) => seen.inside >= times && seen.refused >= times;
  try {
    while (!met(50) && (Date.now() < end || !met(1))) {
      const result = await callOver(engine, 'file.read', { path: 'swap/a.txt' });
      expect(textOf(result)).not.toContain('OUTSIDE');
      seen[result.isError ? 'refused' : 'inside'] += 1;
    }
  } finally {
    going = false;
    await swapping;
  }
});
