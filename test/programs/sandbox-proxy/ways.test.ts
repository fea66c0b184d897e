/** What gets out of a sandbox, and what does not, on real sockets. */
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import {
  allowed,
  denied,
  leadTo,
  readAll,
  readHead,
  sayOverTls,
  seed,
  serveHttp,
  serveTcp,
  serveTls,
  startProxy,
} from './support.ts';

const get = (url: string, host: string, more = '') =>
  `GET ${url} HTTP/1.1\r\nhost: ${host}\r\n${more}connection: close\r\n\r\n`;
/** Without an end of the connection. */
const getMore = (url: string, host: string) => `GET ${url} HTTP/1.1\r\nhost: ${host}\r\n\r\n`;

describe('a request to the proxy', () => {
  test('is asked about by host and port, looked up only after that, and passed on', async () => {
    const { port, seen, raw } = await serveHttp();
    const { toProxy, asked, lookedUp } = await startProxy({
      verdict: () => {
        expect(lookedUp).toEqual([]);
        return allowed;
      },
    });
    const client = toProxy();
    client.write(
      get(`http://Shop.test:${port}/a?b`, `shop.test:${port}`, 'proxy-authorization: x\r\nx-two: 1\r\nX-Two: 2\r\n'),
    );
    expect(await readAll(client)).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*hello/);
    expect(asked).toEqual([`shop.test:${port}`]);
    expect(lookedUp).toEqual(['shop.test']);
    expect(seen).toEqual([`GET shop.test:${port} /a?b`]);
    expect(raw[0]?.headers['proxy-authorization']).toBeUndefined();
    expect(raw[0]?.rawHeaders.filter((text) => /^x-two$/i.test(text))).toEqual(['x-two', 'X-Two']);
  });

  test('that is refused gets one sentence and the reason, and nothing is looked up', async () => {
    const { toProxy, lookedUp } = await startProxy({ verdict: () => denied });
    const plain = toProxy();
    plain.write(get('http://evil.test/', 'evil.test'));
    const said = await readAll(plain);
    expect(said).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(said).toMatch(/\r\ngantry-refused: rule\r\n/i);
    expect(said).toMatch(/Gantry has not opened evil\.test:80: a rule says no\.\n/);
    const tunnel = toProxy();
    tunnel.write('CONNECT evil.test:443 HTTP/1.1\r\nhost: evil.test:443\r\n\r\n');
    expect(await readAll(tunnel)).toMatch(
      /^HTTP\/1\.1 403 [\s\S]*gantry-refused: rule\r\n[\s\S]*evil\.test:443: a rule says no\.\n$/,
    );
    expect(lookedUp).toEqual([]);
  });

  test('asks for each request of a connection, and a body reaches only its own', async () => {
    const { port, seen } = await serveHttp();
    const { toProxy, asked } = await startProxy({ verdict: ({ host }) => (host === 'bad.test' ? denied : allowed) });
    const client = toProxy();
    const host = `one.test:${port}`;
    client.write(
      `POST http://${host}/p HTTP/1.1\r\nhost: ${host}\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`,
    );
    expect(await readHead(client)).toMatch(/^HTTP\/1\.1 200/);
    client.write(getMore(`http://two.test:${port}/q`, `two.test:${port}`));
    await expect.poll(() => seen.length).toBe(2);
    client.write(get(`http://bad.test:${port}/r`, `bad.test:${port}`));
    expect(await readAll(client)).toContain('gantry-refused: rule');
    expect(asked).toEqual([`one.test:${port}`, `two.test:${port}`, `bad.test:${port}`]);
    expect(seen).toEqual([`POST ${host} /p body`, `GET two.test:${port} /q`]);
  });

  test.each([
    ['another Host', (to: string) => get(`http://${to}/`, 'evil.test'), 'mismatch'],
    ['the same Host on another port', (to: string) => get(`http://${to}/`, 'shop.test:1'), 'mismatch'],
    ['two Hosts', (to: string) => get(`http://${to}/`, to, 'Host: evil.test\r\n'), 'mismatch'],
    ['https', (to: string) => get(`https://${to}/`, to), 'invalid'],
    ['a path only', (to: string) => get('/', to), 'invalid'],
    ['no host', () => get('http:///', 'x'), 'invalid'],
    [
      'an encoding of its own',
      (to: string) => get(`http://${to}/`, to, 'transfer-encoding: gzip, chunked\r\n'),
      'invalid',
    ],
  ])('with %s is refused', async (_what, text, reason) => {
    const { port, seen } = await serveHttp();
    const { toProxy, refused } = await startProxy();
    const client = toProxy();
    client.write(text(`shop.test:${port}`));
    const said = await readAll(client);
    expect([said, seen]).toEqual([expect.stringMatching(/^HTTP\/1\.1 40[03] /), []]);
    if (said.includes('403')) expect(refused).toMatchObject([{ reason }]);
  });

  test.each([
    ['a length and chunks', 'content-length: 5\r\ntransfer-encoding: chunked\r\n'],
    ['two lengths', 'content-length: 5\r\ncontent-length: 6\r\n'],
    ['a length that the connection header hides', 'content-length: 66\r\nconnection: content-length\r\n'],
  ])('with %s carries no second request', async (_what, headers) => {
    const { port, seen } = await serveHttp();
    const { toProxy } = await startProxy();
    const client = toProxy();
    const host = `shop.test:${port}`;
    client.write(
      `POST http://${host}/ HTTP/1.1\r\nhost: ${host}\r\n${headers}\r\n0\r\n\r\n${get('/smuggled', 'evil.test')}`,
    );
    client.end();
    await readAll(client);
    expect(seen.filter((line) => line.startsWith('GET'))).toEqual([]);
  });

  test('a WebSocket is passed on once its server switches, and no other request after one that does not', async () => {
    const { port, seen, server } = await serveHttp();
    const { toProxy } = await startProxy();
    const host = `shop.test:${port}`;
    const switching = `GET http://${host}/ws HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`;
    const plain = toProxy();
    plain.write(switching + get(`http://${host}/next`, 'evil.test'));
    const said = await readAll(plain);
    expect(said).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close[\s\S]*hello$/i);
    expect(seen).toEqual([`GET ${host} /ws`]);
    server.on('upgrade', (_incoming, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\nfirst');
      socket.on('data', (chunk: Buffer) => socket.end(`got ${chunk.toString()}`));
    });
    const client = toProxy();
    client.write(switching);
    expect(await readHead(client)).toMatch(/^HTTP\/1\.1 101 /);
    client.write('frame');
    expect(await readAll(client)).toBe('firstgot frame');
  });
});

