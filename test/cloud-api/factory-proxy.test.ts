import { request } from 'node:http';
import { expect, test } from 'vitest';
import type { Link } from '../../src/cloud-api/link/link.ts';
import * as contract from '../../src/contracts/factory/routes.ts';
import { isOwnerInPerson, surfaceOf } from '../../src/kit/http/principals.ts';
import { bind } from '../../src/kit/http/types.ts';
import { type PairOptions, signIn, startPair } from '../host/support.ts';

/** Which request reached the engine, as what. */
function probe() {
  const seen: { user: string; surface: string; kind: string; inPerson: boolean; headers: object; url?: string }[] = [];
  const routes: PairOptions['routes'] = [
    bind(contract.health, () => ({ body: { ok: true, service: 'factory', panes: true } })),
    bind(contract.listAgents, ({ principal, request: { headers, url } }) => {
      seen.push({
        user: principal.userId,
        surface: surfaceOf(principal),
        kind: principal.kind,
        inPerson: isOwnerInPerson(principal),
        headers,
        url,
      });
      return { body: { agents: [], engine: { running: true, error: null } } };
    }),
    bind(contract.agentInput, ({ body }) => {
      if (body.text === undefined) throw new Error('nothing typed');
      return { body: { ok: true as const } };
    }),
  ];
  return { seen, routes, owners: { agent: (_: unknown, id: string) => id === 'agent_1' } };
}

test('a browser’s request reaches the engine as the signed-in owner, without the browser’s own credential', async () => {
  const { seen, ...served } = probe();
  const pair = await startPair(served);
  const cookie = await signIn(pair);
  const headers = { cookie, 'x-gantry-surface': 'forged', referer: 'http://x/', 'sec-fetch-site': 'same-origin' };
  const reply = await pair.callWeb('GET', '/api/factory/agents?team=demo', { token: null, headers });
  expect(reply.status).toBe(200);
  expect(reply.json).toEqual({ agents: [], engine: { running: true, error: null } });
  expect(seen[0]).toMatchObject({ user: 'user_local', surface: 'browser', kind: 'link', inPerson: true });
  expect(seen[0]?.url).toBe('/api/factory/agents?team=demo');
  const arrived = JSON.stringify(seen[0]?.headers);
  for (const secret of [cookie.split('=')[1]!, pair.ownerToken, 'referer', 'sec-fetch', 'forged']) {
    expect(arrived).not.toContain(secret);
  }
});

test('the CLI’s token is known as such behind the proxy', async () => {
  const { seen, ...served } = probe();
  const pair = await startPair(served);
  await pair.callWeb('GET', '/api/factory/agents');
  expect(seen[0]).toMatchObject({ surface: 'cli', kind: 'link', inPerson: true });
});

test('nobody without a credential, and no junk, bot or link token, gets through', async () => {
  const { seen, ...served } = probe();
  const pair = await startPair(served);
  const bot = await pair.bots.mint('agent_1');
  for (const token of [null, 'junk', bot, pair.linkToken]) {
    const reply = await pair.callWeb('GET', '/api/factory/agents', { token });
    expect([token, reply.status, reply.json.error.code]).toEqual([token, 401, 'refused']);
  }
  expect(seen).toHaveLength(0);
});

test('naming a user from outside is refused at every door', async () => {
  const { seen, ...served } = probe();
  const pair = await startPair(served);
  const headers = { 'x-platform-user-id': 'user_other' };
  expect((await pair.callWeb('GET', '/api/factory/agents', { headers })).status).toBe(403);
  expect((await pair.callWeb('GET', '/api/factory/health', { headers, token: null })).status).toBe(403);
  expect((await pair.callEngine('GET', '/api/factory/agents', { headers })).status).toBe(403);
  const { engineSocket } = pair.places;
  expect((await pair.callEngine('GET', '/api/factory/agents', { headers, socketPath: engineSocket })).status).toBe(403);
  expect(seen).toHaveLength(0);
});

test('the link’s token opens the socket alone, and names its user there', async () => {
  const pair = await startPair(probe());
  const token = pair.linkToken;
  const headers = { 'x-platform-user-id': 'user_local', 'x-gantry-surface': 'browser' };
  const { engineSocket } = pair.places;
  const call = pair.callEngine;
  expect((await call('GET', '/api/factory/agents', { token, headers, socketPath: engineSocket })).status).toBe(200);
  expect((await call('GET', '/api/factory/agents', { token, socketPath: engineSocket })).status).toBe(401);
  expect((await call('GET', '/api/factory/agents', { token, headers })).status).toBe(401);
});

test('health goes through without a credential', async () => {
  const pair = await startPair(probe());
  expect((await pair.callWeb('GET', '/api/factory/health', { token: null })).json.ok).toBe(true);
});

