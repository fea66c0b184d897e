/** What Home says of somebody's first run: which first steps it was, an undo only where something can come back, since when it ended, and the next one at once. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installStandInClaude } from '../support/stand-in-claude/install.ts';
import { type Browser, go, openBrowser, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'gantry-first-run-')));
const repository = join(root, 'house');

let gantry: Gantry;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  mkdirSync(repository);
  writeFileSync(join(repository, 'a.txt'), 'one\n');
  const git = (...words: string[]) => execFileSync('git', ['-C', repository, ...words]);
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('-c', 'user.name=Person', '-c', 'user.email=person@example.org', 'commit', '-qm', 'first');
  const bin = installStandInClaude(join(root, 'bin'));
  const env = { PATH: `${bin}:${process.env.PATH}`, ANTHROPIC_API_KEY: 'key-of-tests' };
  [gantry, browser] = await Promise.all([startGantry({ env }), openBrowser()]);
  first = await visit(browser, gantry.url);
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
  rmSync(root, { recursive: true, force: true });
});

test('the first run in one’s own project is that step, and not the one to watch the demo', async () => {
  const { page } = first;
  const form = page.getByRole('form', { name: 'New run' });
  await form.getByRole('textbox', { name: 'Folder' }).fill(repository);
  await form.getByRole('textbox', { name: 'What to do' }).fill('Mend the roof');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Pane of claude', exact: true }).waitFor();
  await go(page, '/');
  await page.locator('[data-step="done"]', { hasText: 'Work in your own project' }).waitFor();
  await page.locator('[data-step="open"]', { hasText: 'Watch a demo team' }).waitFor();
  await page.getByRole('list', { name: 'Runs under way' }).getByText('Mend the roof').waitFor();
  const teams = page.getByRole('region', { name: 'Teams' });
  await teams.getByText('demo').waitFor();
  expect(await teams.getByText(/^mend-the-roof/).count()).toBe(0);
});

test('a discard of work that changed nothing says so, and offers no undo', async () => {
  const { page } = first;
  await page.getByRole('button', { name: 'Discard: Mend the roof' }).click();
  const dialog = page.getByRole('dialog', { name: 'Discard: Mend the roof' });
  await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  const toast = page.getByRole('listitem').filter({ hasText: 'Discarded the work of Claude Code' });
  await toast.getByText('There was no work to bring back.').waitFor();
  expect(await toast.getByRole('button', { name: 'Undo' }).count()).toBe(0);
  const ended = page.getByRole('list', { name: 'Ended runs' });
  await ended.getByText('Discarded').waitFor();
  expect(await ended.getByText('Failed').count()).toBe(0);
  const field = await page.getByRole('form', { name: 'New run' }).boundingBox();
  expect((await toast.boundingBox())!.y).toBeGreaterThan(field!.y + field!.height);
});

test('since when it ended is a time of day', async () => {
  const { page } = first;
  const card = page.getByRole('region', { name: 'Since you last looked' });
  await card.getByText(/^since \d\d:\d\d/).waitFor();
});

test('a run that has started is listed at once, however long git takes to read the list', async () => {
  const { page } = first;
  const release = Promise.withResolvers<void>();
  await page.route('**/api/factory/quick-runs?*', async (route) => {
    await release.promise;
    // Whoever asked may have left meanwhile.
    await route.continue().catch(() => {});
  });
  await page.keyboard.press('n');
  const form = page.getByRole('form', { name: 'New run' });
  await form.getByRole('textbox', { name: 'What to do' }).fill('Sweep the yard');
  await page.keyboard.press('Enter');
  await page.locator('[data-bot^="claude@sweep-the-yard"]').waitFor();
  await go(page, '/');
  await page.getByRole('list', { name: 'Runs under way' }).getByText('Sweep the yard').waitFor();
  release.resolve();
  await page.unroute('**/api/factory/quick-runs?*');
  expect(first.errors).toEqual([]);
});
