/** Links `gantry://…`: where ours lead, and that nothing else leads anywhere. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Destination } from '../../src/contracts/desktop/channels.ts';
import { linkIn, newRunPage, readDeepLink, readNewRun } from '../../src/main/deep-links.ts';

test.each([
  ['gantry://', { kind: 'go', path: '/' }],
  ['gantry://home', { kind: 'go', path: '/' }],
  ['gantry://inbox', { kind: 'go', path: '/inbox' }],
  ['gantry://floor/', { kind: 'go', path: '/floor' }],
  ['GANTRY://queue', { kind: 'go', path: '/queue' }],
  ['gantry://settings', { kind: 'go', path: '/settings/general' }],
  ['gantry://settings/desktop', { kind: 'go', path: '/settings/desktop' }],
  ['gantry://thread/thread_01', { kind: 'go', path: '/?allternit_thread=thread_01' }],
  ['gantry://mode/code', { kind: 'event', name: 'platform:switch-mode', detail: { mode: 'code' } }],
  [
    'gantry://pane/pane_1?bot=agent_1',
    {
      kind: 'event',
      name: 'platform:factory-attach-pane',
      detail: { paneId: 'pane_1', botId: 'agent_1', originView: 'home' },
    },
  ],
  [
    'gantry://node/dag_1/node_1',
    { kind: 'event', name: 'platform:factory-open-node', detail: { dagId: 'dag_1', nodeId: 'node_1' } },
  ],
])('%s leads to its place', (link, to) => {
  expect(readDeepLink(link)).toEqual(to);
  expect(Destination.parse(to)).toEqual(to);
});

test.each([
  '',
  'gantry:inbox',
  'gantry:///etc/passwd',
  'gantry://open?t=code',
  'gantry://api/factory/stop',
  'gantry://inbox?approve=approval_1',
  'gantry://work?start=command',
  'gantry://inbox#approve',
  'gantry://inbox/approval_1/approve',
  'gantry://user:pass@inbox',
  'gantry://inbox:80',
  'gantry://127.0.0.1:3010/inbox',
  'gantry://settings/../../open',
  'gantry://settings/%2e%2e',
  'gantry://settings/keys/create',
  'gantry://thread/..%2f..',
  'gantry://thread/a b',
  'gantry://thread/<script>',
  'gantry://node/dag_1',
  'gantry://node/dag_1/node_1/cancel',
  'gantry://pane/pane_1',
  'gantry://pane/pane_1?bot=agent_1&type=rm',
  'gantry://pane/pane_1?bot=../x',
  'gantry://mode/shell',
  `gantry://thread/${'a'.repeat(101)}`,
  `gantry://inbox${'/'.repeat(600)}`,
  'https://gantry.example/inbox',
  'javascript:alert(1)',
  'file:///etc/passwd',
  'gantry://inbox\u0000',
  ' gantry://inbox',
])('%j leads nowhere', (link) => {
  expect(readDeepLink(link)).toBeNull();
});

test('whatever is made up after the scheme, it leads to a page of ours or an event of the app, or nowhere', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.webPath(), fc.webUrl()),
      fc.constantFrom('', 'inbox/', 'pane/', 'node/'),
      (text, host) => {
        const to = readDeepLink(`gantry://${host}${text}`);
        if (to === null) return;
        Destination.parse(to);
        if (to.kind === 'go') expect(new URL(to.path, 'http://127.0.0.1:3010').origin).toBe('http://127.0.0.1:3010');
      },
    ),
    { numRuns: 2000 },
  );
});

test.each([
  ['gantry://new', '/?new=1'],
  ['gantry://new/', '/?new=1'],
  ['GANTRY://new?prompt=Fix%20it%0ANow', '/?new=1&prompt=Fix+it%0ANow'],
  ['gantry://new?prompt=a+b&who=claude,codex', '/?new=1&prompt=a+b&who=claude%2Ccodex'],
  ['gantry://new?repo=/home/me/shop&prompt=a%26new%3D2', '/?new=1&prompt=a%26new%3D2&repo=%2Fhome%2Fme%2Fshop'],
])('%s fills in the form of a new run', (link, path) => {
  const read = readNewRun(link);
  expect(read).not.toBeNull();
  const to = newRunPage(read as NonNullable<typeof read>, true);
  expect(to).toEqual({ kind: 'go', path });
  expect(Destination.parse(to)).toEqual(to);
});

test('a repository that was not used before is dropped from the link', () => {
  const read = readNewRun('gantry://new?repo=/tmp/evil&prompt=x');
  expect(newRunPage(read as NonNullable<typeof read>, false)).toEqual({ kind: 'go', path: '/?new=1&prompt=x' });
});

test.each([
  'gantry://new?start=1',
  'gantry://new?prompt=x&mode=ACCEPT_EDITS',
  'gantry://new?prompt=x&trust=yes',
  'gantry://new?prompt=x&dryRun=false',
  'gantry://new?prompt=x&prompt=y',
  'gantry://new?repo=/a&repo=/b',
  'gantry://new?prompt=x#start',
  'gantry://new/start?prompt=x',
  'gantry://new:80?prompt=x',
  'gantry://me@new?prompt=x',
  'gantry://new?who=shell',
  'gantry://new?who=custom',
  'gantry://new?who=claude,claude,claude,claude,claude',
  'gantry://new?prompt=a%00b',
  'gantry://new?prompt=a%1B%5B2Jb',
  'gantry://new?prompt=a%E2%80%AEb',
  'gantry://new?prompt=%FF',
  'gantry://new?repo=/a%0A/b%7F',
  `gantry://new?prompt=${'x'.repeat(8000)}`,
  'gantry://newer?prompt=x',
  'https://new?prompt=x',
])('%j fills in nothing', (link) => {
  expect(readNewRun(link)).toBeNull();
  expect(readDeepLink(link)).toBeNull();
});

test('among the arguments of a start the link is found, and nothing else is taken for one', () => {
  expect(linkIn(['gantry', '--inspect', 'gantry://inbox', 'gantry://floor'])).toBe('gantry://inbox');
  expect(linkIn(['gantry', '/home/me/gantry', 'https://a.b/?x=gantry://inbox'])).toBeNull();
});
