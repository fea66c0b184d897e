/** Where Gantry's own programs are found, run from source and built. */
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { nodeProgram, programCommand, programFile, unpacked } from '../../../src/kit/process/programs.ts';

const root = new URL('../../..', import.meta.url).pathname;

test('from source the programs are the TypeScript files, run by this Node', () => {
  expect(programCommand('cli')).toEqual([process.execPath, `${root}src/cli/main.ts`]);
  expect(programFile('pane-host')).toBe(`${root}src/programs/pane-host/main.ts`);
});

test.each(['server/cli.js', 'server/chunks/programs-abc.js', 'main/main.js'])(
  'built, out/%s finds out/server',
  (file) => {
    const url = pathToFileURL(`/opt/gantry/out/${file}`).href;
    expect(programFile('cli', url)).toBe('/opt/gantry/out/server/cli.js');
    expect(programFile('pane-host', url)).toBe('/opt/gantry/out/server/pane-host.js');
  },
);

test('a clone in a folder called out still finds its own build', () => {
  const url = pathToFileURL('/home/me/out/gantry/out/server/cli.js').href;
  expect(programFile('cli', url)).toBe('/home/me/out/gantry/out/server/cli.js');
});

test('code that is neither source nor built is told so', () => {
  expect(() => programFile('cli', 'file:///tmp/bundle.js')).toThrow('neither in src/ nor in out/');
});

test('in the packed app the programs lie beside its archive, where Node can read them', () => {
  const url = pathToFileURL('/opt/Gantry/resources/app.asar/out/main/main.js').href;
  expect(programFile('pane-host', url)).toBe('/opt/Gantry/resources/app.asar.unpacked/out/server/pane-host.js');
  expect(unpacked('/opt/Gantry/resources/app.asar')).toBe('/opt/Gantry/resources/app.asar.unpacked');
  expect(unpacked('/opt/Gantry/resources/app.asar.unpacked/x')).toBe('/opt/Gantry/resources/app.asar.unpacked/x');
  expect(unpacked('/home/me/gantry')).toBe('/home/me/gantry');
});

const electron = {
  execPath: '/opt/Gantry/gantry',
  platform: 'linux',
  versions: { electron: '45.4.1' },
  env: {},
  resourcesPath: '/opt/Gantry/resources',
};

test('programs run on the Node of this process, and under Electron never on Electron', () => {
  const packed = (file: string): boolean => file.startsWith('/opt/Gantry/resources/node/');
  expect(nodeProgram({ ...electron, versions: {} })).toBe('/opt/Gantry/gantry');
  expect(nodeProgram(electron, packed)).toBe('/opt/Gantry/resources/node/node');
  expect(nodeProgram({ ...electron, platform: 'win32' }, packed)).toBe('/opt/Gantry/resources/node/node.exe');
  const none = (): boolean => false;
  expect(nodeProgram({ ...electron, env: { GANTRY_NODE: '/usr/bin/node' } }, none)).toBe('/usr/bin/node');
  expect(nodeProgram(electron, none)).toBe('node');
});
