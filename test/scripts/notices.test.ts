/** The notices of third parties in the installers name every package that is in them, with its licence. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { noticesOf, packageOf } from '../../scripts/notices.ts';
import { freshBuild } from '../support/fresh-build.ts';
import { scratchFolder } from '../support/scratch.ts';

const root = join(import.meta.dirname, '..', '..');
const built = freshBuild();

/** Programs are built legibly: each module stands below a mark with its path. Another package may stand in the folder of one, so its own name counts. */
function packagesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.c?js$/.test(name));
  const texts = names.map((name) => readFileSync(join(folder, name), 'utf8'));
  const found = texts.flatMap((text) =>
    [...text.matchAll(/^\/\/(?:#region)? ((?:.*\/)?node_modules\/(?:@[^/\n]+\/)?[^/\n]+)\//gm)].map(
      ([, path]) => path as string,
    ),
  );
  return [...new Set(found)]
    .map((path) => (JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')) as { name: string }).name)
    .toSorted();
}

test.skipIf(built === null)('each package in the build is named with its licence (needs a build)', () => {
  const notices = readFileSync(join(built!, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
  const named = new Set([...notices.matchAll(/^(\S+) \d\S*\nLicence: \S/gm)].map(([, name]) => name));
  const inBuild = ['server', 'main', 'preload'].flatMap((part) => packagesIn(join(built!, part)));
  expect(inBuild.length).toBeGreaterThan(20);
  // What is packed beside the bundles, and the page's own: its modules carry no mark.
  const others = [
    'better-sqlite3',
    'node-pty',
    'playwright-core',
    'react',
    'react-dom',
    '@xterm/xterm',
    'tailwindcss',
    '@tesseract.js-data/eng',
  ];
  const fonts = ['@fontsource-variable/inter', '@fontsource-variable/jetbrains-mono'];
  expect([...inBuild, ...others, ...fonts].filter((name) => !named.has(name))).toEqual([]);
});

test('the installers hold the file', () => {
  const { extraResources } = parse(readFileSync(join(root, 'electron-builder.yml'), 'utf8')) as {
    extraResources: { from: string; to: string }[];
  };
  expect(extraResources).toContainEqual({ from: 'out/THIRD-PARTY-NOTICES.txt', to: 'THIRD-PARTY-NOTICES.txt' });
});

test('a package is told with the text of its licence, and where there is none with the name of it', () => {
  const folder = scratchFolder();
  const make = (name: string, more: object, licence?: string) => {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'package.json'), JSON.stringify({ name, version: '1.0.0', ...more }));
    if (licence !== undefined) writeFileSync(join(folder, name, 'LICENSE.md'), licence);
    return join(folder, name);
  };
  const text = noticesOf([make('b', { license: 'MIT' }, 'Copyright B'), make('a', { license: 'ISC', author: 'Ada' })]);
  expect(text).toMatch(/a 1\.0\.0\nLicence: ISC\nFrom: Ada[\s\S]+b 1\.0\.0\nLicence: MIT\n\nCopyright B/);
  expect(packageOf('/x/node_modules/a/node_modules/@s/b/dist/i.js')).toBe('/x/node_modules/a/node_modules/@s/b');
  expect(packageOf('/x/src/main.ts')).toBeNull();
});
