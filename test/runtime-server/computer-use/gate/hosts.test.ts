/** Where a browser may go, by the letters of an address and by what it resolves to. */
import { afterAll, describe, expect, test } from 'vitest';
import { createHosts, destinationOf } from '../../../../src/runtime-server/computer-use/hosts.ts';
import { decide } from '../../../../src/runtime-server/policy/decide.ts';
import { readPolicy } from '../../../../src/runtime-server/policy/file.ts';
import { keepUntilEnd } from '../../../support/at-end.ts';
import { person, resultOf, startRig } from './rig.ts';

const stop = keepUntilEnd();
afterAll(stop);

function hostsWith(policy = 'rules: []') {
  const read = readPolicy(policy);
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return createHosts({
    policy: { decide: (action, mode) => decide({ rules: read.rules, broken: null }, action, mode) },
    ownPorts: () => [3010, 3011],
    ownAddresses: () => ['192.168.1.7', 'fe80::1', '203.0.113.9'],
  });
}
const question = (host: string, port: number, addresses: readonly string[]) =>
  ({ event: 'host', question: 1, session: 's', host, port, addresses }) as const;
const allows = (policy: string | undefined, host: string, port: number, addresses: readonly string[], opened = false) =>
  hostsWith(policy).judge(question(host, port, addresses), () => opened).allow;

test.each([
  ['example.org', 'https://example.org/'],
  ['example.org:8443/a', 'https://example.org:8443/a'],
  ['localhost:5173', 'https://localhost:5173/'],
  ['http://example.org', 'http://example.org/'],
  [' HTTPS://Example.org/?q=file:///x ', 'https://example.org/?q=file:///x'],
  ['back', 'back'],
  ['reload', 'reload'],
  ['about:blank', 'about:blank'],
])('%s is opened as %s', (given, url) => {
  expect(hostsWith().navigation(given)).toMatchObject({ kind: 'go', url });
});

test.each([
  'file:///etc/passwd',
  'FILE:/etc/passwd',
  ' file:///etc/passwd',
  'chrome://settings',
  'view-source:https://example.org',
  'data:text/html,<h1>hi',
  'javascript:alert(1)',
  'blob:https://example.org/1',
  'about:config',
  'devtools://devtools',
  'ftp://example.org',
  'http://127.0.0.1:3010/',
  'http://localhost:3011/api/factory/agents',
  'http://[::1]:3010/',
  'http://0.0.0.0:3010/',
  'http://2130706433:3010/',
  'http://[::ffff:127.0.0.1]:3010/',
  'http://192.168.1.7:3010/',
  'https://203.0.113.9:3011/',
  'http://',
  '',
])('%s is not opened', (given) => {
  expect(
    hostsWith('rules:\n  - when: {tool: browser, host: "*.*.*.*"}\n    then: allow\n').navigation(given).kind,
  ).toBe('refused');
});

test('by its letters a host is private or not, and has its port where that is not the usual one', () => {
  expect(destinationOf('http://10.0.0.1:80/')).toMatchObject({ host: '10.0.0.1', privateHost: true });
  expect(destinationOf('http://[fd00::1]:8080/')).toMatchObject({ host: 'fd00::1:8080', privateHost: true });
  expect(destinationOf('https://nas.local./')).toMatchObject({ host: 'nas.local', privateHost: true });
  expect(destinationOf('https://example.org:8443/x')).toMatchObject({ host: 'example.org:8443', privateHost: false });
  expect(destinationOf('about:blank')).toBeNull();
});

