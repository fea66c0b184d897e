/**
 * How the pages look: axe finds nothing on any of them in dark, light and narrow, and the pictures of the documentation are
 * taken here. Pictures are written only when GANTRY_PICTURES=1, so that a test run does not change the tree.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { axe, type Browser, drawPlainly, openBrowser, seeInPane, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looks, picture, tooWide } from './support/looks.ts';

let gantry: Gantry;
let browser: Browser;
let session: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  session = await visit(browser, gantry.url);
  const { page } = session;
  await page.goto(`${gantry.origin}/floor`);
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

describe.each(looks)('in $name', (look) => {
  /** Not where only colours differ from another look. */
  const full = 'short' in look ? undefined : test;
  let seen: Visit;
  beforeAll(async () => {
    seen = await visit(browser, `${gantry.origin}/`, { ...look, like: session.context });
    await drawPlainly(seen.context);
    await seen.page.goto(`${gantry.origin}/`);
  });
  afterAll(async () => {
    expect(seen.errors).toEqual([]);
    await seen.close();
  });

  test('Home has one first heading and axe finds nothing', async () => {
    const { page } = seen;
    await page.getByRole('heading', { name: 'Running now' }).waitFor();
    await page.getByText('tester@demo').first().waitFor();
    await page.getByText('claude', { exact: true }).waitFor();
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
    expect(await axe(page)).toEqual([]);
    await picture(page, `home-${look.name}`);
  });

  test('Floor with its panes, and axe finds nothing', async () => {
    const { page } = seen;
    await page.goto(`${gantry.origin}/floor`);
    await page.locator('[data-bot="tester@demo"]').waitFor();
    if (look.width < 640) {
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
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
    expect(await axe(page)).toEqual([]);
    await picture(page, `floor-${look.name}`);
  });

  full?.('the inspector, the scrollback and the palette, and axe finds nothing', async () => {
    const { page } = seen;
    if (look.width < 1100) await page.getByRole('button', { name: 'Show the inspector' }).click();
    await page.getByRole('tab', { name: 'builder', exact: true }).last().click();
    await page.getByRole('heading', { name: 'Why this state' }).waitFor();
    await page.getByText('Idle').first().waitFor();
    expect(await axe(page)).toEqual([]);
    if (look.width < 1100) await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Scrollback and search of builder' }).click();
    await page.getByText(/lines above the screen/).waitFor();
    expect(await axe(page)).toEqual([]);
    await page.getByRole('button', { name: 'Back to live' }).click();

    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Find a bot, a team or a command').waitFor();
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor();
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press('Escape');
  });

  full?.('the dialog that stops a team shows its plan, and axe finds nothing', async () => {
    const { page } = seen;
    await page.goto(`${gantry.origin}/floor`);
    await page.getByRole('button', { name: 'Stop demo' }).click();
    const dialog = page.getByRole('dialog', { name: 'Stop demo' });
    await expect.poll(() => dialog.locator('[data-plan="stop"]').count()).toBe(3);
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press('Escape');
  });

  test('Settings, and axe finds nothing', async () => {
    const { page } = seen;
    await page.goto(`${gantry.origin}/settings`);
    await page.getByRole('heading', { name: 'What is installed' }).waitFor();
    await page.getByText('Node.js', { exact: true }).waitFor();
    expect(await axe(page)).toEqual([]);
  });

  test('nothing is wider than the window', async () => {
    const { page } = seen;
    for (const path of ['/', '/floor', '/settings']) {
      await page.goto(`${gantry.origin}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await tooWide(page), path).toEqual([]);
    }
  });
});

test('a chosen theme outlives a reload and does not follow the computer', async () => {
  const seen = await visit(browser, `${gantry.origin}/settings`, { scheme: 'dark', like: session.context });
  const theme = () => seen.page.evaluate(() => document.documentElement.dataset.theme);
  await expect.poll(theme).toBe('dark');
  await seen.page.emulateMedia({ colorScheme: 'light' });
  await expect.poll(theme).toBe('light');
  await seen.page.getByRole('combobox', { name: 'Theme' }).selectOption('dark');
  await expect.poll(theme).toBe('dark');
  await seen.page.reload();
  await expect.poll(theme).toBe('dark');
  await seen.close();
});

test('a ring turns while a bot works, and with reduced motion nothing turns', async () => {
  for (const motion of [true, false]) {
    const seen = await visit(browser, `${gantry.origin}/floor`, { motion, like: session.context });
    const ring = seen.page.locator('[data-bot="tester@demo"] .ring-turn');
    await ring.waitFor();
    const name = await ring.evaluate((element) => getComputedStyle(element).animationName);
    expect(name === 'none').toBe(!motion);
    await seen.close();
  }
});

test('the first script of the page stays small, and terminal and dock come with the first pane', async () => {
  const seen = await visit(browser, `${gantry.origin}/settings`, { like: session.context });
  await seen.page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  const scripts = await seen.page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .map((entry) => new URL(entry.name).pathname)
      .filter((path) => path.endsWith('.js')),
  );
  expect(scripts.filter((path) => /dock|pane|graph|markdown|work-page/.test(path))).toEqual([]);
  const sizes = await Promise.all(
    scripts.map(async (path) => (await (await seen.page.request.get(gantry.origin + path)).body()).length),
  );
  // Uncompressed; 250 kB gzip is about 850 kB.
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(850_000);
  await seen.close();
});
