/** The factory of several computers behind one cloud: which is asked, what a cut does, and what does not pass. */
import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, request } from 'node:http';
import { expect, test } from 'vitest';
import { createFactoryProxy } from '../../src/cloud-api/factory/index.ts';
import * as contract from '../../src/contracts/factory/routes.ts';
import { documentHeaders } from '../../src/kit/http/base-headers.ts';
import { everyScope, surfaceOf } from '../../src/kit/http/principals.ts';
import { type BoundRoute, bind } from '../../src/kit/http/types.ts';
import { onEnd, serve } from '../kit/http/support.ts';
import { type TestCloud, untilLinked } from '../support/link.ts';
import { computers, startPairedCloud, startPairedComputer } from '../support/paired-computers.ts';

/** A cloud whose users sign in by their names. */
async function startCloud() {
  const { cloud, engines } = await startPairedCloud();
  const listeners = new Set<(event: { userId: string; id: string; data: unknown }) => void>();
  const proxy = createFactoryProxy({
    engines,
    advice: 'See that it runs.',
    approvals: {
      onEvent(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      ledgerIdOf: async () => null,
    },
  });
  const web = await serve({
    routes: proxy.routes,
    authenticators: [
      {
        name: 'by name',
        authenticate({ headers }) {
          const name = headers.authorization?.slice('Bearer '.length);
          if (name !== 'ada' && name !== 'bob' && name !== 'eve') return null;
          return { kind: 'user', userId: name, scopes: everyScope, via: 'cookie' };
        },
      },
    ],
  });
  return { cloud, web };
}

interface Seen {
  readonly computer: string;
  readonly url: string;
  readonly user: string;
  readonly surface: string;
  readonly headers: IncomingMessage['headers'];
}

/** An engine behind a paired link; `first` sees each request before it. */
async function startEngine(
  cloud: TestCloud,
  at: number,
  seen: Seen[],
  first?: RequestListener,
  more: BoundRoute[] = [],
) {
  const { id } = computers[at]!;
  const list = bind(contract.listAgents, ({ principal, request: { headers, url } }) => {
    seen.push({ computer: id, url: url ?? '', user: principal.userId, surface: surfaceOf(principal), headers });
    return { body: { agents: [], engine: { running: true, error: null } } };
  });
  const input = bind(contract.agentInput, () => ({ body: { ok: true as const } }));
  return startPairedComputer(cloud, at, { routes: [list, input, ...more], owners: { agent: () => true } }, first);
}

test('each caller reaches the default or the named computer of their own, as its owner, and nobody else’s', async () => {
  const { cloud, web } = await startCloud();
  const seen: Seen[] = [];
  for (const at of [0, 1, 2]) await startEngine(cloud, at, seen);
  const ask = async (token: string, search = '', headers = {}) => {
    const reply = await web.call('GET', `/api/factory/agents${search}`, { token, headers });
    return reply.status === 200 ? seen.at(-1)?.computer : reply.json.error.code;
  };
  expect(await ask('ada')).toBe('computer_a');
  expect(await ask('ada', '?computer=computer_b')).toBe('computer_b');
  expect(await ask('ada', '', { 'x-gantry-computer': 'cc_b' })).toBe('computer_b');
  expect(await ask('bob')).toBe('computer_c');
  expect(await ask('bob', '?computer=cc_a')).toBe('not_found');
  expect(await ask('ada', '?computer=computer_c')).toBe('not_found');
  expect(await ask('ada', '?computer=computer_z')).toBe('not_found');
  expect(await ask('eve')).toBe('not_found');
  expect(seen).toHaveLength(4);
  expect(new Set(seen.map(({ user, surface }) => `${user} ${surface}`))).toEqual(new Set(['user_local browser']));
});

test('a computer takes its cloud’s word for nobody but the person of the pairing', async () => {
  const { cloud, web } = await startCloud();
  const seen: Seen[] = [];
  const pairedWithSomebodyElse = { ...computers[0]!, user: 'mallory' };
  computers.splice(0, 1, pairedWithSomebodyElse);
  onEnd(async () => void computers.splice(0, 1, { ...pairedWithSomebodyElse, user: 'ada' }));
  await startEngine(cloud, 0, seen);
  computers.splice(0, 1, { ...pairedWithSomebodyElse, user: 'ada' });
  const reply = await web.call('GET', '/api/factory/agents', { token: 'ada' });
  expect([reply.status, reply.json.error.code, seen]).toEqual([403, 'refused', []]);
});

test('of a computer that is away it is said since when, while the others answer', async () => {
  const { cloud, web } = await startCloud();
  const seen: Seen[] = [];
  const a = await startEngine(cloud, 0, seen);
  await startEngine(cloud, 1, seen);
  await a.dialer.stop();
  await untilLinked(cloud.dialIns, a.id, false);
  const since = new Date(cloud.dialIns.state(a.id).since).toISOString();
  for (const method of ['GET', 'POST'] as const) {
    const path = method === 'GET' ? '/api/factory/agents' : '/api/factory/agents/agent_1/input';
    const reply = await web.call(method, path, { token: 'ada', body: method === 'POST' ? { text: 'x' } : undefined });
    expect([reply.status, reply.json.error.code]).toEqual([502, 'transport']);
    expect(String(reply.json.error.fact)).toContain(since);
  }
  expect((await web.call('GET', '/api/factory/agents?computer=computer_b', { token: 'ada' })).status).toBe(200);
});

test('a read that was cut off is asked once more over the next link, what acts is not', async () => {
  const { cloud, web } = await startCloud();
  const seen: Seen[] = [];
  let asked = 0;
  let acted = 0;
  const a = await startEngine(cloud, 0, seen, (incoming) => {
    if (incoming.method === 'GET') {
      asked += 1;
      if (asked === 1) a.wire.cutAll();
    } else {
      acted += 1;
      a.wire.cutAll();
    }
  });
  expect((await web.call('GET', '/api/factory/agents', { token: 'ada' })).status).toBe(200);
  expect(asked).toBe(2);
  await a.linked();
  const body = { text: 'x' };
  const reply = await web.call('POST', '/api/factory/agents/agent_1/input', { token: 'ada', body });
  expect([reply.status, reply.json.error.code, acted]).toEqual([502, 'transport', 1]);
});

test('a read that is cut off again and again is answered with 502, not asked for ever', async () => {
  const { cloud, web } = await startCloud();
  let asked = 0;
  const a = await startEngine(cloud, 0, [], () => {
    asked += 1;
    a.wire.cutAll();
  });
  const reply = await web.call('GET', '/api/factory/agents', { token: 'ada' });
  expect([reply.status, asked]).toEqual([502, 2]);
});

test('a stream ends visibly with the link and is taken up again where it was', async () => {
  const { cloud, web } = await startCloud();
  const from: (string | undefined)[] = [];
  const stream = bind(contract.factoryEventStream, ({ request: { headers } }, sink) => {
    from.push(headers['last-event-id'] as string | undefined);
    sink.send({ id: String(from.length), data: from.length });
  });
  const a = await startEngine(cloud, 0, [], undefined, [stream]);
  const open = (lastEventId?: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: 'Bearer ada', ...(lastEventId ? { 'last-event-id': lastEventId } : {}) };
      const call = request({ host: '127.0.0.1', port: web.port, path: '/api/factory/events', headers }, resolve);
      call.on('error', reject);
      call.end();
    });
  const read = (response: IncomingMessage) =>
    new Promise<string>((resolve) => {
      let text = '';
      response.on('data', (chunk) => {
        text += String(chunk);
        if (text.includes('data:')) resolve(text);
      });
    });
  const before = await open();
  expect(await read(before)).toContain('id: 1\n');
  const cut = once(before, 'error');
  a.wire.cutAll();
  expect(((await cut)[0] as NodeJS.ErrnoException).code).toBe('ECONNRESET');
  await a.linked();
  const after = await open('1');
  expect(await read(after)).toContain('id: 2\n');
  expect(from).toEqual([undefined, '1']);
  after.destroy();
});

