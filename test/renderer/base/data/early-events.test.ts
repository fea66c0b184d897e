import { expect, test } from 'vitest';
import { windowEvents } from '../../../../src/contracts/desktop/window-events.ts';
import { earlyNames, keepEarlyEvents } from '../../../../src/renderer/base/data/early-events.ts';

test('events of every name that come before the page are dispatched again once, in order, when it listens', () => {
  expect([...earlyNames].sort()).toEqual(Object.keys(windowEvents).sort());
  const target = new EventTarget();
  const early = keepEarlyEvents(target);
  const send = (name: string, detail: unknown) => target.dispatchEvent(new CustomEvent(name, { detail }));
  send('platform:switch-mode', 1);
  send('platform:factory-attach-pane', 2);
  const heard: unknown[] = [];
  for (const name of earlyNames) target.addEventListener(name, (event) => heard.push((event as CustomEvent).detail));
  expect(heard).toEqual([]);
  early.release();
  expect(heard).toEqual([1, 2]);
  early.release();
  send('platform:factory-open-node', 3);
  expect(heard).toEqual([1, 2, 3]);
});
