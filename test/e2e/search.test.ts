/** One palette for everything: what is done on other pages, and what is found by words; Home's list of what needs somebody; the manifest. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { farActions } from '../../src/renderer/app/far-actions.ts';
import { type Browser, go, openBrowser, openPalette, type Page, type Visit, visit } from './support/browser.ts';
import { type FullHouse, startFullHouse } from './support/full-house.ts';

let house: FullHouse;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [house, browser] = await Promise.all([startFullHouse(), openBrowser()]);
  first = await visit(browser, house.gantry.url, { plain: true });
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await house?.gantry.remove();
});

async function look(page: Page, words: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Find bots, runs').fill(words);
}
const group = (page: Page, name: string) =>
  page.locator('[cmdk-group]', { has: page.getByText(name, { exact: true }) });

test.each([
  ['a bot', 'scribe', 'Bots', 'Open scribe@demo', /\/floor\?bot=/],
  ['a run', 'ship', 'Runs', /Ship it/, /\/work\?dag=/],
  ['a step', 'look page', 'Steps', 'Look at the page', /\/work\?dag=.*node=/],
  ['a message', 'harbour', 'Messages', /the harbour is open/, /\/floor\?bot=/],
  ['an event', 'campaign.created', 'Events', 'campaign.created', /\/ledger\?row=/],
  ['a number', '303 555', 'Numbers', '+1 303 555 0100', /\/phone\?number=/],
  ['a text by phone', 'hello?', 'Messages', /Hello\?/, /\/phone\?number=.*with=/],
  ['a tool', 'create_issue', 'Tools', /tracker\.create_issue/, /\/tools\?server=tracker&tool=/],
  ['a connector', 'issues', 'Connectors', 'issues', /\/connectors\?connector=/],
  ['a template', 'ship it', 'Templates', /Ship it/, /\/work\?start=ship/],
] as const)('%s is found by its words and opens its page', async (_kind, words, heading, title, address) => {
  const { page } = first;
  await go(page, '/queue');
  await page.getByRole('heading', { name: 'Queue', level: 1 }).waitFor();
  await look(page, words);
  await group(page, heading).getByRole('option', { name: title }).first().click();
  await expect.poll(() => page.url()).toMatch(address);
});

test('what nothing matches says so, and a search that fails says why and holds nobody up', async () => {
  const { page } = first;
  await go(page, '/queue');
  await look(page, 'no such thing anywhere');
  await page.getByText('No matches.').waitFor();
  await page.keyboard.press('Escape');
  await page.route('**/api/factory/search**', (route) =>
    route.fulfill({ status: 502, json: { error: { code: 'transport', fact: 'The engine is away.', action: '' } } }),
  );
  await look(page, 'harbour');
  await page.getByText(/could not be searched: The engine is away\./).waitFor();
  await page.getByPlaceholder('Find bots, runs').fill('ledger');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Ledger', level: 1 }).waitFor();
  await page.unroute('**/api/factory/search**');
  first.errors.length = 0;
});

test('what is named so stands first and is chosen by Enter as soon as it is found; commands with mere letters of it stand last', async () => {
  const { page } = first;
  await go(page, '/queue');
  await page.getByRole('heading', { name: 'Queue', level: 1 }).waitFor();
  await look(page, 'ship');
  await group(page, 'Runs')
    .getByRole('option', { name: /Ship it/ })
    .waitFor();
  const headings = await page.locator('[cmdk-group]:visible [cmdk-group-heading]').allTextContents();
  expect(headings.indexOf('Did you mean')).toBe(headings.length - 1);
  expect(['Runs', 'Templates']).toContain(headings[0]);
  const selected = page.locator('[cmdk-item][aria-selected="true"]');
  await expect.poll(() => selected.textContent()).toMatch(/^Ship it/);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toMatch(/\/work\?(dag|start)=/);
});

test('Escape closes it and the focus is back where it was', async () => {
  const { page } = first;
  await go(page, '/queue');
  const filter = page.locator('[data-filter]');
  await filter.focus();
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Find bots, runs').waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => filter.evaluate((one) => one === document.activeElement)).toBe(true);
});