describe('CONNECT', () => {
  test('passes TLS to the name that it was opened for, unopened', async () => {
    const { port, names } = await serveTls();
    const { tunnel, asked } = await startProxy();
    expect(await sayOverTls(await tunnel(`shop.test:${port}`), 'shop.test')).toBe('echo hello');
    expect(names).toEqual(['shop.test']);
    expect(asked).toEqual([`shop.test:${port}`]);
  });

  test('to one name carries no handshake for another: the program gets an alert, the server nothing', async () => {
    let came = 0;
    const port = await serveTcp((socket) => {
      socket.on('data', (chunk: Buffer) => {
        came += chunk.length;
      });
    });
    const { tunnel, refused } = await startProxy();
    expect(await sayOverTls(await tunnel(`shop.test:${port}`), 'evil.test')).toMatch(/ACCESS_DENIED/);
    expect(came).toBe(0);
    expect(refused).toMatchObject([{ host: 'shop.test', port, reason: 'mismatch' }]);
  });

  test('carries plain HTTP only for its own host, in each request, and no CONNECT', async () => {
    const { port, seen } = await serveHttp();
    const { tunnel } = await startProxy();
    const client = await tunnel(`shop.test:${port}`);
    client.write(getMore('/one', `shop.test:${port}`));
    expect(await readHead(client)).toMatch(/^HTTP\/1\.1 200/);
    client.write(getMore('/two', 'evil.test'));
    expect(await readAll(client)).toMatch(/gantry-refused: mismatch/);
    const inner = await tunnel(`shop.test:${port}`);
    inner.write('CONNECT evil.test:443 HTTP/1.1\r\nhost: evil.test:443\r\n\r\n');
    expect(await readAll(inner)).toMatch(/^HTTP\/1\.1 403 /);
    expect(seen).toEqual([`GET shop.test:${port} /one`]);
  });

  test('to a host that does not answer says so', async () => {
    const port = await serveTcp(() => {});
    const { toProxy } = await startProxy({
      lookup: (_name, _options, done) => done(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), []),
    });
    const client = toProxy();
    client.write(`CONNECT nowhere.test:${port} HTTP/1.1\r\nhost: nowhere.test\r\n\r\n`);
    expect(await readAll(client)).toMatch(/^HTTP\/1\.1 502 [\s\S]*nowhere\.test could not be reached: ENOTFOUND\./);
  });
});

