/** Calls on the page of the phone, by somebody who texted before and by who was named for transfers. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { text } from '../support/model-server/script.ts';
import { axe, type Browser, focusedName, go, openBrowser, type Page, type Visit, visit } from './support/browser.ts';
import { looked } from './support/looks.ts';
import { button, handset, type PhoneTeam, patience, startPhoneTeam, status } from './support/phone.ts';

const ours = '+13035550150';
const bens = '+12025550102';

let phone: PhoneTeam;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [phone, browser] = await Promise.all([startPhoneTeam(), openBrowser()]);
  phone.model.script(() => text('Hello.'));
  const { agents } = await phone.call<{ agents: { id: string; name: string }[] }>('GET', '/api/factory/agents');
  const botId = agents.find(({ name }) => name === 'clerk')?.id;
  const { computer } = await phone.call<{ computer: { id: string } }>('GET', '/api/v1/session');
  await phone.call('POST', '/api/v1/phone/numbers', { e164: ours, runtimeId: computer.id, botId });
  first = await visit(browser, phone.gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  await go(first.page, '/phone');
});
afterAll(async () => {
  await browser?.close();
  await phone?.close();
});

/** What a person does with the call that their handset has. */
async function atHandset(page: Page, name: string, verb: string): Promise<void> {
  await go(page, '/phone?page=handsets');
  await handset(page, name)
    .getByRole('region', { name: `Call of ${name}` })
    .getByRole('button', { name: verb })
    .click(patience);
}

test('a call is refused with what to do, allowed to who texted, held, and handed over to whom was asked first', async () => {
  const { page } = first;
  await page.locator('[data-number]').click(patience);
  // It is ours at the carrier.
  await status(page, 'Needs registration');
  await phone.call('POST', `/api/v1/phone/demo/handsets/${encodeURIComponent(bens)}/text`, { to: ours, text: 'Hi' });
  await page.locator('[data-conversation]').waitFor(patience);
  await page.getByRole('group', { name: 'View' }).getByRole('button', { name: 'Calls' }).click();
  const add = page.getByRole('form', { name: 'Add a transfer target' });
  await add.getByRole('textbox', { name: 'Name' }).fill('Chloe, workshop');
  await add.getByRole('textbox', { name: 'Number' }).fill('202 555 0104');
  await button(add, 'Add').click();
  await page.getByRole('list', { name: 'Transfer targets' }).getByText('Chloe, workshop').waitFor(patience);
  await button(page, 'Call somebody').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: /^Number/ }).fill('202 555 0101');
  await dialog.getByRole('textbox', { name: /^Purpose/ }).fill('Say that the bike is ready');
  await page.keyboard.press('Control+Enter');
  await dialog.locator('[data-call-refused]').waitFor(patience);
  await looked(page, 'phone-call-refused');
  await dialog.getByRole('button', { name: 'Invites and consent' }).waitFor();
  await dialog.getByRole('textbox', { name: /^Number/ }).fill('202 555 0102');
  await page.keyboard.press('Control+Enter');
  await dialog.getByText('Allowed: they texted this number first.').waitFor(patience);
  await expect.poll(() => focusedName(page)).toBe('Call now');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached', ...patience });
  await expect.poll(() => new URL(page.url()).searchParams.get('call'), patience).not.toBeNull();
  const call = page.url();
  const back = () => go(page, call);
  await atHandset(page, 'Ben', 'Answer');
  await back();
  await status(page, 'Talking');
  await page.getByRole('heading', { level: 2 }).first().click();
  await page.keyboard.press('h');
  await status(page, 'On hold');
  await page.keyboard.press('h');
  await status(page, 'Talking');
  await button(page, 'Mute').click();
  await button(page, 'Unmute').click(patience);
  await button(page, 'Transfer').click();
  await dialog.getByRole('radio', { name: /^Chloe, workshop/ }).waitFor(patience);
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached', ...patience });
  await page.getByText('Being asked').waitFor(patience);
  await looked(page, 'phone-call');
  await atHandset(page, 'Chloe', 'Answer');
  // A key that is pressed before the question answers nothing, as on any phone.
  await handset(page, 'Chloe')
    .getByText(/Press 1 to take it/)
    .waitFor(patience);
  await atHandset(page, 'Chloe', 'Press 1');
  await back();
  await page.getByText('Accepted').waitFor(patience);
  await atHandset(page, 'Ben', 'Hang up');
  await back();
  await status(page, 'Ended');
  await page.keyboard.press('Escape');
  await page.locator('[data-call]', { hasText: 'Say that the bike is ready' }).waitFor();
});
