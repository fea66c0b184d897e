/**
 * What the build makes: which module may require what at run time. When the build is older than the sources, the test
 * makes its own.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createBuilder } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { samples } from '../programs/converter/formats/samples.ts';
import { startConverter } from '../support/documents/converter.ts';
import { japanesePdf } from '../support/documents/pdf.ts';
import { freshBuild } from '../support/fresh-build.ts';

// As it is shipped: beside the package.json that says what kind of files these are.
const folder = mkdtempSync(join(tmpdir(), 'gantry-build-'));
const fresh = freshBuild();
const out = fresh ?? join(folder, 'out');
const builtins = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]));

beforeAll(async () => {
  if (fresh !== null) return;
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  const builder = await createBuilder({
    configFile: new URL('../../vite.config.ts', import.meta.url).pathname,
    logLevel: 'error',
    environments: Object.fromEntries(
      Object.entries({ client: 'renderer', server: 'server', main: 'main', preload: 'preload' }).map(([name, to]) => [
        name,
        { build: { outDir: join(out, to) } },
      ]),
    ),
  });
  await builder.buildApp();
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function files(folder: string): { name: string; text: string }[] {
  return readdirSync(join(out, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(c?js|mjs)$/.test(name))
    .map((name) => ({ name, text: readFileSync(join(out, folder, name), 'utf8') }));
}

/** Names that statements at the start of a line import or require; texts inside a bundle do not begin there. */
function asked(text: string): string[] {
  const statements =
    /^\s*(?:import\s[^'";]*?from\s*|import\s*|export\s[^'";]*?from\s*|(?:var|let|const)\s[^=;]+=\s*(?:await\s+import|__require|require)\()\s*["']([^"']+)["']/gm;
  return [...text.matchAll(statements)].map((match) => match[1] ?? '').filter((name) => !name.startsWith('.'));
}

test('the preload script is CommonJS and asks for electron alone', () => {
  const [preload, ...more] = files('preload');
  expect(more).toEqual([]);
  expect(preload?.name).toBe('preload.cjs');
  expect([...(preload?.text.matchAll(/require\("([^"]+)"\)/g) ?? [])].map((match) => match[1])).toEqual(['electron']);
  expect(preload?.text).not.toMatch(/^\s*(import|export)\s/m);
});

test('the desktop program asks for electron, the database and Node: terminals and browsers are of other programs', () => {
  const names = new Set(files('main').flatMap(({ text }) => asked(text)));
  expect([...names].filter((name) => !builtins.has(name)).sort()).toEqual(['better-sqlite3', 'electron']);
});

test('the desktop program loads the updater only where a feed is set', () => {
  const all = new Map(files('main').map(({ name, text }) => [name, text]));
  const entry = all.get('main.js') ?? '';
  expect(entry).toMatch(/import\(["']\.\/chunks\/[^"']*["']\)/);
  expect(entry).not.toContain('quitAndInstall(isSilent');
  expect([...all.values()].some((text) => text.includes('quitAndInstall(isSilent'))).toBe(true);
});

test('the programs ask at run time for the native modules, what drives a browser and Node, and for nothing else', () => {
  const names = new Set(files('server').flatMap(({ text }) => asked(text)));
  // `bun` stands in a library for X that looks for its own runtime there, and is never asked for under Node.
  const ours = [...names].filter((name) => !builtins.has(name) && name !== 'bun').sort();
  expect(ours).toEqual(['better-sqlite3', 'node-pty', 'playwright-core']);
});

test('a command line that starts no server loads none of it', () => {
  const all = new Map(files('server').map(({ name, text }) => [name, text]));
  const reached = new Set<string>();
  const follow = (name: string): void => {
    if (reached.has(name)) return;
    reached.add(name);
    const folder = name.includes('/') ? 'chunks/' : '';
    // Static imports only: what is imported when it is needed does not count.
    for (const match of all.get(name)?.matchAll(/^import\s?[^'"(]*["'](\.[^'"]+)["']/gm) ?? []) {
      follow(join(folder, match[1] ?? ''));
    }
  };
  const start = [...all.keys()].find((name) => name.startsWith('chunks/program-'));
  follow('cli.js');
  expect(start).toBeDefined();
  follow(start ?? '');
  const text = [...reached].map((name) => all.get(name)).join('\n');
  expect(asked(text).filter((name) => ['better-sqlite3', 'node-pty'].includes(name))).toEqual([]);
  expect([...all.keys()].some((name) => name.includes('combined'))).toBe(true);
  expect([...reached].filter((name) => name.includes('combined'))).toEqual([]);
});

test('the page mentions neither Node nor electron', () => {
  const pages = files('renderer');
  expect(pages.length).toBeGreaterThan(0);
  // The pages of the docs are texts, and show programs of a person's own.
  const docs = readdirSync(new URL('../../docs', import.meta.url).pathname, { recursive: true, encoding: 'utf8' }).map(
    (file) => basename(file, '.md'),
  );
  const isDocs = (name: string) => docs.includes(basename(name).replace(/-[\w-]{8}\.js$/, ''));
  for (const { name, text } of pages.filter((page) => !isDocs(page.name))) {
    expect(asked(text), name).toEqual([]);
    expect(text, name).not.toMatch(/["'`]node:[a-z]/);
    expect(text, name).not.toMatch(/(from|import\(|require\()\s*["'`]electron["'`]/);
  }
});

test('the built conversion program reads documents with what lies beside it, the tables for Japanese as well', async () => {
  const { convert, close } = startConverter([process.execPath, join(out, 'server', 'converter.js')]);
  try {
    expect((await convert(japanesePdf(), 'a.pdf')).markdown).toBe('日本語\n');
    expect((await convert(samples['a.docx'] as Uint8Array, 'a.docx')).markdown).toBe('words here');
    expect((await convert(samples['a.xlsx'] as Uint8Array, 'a.xlsx')).markdown).toContain('words');
    expect((await convert(samples['a.html'] as Uint8Array, 'a.html')).markdown).toBe('words here');
    expect((await convert(samples['a.eml'] as Uint8Array, 'a.eml')).markdown).toContain('words here');
    expect((await convert(samples['a.gif'] as Uint8Array, 'a.gif')).markdown).toContain('640x480');
  } finally {
    await close();
  }
});