describe('a connection to a name', () => {
  test('passes TLS for that name, also when the handshake comes byte by byte', async () => {
    const { port, names } = await serveTls();
    const { toName, asked } = await startProxy();
    expect(await sayOverTls(toName('shop.test', port), 'SHOP.test')).toBe('echo hello');
    expect(asked).toEqual([`shop.test:${port}`]);
    expect(names).toHaveLength(1);
  });

  test('gets a refusal in the words of what it speaks', async () => {
    const { toName, lookedUp } = await startProxy({ verdict: () => denied });
    expect(await sayOverTls(toName('evil.test', 443), 'evil.test')).toMatch(/ACCESS_DENIED/);
    const plain = toName('evil.test', 80);
    plain.write(get('/', 'evil.test'));
    expect(await readAll(plain)).toMatch(/^HTTP\/1\.1 403 [\s\S]*gantry-refused: rule/);
    const other = toName('evil.test', 22);
    other.write('SSH-2.0-x\r\n');
    expect(await readAll(other)).toBe('');
    expect(lookedUp).toEqual([]);
  });

  test('passes a protocol whose server speaks first', async () => {
    const port = await serveTcp((socket) => {
      socket.write('220 ready\r\n');
      socket.on('data', (chunk: Buffer) => socket.end(`250 ${chunk.toString()}`));
    });
    const { toName } = await startProxy();
    const client = toName('mail.test', port);
    await once(client, 'readable');
    expect(String(client.read())).toBe('220 ready\r\n');
    client.write('EHLO me\r\n');
    expect(await readAll(client)).toBe('250 EHLO me\r\n');
  });

  test('checks what a program says after its server has spoken', async () => {
    let came = '';
    const port = await serveTcp((socket) => {
      socket.write('220 ready\r\n');
      socket.on('data', (chunk: Buffer) => {
        came += chunk.toString();
      });
    });
    const { toName, refused } = await startProxy();
    const client = toName('mail.test', port);
    await once(client, 'readable');
    client.read();
    client.write(get('/', 'evil.test'));
    await readAll(client);
    expect([came, refused]).toEqual(['', [expect.objectContaining({ reason: 'invalid' })]]);
  });

  test('passes the end of one half, and what comes back after it', async () => {
    const port = await serveTcp((socket) => {
      let all = '';
      socket.on('data', (chunk: Buffer) => {
        all += chunk.toString();
      });
      socket.on('end', () => socket.end(`all of ${all}`));
    });
    const { toName } = await startProxy();
    const client = toName('raw.test', port);
    client.end('no line');
    expect(await readAll(client)).toBe('all of no line');
    const two = toName('raw.test', port);
    two.end('\0binary');
    expect(await readAll(two)).toBe('all of \0binary');
  });

  test('checks the Host of each plain request', async () => {
    const { port, seen } = await serveHttp();
    const { toName } = await startProxy();
    const client = toName('shop.test', port);
    client.write(getMore('/one', `shop.test:${port}`));
    expect(await readHead(client)).toMatch(/^HTTP\/1\.1 200/);
    client.write(get('/two', 'evil.test'));
    expect(await readAll(client)).toMatch(/gantry-refused: mismatch/);
    const hidden = toName('shop.test', port);
    hidden.write(`\r\n\r\n${get('/three', 'evil.test')}`);
    await readAll(hidden);
    expect(seen).toEqual([`GET shop.test:${port} /one`]);
  });

  test.each(['not a host!', 'a/b', '', 'x'.repeat(300)])('to %j is refused without a question', async (host) => {
    const { toName, asked } = await startProxy();
    const client = toName(host, 80);
    client.write(get('/', 'x'));
    expect(await readAll(client)).toMatch(/gantry-refused: invalid/);
    expect(asked).toEqual([]);
  });
});

