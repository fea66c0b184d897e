/** What the first bytes of a connection say, with the handshakes of a real TLS client. */
import { type AddressInfo, createServer } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { expect, test } from 'vitest';
import { maxOpening, speechOf } from '../../../src/programs/sandbox-proxy/sniff.ts';

/** What `tls.connect` sends first. */
async function helloFor(servername: string): Promise<Buffer> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const hello = new Promise<Buffer>((resolve) => {
    server.once('connection', (socket) => {
      let bytes = Buffer.alloc(0);
      socket.on('data', (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk]);
        if (bytes.length < 5 + bytes.readUInt16BE(3)) return;
        resolve(bytes);
        socket.destroy();
      });
    });
  });
  const client = connectTls({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', servername });
  client.on('error', () => {});
  const bytes = await hello;
  client.destroy();
  await new Promise((done) => server.close(done));
  return bytes;
}

/** The same handshake in records of this size. */
function inRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.from([0x16, 3, 1, part.length >> 8, part.length & 0xff]), part);
  }
  return Buffer.concat(records);
}

test('the name in a TLS handshake is read, whole, byte by byte and over many records, and never sooner', async () => {
  const hello = await helloFor('Shop.Example.org');
  for (const bytes of [hello, inRecords(hello, 1), inRecords(hello, 7), inRecords(hello, 100)]) {
    for (let length = 0; length < bytes.length; length += length < 200 ? 1 : 97) {
      expect(speechOf(bytes.subarray(0, length))).toBeNull();
    }
    expect(speechOf(bytes)).toEqual({ is: 'tls', name: 'Shop.Example.org' });
    expect(speechOf(Buffer.concat([bytes, Buffer.from('more')]))).toEqual({ is: 'tls', name: 'Shop.Example.org' });
  }
  expect(speechOf(await helloFor(''))).toEqual({ is: 'tls', name: null });
});

test('a handshake that is cut, too long, interrupted or that names two hosts is broken, not something else', async () => {
  const hello = await helloFor('shop.test');
  expect(speechOf(hello.subarray(0, 60), true)).toMatchObject({ is: 'broken' });
  const at = hello.indexOf('shop.test') - 5;
  const tooLong = Buffer.from(hello);
  tooLong[at + 1] = 0xff;
  expect(speechOf(tooLong)).toMatchObject({ is: 'broken' });
  const second = inRecords(hello, 50);
  second[55] = 0x17;
  expect(speechOf(second)).toMatchObject({ is: 'broken' });
  const endless = Buffer.concat([Buffer.from([0x16, 3, 1, 0x40, 0, 1, 0, 0x40, 0]), Buffer.alloc(maxOpening)]);
  expect(speechOf(endless)?.is).toBe('broken');
  expect(speechOf(Buffer.from([0x16, 3, 1, 0, 5, 2, 0, 0, 1, 0]))).toMatchObject({ is: 'broken' });
});

test('any change of one byte in a handshake is read or refused, and breaks nothing', async () => {
  const hello = await helloFor('shop.test');
  for (let at = 0; at < hello.length; at += 1) {
    for (const value of [0, 1, 0x7f, 0xff]) {
      const changed = Buffer.from(hello);
      changed[at] = value;
      const speech = speechOf(changed, true);
      expect(speech).not.toBeNull();
    }
  }
});

test.each([
  'GET / HTTP/1.1\r\n',
  'get /x HTTP/1.0\n',
  '\r\n\r\nGET / HTTP/1.1\r\n',
  'FOO bar HTTP/9.9\r\n',
  'PRI * HTTP/2.0\r\n',
  'GET\thttp://x/ HTTP/1.1\r\n',
  'GET /é HTTP/1.1\r\n',
])('%j is HTTP', (text) => {
  expect(speechOf(Buffer.from(text))).toEqual({ is: 'http' });
});

test('a line that is longer than servers take counts as HTTP, whose parser refuses it', () => {
  expect(speechOf(Buffer.from(`GET /${'x'.repeat(9000)}`))).toEqual({ is: 'http' });
});

test.each([
  ['SSH-2.0-OpenSSH_9.9\r\n'],
  ['EHLO example.org\r\n'],
  ['*1\r\n$4\r\nPING\r\n'],
  ['\0\0\0\x08\x04\xd2\x16\x2f'],
  ['\x10\x0e\0\x04MQTT'],
  ['R\0\0\0\x01'],
  ['\x16\x01'],
])('%j is neither', (text) => {
  expect(speechOf(Buffer.from(text, 'latin1'))).toEqual({ is: 'other' });
});

test('a line without its end is waited for, and counts as neither once it has ended', () => {
  for (const text of ['', 'G', 'GET / HT', 'hello', '\r\n']) {
    expect(speechOf(Buffer.from(text))).toBeNull();
    expect(speechOf(Buffer.from(text), true)).toEqual({ is: 'other' });
  }
});
