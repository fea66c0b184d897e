import { createServer, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { createEgressProxy, type EgressProxyDeps } from '../../../src/programs/executor/egress-proxy.ts';

const seen: string[] = [];
const web = createServer((incoming, answer) => {
  seen.push(`${incoming.method} ${incoming.headers.host}${incoming.url}`);
  incoming.resume().on('end', () => answer.end(`hello ${incoming.headers['proxy-connection'] ?? ''}`));
});
let port: number;

beforeAll(async () => {
  await new Promise<void>((done) => web.listen(0, '127.0.0.1', done));
  port = (web.address() as AddressInfo).port;
});
afterAll(() => new Promise<unknown>((done) => web.close(done)));
beforeEach(() => void seen.splice(0));

async function proxyWith(deps: Partial<EgressProxyDeps> = {}) {
  const asked: string[] = [];
  let now = 0;
  const proxy = await createEgressProxy({
    clock: { now: () => now, monotonic: () => now },
    ...deps,
    ask: async (question) => {
      asked.push(`${question.host}:${question.port} ${question.addresses.join(',')}`);
      return (await deps.ask?.(question)) ?? { allow: true, why: '' };
    },
  });
  onTestFinished(() => proxy.close());
  const [host, at] = proxy.address.split(':');
  const get = (url: string, method = 'GET') =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const asking = request({ host, port: Number(at), method, path: url, headers: { host: new URL(url).host } });
      asking.on('response', async (answer) => resolve({ status: answer.statusCode!, body: await text(answer) }));
      asking.on('error', reject).end(method === 'POST' ? 'body' : undefined);
    });
  /** What comes back for CONNECT, and then for what is said through it. */
  const tunnel = (target: string, say: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(Number(at), host);
      let came = '';
      socket.on('data', (chunk) => {
        came += chunk.toString();
        if (came.endsWith('\r\n\r\n')) socket.write(say);
      });
      socket.on('close', () => resolve(came)).on('error', () => {});
      socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n\r\n`);
    });
  const pass = (ms: number): void => {
    now += ms;
  };
  return { proxy, asked, get, tunnel, pass };
}

it('asks once for a host, with what it resolves to, and again after a while', async () => {
  const { asked, get, pass } = await proxyWith({ resolve: async () => ['127.0.0.1'] });
  expect(await get(`http://shop.test:${port}/one?two`)).toEqual({ status: 200, body: 'hello ' });
  await get(`http://shop.test:${port}/two`, 'POST');
  expect(seen).toEqual([`GET shop.test:${port}/one?two`, `POST shop.test:${port}/two`]);
  expect(asked).toEqual([`shop.test:${port} 127.0.0.1`]);
  pass(60_000);
  await get(`http://shop.test:${port}/three`);
  expect(asked).toHaveLength(2);
});

it('connects to the addresses that were asked about, whatever the name leads to later', async () => {
  // A name that leads elsewhere each time it is looked up.
  const answers = [['127.0.0.1'], ['192.0.2.1'], ['192.0.2.1']];
  const { asked, get, tunnel } = await proxyWith({ resolve: async () => answers.shift()! });
  expect((await get(`http://shop.test:${port}/`)).status).toBe(200);
  expect(await tunnel(`shop.test:${port}`, 'GET / HTTP/1.0\r\nconnection: close\r\n\r\n')).toContain('hello');
  expect(asked).toHaveLength(1);
  expect(answers).toHaveLength(2);
});

it('sends nothing to a host that is refused, says why in a page, and remembers it', async () => {
  const { proxy, get, tunnel } = await proxyWith({
    ask: async () => ({ allow: false, why: 'It is a <private> address.' }),
  });
  const { status, body } = await get(`http://127.0.0.1:${port}/`);
  expect(status).toBe(403);
  expect(body).toContain('It is a &#60;private&#62; address.');
  expect(await tunnel(`127.0.0.1:${port}`, 'GET / HTTP/1.0\r\n\r\n')).toBe('HTTP/1.1 403 Forbidden\r\n\r\n');
  expect(seen).toEqual([]);
  expect(proxy.refusal('127.0.0.1', port)).toBe('It is a <private> address.');
  expect(proxy.refusal('127.0.0.1', port + 1)).toBeNull();
});