test('a bot that is opened from the palette has the keyboard, from another page and from another pane', async () => {
  const { page } = first;
  await go(page, '/queue');
  await page.getByRole('heading', { name: 'Queue', level: 1 }).waitFor();
  const keyboard = () =>
    page.evaluate(() => {
      const terminal = document.activeElement?.closest('.xterm');
      return terminal?.closest('section')?.getAttribute('aria-label') ?? null;
    });
  for (const [bot, keys] of [
    ['scribe', 'Control+k'],
    ['builder', 'Control+Shift+P'],
    ['scribe', 'Control+Shift+P'],
  ] as const) {
    await page.keyboard.press(keys);
    await page.getByPlaceholder('Find bots, runs').fill(bot);
    await page.getByRole('option', { name: `Open ${bot}@demo` }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(keyboard).toBe(`Pane of ${bot}`);
  }
});

test('every action of another page is there from anywhere, and is done there', async () => {
  const { page } = first;
  await go(page, '/pair');
  await page.getByRole('heading', { name: 'Pair a computer' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('h1').click();
  await openPalette(page);
  // Rows below those in sight are drawn as the list is scrolled.
  const rows = page.locator('[cmdk-item]');
  await expect
    .poll(async () => {
      await page.locator('[cmdk-list]').evaluate((list) => list.scrollTo({ top: list.scrollHeight }));
      return rows.allTextContents();
    })
    .toEqual(expect.arrayContaining(farActions.map(({ title }) => title)));
  await page.keyboard.press('Escape');
  for (const [words, dialog] of [
    ['Attach a tool server', 'Attach a tool server'],
    ['Connect a service', /Connect a service/],
    ['Start a run', 'Start a run'],
    ['Create an API key', /key/],
  ] as const) {
    await go(page, '/pair');
    await page.getByRole('heading', { name: 'Pair a computer' }).waitFor();
    await page.locator('h1').click();
    await look(page, words);
    await page.getByRole('option', { name: words }).click();
    await page.getByRole('dialog', { name: dialog }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  }
});

test('the screen-reader mode of terminals is switched from the palette', async () => {
  const { page } = first;
  await go(page, '/settings/general');
  const box = page.getByRole('checkbox', { name: 'Screen reader' });
  expect(await box.isChecked()).toBe(false);
  await page.locator('h1').click();
  await look(page, 'screen reader');
  await page.getByRole('option', { name: 'Toggle screen reader mode in terminals' }).click();
  await expect.poll(() => box.isChecked()).toBe(true);
});

test('Home lists what needs somebody from all parts, oldest first, each with its action', async () => {
  const { page } = first;
  await go(page, '/');
  const needs = page.getByRole('list', { name: 'What needs you' });
  await needs.getByText('+1 303 555 0100').waitFor();
  await needs.getByText('issues', { exact: true }).waitFor();
  const kinds = () =>
    needs.locator('[data-need]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-need')));
  await expect.poll(kinds).toEqual(['pending_registration', 'error']);
  await needs.getByRole('button', { name: /^Register:/ }).click();
  await page.getByRole('form', { name: 'Registration' }).waitFor();
});

test('a first step is skipped, stays so, and is returned to in the settings', async () => {
  const { page } = first;
  await go(page, '/settings/set-up');
  const step = page.locator('[data-step]', { hasText: 'Give hosted bots a model' });
  await step.getByRole('button', { name: /^Skip/ }).click();
  await page.reload();
  await expect.poll(() => step.getAttribute('data-step')).toBe('skipped');
  await step.getByRole('button', { name: /^Show/ }).click();
  await step.getByLabel('Provider', { exact: true }).selectOption('google');
  await step.getByLabel(/^Key/).fill('not-a-real-key-0123456789');
  await step.getByRole('button', { name: 'Save' }).click();
  await step.locator('[data-model-place="google"]').getByText('Key saved, encrypted').waitFor();
  expect(await page.content()).not.toContain('not-a-real-key');
  await expect.poll(() => step.getAttribute('data-step')).toBe('done');
});

test('a model server is asked before it is saved: what is wrong is said at its field, and an address without models waits for a yes', async () => {
  const { page } = first;
  await go(page, '/settings/set-up');
  const step = page.locator('[data-step]', { hasText: 'Give hosted bots a model' });
  await page.reload();
  await step.getByRole('button', { name: /^Show/ }).click();
  await step.getByLabel('Provider', { exact: true }).selectOption('own');
  const address = step.getByLabel(/^Address/);
  await address.fill('my server');
  await step.getByRole('button', { name: 'Save' }).click();
  await step.getByText('Write an address such as http://127.0.0.1:11434/v1.').waitFor();
  expect(await address.evaluate((one) => one === document.activeElement)).toBe(true);
  await address.fill('http://me:hunter2@127.0.0.1:1/v1');
  await step.getByText(/leave out user name and password/).waitFor();
  await address.fill(`${house.gantry.origin}/v1`);
  await step.getByRole('button', { name: 'Save' }).click();
  await step.getByText(/^Not saved: .*Correct the address/).waitFor();
  expect(await step.locator('[data-model-place="ollama"]').count()).toBe(0);
  await address.fill('http://127.0.0.1:1/v1');
  expect(await step.getByText(/^Not saved/).count()).toBe(0);
  await step.getByRole('button', { name: 'Save' }).click();
  await step.getByText('Not saved: 127.0.0.1:1 does not answer: nothing listens there.').waitFor();
  await step.getByRole('button', { name: 'Save anyway' }).click();
  await step.locator('[data-model-place="ollama"]').getByText('127.0.0.1:1').waitFor();
});

test('the page can be installed: its manifest names icons that are there in their size', async () => {
  const { page } = first;
  const { origin } = house.gantry;
  const href = await page.locator('link[rel="manifest"]').getAttribute('href');
  const answer = await page.request.get(`${origin}${href}`);
  expect(answer.headers()['content-type']).toContain('application/manifest+json');
  const {
    icons,
    start_url: start,
    display,
  } = (await answer.json()) as {
    icons: { src: string; sizes: string; type: string }[];
    start_url: string;
    display: string;
  };
  expect([start, display]).toEqual(['/', 'standalone']);
  for (const { src, sizes, type } of icons) {
    const icon = await page.request.get(`${origin}${src}`);
    expect(icon.headers()['content-type']).toContain(type);
    if (type !== 'image/png') continue;
    const bytes = await icon.body();
    expect(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`).toBe(sizes);
  }
  expect(first.errors).toEqual([]);
});