describe('an address that is not public', () => {
  const onlyPublic = { allow: true, isPrivateAllowed: false } as const;

  test.each([
    ['127.0.0.1'],
    ['10.0.0.1'],
    ['169.254.169.254'],
    ['::ffff:127.0.0.1'],
    ['93.184.216.34', '127.0.0.1'],
    [],
  ])('is not connected to where a name leads to %s %s', async (...addresses) => {
    let came = 0;
    const port = await serveTcp(() => {
      came += 1;
    });
    const { toProxy, refused } = await startProxy({ verdict: () => onlyPublic, lookup: leadTo(...addresses) });
    const client = toProxy();
    client.write(`CONNECT rebound.test:${port} HTTP/1.1\r\nhost: x\r\n\r\n`);
    const said = await readAll(client);
    expect(said).toMatch(/^HTTP\/1\.1 403 [\s\S]*gantry-refused: private/);
    expect(said).toMatch(/rebound\.test leads to an address that is not public\. A rule in \.gantry\/policy\.yaml/);
    expect([came, refused]).toEqual([0, [expect.objectContaining({ reason: 'private', host: 'rebound.test' })]]);
  });

  test.each(['127.0.0.1', '0x7f.1', '2130706433', '[::1]', '[::ffff:7f00:1]', '0'])(
    'is not connected to as %s',
    async (host) => {
      let came = 0;
      const port = await serveTcp(() => {
        came += 1;
      });
      const { toProxy } = await startProxy({ verdict: () => onlyPublic });
      const client = toProxy();
      client.write(`CONNECT ${host}:${port} HTTP/1.1\r\nhost: x\r\n\r\n`);
      expect(await readAll(client)).toMatch(/gantry-refused: private/);
      expect(came).toBe(0);
    },
  );
});

describe('the engine', () => {
  test('is reached without a question, on its own port only', async () => {
    const { port } = await serveHttp();
    const { proxy, enter, asked, socket } = await startProxy();
    proxy.take({ do: 'open', id: 'one', socket, enginePort: port, keys: [], seed, ssh: null });
    const client = enter({ way: 'engine', host: 'evil.test', port: 22 });
    client.write(get('/health', 'anything'));
    expect(await readAll(client)).toMatch(/^HTTP\/1\.1 200 /);
    expect(asked).toEqual([]);
  });
});

describe('many and much', () => {
  test.each([
    '\n',
    '{}\n',
    '{"way":"x"}\n',
    'GET / HTTP/1.1\r\n\r\n',
    `${'x'.repeat(5000)}\n`,
    '{"way":"tcp","host":1,"port":"a"}\n',
  ])('a connection that begins with %j is ended', async (first) => {
    const { enter, asked } = await startProxy();
    expect(await readAll(enter(first))).toBe('');
    expect(asked).toEqual([]);
  });

  test('a sandbox has at most 256 connections, and room again once some have ended', async () => {
    const port = await serveTcp((socket) => {
      socket.write('hi');
      socket.resume().on('end', () => socket.end());
    });
    const { toName, refused } = await startProxy();
    const open = async () => {
      const client = toName('raw.test', port);
      await new Promise((done) => client.once('readable', done).once('close', done));
      return client;
    };
    const clients = await Promise.all(Array.from({ length: 256 }, open));
    expect(clients.filter(({ destroyed }) => destroyed)).toEqual([]);
    expect((await open()).destroyed).toBe(true);
    expect(refused).toMatchObject([{ reason: 'limit' }]);
    for (const client of clients.slice(0, 10)) client.destroy();
    await expect.poll(async () => (await open()).destroyed).toBe(false);
  });

  test('a server is read only as fast as the program reads', async () => {
    let sent = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const port = await serveTcp((socket) => {
      const fill = () => {
        while (
          socket.write(chunk, () => {
            sent += chunk.length;
          })
        );
        socket.once('drain', fill);
      };
      fill();
    });
    const { toName } = await startProxy();
    const client = toName('raw.test', port);
    await once(client, 'readable');
    let before = -1;
    // Until nothing moves any more: all buffers on the way are full.
    const stands = () => {
      const same = sent === before;
      before = sent;
      return same;
    };
    await expect.poll(stands, { interval: 200 }).toBe(true);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  test('what waits for its answer holds no lookup and no connection, and is let go with its sandbox', async () => {
    const { proxy, toName, lookedUp, asked } = await startProxy({ verdict: () => new Promise(() => {}) });
    const clients = Array.from({ length: 20 }, (_, index) => toName(`n${index}.test`, 443));
    await expect.poll(() => asked.length).toBe(20);
    expect(lookedUp).toEqual([]);
    proxy.take({ do: 'close', id: 'one' });
    expect(await Promise.all(clients.map(readAll))).toEqual(clients.map(() => ''));
  });
});
