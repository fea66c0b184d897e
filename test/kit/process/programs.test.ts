/** Where Gantry's own programs are found, run from source and built. */
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { programCommand, programFile } from '../../../src/kit/process/programs.ts';

const root = new URL('../../..', import.meta.url).pathname;

test('from source the programs are the TypeScript files, run by this Node', () => {
  expect(programCommand('cli')).toEqual([process.execPath, `${root}src/cli/main.ts`]);
  expect(programFile('pane-host')).toBe(`${root}src/pane-host/main.ts`);
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
