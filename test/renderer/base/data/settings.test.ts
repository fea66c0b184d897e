import { expect, test } from 'vitest';
import {
  createSettingsStore,
  defaultSettings,
  readJson,
  writeJson,
} from '../../../../src/renderer/base/data/settings.ts';

function createStorage(text: string | null) {
  let value = text;
  return {
    getItem: () => value,
    setItem: (_: string, next: string) => {
      value = next;
    },
  };
}

test.each([null, 'not json', '[]', '{"theme":"neon","terminalFontSize":900}', '"text"'])(
  'a stored value of %j gives the defaults',
  (text) => {
    expect(createSettingsStore(createStorage(text)).get()).toEqual(defaultSettings);
  },
);

test('a damaged setting loses itself alone', () => {
  const store = createSettingsStore(createStorage('{"theme":"light","terminalRenderer":7}'));
  expect(store.get()).toEqual({ ...defaultSettings, theme: 'light' });
});

test('a change is told to listeners and is there in the next window', () => {
  const storage = createStorage(null);
  const store = createSettingsStore(storage);
  let told = 0;
  const stop = store.subscribe(() => {
    told += 1;
  });
  store.set({ theme: 'dark' });
  stop();
  store.set({ terminalFontSize: 14 });
  expect(told).toBe(1);
  expect(createSettingsStore(storage).get()).toEqual({ ...defaultSettings, theme: 'dark', terminalFontSize: 14 });
});

test('a storage that may not be used loses only the memory', () => {
  const forbidden = {
    getItem: (): string => {
      throw new Error('forbidden');
    },
    setItem: (): void => {
      throw new Error('full');
    },
  };
  expect(readJson(forbidden, 'x')).toBeNull();
  expect(() => writeJson(forbidden, 'x', 1)).not.toThrow();
});
