import { expect, onTestFinished, test, vi } from 'vitest';
import { createLastKnown } from '../../../../src/renderer/base/data/last-known.ts';

/** As a browser's, whose keys are its own properties. */
function storage(): Storage {
  const kept: Record<string, string> = {};
  const methods = {
    getItem: (key: string) => kept[key] ?? null,
    setItem: (key: string, value: string) => {
      kept[key] = value;
    },
    removeItem: (key: string) => {
      delete kept[key];
    },
  };
  return new Proxy(methods, {
    ownKeys: () => Object.keys(kept),
    getOwnPropertyDescriptor: (_, key) => ({ value: kept[String(key)], enumerable: true, configurable: true }),
  }) as never as Storage;
}
const teams = [{ name: 'dev', preset: null, presets: [], agents: [], edges: [] }];

test('what was read of a computer outlives a reload, and nothing is known of another one', () => {
  const browser = storage();
  const known = createLastKnown(browser);
  known.keep('computer_1', { agents: [], teams });
  known.save();
  expect(createLastKnown(browser).of('computer_1')).toEqual({ agents: [], teams });
  expect(createLastKnown(browser).of('computer_2')).toBeNull();
});

test('a floor that changes without end is written now and then, as it is by then', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const browser = storage();
  const written = vi.spyOn(browser, 'setItem');
  const known = createLastKnown(browser);
  for (let event = 0; event < 1000; event += 1) {
    known.keep('computer_1', { agents: [], teams: event === 999 ? teams : [] });
    vi.advanceTimersByTime(10);
  }
  expect(written.mock.calls.length).toBeLessThan(4);
  vi.advanceTimersByTime(60_000);
  expect(createLastKnown(browser).of('computer_1')).toEqual({ agents: [], teams });
});

test('nothing is written after the person signed out', () => {
  const browser = storage();
  const known = createLastKnown(browser);
  known.keep('computer_1', { agents: [], teams });
  known.forget();
  known.save();
  expect(createLastKnown(browser).of('computer_1')).toBeNull();
});

test('signing out forgets all of it and leaves the settings of the browser alone', () => {
  const browser = storage();
  browser.setItem('gantry.settings', '{}');
  const known = createLastKnown(browser);
  known.keep('computer_1', { agents: [], teams });
  known.forget();
  expect(known.of('computer_1')).toBeNull();
  expect(browser.getItem('gantry.settings')).toBe('{}');
});

test('what another version kept is as if nothing was', () => {
  const browser = storage();
  browser.setItem('gantry.last-floor.computer_1', '{"agents":[{"id":1}],"teams":[]}');
  browser.setItem('gantry.last-floor.computer_2', 'half a fi');
  const known = createLastKnown(browser);
  expect([known.of('computer_1'), known.of('computer_2')]).toEqual([null, null]);
});
