/** What belongs to a phone itself: the bar at the foot of the screen, a keyboard over the page, fields that the browser must not enlarge. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, openBrowser, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { narrow } from './support/looks.ts';

/** Of a phone without a button: its home bar. */
const homeBar = 34;
const keyboard = 336;

let gantry: Gantry;
let browser: Browser;
let phone: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  phone = await visit(browser, gantry.url, narrow);
  await phone.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

/** As Safari does: the window stays as high as it was, and what is seen of it becomes lower. */
const openKeyboard = (height: number) =>
  phone.page.evaluate((covered) => {
    const view = window.visualViewport as VisualViewport;
    Object.defineProperty(view, 'height', { configurable: true, get: () => window.innerHeight - covered });
    view.dispatchEvent(new Event('resize'));
  }, height);

test('the places at the foot are whole above the bar of a phone', async () => {
  const { page, context } = phone;
  const devtools = await context.newCDPSession(page);
  const places = page.getByRole('navigation', { name: 'Places' });
  const inbox = places.getByRole('link', { name: 'Inbox' });
  const without = await inbox.boundingBox();
  await devtools.send('Emulation.setSafeAreaInsetsOverride', { insets: { bottom: homeBar } });
  await expect.poll(async () => (await inbox.boundingBox())?.y).toBe((without?.y ?? 0) - homeBar);
  expect((await inbox.boundingBox())?.height).toBe(without?.height);
  await devtools.send('Emulation.setSafeAreaInsetsOverride', { insets: {} });
});

test('with a keyboard open the foot of the page, a dialog and its buttons are above it, and come back when it closes', async () => {
  const { page } = phone;
  const lowest = async (name: string | RegExp) => {
    const box = await page.getByRole('button', { name, exact: true }).first().boundingBox();
    return (box?.y ?? Number.POSITIVE_INFINITY) + (box?.height ?? 0);
  };
  await openKeyboard(keyboard);
  await expect.poll(() => lowest('More')).toBeLessThanOrEqual(narrow.height - keyboard);
  await openKeyboard(0);
  await expect.poll(() => lowest('More')).toBeGreaterThan(narrow.height - keyboard);
  await page.goto(`${gantry.origin}/queue`);
  await page
    .getByRole('button', { name: /^Add task/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog', { name: 'Add task' });
  await dialog.waitFor();
  await openKeyboard(keyboard);
  await expect
    .poll(async () => {
      const box = await dialog.boundingBox();
      return (box?.y ?? 0) >= 0 && (box?.y ?? 0) + (box?.height ?? 0) <= narrow.height - keyboard;
    })
    .toBe(true);
  await openKeyboard(0);
});

test('who works on a new run is chosen in sight, to the last field', async () => {
  const { page } = phone;
  await page.goto(gantry.origin);
  await page.locator('summary[aria-label^="Who:"]').click();
  for (const each of [
    page.getByRole('textbox', { name: 'Another hosted model' }),
    page.getByRole('button', { name: 'Add this model' }),
  ]) {
    const box = await each.boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? Number.POSITIVE_INFINITY)).toBeLessThanOrEqual(narrow.width);
  }
  await page.keyboard.press('Escape');
});

test('no field has text so small that a phone enlarges the page', async () => {
  const { page } = phone;
  await page.goto(`${gantry.origin}/queue`);
  await page
    .getByRole('button', { name: /^Add task/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog', { name: 'Add task' });
  await dialog.waitFor();
  const sizes = await dialog
    .locator('input:not([type=checkbox], [type=radio]), textarea, select')
    .evaluateAll((fields) => fields.map((field) => Number.parseFloat(getComputedStyle(field).fontSize)));
  expect(sizes.length).toBeGreaterThan(0);
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(16);
});

test('each row of a long list is high enough for a finger', async () => {
  const { page } = phone;
  await page.goto(`${gantry.origin}/ledger`);
  const row = page.locator('[data-ledger]').first();
  await row.waitFor();
  expect((await row.boundingBox())?.height).toBeGreaterThanOrEqual(44);
  await page.goto(`${gantry.origin}/floor`);
  const bot = page.locator('[data-bot]').first();
  await bot.waitFor();
  expect((await bot.boundingBox())?.height).toBeGreaterThanOrEqual(44);
});
