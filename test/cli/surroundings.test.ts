/** What `gantry start` does where it runs: browser, window, SSH, and the command that a person can copy. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { calledHere, commandNames } from '../../src/cli/command-name.ts';
import {
  browserCommand,
  findElectron,
  hasDisplay,
  type Surroundings,
  sshLine,
} from '../../src/cli/start/surroundings.ts';
import { openWindow } from '../../src/cli/start/window.ts';
import { onEnd } from './support.ts';

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-place-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function program(folder: string, name: string, script: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

const place = (change: Partial<Surroundings> = {}): Surroundings => ({
  env: { DISPLAY: ':0', PATH: '' },
  platform: 'linux',
  uid: 1000,
  ...change,
});

test('a browser is opened with what the system has for it', () => {
  const folder = scratch();
  const open = program(folder, 'xdg-open', '');
  expect(browserCommand(place({ env: { DISPLAY: ':0', PATH: `/nowhere:${folder}` } }))).toEqual({ command: [open] });
  expect(browserCommand(place({ env: { WAYLAND_DISPLAY: 'w', PATH: folder } }))).toEqual({ command: [open] });
  expect(browserCommand(place({ platform: 'darwin', env: {} }))).toEqual({ command: ['open'] });
  expect(browserCommand(place({ platform: 'win32', env: {} }))).toEqual({ command: ['cmd', '/c', 'start', ''] });
});

test.each([
  ['as root', { uid: 0 }, 'root'],
  ['over SSH', { env: { DISPLAY: ':10', SSH_CONNECTION: 'a 1 b 2' } }, 'SSH'],
  ['over SSH on macOS', { platform: 'darwin' as const, env: { SSH_TTY: '/dev/pts/1' } }, 'SSH'],
  ['without a display', { env: { PATH: '' } }, 'display'],
  ['without xdg-open', {}, 'xdg-open'],
])('%s no browser is opened, and the reason is known', (_name, change, reason) => {
  const way = browserCommand(place(change));
  expect('none' in way ? way.none : way.command).toContain(reason);
});

test('the SSH line names this computer as the person reached it', () => {
  expect(sshLine(place({ env: { SSH_CONNECTION: '10.0.0.9 5000 10.0.0.7 22' } }), 3010)).toMatch(
    /^ssh -L 3010:127\.0\.0\.1:3010 \S+@10\.0\.0\.7$/,
  );
  expect(hasDisplay(place({ env: {} }))).toBe(false);
});

test('Electron is found only where its program really lies', () => {
  const folder = scratch();
  const electron = join(folder, 'node_modules', 'electron');
  mkdirSync(join(electron, 'dist'), { recursive: true });
  writeFileSync(join(electron, 'package.json'), '{}');
  const from = pathToFileURL(join(folder, 'x.js')).href;
  expect(findElectron({}, from)).toBeNull();
  writeFileSync(join(electron, 'path.txt'), 'electron');
  expect(findElectron({}, from)).toBeNull();
  const file = program(join(electron, 'dist'), 'electron', '');
  expect(findElectron({}, from)).toBe(file);
  const other = scratch();
  expect(findElectron({ ELECTRON_OVERRIDE_DIST_PATH: other }, from)).toBeNull();
  const override = program(other, 'electron', '');
  expect(findElectron({ ELECTRON_OVERRIDE_DIST_PATH: other }, from)).toBe(override);
  rmSync(electron, { recursive: true });
  expect(findElectron({}, from)).toBeNull();
});

function windowIn(folder: string, script: string, change: Partial<Surroundings> = {}) {
  program(folder, 'electron', script);
  const entry = join(folder, 'main.js');
  writeFileSync(entry, '');
  const env = { DISPLAY: ':0', PATH: process.env.PATH, ELECTRON_OVERRIDE_DIST_PATH: folder };
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const started = openWindow(
    {
      env,
      entry,
      home: '/the/home',
      place: place({ env, ...change }),
    },
    resolve,
  );
  return { started, closed };
}

test('the desktop program is started for this data folder and with this Node, without any address, and its end is told', async () => {
  const folder = scratch();
  const window = windowIn(folder, `echo "$*" > ${folder}/argv; echo "$GANTRY_HOME $GANTRY_NODE" > ${folder}/env`);
  expect(await window.started).toBe(true);
  await window.closed;
  expect(readFileSync(join(folder, 'argv'), 'utf8')).toBe(`${join(folder, 'main.js')}\n`);
  expect(readFileSync(join(folder, 'env'), 'utf8')).toBe(`/the/home ${process.execPath}\n`);
});

test.each([
  ['as root', { uid: 0 }],
  ['over SSH', { env: { DISPLAY: ':0', SSH_CONNECTION: 'a 1 b 2' } }],
  ['without a display', { env: {} }],
])('%s no window is started', async (_name, change) => {
  const window = windowIn(scratch(), 'exit 0', change);
  expect(await window.started).toBe(false);
});

test('a command is named as it works where it is read', () => {
  const root = '/home/me/gantry';
  expect(commandNames(root, root, {})).toEqual({ gantry: 'npx gantry', start: 'npm start' });
  expect(commandNames(root, `${root}/docs`, {})).toEqual({ gantry: 'npx gantry', start: 'npm start' });
  expect(commandNames(root, '/home/me', {}).gantry).toBe('node /home/me/gantry/scripts/gantry.mjs');
  expect(commandNames('/home/my own/gantry', '/', {}).gantry).toBe("node '/home/my own/gantry/scripts/gantry.mjs'");
  expect(commandNames('/usr/lib/node_modules/gantry', '/', {}).gantry).toBe('gantry');
  expect(commandNames(root, '/elsewhere', { GANTRY_PANE: 'pane_1' }).gantry).toBe('gantry');
});

test('outside the clone it is named gantry exactly where a shell would find this one by that name', () => {
  const folder = realpathSync(scratch());
  const [root, linked, other] = ['clone', 'bin', 'others'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [join(root, 'scripts'), linked, other]) mkdirSync(path, { recursive: true });
  for (const file of [join(root, 'scripts', 'gantry.mjs'), join(other, 'gantry')]) writeFileSync(file, '');
  symlinkSync(join(root, 'scripts', 'gantry.mjs'), join(linked, 'gantry'));
  const named = (...PATH: string[]) => commandNames(root, '/elsewhere', { PATH: PATH.join(delimiter) });
  expect(named(folder, linked, other)).toEqual({ gantry: 'gantry', start: 'gantry start' });
  expect(named(other, linked).gantry).toBe(`node ${root}/scripts/gantry.mjs`);
  expect(commandNames(root, root, { PATH: linked }).gantry).toBe('npx gantry');
});

test('a command that a server names is called as it works here, and nothing else of its words changes', () => {
  const names = { gantry: 'npx gantry', start: 'npm start' };
  expect(calledHere('List them with `gantry threads`, or `gantry stop`; gantry goes on.', names)).toBe(
    'List them with `npx gantry threads`, or `npx gantry stop`; gantry goes on.',
  );
  expect(calledHere('`gantry stop`', { gantry: 'gantry', start: 'gantry start' })).toBe('`gantry stop`');
});
