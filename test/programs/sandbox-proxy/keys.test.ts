/** Secrets that a sandbox holds as placeholders: the value goes to its destination and nowhere else, and never comes back. */
import { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { createAuthority } from '../../../src/programs/sandbox-proxy/ca.ts';
import { putKeys, refusing, replacing } from '../../../src/programs/sandbox-proxy/keys.ts';
import type { KeyUse } from '../../../src/programs/sandbox-proxy/protocol.ts';
import { onEnd } from '../../support/at-end.ts';
import { readAll, serveHttp, serveTls, startProxy } from './support.ts';

const placeholder = 'sk-gantry0123456789abcdef0123456789abcdef';
const value = 'sk-the-real-value-that-no-bot-holds-0987';
const key = (more: Partial<KeyUse> = {}): KeyUse => ({
  ...{ name: 'API_KEY', placeholder, value, host: 'api.test', port: 443 },
  ...{ header: 'authorization', form: 'bearer', methods: null },
  ...more,
});

/** A server with a certificate of its own authority. It answers with what it got. */
async function serveApi(answer?: (authorization: string) => Buffer | string, encoding?: string) {
  const outside = await createAuthority(systemClock, '02'.repeat(32));
  const context = await outside.contextFor('api.test');
  const seen: { method: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer({ SNICallback: (_name, done) => done(null, context) }, async (incoming, response) => {
    const body = await text(incoming).catch(() => 'broken off');
    const { authorization = '' } = incoming.headers;
    seen.push({ method: incoming.method ?? '', headers: incoming.headers, body });
    response.setHeader('x-echo', authorization);
    if (encoding !== undefined) response.setHeader('content-encoding', encoding);
    // In two pieces that cut the value.
    const said = Buffer.from(answer?.(authorization) ?? `you sent ${authorization}!`);
    response.write(said.subarray(0, 22));
    setImmediate(() => response.end(said.subarray(22)));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onEnd(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return { port: (server.address() as AddressInfo).port, seen, trusted: outside.certificate };
}

async function sandboxWith(more: Partial<KeyUse> = {}, ...how: Parameters<typeof serveApi>) {
  const api = await serveApi(...how);
  const proxy = await startProxy({ keys: [key({ port: api.port, ...more })], trusted: api.trusted });
  /** What the program gets for a request over TLS that it checks with the sandbox's certificate. */
  async function request(start: string, headers: readonly string[], body = ''): Promise<string> {
    const client = connectTls({
      socket: proxy.toName('api.test', api.port),
      servername: 'api.test',
      ca: proxy.authority ?? '',
      ALPNProtocols: ['h2', 'http/1.1'],
    });
    client.on('error', () => {});
    const lines = [`${start} HTTP/1.1`, `host: api.test:${api.port}`, ...headers, 'connection: close', '', body];
    client.write(lines.join('\r\n'));
    return readAll(client);
  }
  return { api, proxy, request };
}

describe('a key', () => {
  test('is put into its header, and taken out of the answer, of which no piece shows it', async () => {
    const { api, request } = await sandboxWith();
    const said = await request('GET /me', [`authorization: Bearer ${placeholder}`, 'accept-encoding: gzip']);
    expect(api.seen).toMatchObject([{ headers: { authorization: `Bearer ${value}`, 'accept-encoding': 'identity' } }]);
    expect(said).toMatch(/^HTTP\/1\.1 200 /);
    expect(said).toContain(`x-echo: Bearer ${placeholder}`);
    expect(said.split('\r\n\r\n')[1]?.replaceAll(/\r\n[0-9a-f]+\r\n/g, '')).toContain(
      `you sent Bearer ${placeholder}!`,
    );
    expect(said).not.toContain(value);
  });

  test('passes a body that has no placeholder, and requests without the key', async () => {
    const { api, request } = await sandboxWith();
    await request('POST /one', [`authorization: token ${placeholder}`, 'content-length: 4'], 'body');
    await request('GET /two', []);
    expect(api.seen.map(({ headers, body }) => [headers.authorization, body])).toEqual([
      [`token ${value}`, 'body'],
      [undefined, ''],
    ]);
  });

  test('passes what a command printed to the model whose key is in its header, as text', async () => {
    const { api, request } = await sandboxWith();
    const body = JSON.stringify({ result: `API_KEY=${placeholder}` });
    const length = `content-length: ${Buffer.byteLength(body)}`;
    await request('POST /turn', [`authorization: Bearer ${placeholder}`, length], body);
    expect(api.seen.map(({ headers, body }) => [headers.authorization, body])).toEqual([[`Bearer ${value}`, body]]);
  });

  test.each<[where: string, start: string, headers: string[], body?: string]>([
    ['in the address', 'GET /x?k=PLACEHOLDER', []],
    ['in the address, encoded', 'GET /x?k=%PLACEHOLDER', []],
    ['in another header', 'GET /', ['x-other: PLACEHOLDER']],
    ['in a name of a header', 'GET /', ['PLACEHOLDER: x']],
    ['in its header, beside other text', 'GET /', ['authorization: Bearer x PLACEHOLDER']],
    [
      'in its header, as a password',
      'GET /',
      [`authorization: Basic ${Buffer.from(`me:${placeholder}`).toString('base64')}`],
    ],
    ['with another method', 'DELETE /', ['authorization: Bearer PLACEHOLDER']],
    ['in the body', 'POST /', ['content-length: 51'], `some ${placeholder} more`],
    [
      'in the body in chunks',
      'POST /',
      ['transfer-encoding: chunked'],
      `14\r\n${placeholder.slice(0, 20)}\r\n15\r\n${placeholder.slice(20)}\r\n0\r\n\r\n`,
    ],
  ])('is refused %s, and nothing of it arrives', async (_where, start, headers, body = '') => {
    const { api, proxy, request } = await sandboxWith({ methods: ['GET', 'POST'] });
    const filled = (one: string) =>
      one.replace('%PLACEHOLDER', `%73${placeholder.slice(1)}`).replace('PLACEHOLDER', placeholder);
    const said = await request(filled(start), headers.map(filled), body);
    expect(said).toMatch(/^HTTP\/1\.1 403 [\s\S]*gantry-refused: placeholder/);
    expect(proxy.refused).toMatchObject([{ reason: 'placeholder' }]);
    expect(JSON.stringify(api.seen)).not.toContain(value);
    expect(JSON.stringify(api.seen)).not.toContain(placeholder);
  });

  test('opens TLS for its own host only; another host is passed unopened', async () => {
    const { proxy } = await sandboxWith();
    const other = await serveTls();
    const client = connectTls({
      ...{ socket: proxy.toName('other.test', other.port), servername: 'other.test' },
      ca: proxy.authority ?? '',
    });
    const fault = await new Promise<NodeJS.ErrnoException>((resolve) => client.once('error', resolve));
    expect(fault.code).toMatch(/SELF_SIGNED|SIGNATURE|UNABLE/);
    expect(other.connections()).toBe(1);
  });

  test('is sent to no server whose certificate is not valid', async () => {
    const { port, connections } = await serveTls();
    const proxy = await startProxy({ keys: [key({ port })] });
    const client = connectTls({
      ...{ socket: proxy.toName('api.test', port), servername: 'api.test' },
      ca: proxy.authority ?? '',
    });
    client.on('error', () => {});
    client.write(`GET / HTTP/1.1\r\nhost: api.test\r\nauthorization: Bearer ${placeholder}\r\n\r\n`);
    expect(await readAll(client)).toBe('');
    expect(connections()).toBe(1);
    expect(proxy.refused).toMatchObject([{ reason: 'invalid' }]);
  });

  test('is refused over plain HTTP, to its own host and to any other', async () => {
    const { port, seen } = await serveHttp();
    const proxy = await startProxy({ keys: [key({ port })] });
    for (const host of ['api.test', 'other.test']) {
      const client = proxy.toProxy();
      const to = `${host}:${port}`;
      client.write(
        `GET http://${to}/ HTTP/1.1\r\nhost: ${to}\r\nauthorization: Bearer ${placeholder}\r\nconnection: close\r\n\r\n`,
      );
      expect(await readAll(client)).toMatch(/gantry-refused: placeholder/);
    }
    expect(seen).toEqual([]);
  });

  test('is for programs that trusted the sandbox’s authority before a restart, whose key is the same', async () => {
    const [one, two, other] = await Promise.all(
      ['01', '01', '03'].map((byte) => createAuthority(systemClock, byte.repeat(32))),
    );
    const [before, after, foreign] = [one, two, other].map((each) => new X509Certificate(each!.certificate));
    expect(after!.publicKey.equals(before!.publicKey)).toBe(true);
    expect(after!.verify(before!.publicKey)).toBe(true);
    expect(foreign!.publicKey.equals(before!.publicKey)).toBe(false);
  });

  test('in an answer that cannot be read is kept back with the answer', async () => {
    const { request } = await sandboxWith({}, (authorization) => gzipSync(authorization), 'gzip');
    expect(await request('GET /', [`authorization: Bearer ${placeholder}`])).toMatch(/^HTTP\/1\.1 502 /);
  });
});

describe('putKeys', () => {
  const request = { to: { host: 'api.test', port: 443 }, isOpened: true, method: 'GET', path: '/' };
  const put = (more: Partial<KeyUse>, name: string, text: string) => {
    const found = putKeys([key(more)], { ...request, headers: [name, text] });
    return found.ok ? found.headers[1] : null;
  };
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

  test('knows a whole header, a scheme, and the user or the password of Basic', () => {
    expect(put({ form: 'raw', header: 'x-api-key' }, 'X-Api-Key', placeholder)).toBe(value);
    expect(put({ form: 'raw', header: 'x-api-key' }, 'X-Api-Key', `x${placeholder}`)).toBeNull();
    expect(put({}, 'authorization', `bearer ${placeholder}`)).toBe(`bearer ${value}`);
    expect(put({}, 'authorization', `Digest ${placeholder}`)).toBeNull();
    expect(put({ form: 'basic' }, 'authorization', basic(`me:${placeholder}`))).toBe(basic(`me:${value}`));
    expect(put({ form: 'basic' }, 'authorization', basic(`${placeholder}:`))).toBe(basic(`${value}:`));
    expect(put({ form: 'basic' }, 'authorization', basic(`me:x${placeholder}`))).toBeNull();
    expect(put({}, 'accept', 'text/html')).toBe('text/html');
  });

  test('puts a key into a request on another host, port or an unopened connection never', () => {
    const headers = ['authorization', `Bearer ${placeholder}`];
    for (const more of [
      { to: { host: 'api.test', port: 8443 } },
      { to: { host: 'xapi.test', port: 443 } },
      { isOpened: false },
    ]) {
      expect(putKeys([key()], { ...request, ...more, headers }).ok).toBe(false);
    }
  });
});

test('texts are replaced and found wherever the bytes are cut', async () => {
  const all = `${value}a${value}${value.slice(0, -1)}b${value}`;
  for (const size of [1, 2, 7, value.length - 1, value.length, 1000]) {
    const stream = replacing([{ from: value, to: '[P]' }]);
    const found = text(stream);
    for (let at = 0; at < all.length; at += size) stream.write(all.slice(at, at + size));
    stream.end();
    expect([size, await found]).toEqual([size, `[P]a[P]${value.slice(0, -1)}b[P]`]);
    const watch = refusing([placeholder]);
    watch.resume();
    const fault = new Promise((resolve) => watch.once('error', resolve).once('end', () => resolve(null)));
    const sent = `xx${placeholder}yy`;
    for (let at = 0; at < sent.length; at += size) watch.write(sent.slice(at, at + size));
    watch.end();
    expect([size, await fault]).toEqual([size, expect.any(Error)]);
  }
});
