/** A conversation begun in a terminal goes on as a bot: found by the palette and on the floor, looked at, planned, adopted. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, openBrowser, openPalette, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';

const standIn = fileURLToPath(new URL('../runtime-server/harness/stand-in-claude.mjs', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'gantry-adopt-'));
const project = join(root, 'house');
const config = join(root, 'claude');
let gantry: Gantry;
let browser: Browser;
let seen: Visit;

function conversation(id: string, prompt: string): void {
  const folder = join(config, 'projects', project.replace(/[^A-Za-z0-9]/g, '-'));
  mkdirSync(folder, { recursive: true });
  const line = { type: 'user', cwd: project, message: { role: 'user', content: prompt } };
  writeFileSync(join(folder, `${id}.jsonl`), `${JSON.stringify(line)}\n`);
}

beforeAll(async () => {
  const bin = join(root, 'bin');
  for (const folder of [project, bin]) mkdirSync(folder, { recursive: true });
  const program = join(bin, 'claude');
  writeFileSync(program, `#!${process.execPath}\nimport(${JSON.stringify(standIn)});\n`);
  chmodSync(program, 0o755);
  conversation('11111111-2222-4333-8444-555555555555', 'Mend the roof of the shed before it rains again');
  conversation('22222222-2222-4333-8444-555555555555', 'Count the bricks and say how many are missing');
  const env = { CLAUDE_CONFIG_DIR: config, PATH: `${bin}:${process.env.PATH}` };
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty', env }), openBrowser()]);
  seen = await visit(browser, gantry.url, { plain: true });
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
  rmSync(root, { recursive: true, force: true });
});

test('the palette leads to the sessions; one is chosen, planned and adopted, and runs as a bot', async () => {
  const { page } = seen;
  await page.setViewportSize(wide);
  await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  await openPalette(page);
  await page.keyboard.type('adopt a conversation');
  await page.getByRole('option', { name: 'Adopt a conversation', selected: true }).waitFor();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Adopt a conversation' });
  const rows = dialog.getByRole('list', { name: 'Conversations' }).getByRole('button');
  await expect.poll(() => rows.count()).toBe(2);
  await looked(page, 'adopt-list');
  await dialog.getByRole('searchbox', { name: 'Filter conversations' }).fill('roof');
  await expect.poll(() => rows.count()).toBe(1);
  await rows.first().click();
  await dialog.getByText('claude@adopted').waitFor();
  await looked(page, 'adopt-plan');
  await dialog.getByRole('button', { name: 'Adopt', exact: true }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.locator('[data-bot="claude@adopted"]', { hasText: 'Idle' }).waitFor();
});

test('what runs as a bot already is shown as that and cannot be chosen, also on a phone', async () => {
  const { page } = seen;
  await page.setViewportSize(narrow);
  // The bot has opened: there is room for it or the list.
  await page.getByRole('button', { name: 'Back to the list' }).click();
  await page.getByRole('button', { name: 'Adopt a conversation' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Adopt a conversation' });
  const taken = dialog.getByRole('button', { name: /Mend the roof/ });
  await taken.getByText('runs as claude@adopted').waitFor();
  await expect.poll(() => taken.isDisabled()).toBe(true);
  await looked(page, 'adopt-list', { light: true });
  await page.keyboard.press('Escape');
});

test('the command line lists and plans the same', async () => {
  const listed = await gantry.cli('agents', 'sessions', '--cwd', project);
  expect([listed.code, listed.out]).toEqual([0, expect.stringContaining('Count the bricks')]);
  const planned = await gantry.cli('agents', 'adopt', 'claude', '22222222-2222-4333-8444-555555555555', '--dry-run');
  expect([planned.code, planned.out]).toEqual([0, expect.stringContaining('Nothing was changed')]);
  const refused = await gantry.cli('agents', 'adopt', 'claude', '11111111-2222-4333-8444-555555555555');
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain('already running');
});
