/** Accounts of agent programs on their page: nothing yet, the sign-in in a terminal, many, and removing one; then what a bot's sandbox holds. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installStandInClaude } from '../support/stand-in-claude/install.ts';
import { type Browser, go, openBrowser, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow } from './support/looks.ts';

const programs = mkdtempSync(join(tmpdir(), 'gantry-accounts-'));
let gantry: Gantry;
let browser: Browser;
let session: Visit;

beforeAll(async () => {
  const bin = installStandInClaude(programs, 'limits.mjs');
  const env = { PATH: `${bin}:${process.env.PATH}` };
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty', env }), openBrowser()]);
  const folder = join(gantry.workspace, '.gantry', 'teams', 'dev');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'team.yaml'), 'bots:\n  - { bot: web, harness: shell }\n');
  await gantry.agree();
  session = await visit(browser, gantry.url, { plain: true });
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
  rmSync(programs, { recursive: true, force: true });
});

test('an account is added on its page and signed in in a terminal', async () => {
  const { page } = session;
  await go(page, '/settings/agent-accounts');
  await page.getByText('Accounts that you add appear here.').waitFor();
  await looked(page, 'agent-accounts-empty', { light: true });
  await page.getByRole('button', { name: 'Add an account' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add an account' });
  await dialog.getByLabel('Name').fill('Work!');
  await dialog.getByText('Use lowercase letters').waitFor();
  await dialog.getByLabel('Name').fill('work');
  await looked(page, 'agent-accounts-add', { light: true });
  await dialog.getByRole('button', { name: 'Add and sign in' }).click();
  await page.getByText('Signing in to').first().waitFor();
  await go(page, '/settings/agent-accounts');
  await page.getByText('signing in', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Show its terminal' }).waitFor();
  expect((await gantry.cli('accounts', 'ls')).out).toMatch(/claude\s+work\s+signing in/);
});

test('many accounts, one of them in need of help, and one is removed', async () => {
  const { page } = session;
  for (let count = 1; count <= 12; count += 1) {
    const name = count === 12 ? 'a-name-that-is-as-long-as-it-may-be-1234' : `account-${count}`;
    expect(await gantry.cli('accounts', 'add', 'claude', name)).toMatchObject({ code: 0 });
    writeFileSync(
      join(gantry.home, 'accounts', 'claude', name, '.credentials.json'),
      JSON.stringify({ claudeAiOauth: {} }),
    );
  }
  await gantry.cli('teams', 'down', 'sign-in');
  await go(page, '/settings/agent-accounts');
  await page.getByText('a-name-that-is-as-long-as-it-may-be-1234').waitFor();
  await looked(page, 'agent-accounts', { light: true });
  const small = await visit(browser, `${gantry.origin}/`, { ...narrow, like: session.context, plain: true });
  await go(small.page, '/settings/agent-accounts');
  await small.page.getByText('account-11').waitFor();
  await looked(small.page, 'agent-accounts', { light: true });
  await small.close();
  await page.getByRole('button', { name: 'Remove work of Claude Code' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('button', { name: 'Remove work of Claude Code' }).waitFor({ state: 'detached' });
});

test.each(['wide', 'narrow'])('the bot’s page tries its sandbox in a %s window', async (name) => {
  expect(await gantry.cli('teams', 'up', 'dev')).toMatchObject({ code: 0 });
  const isNarrow = name === 'narrow';
  const seen = isNarrow
    ? await visit(browser, `${gantry.origin}/`, { ...narrow, like: session.context, plain: true })
    : session;
  const { page } = seen;
  await go(page, '/floor');
  await page.locator('[data-bot="web@dev"]').click();
  if (isNarrow) await page.getByRole('button', { name: 'Show the inspector' }).click();
  await page.getByRole('tab', { name: 'web', exact: true }).last().click();
  await page.getByRole('button', { name: 'Try it' }).click();
  await page.getByText('variables that look like keys').waitFor();
  await looked(page, 'sandbox-try', { light: true });
  expect((await gantry.cli('sandbox', 'try', 'dev')).out).toContain('web@dev, sandbox: none');
  if (isNarrow) await seen.close();
});