test('a document of a computer keeps its own style and pictures, by exactly one policy', async () => {
  const { cloud, web } = await startCloud();
  const policies = [
    documentHeaders['content-security-policy'],
    `${documentHeaders['content-security-policy']} allow-scripts`,
  ];
  await startEngine(cloud, 0, [], (incoming, response) => {
    const at = Number(new URL(incoming.url ?? '', 'http://engine').searchParams.get('team'));
    response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policies[at] ?? '' });
    response.end('<style>p {}</style>');
  });
  const policyOf = async (at: number) =>
    (await web.call('GET', `/api/factory/agents?team=${at}`, { token: 'ada' })).headers['content-security-policy'];
  expect(await policyOf(0)).toBe(policies[0]);
  expect(await policyOf(1)).toBe("default-src 'none'; sandbox");
});

test('nothing that belongs to one connection or to us passes, in either direction', async () => {
  const { cloud, web } = await startCloud();
  const seen: Seen[] = [];
  await startEngine(cloud, 0, seen, (incoming, response) => {
    if (incoming.url?.includes('page') !== true) return;
    response.writeHead(200, {
      'content-type': 'text/html',
      'set-cookie': 'session=stolen',
      'access-control-allow-origin': '*',
      'content-security-policy': 'default-src *',
      'strict-transport-security': 'max-age=0',
      connection: 'close, x-mine',
      'x-mine': '1',
      'x-gantry-computer': 'computer_b',
      location: 'https://elsewhere.example/',
    });
    response.end('<script>1</script>');
  });
  const headers = {
    cookie: 'session=mine',
    connection: 'keep-alive, x-hop',
    'x-hop': '1',
    'x-gantry-surface': 'cli',
    'x-gantry-link-token': 'forged',
    'x-forwarded-for': '10.0.0.1',
    te: 'trailers',
  };
  await web.call('GET', '/api/factory/agents', { token: 'ada', headers });
  const arrived = Object.keys(seen[0]!.headers).sort();
  expect(arrived).toEqual([
    'authorization',
    'connection',
    'host',
    'x-gantry-client',
    'x-gantry-surface',
    'x-platform-user-id',
  ]);
  expect(seen[0]!.headers['x-gantry-surface']).toBe('browser');

  const page = await web.call('GET', '/api/factory/agents?team=page', { token: 'ada' });
  expect(page.text).toBe('<script>1</script>');
  expect(page.headers['content-security-policy']).toBe("default-src 'none'; sandbox");
  expect(page.headers['x-content-type-options']).toBe('nosniff');
  const passed = Object.keys(page.headers);
  for (const name of ['set-cookie', 'access-control-allow-origin', 'strict-transport-security', 'x-mine', 'location']) {
    expect(passed).not.toContain(name);
  }
});

