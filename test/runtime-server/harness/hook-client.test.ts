import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runHook } from '../../../src/runtime-server/harness/hook-client.ts';
import { eventually } from './bench-of-one.ts';

let folder: string;
let server: Server;
let seen: { path: string | undefined; token: string | undefined; body: string }[];
let answer: { status: number; body: string | null };

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gantry-hook-'));
  seen = [];
  answer = { status: 200, body: '{}' };
  server = createServer(async (request: IncomingMessage, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    seen.push({ path: request.url, token: request.headers.authorization, body });
    if (answer.body !== null) response.writeHead(answer.status).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  writeFileSync(join(folder, 'url'), `http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
  writeFileSync(join(folder, 'token'), 'secret\n');
});
afterEach(() => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

async function hook(event: string, stdin: string, env: Record<string, string> = {}, questionMs?: number) {
  let printed = '';
  const files = { GANTRY_URL_FILE: join(folder, 'url'), GANTRY_TOKEN_FILE: join(folder, 'token') };
  const code = await runHook(event, {
    env: { ...files, ...env },
    stdin: Readable.from([stdin]),
    stdout: { write: (text) => (printed += text) },
    now: () => 1,
    ...(questionMs === undefined ? {} : { questionMs }),
  });
  return { code, printed };
}

test('the event is posted with the bot token as it came, and the answer printed', async () => {
  answer.body = '{"decision":"allow"}';
  expect(await hook('Stop', '{"a":"ä"}')).toEqual({ code: 0, printed: '{"decision":"allow"}\n' });
  expect(seen).toEqual([{ path: '/api/factory/hooks/Stop', token: 'Bearer secret', body: '{"a":"ä"}' }]);
});

test('an empty answer prints nothing', async () => {
  expect(await hook('Stop', '{}')).toEqual({ code: 0, printed: '' });
});

test.each([
  ['outside of a bot', { GANTRY_URL_FILE: '' }],
  ['without its token file', { GANTRY_TOKEN_FILE: '/nowhere' }],
])('%s a hook says nothing and ends with 0', async (_, env) => {
  expect(await hook('Stop', '{}', env)).toEqual({ code: 0, printed: '' });
  expect(seen).toEqual([]);
});

test('with the engine gone, refusing or failing a hook says nothing and ends with 0', async () => {
  for (const status of [401, 500]) {
    answer = { status, body: '{"error":{}}' };
    expect(await hook('Stop', '{}')).toEqual({ code: 0, printed: '' });
  }
  writeFileSync(join(folder, 'url'), 'http://127.0.0.1:9');
  expect(await hook('Stop', '{}')).toEqual({ code: 0, printed: '' });
});

test('with a spool an event is kept before it is sent, and stays there only while no engine answers', async () => {
  const env = { GANTRY_SPOOL: join(folder, 'spool') };
  answer.body = '{"id":"rep_1","answer":{"decision":"allow"}}';
  expect(await hook('Stop', '{}', env)).toEqual({ code: 0, printed: '{"decision":"allow"}\n' });
  expect(seen).toMatchObject([{ path: '/api/factory/reports', token: 'Bearer secret' }]);
  // The engine removes what it has taken.
  rmSync(env.GANTRY_SPOOL, { recursive: true });

  answer = { status: 400, body: '{"error":{}}' };
  expect(await hook('Stop', '{}', env)).toEqual({ code: 0, printed: '' });
  expect(readdirSync(env.GANTRY_SPOOL)).toEqual([]);

  // An engine that starts knows its bots a little later, and a busy one says so.
  for (const status of [401, 429]) {
    answer = { status, body: '{"error":{}}' };
    expect(await hook('Stop', '{}', env)).toEqual({ code: 0, printed: '' });
  }
  rmSync(join(folder, 'url'));
  expect(await hook('Stop', '{}', env)).toEqual({ code: 0, printed: '' });
  expect(readdirSync(env.GANTRY_SPOOL)).toEqual(['000000000001.json', '000000000002.json', '000000000003.json']);
});

test('a spool that cannot be written keeps no event from an engine that is there', async () => {
  writeFileSync(join(folder, 'no-folder'), '');
  answer.body = '{"decision":"allow"}';
  expect(await hook('Stop', '{}', { GANTRY_SPOOL: join(folder, 'no-folder') })).toEqual({
    code: 0,
    printed: '{"decision":"allow"}\n',
  });
  expect(seen).toMatchObject([{ path: '/api/factory/hooks/Stop' }]);
});

test('an engine that never answers is left alone before the harness loses patience', async () => {
  answer.body = null;
  expect(await hook('Stop', '{}')).toEqual({ code: 0, printed: '' });
}, 8000);

test('a harness that leaves stdin open does not keep the hook', async () => {
  const stdin = new Readable({ read() {} });
  const files = { GANTRY_URL_FILE: join(folder, 'url'), GANTRY_TOKEN_FILE: join(folder, 'token') };
  expect(await runHook('Stop', { env: files, stdin, stdout: { write: () => true } })).toBe(0);
  expect(stdin.destroyed).toBe(true);
}, 8000);

test('a word that is no event name is not put into a path', async () => {
  expect(await hook('../send', '{}')).toEqual({ code: 0, printed: '' });
  expect(seen).toEqual([]);
});

test('a question waits over the end of the engine and finds it again on another port', async () => {
  answer.body = null;
  const asked = hook('PermissionRequest', '{"q":1}');
  await eventually(() => seen.length === 1);
  const next = createServer((request, response) => {
    seen.push({ path: request.url, token: request.headers.authorization, body: 'again' });
    // At first the engine has not taken the bot up yet.
    if (seen.length < 4) response.writeHead(seen.length === 2 ? 404 : 502).end('{}');
    else response.end('{"decision":"allow"}');
  });
  server.closeAllConnections();
  await new Promise<void>((resolve) => next.listen(0, '127.0.0.1', resolve));
  writeFileSync(join(folder, 'url'), `http://127.0.0.1:${(next.address() as AddressInfo).port}\n`);
  expect(await asked).toEqual({ code: 0, printed: '{"decision":"allow"}\n' });
  expect(seen).toHaveLength(4);
  next.close();
}, 15_000);

test('a question waits longer than any other event; without a decision it ends quietly', async () => {
  answer.body = null;
  const asked = hook('PermissionRequest', '{}');
  const other = hook('Stop', '{}');
  expect(await other).toEqual({ code: 0, printed: '' });
  let over = false;
  asked.then(() => {
    over = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(over).toBe(false);
  answer.body = '{}';
  server.closeAllConnections();
  expect(await asked).toEqual({ code: 0, printed: '' });
}, 15_000);

test('a question that no engine answers until its time is over is a no with its reason', async () => {
  server.closeAllConnections();
  server.close();
  const { code, printed } = await hook('PermissionRequest', '{}', {}, 300);
  expect(code).toBe(0);
  expect(JSON.parse(printed)).toEqual({
    hookSpecificOutput: {
      hookEventName: 'PermissionRequest',
      decision: { behavior: 'deny', message: expect.stringMatching(/^Not allowed: Gantry was away/) },
    },
  });
});

test('a question leaves a port that holds it open when the engine has moved to another', async () => {
  answer.body = null;
  const asked = hook('PermissionRequest', '{}');
  await eventually(() => seen.length === 1);
  const next = createServer((_, response) => void response.end('{"decision":"allow"}'));
  await new Promise<void>((resolve) => next.listen(0, '127.0.0.1', resolve));
  writeFileSync(join(folder, 'url'), `http://127.0.0.1:${(next.address() as AddressInfo).port}\n`);
  expect(await asked).toEqual({ code: 0, printed: '{"decision":"allow"}\n' });
  next.close();
}, 15_000);

test('an engine that does not know the bot yet is asked again', async () => {
  answer = { status: 401, body: '{"error":{}}' };
  const asked = hook('PermissionRequest', '{}');
  await eventually(() => seen.length === 2);
  answer = { status: 200, body: '{"decision":"deny"}' };
  expect(await asked).toEqual({ code: 0, printed: '{"decision":"deny"}\n' });
});

test('a stopped bot, whose token is void, asks no more after half a minute of refusals', async () => {
  answer = { status: 401, body: '{"error":{}}' };
  let milliseconds = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (milliseconds += 4000));
  expect(await hook('PermissionRequest', '{}')).toEqual({ code: 0, printed: '' });
  expect(milliseconds).toBeGreaterThan(30_000);
  expect(seen.length).toBeGreaterThan(1);
}, 15_000);
