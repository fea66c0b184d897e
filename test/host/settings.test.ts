import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { dataFolder } from '../../src/host/places.ts';
import { paneSettings, readSettings } from '../../src/host/settings.ts';
import { scratchHome } from './support.ts';

test('a flag beats the environment, the environment the file, the file the default, and each says where it came from', () => {
  const home = scratchHome();
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'settings.json'), JSON.stringify({ port: 4000, enginePort: 4001 }));
  const env = { GANTRY_HOME: home, GANTRY_PORT: '5000' };
  expect(readSettings(env, { port: '6000' })).toMatchObject({
    home,
    port: { value: 6000, source: 'flag' },
    enginePort: { value: 4001, source: 'settings.json' },
    eventStreams: { value: 64, source: 'default' },
  });
  expect(readSettings(env).port).toEqual({ value: 5000, source: 'environment' });
  expect(readSettings({ GANTRY_HOME: scratchHome() })).toMatchObject({
    port: { value: 3010 },
    enginePort: { value: 3011 },
  });
});

test('an empty variable counts as unset', () => {
  const home = scratchHome();
  expect(readSettings({ GANTRY_HOME: home, GANTRY_PORT: '' }).port.source).toBe('default');
  expect(dataFolder({ GANTRY_HOME: '' })).toMatch(/\.gantry$/);
});

test.each(['x', '-1', '70000', '1.5', ' ', '0x10000'])(
  'port %j is a usage error that names where it stands',
  (value) => {
    const env = { GANTRY_HOME: scratchHome() };
    expect(() => readSettings(env, { port: value })).toThrow('--port');
    if (value.trim() !== '')
      expect(() => readSettings({ ...env, GANTRY_ENGINE_PORT: value })).toThrow('GANTRY_ENGINE_PORT');
  },
);

test('a settings file that cannot be used is a usage error that names it and the setting', () => {
  const home = scratchHome();
  const file = join(home, 'settings.json');
  for (const [text, said] of [
    ['{', 'not JSON'],
    ['{"port":"x"}', 'port'],
    ['{"nonsense":1}', 'nonsense'],
    ['{"computerUse":{"toolsets":{"local":"telepathy"}}}', 'toolsets'],
  ] as const) {
    writeFileSync(file, text);
    expect(() => readSettings({ GANTRY_HOME: home })).toThrow(said);
    expect(() => readSettings({ GANTRY_HOME: home })).toThrow(file);
  }
});

test('the model of computer-use runs and the form of its toolsets are read as they stand, and are empty without a word', () => {
  const home = scratchHome();
  mkdirSync(home, { recursive: true });
  const computerUse = { model: 'local/x', toolsets: { local: 'native' } };
  writeFileSync(join(home, 'settings.json'), JSON.stringify({ computerUse }));
  expect(readSettings({ GANTRY_HOME: home }).computerUse).toEqual(computerUse);
  expect(readSettings({ GANTRY_HOME: scratchHome() }).computerUse).toEqual({});
});

test('settings.json says when idle panes sleep and what is started again after the pane host is gone', () => {
  const home = scratchHome();
  const panes = { sleepAfterMinutes: 0, restartBots: false, hostRestarts: 1 };
  writeFileSync(join(home, 'settings.json'), JSON.stringify({ panes }));
  const read = readSettings({ GANTRY_HOME: home });
  expect(read.panes).toEqual(panes);
  expect(paneSettings(read.panes)).toEqual({ sleepAfterMs: null, hostRestarts: 1 });
  expect(paneSettings({ sleepAfterMinutes: 0.5 })).toEqual({ sleepAfterMs: 30_000, hostRestarts: undefined });
  // The host's own: two minutes.
  expect(paneSettings()).toEqual({ sleepAfterMs: undefined, hostRestarts: undefined });
});
