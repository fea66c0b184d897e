/** `npm run dev` on a copy of the sources, as somebody who changes them uses it: a page in a browser, a pane, and files that are saved. */
import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { agreeToAll } from '../support/trust.ts';
import { type Browser, go, openBrowser, seeInPane, typeInto, type Visit, visit } from './support/browser.ts';
import { root } from './support/renderer.ts';

const folder = mkdtempSync(join(tmpdir(), 'gantry-dev-'));
const tree = join(folder, 'gantry');
const workspace = join(folder, 'work');
// Vite and React would build the page of a test.
const { NODE_ENV: _, VITEST: __, ...surroundings } = process.env;
const env = { ...surroundings, HOME: folder, GANTRY_HOME: join(folder, '.gantry') };
/** The packages are made ready for the browser first, on an empty cache. */
const waiting = { timeout: 90_000 };
let dev: { ask(tool: string): Promise<string>; ended: Promise<number | null>; url: string; engine: string };
let browser: Browser;
let shown: Visit;

beforeAll(async () => {
  const sources = [
    'package.json',
    'vite.config.ts',
    'scripts',
    'src',
    'tools',
    'docs/glossary.md',
    'templates',
    'sample',
  ];
  for (const name of sources) {
    cpSync(join(root, name), join(tree, name), { recursive: true });
  }
  // Packages as they are, with a cache of Vite's own.
  mkdirSync(join(tree, 'node_modules'));
  for (const name of readdirSync(join(root, 'node_modules')).filter((one) => !one.startsWith('.'))) {
    symlinkSync(join(root, 'node_modules', name), join(tree, 'node_modules', name));
  }
  const team = join(workspace, '.gantry', 'teams', 'one');
  mkdirSync(team, { recursive: true });
  writeFileSync(join(team, 'team.yaml'), 'bots:\n  - { bot: hand, harness: shell }\n');
  [dev, browser] = await Promise.all([startDev(), openBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  // Where the last test came to its end, nothing runs any more.
  await cli('stop', '--all').catch(() => {});
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const cli = (...words: string[]) =>
  promisify(execFile)(process.execPath, [join(tree, 'src', 'cli', 'main.ts'), ...words], { env, cwd: workspace });

async function startDev(): Promise<typeof dev> {
  const [port, enginePort] = [await freePort(), await freePort()];
  const words = ['--port', String(port), '--engine-port', String(enginePort), '--workspace', workspace];
  const child = spawn(process.execPath, [join(tree, 'scripts', 'dev.mjs'), ...words], { env, cwd: tree });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => {
      said += data.toString();
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  await vi.waitUntil(() => /Open +http\S+\n/.test(said), waiting);
  const origin = `http://127.0.0.1:${port}`;
  return {
    url: /Open +(\S+)/.exec(said)?.[1] ?? '',
    engine: `http://127.0.0.1:${enginePort}/api/factory`,
    /** What a tool says of itself; empty while nothing answers. */
    async ask(tool) {
      const answer = await fetch(`${origin}/api/v1/tools/${tool}`, { headers: owner() }).catch(() => null);
      return answer === null ? '' : await answer.text();
    },
    ended,
  };
}

const owner = () => ({ authorization: `Bearer ${readFileSync(join(env.GANTRY_HOME, 'token'), 'utf8').trim()}` });

/** Saves a source with other words in it. */
function change(path: string, from: string, to: string): void {
  const file = join(tree, path);
  const text = readFileSync(file, 'utf8');
  expect(text).toContain(from);
  writeFileSync(file, text.replace(from, to));
}

test('the printed address signs in, and a pane shows what is typed into it', async () => {
  await agreeToAll(dev.engine, owner());
  await cli('teams', 'up', 'one');
  shown = await visit(browser, dev.url, { plain: true });
  const { page } = shown;
  await page.getByRole('link', { name: 'Floor' }).first().waitFor(waiting);
  await go(page, '/floor');
  await page.locator('[data-bot="hand@one"]', { hasText: 'Idle' }).waitFor(waiting);
  await typeInto(page, 'hand@one', 'echo be"fore"');
  await seeInPane(page, 'hand', /^before/m);
  expect(shown.errors).toEqual([]);
});

test('a changed page shows in the browser without being asked for', async () => {
  change('src/renderer/base/rail-places.ts', "name: 'Floor'", "name: 'Ground'");
  await shown.page.getByRole('link', { name: 'Ground' }).first().waitFor();
});

test('a changed server answers with the change, and its pane goes on', async () => {
  const { page } = shown;
  expect(await dev.ask('time.now')).toContain('Says what time it is');
  change('src/runtime-server/tool-server/time-tool.ts', "description: '", "description: 'Changed. ");
  await expect.poll(() => dev.ask('time.now'), waiting).toContain('Changed. Says what time it is');
  await typeInto(page, 'hand@one', 'echo af"ter"');
  await seeInPane(page, 'hand', /^before[\s\S]*^after/m);
});

test('a mistake in a server ends it, the next change starts it again, and stopping Gantry ends all', async () => {
  change('src/runtime-server/tool-server/time-tool.ts', 'Changed. ', "' + ");
  await expect.poll(() => dev.ask('time.now'), waiting).toBe('');
  change('src/runtime-server/tool-server/time-tool.ts', "' + ", 'Mended. ');
  await expect.poll(() => dev.ask('time.now'), waiting).toContain('Mended. ');
  // It answers before all of it has started, and is stopped once it has.
  const stopped = () => cli('stop', '--all').then(() => 'stopped', String);
  await expect.poll(stopped, waiting).toBe('stopped');
  expect(await dev.ended).toBe(0);
});
