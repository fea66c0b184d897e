/**
 * The desktop app in the real Electron, driven by Playwright: runs where its program and a display are, else is skipped with the reason.
 * `npm test` builds first; alone: `npm run build && npx vitest run test/electron`.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { _electron } from 'playwright';
import { expect, onTestFinished, test } from 'vitest';
import { findElectron, hasDisplay, hereAndNow } from '../../src/cli/start/surroundings.ts';
import { findRunning } from '../../src/host/running.ts';

const root = new URL('../..', import.meta.url).pathname;
const entry = join(root, 'out', 'main', 'main.js');
const program = findElectron(process.env);
const place = hereAndNow(process.env);

function missing(): string | null {
  if (program === null) return 'needs the program of Electron: npx gantry desktop install';
  if (!hasDisplay(place)) return 'needs a display';
  if (place.uid === 0) return 'needs another user than root, whom Electron refuses its sandbox';
  return existsSync(entry) ? null : 'needs the build: npm run build';
}
const why = missing();
const needs = why === null ? '' : ` (${why})`;

test.skipIf(why !== null)(`the app starts, shows Gantry, streams its events, and closes in order${needs}`, async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-electron-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = {
    ...(process.env as Record<string, string>),
    GANTRY_HOME: home,
    GANTRY_NODE: process.execPath,
    GANTRY_PORT: '0',
    GANTRY_ENGINE_PORT: '0',
    GANTRY_PEER_PORT: '0',
  };
  const app = await _electron.launch({ executablePath: program ?? '', args: [entry], env });
  onTestFinished(() => app.close().catch(() => {}));
  const page = await app.firstWindow();
  await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  // Both natives work: the database behind the page, and a pane with its pty.
  await page.getByText('Linked').waitFor();
  expect(new URL(page.url()).origin).toBe(findRunning(env)?.address);
  expect(await page.evaluate(() => document.cookie)).toBe('');
  expect(await page.evaluate(() => Object.keys((window as { desktop?: object }).desktop ?? {}).sort())).toEqual([
    'act',
    'change',
    'onSay',
    'platform',
    'read',
  ]);
  expect(
    await page.evaluate(() => ['require', 'process', 'Buffer', 'module'].filter((name) => name in window)),
  ).toEqual([]);
  await page.goto(`${new URL(page.url()).origin}/settings/desktop`);
  await page.getByText('They run in this app and stop with it.').waitFor();
  await app.evaluate(({ app: electron }) => electron.quit());
  await expect.poll(() => findRunning(env)).toBeNull();
});