it('forgets the oldest refusals of a page that asks for hosts without end', async () => {
  const { proxy, tunnel } = await proxyWith({
    ask: async () => ({ allow: false, why: 'no' }),
    resolve: async () => ['192.0.2.1'],
  });
  for (let from = 0; from <= 2000; from += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => tunnel(`host-${from + index}.test:1`, '')));
  }
  expect(proxy.refusal('host-0.test', 1)).toBeNull();
  expect(proxy.refusal('host-2099.test', 1)).toBe('no');
});

it.each([
  ['127.1', '127.0.0.1'],
  ['0x7f000001', '127.0.0.1'],
  ['2130706433', '127.0.0.1'],
  ['0177.0.0.1', '127.0.0.1'],
  ['[::ffff:127.0.0.1]', '::ffff:7f00:1'],
  ['127.0.0.1', '127.0.0.1'],
])('asks about the address that %s means, in requests and in tunnels', async (written, meant) => {
  const { asked, get, tunnel } = await proxyWith({ ask: async () => ({ allow: false, why: 'no' }) });
  expect((await get(`http://${written}:${port}/`)).status).toBe(403);
  expect(await tunnel(`${written}:${port}`, '')).toContain('403');
  expect(asked).toEqual([`${meant}:${port} ${meant}`]);
  expect(seen).toEqual([]);
});

it('a name that is not there is no refusal, and is looked for again', async () => {
  let there = false;
  const { proxy, get } = await proxyWith({
    resolve: () => (there ? Promise.resolve(['127.0.0.1']) : Promise.reject(new Error('ENOTFOUND'))),
  });
  expect((await get(`http://shop.test:${port}/`)).status).toBe(502);
  expect(proxy.refusal('shop.test', port)).toBeNull();
  there = true;
  expect((await get(`http://shop.test:${port}/`)).status).toBe(200);
});

it('passes bytes of a tunnel both ways until one end closes it', async () => {
  const echo: Server = createTcpServer((socket) => socket.pipe(socket));
  await new Promise<void>((done) => echo.listen(0, '127.0.0.1', done));
  onTestFinished(() => void echo.close());
  const { proxy } = await proxyWith();
  const socket = connect(Number(proxy.address.split(':')[1]), '127.0.0.1');
  const target = `127.0.0.1:${(echo.address() as AddressInfo).port}`;
  const bytes = Buffer.alloc(300_000, 'x');
  const whole = await new Promise<number>((resolve) => {
    let came = 0;
    socket.on('data', (chunk) => {
      if (came === 0) socket.write(bytes);
      came += chunk.length;
      if (came >= bytes.length) socket.end();
    });
    socket.on('close', () => resolve(came));
    socket.write(`CONNECT ${target} HTTP/1.1\r\n\r\n`);
  });
  expect(whole).toBe('HTTP/1.1 200 Connection Established\r\n\r\n'.length + bytes.length);
});

it('a host that does not answer is told apart from one that is refused', async () => {
  const { proxy, get, tunnel } = await proxyWith();
  const closed = createTcpServer();
  await new Promise<void>((done) => closed.listen(0, '127.0.0.1', done));
  const nobody = (closed.address() as AddressInfo).port;
  await new Promise<void>((done) => closed.close(() => done()));
  expect((await get(`http://127.0.0.1:${nobody}/`)).status).toBe(502);
  expect(await tunnel(`127.0.0.1:${nobody}`, '')).toContain('502');
  expect(proxy.refusal('127.0.0.1', nobody)).toBeNull();
});
