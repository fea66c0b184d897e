/** The docs in the app: F1 opens the page that belongs to what is on screen, links and search stay in the app, and nobody else is asked. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, go, openBrowser, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  first = await visit(browser, gantry.url, { plain: true });
  // Keys count from here on: the page has its actions.
  await first.page.getByRole('button', { name: 'Start the demo team' }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

test('F1 leads to the docs of the page, a link to the next one, and a search to a section', async () => {
  const { page } = first;
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(gantry.url).origin) elsewhere.push(request.url());
  });
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
  await page.keyboard.press('F1');
  await page.getByRole('heading', { name: 'Approvals and the policy', level: 1 }).waitFor();
  await page.getByRole('heading', { name: 'The policy', exact: true }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('delivery means');
  await page
    .getByRole('link', { name: /What a delivery means/ })
    .first()
    .click();
  const heading = page.getByRole('heading', { name: 'What a delivery means', exact: true });
  await expect.poll(() => heading.evaluate((element) => element.getBoundingClientRect().top < 300)).toBe(true);
  expect(page.url()).toContain('at=what-a-delivery-means');
  await page.locator('article a[href*="doc=security"]').first().click();
  await page.getByRole('heading', { name: 'Security model', level: 1 }).waitFor();
  expect(elsewhere).toEqual([]);
});

test('a page shows its pictures, which this server has, and each has its place before it is there', async () => {
  const { page } = first;
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(gantry.url).origin) elsewhere.push(request.url());
  });
  await page.setViewportSize(wide);
  await go(page, '/docs?doc=concepts');
  await page.getByRole('heading', { name: 'Concepts', level: 1 }).waitFor();
  const picture = page.locator('article img').first();
  await picture.scrollIntoViewIfNeeded();
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1440);
  await looked(page, 'docs');
  await page.setViewportSize(narrow);
  await picture.waitFor();
  await looked(page, 'docs', { light: false });
  await page.setViewportSize(wide);
  await go(page, '/docs?doc=approvals');
  await page.getByRole('heading', { name: 'Approvals and the policy', level: 1 }).waitFor();
  const phone = page.locator('article img').first();
  await phone.waitFor();
  expect((await phone.boundingBox())?.height).toBeGreaterThan(800);
  expect(elsewhere).toEqual([]);
});
