/** The settings for electron-builder, checked against its own schema and against what the app needs to run. */
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readDeepLink } from '../../src/main/deep-links.ts';

const root = new URL('../..', import.meta.url).pathname;
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

interface Configuration {
  readonly appId: string;
  readonly npmRebuild: boolean;
  readonly publish: unknown;
  readonly files: readonly string[];
  readonly asar: boolean;
  readonly asarUnpack: readonly string[];
  readonly extraResources: readonly { from: string; to: string }[];
  readonly electronFuses: Readonly<Record<string, boolean>>;
  readonly protocols: readonly { schemes: readonly string[] }[];
  readonly directories: { readonly buildResources: string };
  readonly linux: { readonly target: readonly string[] };
  readonly mac: { readonly target: readonly string[] };
  readonly win: { readonly target: readonly string[] };
}
const configuration = parse(read('electron-builder.yml')) as Configuration;

const { validateConfiguration } = createRequire(import.meta.url)('app-builder-lib/out/util/config/config.js') as {
  validateConfiguration(configuration: unknown, log: { isEnabled: boolean; add(): void }): Promise<void>;
};
const validate = (one: unknown): Promise<void> => validateConfiguration(one, { isEnabled: false, add() {} });

test('the configuration is one by electron-builder’s own schema, which knows a wrong one', async () => {
  await validate(structuredClone(configuration));
  await expect(validate({ ...structuredClone(configuration), electronFusess: {} })).rejects.toThrow('electronFusess');
});

test('the installers are those of each system, and nothing is published', () => {
  const { linux, mac, win, publish } = configuration;
  expect([linux.target, mac.target, win.target]).toEqual([['AppImage', 'deb'], ['dmg', 'zip'], ['nsis']]);
  expect(publish).toBeNull();
});

test('the fuses take from Electron’s program what Gantry does not use', () => {
  expect(configuration.electronFuses).toEqual({
    runAsNode: false,
    enableCookieEncryption: true,
    enableNodeOptionsEnvironmentVariable: false,
    enableNodeCliInspectArguments: false,
    enableEmbeddedAsarIntegrityValidation: true,
    onlyLoadAppFromAsar: true,
    grantFileProtocolExtraPrivileges: false,
  });
});

test('native modules are taken as they are, and everything that Node reads lies beside the archive', () => {
  const { asar, asarUnpack, npmRebuild, extraResources } = configuration;
  expect([asar, npmRebuild]).toEqual([true, false]);
  expect(extraResources).toEqual([
    { from: 'out/node', to: 'node' },
    { from: 'out/THIRD-PARTY-NOTICES.txt', to: 'THIRD-PARTY-NOTICES.txt' },
  ]);
  const packed = configuration.files.filter((one) => !one.startsWith('!'));
  const inside = packed.filter((one) => !asarUnpack.some((other) => covers(other, one)));
  expect(inside).toEqual(['out/main/**', 'out/preload/**']);
  expect(asarUnpack).toContain('node_modules/**');
});

function covers(pattern: string, one: string): boolean {
  return pattern === one || (pattern.endsWith('/**') && one.startsWith(pattern.slice(0, -2)));
}

test('whatever is packed is there, and the program that Electron starts is among it', () => {
  const { main, dependencies } = JSON.parse(read('package.json')) as { main: string; dependencies: object };
  const packed = configuration.files.filter((one) => !one.startsWith('!'));
  expect(packed.some((one) => covers(one, main))).toBe(true);
  // What is not bundled comes with the app as a package.
  expect(Object.keys(dependencies).sort()).toEqual(['better-sqlite3', 'node-pty', 'playwright-core']);
  for (const pattern of packed.filter((one) => !one.startsWith('out/'))) {
    expect(globSync(pattern, { cwd: root }).length, pattern).toBeGreaterThan(0);
  }
  const icons = globSync('*.png', { cwd: join(root, configuration.directories.buildResources) });
  expect(icons.sort()).toEqual(['icon.png', 'tray.png', 'trayTemplate.png', 'trayTemplate@2x.png']);
});

test('links and notifications are the app’s by the names that it calls itself by', () => {
  const schemes = configuration.protocols.flatMap((one) => one.schemes);
  expect(schemes).toEqual(['gantry']);
  expect(readDeepLink(`${schemes[0]}://inbox`)).toEqual({ kind: 'go', path: '/inbox' });
  const main = read('src/main/main.ts');
  expect(main).toContain(`app.setAppUserModelId('${configuration.appId}')`);
  expect(read('src/main/shell.ts')).toContain(`app.setAsDefaultProtocolClient('${schemes[0]}')`);
});