describe('what a host resolves to', () => {
  const local = 'rules:\n  - when: {tool: browser, host: "127.0.0.1:*"}\n    then: allow\n';
  test('public addresses are reached, unless a rule denies their host', () => {
    expect(allows(undefined, 'example.org', 443, ['93.184.216.34'])).toBe(true);
    expect(
      allows('rules:\n  - when: {host: "*.example.org"}\n    then: deny\n', 'www.example.org', 443, ['93.184.216.34']),
    ).toBe(false);
  });
  test('a private one among them closes the host, however it is called, unless a rule names it', () => {
    for (const address of [
      '127.0.0.1',
      '10.1.2.3',
      '169.254.169.254',
      '::1',
      'fd00::1',
      '::ffff:10.0.0.1',
      '0.0.0.0',
      '100.64.0.1',
    ]) {
      expect(allows(undefined, 'rebind.test', 443, ['93.184.216.34', address])).toBe(false);
      expect(allows('rules:\n  - when: {tool: browser}\n    then: allow\n', 'rebind.test', 443, [address])).toBe(false);
      expect(
        allows('rules:\n  - when: {tool: browser, host: rebind.test}\n    then: allow\n', 'rebind.test', 443, [
          address,
        ]),
      ).toBe(true);
    }
    expect(allows(local, '127.0.0.1', 5173, ['127.0.0.1'])).toBe(true);
    expect(allows(local, 'localhost', 5173, ['127.0.0.1'])).toBe(false);
  });
  test('Gantry’s own doors are never reached, whatever the rules say and whatever they are called', () => {
    const any =
      'rules:\n  - when: {tool: browser, host: "*.*"}\n    then: allow\n  - when: {tool: browser, host: "*test*"}\n    then: allow\n';
    for (const address of [
      '127.0.0.1',
      '127.9.9.9',
      '::1',
      '0.0.0.0',
      '192.168.1.7',
      'fe80::1',
      '203.0.113.9',
      '::ffff:127.0.0.1',
    ]) {
      expect(allows(any, 'gantry.test', 3010, ['93.184.216.34', address])).toBe(false);
      expect(allows(any, 'gantry.test', 3012, [address])).toBe(true);
    }
    expect(allows(any, 'gantry.test', 3010, ['93.184.216.34'])).toBe(true);
  });
  test('a host that nobody resolved is not reached', () => {
    expect(allows(local, '127.0.0.1', 80, [])).toBe(false);
  });
  test('one that a rule asks about is reached once a person said yes', () => {
    const asks = 'rules:\n  - when: {tool: browser, host: nas.local}\n    then: ask\n';
    expect(allows(asks, 'nas.local', 443, ['192.168.1.9'])).toBe(false);
    expect(allows(asks, 'nas.local', 443, ['192.168.1.9'], true)).toBe(true);
  });
});

test.each([
  ['file:///etc/passwd', 'only http and https addresses can be opened'],
  ['http://10.0.0.1/', 'is not a public address'],
  ['http://127.0.0.1:3010/', 'Gantry itself listens there'],
])(
  'navigate to %s is an answer that says why, with its row, and the executor hears nothing of it',
  async (url, why) => {
    const rig = await startRig();
    const result = resultOf(await rig.call({ toolset: 'browser', member: 'navigate', input: { url } }));
    expect(result).toMatchObject({ is_error: true, error: { code: 'navigation_refused' } });
    expect(result.error?.message).toContain(why);
    expect(rig.done()).toEqual([]);
    expect(await rig.audit()).toMatchObject([{ stage: 'policy', outcome: 'denied', code: 'navigation_refused' }]);
  },
);

test('what a page asks for while it loads is judged by the gate', async () => {
  const rig = await startRig();
  rig.script({ ask: { host: 'tracker.test', port: 443, addresses: ['10.0.0.1'] } });
  await rig.call({ toolset: 'browser', member: 'navigate', input: { url: 'https://site.test/' } }, person);
  await expect.poll(() => rig.acts().filter((line) => line.do === 'host')).toMatchObject([{ allow: false }]);
  rig.script({ ask: { host: 'cdn.test', port: 443, addresses: ['93.184.216.34'] } });
  await rig.call({ toolset: 'browser', member: 'navigate', input: { url: 'https://site.test/' } }, person);
  await expect
    .poll(() =>
      rig
        .acts()
        .filter((line) => line.do === 'host')
        .at(-1),
    )
    .toMatchObject({ allow: true });
});
