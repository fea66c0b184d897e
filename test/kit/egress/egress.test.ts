/** Addresses that somebody else chose: which are refused, and at which point. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { isPublic, parseRange } from '../../../src/kit/egress/addresses.ts';
import { createEgress, type EgressOptions } from '../../../src/kit/egress/egress.ts';
import type { Lookup } from '../../../src/kit/egress/lookup.ts';
import { onEnd } from '../http/support.ts';

/** Every form of an address that is not out on the internet; WHATWG reads the last ones as 127.0.0.1. */
const local = [
  '127.0.0.1',
  '127.9.9.9',
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '192.0.0.1',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[fc00::1]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '①②⑦.⓪.⓪.①',
];

async function serve(answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

function open(options: EgressOptions = {}) {
  const egress = createEgress(options);
  onEnd(() => egress.close());
  return egress;
}

const get = (url: string) => ({ method: 'GET', url, headers: {} });
const to = (...addresses: string[]): Lookup => {
  return (_name, _options, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
};

test.each(local)('%s is refused as it is written, and asked of nobody', async (host) => {
  const egress = open();
  expect(egress.refusal(`https://${host}/x`)).toMatchObject({ code: 'refused' });
  await expect(egress.request(get(`https://${host}/x`))).rejects.toMatchObject({ code: 'refused' });
});

test.each(['1.1.1.1', '93.184.216.34', '2606:4700:4700::1111'])('%s is public', (address) => {
  expect(isPublic(address)).toBe(true);
});

test('only https is asked, without a credential in the address', () => {
  const egress = open();
  for (const url of [
    'http://example.com',
    'ftp://example.com',
    'file:///etc/passwd',
    'nothing',
    'https://a:b@example.com',
  ]) {
    expect([url, egress.refusal(url)?.code]).toEqual([url, 'refused']);
  }
  expect(egress.refusal('https://example.com/x?y')).toBeNull();
});

describe('a name', () => {
  test.each([['127.0.0.1'], ['93.184.216.34', '10.0.0.1'], ['::ffff:10.0.0.1'], []])(
    'that leads to %s %s is refused at the lookup',
    async (...addresses) => {
      let asked = 0;
      const port = await serve((_request, response) => {
        asked += 1;
        response.end();
      });
      const egress = open({ lookup: to(...addresses) });
      await expect(egress.request(get(`https://rebound.example:${port}/`))).rejects.toMatchObject({ code: 'refused' });
      expect(asked).toBe(0);
    },
  );
});

test('what a private name leads to is not told to whoever asks', async () => {
  const egress = open({ lookup: to('10.20.30.40') });
  const asked = egress.request(get('https://db.internal.example/'));
  await expect(asked).rejects.toMatchObject({ fact: 'db.internal.example is not a public address.' });
});

test('what is allowed by name, by name and port, or by range is reached, and nothing beside it', async () => {
  const port = await serve((request, response) => response.end(request.url));
  const lookup = to('127.0.0.1');
  for (const allow of ['push.internal', `push.internal:${port}`]) {
    const egress = open({ allow: [allow], lookup: undefined as never });
    expect(egress.refusal(`http://push.internal:${port}/`)).toBeNull();
    expect(egress.refusal(`http://other.internal:${port}/`)).not.toBeNull();
  }
  const byRange = open({ allow: ['127.0.0.0/8'], lookup });
  const { status, body } = await byRange.request(get(`http://127.0.0.1:${port}/path`));
  expect([status, body.toString()]).toEqual([200, '/path']);
  expect(byRange.refusal('http://10.0.0.1/')).not.toBeNull();
  const byPort = open({ allow: [`127.0.0.1:${port}`] });
  expect((await byPort.request(get(`http://127.0.0.1:${port}/`))).status).toBe(200);
  await expect(byPort.request(get(`http://127.0.0.1:${port + 1}/`))).rejects.toMatchObject({ code: 'refused' });
  expect(parseRange('not a range')).toBeNull();
});

test('redirects are answers: nobody is led to another address', async () => {
  const asked: string[] = [];
  const port = await serve((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(302, { location: 'http://127.0.0.1/inner' }).end();
  });
  const egress = open({ allow: [`127.0.0.1:${port}`] });
  expect((await egress.request(get(`http://127.0.0.1:${port}/outer`))).status).toBe(302);
  expect(asked).toEqual(['/outer']);
});

test('an answer that is too long, too late or cut off fails in time', async () => {
  const port = await serve((request, response) => {
    if (request.url === '/long') response.end(Buffer.alloc(5000));
    else if (request.url === '/cut') response.destroy();
    else response.writeHead(200).write('begun');
  });
  const base = `http://127.0.0.1:${port}`;
  const egress = open({ allow: [`127.0.0.1:${port}`] });
  const failing = [
    { ...get(`${base}/long`), largestAnswer: 4999 },
    { ...get(`${base}/slow`), timeoutMs: 50 },
    { ...get(`${base}/slow`), signal: AbortSignal.timeout(50) },
    get(`${base}/cut`),
  ];
  for (const request of failing) await expect(egress.request(request)).rejects.toMatchObject({ code: 'transport' });
  const { body } = await egress.request({ ...get(`${base}/long`), largestAnswer: 5000 });
  expect(body).toHaveLength(5000);
});

describe('what is fetched', () => {
  test('streams, and goes nowhere by itself', async () => {
    const port = await serve((request, response) => {
      if (request.url === '/away') return void response.writeHead(307, { location: '/' }).end();
      response.write('first');
      request.once('close', () => response.destroy());
    });
    const egress = open({ allow: [`127.0.0.1:${port}`], patient: true });
    const answer = await egress.fetch(`http://127.0.0.1:${port}/`);
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    expect(Buffer.from((await reader.read()).value as Uint8Array).toString()).toBe('first');
    await reader.cancel();
    const away = await egress.fetch(`http://127.0.0.1:${port}/away`);
    expect([away.status, away.headers.get('location')]).toEqual([307, '/']);
  });

  test('is refused like all else: as a literal, by its name, over http', async () => {
    await expect(open().fetch('https://127.0.0.1/')).rejects.toMatchObject({ code: 'refused' });
    await expect(open({ lookup: to('127.0.0.1') }).fetch('https://inside.example/')).rejects.toMatchObject({
      code: 'refused',
      fact: 'inside.example is not a public address.',
    });
    await expect(open().fetch('http://example.com/')).rejects.toMatchObject({ code: 'refused' });
  });
});
