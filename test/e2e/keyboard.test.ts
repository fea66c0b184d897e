/** The whole way without a mouse: start the demo, work in a pane, send, look things up. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Browser,
  chord,
  focusedName,
  inFocus,
  openBrowser,
  openPalette,
  seeInPane,
  type Visit,
  visit,
} from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  first = await visit(browser, gantry.url, { plain: true });
  await first.page.getByRole('button', { name: 'Start the demo team' }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

test('from the first page to a bot at work with keys alone', async () => {
  const { page } = first;
  await openPalette(page);
  await page.keyboard.type('floor');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Floor', level: 1 }).waitFor();
  await openPalette(page);
  await page.keyboard.type('start demo');
  // The page is shown before its teams are read.
  await page.getByRole('option', { name: 'Start demo', selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Start 3 bots' }).waitFor();
  await expect.poll(() => focusedName(page)).toBe('Start 3 bots');
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  await page.route('**/teams/demo/up', async (route) => {
    await held;
    await route.continue();
  });
  await page.keyboard.press('Enter');
  // While it starts the dialog is open, and the page behind it takes no keys.
  await page.keyboard.press('/');
  expect(await focusedName(page)).not.toBe('Filter bots');
  goOn();
  await page.locator('[data-bot="tester@demo"]', { hasText: 'Idle' }).waitFor();
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  await page.keyboard.press('/');
  await expect.poll(() => focusedName(page)).toBe('Filter bots');
  await page.keyboard.type('tester');
  await expect.poll(() => page.locator('[data-bot]').count()).toBe(1);
  await page.keyboard.press('Escape');
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-bot') ?? ''))
    .toBe('tester@demo');
  await page.keyboard.press('Enter');
  await expect.poll(() => focusedName(page)).toBe('Terminal of tester');
  await page.keyboard.type('echo by-keys-$((40+2))');
  await page.keyboard.press('Enter');
  await seeInPane(page, 'tester', /^by-keys-42/m);

  await page.keyboard.press('Control+Shift+L');
  await expect.poll(() => focusedName(page)).toBe('Message to tester@demo');
  await page.keyboard.type('echo sent-by-keys');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('list', { name: 'Last deliveries' }).getByText('Verified').waitFor();
  await seeInPane(page, 'tester', /^sent-by-keys/m);
});

test('the filter is in the address, so a reload and a link keep it; from it the arrow down and Enter lead to what it found', async () => {
  const { page } = first;
  await expect.poll(() => new URL(page.url()).searchParams.get('filter')).toBe('tester');
  await page.reload();
  await expect.poll(() => page.locator('[data-bot]').count()).toBe(1);
  const filter = page.getByRole('searchbox', { name: 'Filter bots' });
  await filter.press('ArrowDown');
  await inFocus(page.locator('[data-bot="tester@demo"]'));
  await filter.press('Enter');
  await expect.poll(() => focusedName(page)).toBe('Terminal of tester');
  await filter.fill('');
  await expect.poll(() => page.locator('[data-bot]').count()).toBe(3);
});

test('arrows move in the list, letters go to places, ? shows every shortcut, and Escape gives the focus back', async () => {
  const { page } = first;
  await page.locator('[data-bot="builder@demo"]').focus();
  await page.keyboard.press('ArrowDown');
  await inFocus(page.locator('[data-bot="tester@demo"]'));
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Shortcuts' });
  await dialog.getByText('Filter bots').waitFor();
  await dialog.getByRole('button', { name: 'Glossary' }).click();
  const words = page.getByRole('dialog', { name: 'Glossary' });
  await words.getByRole('cell', { name: 'what confirmed that a message arrived' }).waitFor();
  await page.keyboard.press('Escape');
  await words.waitFor({ state: 'detached' });
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-bot'))).toBe('tester@demo');
  await chord(page, 'g', 's');
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  await chord(page, 'g', 'h');
  await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});

test('after a dialog that a command of the palette opened, also on another page, the next key is for the page', async () => {
  const { page } = first;
  await chord(page, 'g', 'w');
  await page.getByRole('heading', { name: 'Work', level: 1 }).waitFor();
  for (const from of ['the page itself', 'another page']) {
    if (from === 'another page') await chord(page, 'g', 'q');
    await openPalette(page);
    await page.keyboard.type('start a run');
    await page.getByRole('option', { name: 'Start a run', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Start a run' });
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.closest('main') != null), { message: from })
      .toBe(true);
  }
  await chord(page, 'g', 'h');
});

test('keys typed into a terminal reach the bot, not the page', async () => {
  const { page } = first;
  await chord(page, 'g', 'f');
  await page.locator('[data-bot="scribe@demo"]').focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => focusedName(page)).toBe('Terminal of scribe');
  await page.keyboard.type('echo g h / ? done');
  await page.keyboard.press('Enter');
  await seeInPane(page, 'scribe', /^g h \/ \? done/m);
  expect(new URL(page.url()).pathname).toBe('/floor');
  expect(first.errors).toEqual([]);
});
