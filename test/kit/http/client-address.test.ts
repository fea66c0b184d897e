import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { createAddressOf } from '../../../src/kit/http/client-address.ts';
import { createLimits } from '../../../src/kit/http/limits.ts';

const from = (remoteAddress: string | undefined, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;

test('without trusted proxies the other end of the connection is the client, whatever it claims', () => {
  const addressOf = createAddressOf();
  expect(addressOf(from('203.0.113.9', '198.51.100.1'))).toBe('203.0.113.9');
  expect(addressOf(from(undefined))).toBe('socket');
});

test('behind trusted proxies the first address from the end that is none of them is the client', () => {
  const addressOf = createAddressOf(['10.0.0.0/8', '127.0.0.1', '2001:db8::/32']);
  const cases = [
    // Not through a proxy: the header is the client's own claim.
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['10.1.2.3', '198.51.100.1', '198.51.100.1'],
    // What the client wrote before it reached the first proxy is its own claim again.
    ['10.1.2.3', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['10.1.2.3', '1.1.1.1, 198.51.100.1, 10.9.9.9', '198.51.100.1'],
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['127.0.0.1', 'unknown', '127.0.0.1'],
    ['127.0.0.1', '10.0.0.1', '10.0.0.1'],
    // A socket of both families shows an address of four bytes in sixteen.
    ['::ffff:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['2001:db8::1', '2001:4860::8', '2001:4860::8'],
  ] as const;
  for (const [remote, forwarded, client] of cases) {
    expect([remote, forwarded, addressOf(from(remote, forwarded))]).toEqual([remote, forwarded, client]);
  }
});

test('what is no address and no network is refused by name', () => {
  for (const text of ['proxy.example', '10.0.0.0/99', '*', '']) {
    expect(() => createAddressOf([text])).toThrow(JSON.stringify(text));
  }
});

test('limits count a network of one household as one address, since it has as many as it likes', async () => {
  const limits = createLimits({ publicPages: 2 });
  const page = (address: string) =>
    limits.page(from(address)).then(
      () => 'served',
      (error) => error.status as number,
    );
  expect(await page('2001:db8:0:7::1')).toBe('served');
  expect(await page('2001:db8:0:7::2')).toBe('served');
  expect(await page('2001:db8:0:7:ffff::3')).toBe(429);
  expect(await page('2001:db8:0:8::1')).toBe('served');
  expect(await page('203.0.113.1')).toBe('served');
  expect(await page('::ffff:203.0.113.1')).toBe('served');
  expect(await page('203.0.113.1')).toBe(429);
  expect(await page('203.0.113.2')).toBe('served');
});