test('the engine’s refusals come back unchanged', async () => {
  const pair = await startPair(probe());
  const foreign = await pair.callWeb('POST', '/api/factory/agents/agent_2/input', { body: { text: 'x' } });
  expect([foreign.status, foreign.json.error.code]).toEqual([404, 'not_found']);
  const bad = await pair.callWeb('POST', '/api/factory/agents/agent_1/input', { body: { nope: 1 } });
  expect([bad.status, bad.json.error.code]).toEqual([400, 'usage']);
  const good = await pair.callWeb('POST', '/api/factory/agents/agent_1/input', { body: { text: 'x'.repeat(900_000) } });
  expect(good.status).toBe(200);
});

test('an engine that is away is a transport error that says how to start it', async () => {
  const pair = await startPair(probe());
  await pair.callWeb('GET', '/api/factory/agents');
  await pair.stopEngine();
  for (const method of ['GET', 'POST'] as const) {
    const path = method === 'GET' ? '/api/factory/agents' : '/api/factory/agents/agent_1/input';
    const reply = await pair.callWeb(method, path, { body: method === 'POST' ? { text: 'x' } : undefined });
    expect([reply.status, reply.json.error.code]).toEqual([502, 'transport']);
    expect(String(reply.json.error.action)).toContain('gantry start');
  }
});

test('this computer can be named, another is unknown', async () => {
  const { seen, ...served } = probe();
  const pair = await startPair(served);
  const named = await pair.callWeb('GET', `/api/factory/agents?computer=${pair.computer.id}&team=a`);
  expect(named.status).toBe(200);
  expect(seen[0]?.url).toBe('/api/factory/agents?team=a');
  const headers = { 'x-gantry-computer': 'computer_other' };
  expect((await pair.callWeb('GET', '/api/factory/agents', { headers })).status).toBe(404);
  expect((await pair.callWeb('GET', '/api/factory/agents?computer=computer_other')).status).toBe(404);
});

test('approvals are the cloud’s own: the engine is not asked, also while it is away', async () => {
  const { seen, ...served } = probe();
  const pair = await startPair(served);
  await pair.stopEngine();
  expect((await pair.callWeb('GET', '/api/factory/approvals')).json).toEqual({ approvals: [] });
  expect(seen).toEqual([]);
});

test('routes of the phone say that no carrier is configured, after authentication', async () => {
  const pair = await startPair(probe());
  expect((await pair.callWeb('GET', '/api/v1/phone/numbers', { token: null })).status).toBe(401);
  const numbers = await pair.callWeb('GET', '/api/v1/phone/numbers');
  expect([numbers.status, numbers.text]).toEqual([503, '{"error":"phone_not_configured"}']);
  const page = await pair.callWeb('GET', '/sms/number_1', { token: null });
  expect([page.status, page.text]).toEqual([503, '{"error":"phone_not_configured"}']);
});

test('requests one after the other share one connection to the engine', async () => {
  let opened = 0;
  const count = (link: Link): Link => ({
    ...link,
    open(...to) {
      opened += 1;
      return link.open(...to);
    },
  });
  const pair = await startPair({ ...probe(), wrapLink: count });
  for (let request = 0; request < 20; request += 1) {
    expect((await pair.callWeb('GET', '/api/factory/agents')).status).toBe(200);
    const typed = await pair.callWeb('POST', '/api/factory/agents/agent_1/input', { body: { text: 'x' } });
    expect(typed.status).toBe(200);
  }
  expect(opened).toBe(1);
});

test('a stream runs through unbuffered, and leaving it is felt by the engine', async () => {
  let left: () => void = () => {};
  const gone = new Promise<void>((resolve) => {
    left = resolve;
  });
  let push: (data: unknown) => void = () => {};
  const stream = bind(contract.factoryEventStream, (_context, sink) => {
    push = (data) => sink.send({ id: '7', data });
    sink.signal.addEventListener('abort', left);
  });
  const pair = await startPair({ routes: [stream] });
  const cookie = await signIn(pair);
  const chunks: string[] = [];
  let wake: () => void = () => {};
  const outgoing = request(
    { host: '127.0.0.1', port: pair.webPort, path: '/api/factory/events', headers: { cookie } },
    (response) => {
      expect(response.headers['content-type']).toContain('text/event-stream');
      expect(response.headers['cache-control']).toBe('no-cache, no-transform');
      response.on('data', (chunk) => {
        chunks.push(String(chunk));
        wake();
      });
      response.on('error', () => {});
    },
  );
  const next = async () => {
    while (chunks.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return chunks.shift();
  };
  outgoing.on('error', () => {});
  outgoing.end();
  expect(await next()).toBe(':\n\n');
  push({ type: 'delivery', at: 'now', data: 1 });
  expect(await next()).toBe('id: 7\ndata: {"type":"delivery","at":"now","data":1}\n\n');
  outgoing.destroy();
  await gone;
});

test('an engine that stops ends its streams with a last event', async () => {
  const stream = bind(contract.factoryEventStream, () => {});
  const pair = await startPair({ routes: [stream] });
  const whole = pair.callWeb('GET', '/api/factory/events');
  while (pair.engine.streams === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await pair.stopEngine();
  expect((await whole).text).toBe(':\n\nevent: closing\ndata: {"reason":"Gantry is stopping."}\n\n');
});
