/** One form for each host, however it is written. */
import { expect, test } from 'vitest';
import { hostAndPortOf, hostNameOf, showHostAndPort } from '../../../src/kit/egress/host-name.ts';

test.each([
  ['Example.ORG', 'example.org'],
  ['example.org.', 'example.org'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['ｅxample.org', 'example.org'],
  ['example。org', 'example.org'],
  ['_dmarc.example.org', '_dmarc.example.org'],
  ['0x7f.1', '127.0.0.1'],
  ['2130706433', '127.0.0.1'],
  ['0177.0.0.1', '127.0.0.1'],
  ['127.0.0.1.', '127.0.0.1'],
  ['①②⑦.⓪.⓪.①', '127.0.0.1'],
  ['[::1]', '::1'],
  ['0:0:0:0:0:0:0:1', '::1'],
  ['[::ffff:127.0.0.1]', '::ffff:7f00:1'],
])('%s is %s', (given, host) => {
  expect(hostNameOf(given)).toBe(host);
});

test.each([
  '',
  '.',
  'example..org',
  '.example.org',
  'example.org..',
  'example.org/x',
  'user@example.org',
  'example.org:443',
  'example.org#x',
  'example.org?x',
  'ex%61mple.org',
  'exa mple.org',
  'example.org\n',
  'example.org\0',
  'fe80::1%eth0',
  '[::1',
  '::1]',
  '999.1.1.1.1',
  '1.2.3.400',
  '*.example.org',
  '-',
  `${'a'.repeat(64)}.org`,
  `${'a.'.repeat(130)}org`,
])('%j is no host', (given) => {
  expect(hostNameOf(given)).toBeNull();
});

test('a host with its port is read and shown, IPv6 in brackets; a port that is none is refused', () => {
  expect(hostAndPortOf('Example.org:8443')).toEqual({ host: 'example.org', port: 8443 });
  expect(hostAndPortOf('[::1]:80')).toEqual({ host: '::1', port: 80 });
  expect(hostAndPortOf('example.org', 443)).toEqual({ host: 'example.org', port: 443 });
  for (const text of ['example.org', '::1:80', 'example.org:', 'example.org:0', 'example.org:65536', 'a:1:2', ':80']) {
    expect([text, hostAndPortOf(text)]).toEqual([text, null]);
  }
  expect(showHostAndPort({ host: '::1', port: 80 })).toBe('[::1]:80');
  expect(showHostAndPort({ host: 'example.org', port: 443 })).toBe('example.org:443');
});
