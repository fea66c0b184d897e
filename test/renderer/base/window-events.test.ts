import { expect, test } from 'vitest';
import { createPaneRequests } from '../../../src/renderer/base/pane-requests.ts';
import { pathOfView } from '../../../src/renderer/base/rail-places.ts';
import { hearWindowEvents } from '../../../src/renderer/base/window-events.ts';

function listen() {
  const target = new EventTarget();
  const heard: unknown[] = [];
  const stop = hearWindowEvents(target, {
    'platform:switch-mode': (detail) => heard.push(detail),
    'platform:factory-attach-pane': (detail) => heard.push(detail),
    'platform:factory-open-node': (detail) => heard.push(detail),
  });
  const dispatch = (name: string, detail: unknown) => target.dispatchEvent(new CustomEvent(name, { detail }));
  return { heard, dispatch, stop };
}

test('each of the three events is heard with its detail, until it is stopped', () => {
  const { heard, dispatch, stop } = listen();
  const details = [
    { mode: 'code' },
    { paneId: 'pane_1', botId: 'agent_1', originView: 'home' },
    { dagId: 'dag_1', nodeId: 'node_1' },
  ];
  dispatch('platform:switch-mode', details[0]);
  dispatch('platform:factory-attach-pane', details[1]);
  dispatch('platform:factory-open-node', details[2]);
  stop();
  dispatch('platform:switch-mode', details[0]);
  expect(heard).toEqual(details);
});

test.each([
  ['platform:switch-mode', { mode: 'chat' }],
  ['platform:switch-mode', null],
  ['platform:factory-attach-pane', { paneId: 'pane_1' }],
  ['platform:factory-attach-pane', { paneId: 'p', botId: 'b', originView: 'home', evil: 1 }],
  ['platform:factory-open-node', { dagId: '', nodeId: 'n' }],
  ['platform:unknown', {}],
])('%s with %j is ignored', (name, detail) => {
  const { heard, dispatch } = listen();
  dispatch(name, detail);
  expect(heard).toEqual([]);
});

test('a request for a pane waits until it is answered, and asking twice waits once', () => {
  const requests = createPaneRequests();
  const first = { botId: 'agent_1', paneId: 'pane_1', originView: 'home' };
  requests.add(first);
  requests.add({ ...first, originView: 'settings' });
  requests.add({ botId: 'agent_2', paneId: null, originView: null });
  expect(requests.waiting().map((one) => [one.botId, one.originView])).toEqual([
    ['agent_1', 'settings'],
    ['agent_2', null],
  ]);
  for (const one of requests.waiting()) requests.done(one);
  expect(requests.waiting()).toEqual([]);
});

test.each([
  ['home', '/'],
  ['Floor', '/floor'],
  ['/settings', '/settings'],
  ['//evil.example', null],
  ['https://evil.example', null],
  ['nowhere', null],
])('the view %s is the path %s', (view, path) => {
  expect(pathOfView(view)).toBe(path);
});
