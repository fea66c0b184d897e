/**
 * How the pages look: axe finds nothing on any of them in dark, light and narrow, and the pictures of the documentation are
 * taken here. Pictures are written only when GANTRY_PICTURES=1, so that a test run does not change the tree.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  axe,
  type Browser,
  go,
  openBrowser,
  openPalette,
  seeInPane,
  themeOf,
  type Visit,
  visit,
} from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';

let gantry: Gantry;
let browser: Browser;
let session: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  session = await visit(browser, gantry.url, { plain: true });
  const { page } = session;
  await go(page, '/floor');
  // Home, which is shown until then, has such a button, too.
  await page.getByRole('heading', { name: 'Floor', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Start demo' }).click();
  await page.getByRole('button', { name: 'Start 3 bots' }).click();
  for (const bot of ['builder', 'tester', 'scribe']) {
    await page.locator(`[data-bot="${bot}@demo"]`, { hasText: 'Idle' }).waitFor();
  }
  // Something to see: messages that were received, and what they did.
  await gantry.cli('orchestration', 'send', 'scribe@demo', 'cat REPORT.md', '--json');
  await gantry.cli('orchestration', 'send', 'tester@demo', 'npm test; echo watching; sleep 3600', '--json');
  await gantry.cli('orchestration', 'send', 'tester@demo', 'npm run report', '--json');
  await page.locator('[data-bot="builder@demo"]').click();
  await page.getByRole('textbox', { name: 'Message to builder@demo' }).fill('npm test');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('list', { name: 'Last deliveries' }).getByText('Verified').waitFor();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

describe.each([wide, narrow])('in a $name window', (size) => {
  const isNarrow = size === narrow;
  let seen: Visit;
  beforeAll(async () => {
    seen = isNarrow
      ? await visit(browser, `${gantry.origin}/`, { ...size, like: session.context, plain: true })
      : session;
  });
  afterAll(async () => {
    expect(seen.errors).toEqual([]);
    if (isNarrow) await seen.close();
  });

  test('Home, and axe finds nothing', async () => {
    const { page } = seen;
    await go(page, '/');
    await page.getByRole('heading', { name: 'Under way' }).waitFor();
    await page.getByText('tester@demo').first().waitFor();
    await looked(page, 'home', { light: true });
  });

  test('Floor with its panes, and axe finds nothing', async () => {
    const { page } = seen;
    await go(page, '/floor');
    await page.locator('[data-bot="tester@demo"]').waitFor();
    if (isNarrow) {
      expect(await axe(page)).toEqual([]);
      await page.locator('[data-bot="builder@demo"]').click();
    } else {
      for (const bot of ['builder', 'tester', 'scribe']) {
        await page.getByRole('region', { name: `Pane of ${bot}`, exact: true }).waitFor();
      }
      await page.locator('[data-bot="builder@demo"]').click();
    }
    await seeInPane(page, 'builder', /pass 8/);
    await page.getByRole('list', { name: 'Last deliveries' }).getByText('Verified').waitFor();
    await looked(page, 'floor', { light: true });
  });

  test('the inspector, the find bar and the palette, and axe finds nothing', async () => {
    const { page } = seen;
    if (isNarrow) await page.getByRole('button', { name: 'Show the inspector' }).click();
    await page.getByRole('tab', { name: 'builder', exact: true }).last().click();
    await page.getByRole('heading', { name: 'Why this state' }).waitFor();
    await page.getByText('Idle').first().waitFor();
    await looked(page, 'inspector');
    if (isNarrow) await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Find in builder' }).click();
    await page.getByRole('textbox', { name: 'Find in builder' }).fill('words');
    await page
      .getByRole('search')
      .getByText(/^\d+ of \d+$/)
      .waitFor();
    await looked(page, 'find-in-pane', { light: true });
    await page.getByRole('button', { name: 'Back to the terminal' }).click();

    await page.getByRole('heading', { level: 1 }).click();
    const find = await openPalette(page);
    await looked(page, 'palette');
    await page.keyboard.press('Escape');
    await find.waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor();
    await looked(page, 'shortcuts');
    await page.getByRole('button', { name: 'Glossary' }).click();
    const words = page.getByRole('dialog', { name: 'Glossary' });
    await words.getByRole('cell', { name: 'what confirmed that a message arrived' }).waitFor();
    await looked(page, 'glossary');
    await page.keyboard.press('Escape');
    await words.waitFor({ state: 'detached' });
  });

  test('the dialog that stops a team shows its plan, and axe finds nothing', async () => {
    const { page } = seen;
    if (isNarrow) await page.goto(`${gantry.origin}/floor`);
    await page.getByRole('button', { name: 'Stop demo' }).click();
    const dialog = page.getByRole('dialog', { name: 'Stop demo' });
    await expect.poll(() => dialog.locator('[data-plan="stop"]').count()).toBe(3);
    await looked(page, 'stop');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('Settings, and axe finds nothing', async () => {
    const { page } = seen;
    await go(page, '/settings');
    await page.getByRole('heading', { name: 'What is installed' }).waitFor();
    await page.getByText('Node.js', { exact: true }).waitFor();
    await looked(page, 'settings', { light: true });
  });
});

test('a ring turns while a bot works, and with reduced motion nothing turns', async () => {
  const { page } = session;
  await go(page, '/floor');
  const ring = page.locator('[data-bot="tester@demo"] .ring-turn');
  await ring.waitFor();
  const turns = () => ring.evaluate((element) => getComputedStyle(element).animationName !== 'none');
  await expect.poll(turns).toBe(false);
  // Only for a moment: without a graphics card it is drawn sixty times a second by the processor.
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await expect.poll(turns).toBe(true);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await expect.poll(turns).toBe(false);
});

test('the scripts of a page without bots stay small as they are sent, and terminal and dock come with the first pane', async () => {
  const { page } = session;
  await page.goto(`${gantry.origin}/settings`);
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  const scripts = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .map((entry) => new URL(entry.name).pathname)
      .filter((path) => path.endsWith('.js')),
  );
  expect(scripts.filter((path) => /dock|pane|graph|markdown|work-page/.test(path))).toEqual([]);
  const sent = await page.evaluate(() =>
    (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
      .filter(({ name }) => name.endsWith('.js'))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
  );
  expect(sent).toBeGreaterThan(10_000);
  expect(sent).toBeLessThan(280_000);
});

test('chosen colours of terminals outlive a reload', async () => {
  const { page } = session;
  const colours = page.getByRole('combobox', { name: 'Terminal colours' });
  expect(await colours.inputValue()).toBe('gantry');
  await colours.selectOption({ label: 'Colour-blind safe' });
  await page.reload();
  expect(await colours.inputValue()).toBe('colour-blind');
  await colours.selectOption('gantry');
});

test('a chosen theme outlives a reload and does not follow the computer', async () => {
  const { page } = session;
  const theme = () => themeOf(page);
  await expect.poll(theme).toBe('dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await expect.poll(theme).toBe('light');
  await page.getByRole('combobox', { name: 'Theme' }).selectOption('dark');
  await expect.poll(theme).toBe('dark');
  await page.reload();
  await expect.poll(theme).toBe('dark');
});
