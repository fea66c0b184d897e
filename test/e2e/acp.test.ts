/** A bot over ACP on the floor: its conversation in place of a screen, with tool calls, diffs and plans, and its questions answered beside them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, go, openBrowser, type Page, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow } from './support/looks.ts';

const standIn = resolve(import.meta.dirname, '../support/stand-in-acp.mjs');
let gantry: Gantry;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty' }), openBrowser()]);
  const folder = join(gantry.workspace, '.gantry', 'teams', 'dev');
  mkdirSync(folder, { recursive: true });
  const command = `${process.execPath} ${standIn} --modes`;
  writeFileSync(join(folder, 'team.yaml'), `bots:\n  - { bot: web, harness: acp, command: ${command} }\n`);
  await gantry.agree();
  expect(await gantry.cli('teams', 'up', 'dev')).toMatchObject({ code: 0 });
  first = await visit(browser, gantry.url, { plain: true });
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

const send = (text: string) => gantry.cli('orchestration', 'send', 'web@dev', text, '--json');
const conversation = (page: Page) => page.getByRole('region', { name: 'Conversation of web' });

test('before the first message the pane says what will appear, and then what was said and planned', async () => {
  const { page } = first;
  await go(page, '/floor');
  await page.locator('[data-bot="web@dev"]').click();
  await page.getByText('web runs without a terminal. Its conversation appears here.').waitFor();
  await send('think and make a plan');
  await conversation(page).getByText('You said: think and make a plan').waitFor();
  await conversation(page).getByRole('list', { name: 'Plan' }).getByText('Look').waitFor();
  await conversation(page).getByText('Thought').click();
  await conversation(page).getByText('Let me see.').waitFor();
});

test('a change stands with its diff, its question is answered in the pane, and a narrow window shows the same', async () => {
  const { page } = first;
  await send('edit notes.txt');
  const question = page.getByRole('region', { name: 'What web asks' }).getByRole('article').last();
  await question.getByText('+made by the agent').waitFor();
  await looked(page, 'acp-question');
  await question.getByRole('button', { name: 'Approve' }).click();
  await conversation(page).getByText('The answer was once.').waitFor();
  await conversation(page).getByText('Approved: web@dev asks to change').waitFor();
  await conversation(page)
    .getByRole('region', { name: /^Change of .*notes\.txt$/ })
    .getByText('+made by the agent')
    .waitFor();
  await page.locator('[data-bot="web@dev"]', { hasText: 'Idle' }).waitFor();
  await looked(page, 'acp-conversation');
  const phone = await visit(browser, `${gantry.origin}/`, { ...narrow, like: first.context, plain: true });
  await go(phone.page, '/floor');
  await phone.page.locator('[data-bot="web@dev"]').click();
  await conversation(phone.page).getByText('The answer was once.').waitFor();
  await looked(phone.page, 'acp-conversation', { light: true });
  await phone.close();
});

test('the mode of the agent is shown and set below its conversation', async () => {
  const { page } = first;
  await page.getByRole('combobox', { name: 'Mode of web' }).selectOption('plan');
  await send('which mode');
  await conversation(page).getByText('mode plan').waitFor();
});

test('very much stays readable: the newest is in view, and earlier entries are read on demand', async () => {
  const { page } = first;
  for (let n = 0; n < 3; n += 1) await send(`run \`echo ${'x'.repeat(300)}${n}\` only always`);
  for (let n = 0; n < 3; n += 1) {
    await page.getByRole('button', { name: 'Reject' }).last().click();
    await conversation(page)
      .getByText(`${'x'.repeat(20)}${n}`)
      .first()
      .waitFor();
  }
  await page.locator('[data-bot="web@dev"]', { hasText: 'Idle' }).waitFor();
  await looked(page, 'acp-much');
});

test('once its team is stopped, the conversation stays to be read', async () => {
  const { page } = first;
  await gantry.cli('teams', 'down', 'dev');
  await page.locator('[data-bot="web@dev"]', { hasText: 'Offline' }).waitFor();
  await conversation(page).getByText('mode plan').waitFor();
});
