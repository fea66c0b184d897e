/** Links `gantry://…`: where ours lead, and that nothing else leads anywhere. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Destination } from '../../src/contracts/desktop/channels.ts';
import { linkIn, readDeepLink } from '../../src/main/deep-links.ts';

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

test('among the arguments of a start the link is found, and nothing else is taken for one', () => {
  expect(linkIn(['gantry', '--inspect', 'gantry://inbox', 'gantry://floor'])).toBe('gantry://inbox');
  expect(linkIn(['gantry', '/home/me/gantry', 'https://a.b/?x=gantry://inbox'])).toBeNull();
});