test('a body larger than its route takes never reaches the computer', async () => {
  const { cloud, web } = await startCloud();
  let asked = 0;
  let bytes = 0;
  await startEngine(cloud, 0, [], (incoming) => {
    asked += 1;
    incoming.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
  });
  const path = '/api/factory/agents/agent_1/input';
  const announced = await web.call('POST', path, { token: 'ada', raw: Buffer.alloc(5_000_000, 32) });
  expect([announced.status, announced.json.error.code, asked]).toEqual([400, 'usage', 0]);
  const status = await new Promise<number>((resolve) => {
    const headers = { authorization: 'Bearer ada', 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    const call = request({ host: '127.0.0.1', port: web.port, path, method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.on('error', () => {});
    for (let n = 0; n < 50; n += 1) call.write(Buffer.alloc(100_000, 32));
    call.end();
  });
  expect(status).toBe(400);
  expect(bytes).toBeLessThanOrEqual(contract.agentInput.bodyLimit);
});

test('cut in the middle of an upload the caller hears that the computer is away, and the computer that nothing is whole', async () => {
  const { cloud, web } = await startCloud();
  const uploads: IncomingMessage[] = [];
  const a = await startEngine(cloud, 0, [], (incoming) => void uploads.push(incoming));
  const path = '/api/factory/agents/agent_1/input';
  const status = await new Promise<number>((resolve, reject) => {
    const headers = { authorization: 'Bearer ada', 'content-type': 'application/json', 'content-length': '900000' };
    const call = request({ host: '127.0.0.1', port: web.port, path, method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
      call.destroy();
    });
    call.on('error', reject);
    call.write(Buffer.alloc(300_000, 32));
    const look = setInterval(() => {
      if (uploads.length === 0) return;
      clearInterval(look);
      a.wire.cutAll();
    }, 10);
  });
  expect(status).toBe(502);
  while (!uploads[0]!.destroyed) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(uploads[0]!.complete).toBe(false);
});
