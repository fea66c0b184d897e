/**
 * Every page of the router with something on it, at 1440 and 390 px, dark and light: axe finds nothing, nothing is wider than the window,
 * the keyboard reaches everything and is held nowhere, and the palette names every button.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sections } from '../../src/renderer/areas/settings/sections.ts';
import { axe, type Browser, go, openBrowser, type Page, themeOf, type Visit, visit } from './support/browser.ts';
import { caller, type FullHouse, startFullHouse } from './support/full-house.ts';
import { narrow, picture, tooWide } from './support/looks.ts';

let house: FullHouse;
let browser: Browser;
let first: Visit;
let small: Visit;

beforeAll(async () => {
  [house, browser] = await Promise.all([startFullHouse(), openBrowser()]);
  first = await visit(browser, house.gantry.url, { plain: true });
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  small = await visit(browser, `${house.gantry.origin}/`, { ...narrow, like: first.context, plain: true });
});
afterAll(async () => {
  await browser?.close();
  await house?.gantry.remove();
});

/** Name of the picture → address. */
const pages: readonly (readonly [string, () => string])[] = [
  ['home', () => '/'],
  ['floor', () => '/floor'],
  ['work', () => '/work'],
  ['board', () => `/work?campaign=${campaign()}`],
  ['waves', () => `/work?campaign=${campaign()}&view=waves`],
  ['graph', () => `/work?dag=${house.dagId}&view=graph`],
  ['start', () => '/work?start='],
  ['inbox', () => '/inbox'],
  ['tools', () => '/tools'],
  ['tools-own', () => '/tools?server=gantry.'],
  ['tools-server', () => '/tools?server=tracker'],
  ['tools-tool', () => '/tools?server=tracker&tool=tracker.create_issue'],
  ['connectors', () => '/connectors'],
  ['connector', () => `/connectors?connector=${house.connectorId}`],
  ['computers', () => '/computers'],
  ['computers-form', () => '/computers?start=1'],
  ['phone', () => '/phone'],
  ['phone-number', () => `/phone?number=${house.numberId}`],
  ['phone-calls', () => `/phone?number=${house.numberId}&show=calls`],
  ['phone-people', () => `/phone?number=${house.numberId}&show=people`],
  ['phone-register', () => `/phone?number=${house.numberId}&show=register`],
  ['phone-thread', () => `/phone?number=${house.numberId}&with=${encodeURIComponent(caller)}`],
  ['phone-own', () => '/phone?page=own'],
  ['phone-handsets', () => '/phone?page=handsets'],
  ['ledger', () => '/ledger'],
  ['ledger-row', () => '/ledger?row=2'],
  ['queue', () => '/queue'],
  ['queue-task', () => `/queue?task=${house.taskId}`],
  ['queue-sessions', () => '/queue/sessions'],
  ['queue-deployments', () => '/queue/deployments'],
  ['pair', () => '/pair'],
  ...sections.map(({ path }): [string, () => string] => [path.slice(1).replace('/', '-'), () => path]),
  ['unknown', () => '/no-such-page'],
];
const campaign = () => encodeURIComponent(house.campaignId);

/** What is read is there, and what is loading is not. */
async function open(page: Page, address: string): Promise<void> {
  await go(page, address);
  await expect.poll(() => page.locator('h1').count(), { message: address }).toBe(1);
  await expect.poll(() => page.locator('[data-state="loading"]').count(), { message: address }).toBe(0);
}

describe.each(pages)('%s', (name, address) => {
  test('wide: axe finds nothing in dark and in light, and nothing stands out of the window', async () => {
    const { page } = first;
    await open(page, address());
    expect(await axe(page)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    await picture(page, `every-${name}-dark`);
    await page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(() => themeOf(page)).toBe('light');
    expect(await axe(page, 'colours')).toEqual([]);
    await picture(page, `every-${name}-light`);
    await page.emulateMedia({ colorScheme: 'dark' });
  });

  test('narrow: axe finds nothing, nothing stands out, and what is pressed is as large as a finger', async () => {
    const { page } = small;
    await open(page, address());
    expect(await axe(page)).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    expect(await page.evaluate(tooSmall)).toEqual([]);
    await picture(page, `every-${name}-390`);
  });

  test('by keyboard: Tab goes through all of it and comes out again', async () => {
    const { page } = first;
    await open(page, address());
    const { missed, trap } = await tabThrough(page);
    expect(missed).toEqual([]);
    expect(trap).toBeNull();
  });

  test('the palette names every button of the page', async () => {
    const { page } = first;
    await open(page, address());
    if (!(await page.getByRole('dialog').isVisible())) await page.locator('h1').click();
    const wanted = await page.evaluate(buttonNames);
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Find a bot, a run, a message or a command').waitFor();
    const items = await page.locator('[cmdk-item]').allTextContents();
    await page.keyboard.press('Escape');
    const known = items.map((one) => one.toLowerCase());
    expect(wanted.filter((one) => !known.some((item) => item.startsWith(one.toLowerCase())))).toEqual([]);
  });
});

test('no page said an error in the console', () => {
  // A number without a registration is answered with 404, which the browser writes down by itself.
  const said = [...first.errors, ...small.errors].filter((line) => !/404.*\/registration$/.test(line));
  expect(said).toEqual([]);
});

test(`with forced colours the marks that colour alone would carry are still there`, async () => {
  const { page } = first;
  await page.emulateMedia({ forcedColors: 'active' });
  for (const [, address] of pages.slice(0, 6)) {
    await open(page, address());
    expect(await tooWide(page)).toEqual([]);
  }
  await open(page, '/floor');
  await page.keyboard.press('Tab');
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement as HTMLElement).outlineStyle);
  expect(outline).not.toBe('none');
  await page.emulateMedia({ forcedColors: 'none' });
});

/** Within the page: what is pressed and smaller than 24 px (WCAG 2.2, 2.5.8). */
function tooSmall(): string[] {
  // A row whose button is stretched over all of it is as large as the row.
  const rows = 'button:not([data-row]), [role="tab"], select, input:not([type="hidden"])';
  return [...document.querySelectorAll<HTMLElement>(rows)]
    .filter((one) => one.checkVisibility() && one.closest('[aria-hidden="true"], .sr-only, .xterm, label') === null)
    .filter((one) => {
      const { width, height } = one.getBoundingClientRect();
      return width > 0 && (height < 24 || width < 24);
    })
    .map((one) => one.outerHTML.slice(0, 160));
}

/** Within the page: buttons that are no rows, as they are called. */
function buttonNames(): string[] {
  return (
    [...document.querySelectorAll<HTMLElement>('button')]
      .filter((one) => one.checkVisibility() && !one.matches(':disabled'))
      .filter(
        (one) => one.closest('nav[aria-label="Places"], [data-row], [aria-hidden="true"], [inert], .xterm') === null,
      )
      // biome-ignore lint/performance/useDomNodeTextContent: as it is seen
      .map((one) => (one.getAttribute('aria-label') ?? one.innerText).replaceAll(/\s+/g, ' ').trim())
      .filter((one) => one !== '')
  );
}

/** Presses Tab until the focus comes round; which elements it never reached, and the one that kept it. */
async function tabThrough(page: Page): Promise<{ missed: string[]; trap: string | null }> {
  await page.evaluate(() => {
    const dialog = document.querySelector<HTMLElement>('[role="dialog"]');
    (document.activeElement as HTMLElement | null)?.blur();
    dialog?.focus();
    let count = 0;
    for (const one of (dialog ?? document).querySelectorAll<HTMLElement>(
      'a[href], button, input, select, textarea, summary',
    )) {
      const skipped = one.closest('[aria-hidden="true"], [inert], .xterm, .react-flow__minimap') !== null;
      // One of a group of tabs or rows has the focus, arrows move it to the others.
      const roving = one.tabIndex < 0 || (one instanceof HTMLInputElement && one.type === 'radio');
      if (skipped || roving || one.matches(':disabled') || !one.checkVisibility()) continue;
      one.dataset.tabStop = String(count++);
    }
  });
  const reached = new Set<string>();
  let same = 0;
  let trap: string | null = null;
  let last = '';
  for (let presses = 0; presses < 260; presses++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const one = document.activeElement as HTMLElement | null;
      return { stop: one?.dataset.tabStop ?? null, html: one?.outerHTML.slice(0, 120) ?? '' };
    });
    same = at.html === last && at.stop === null && !at.html.startsWith('<body') ? same + 1 : 0;
    last = at.html;
    if (same > 2) trap = at.html;
    if (at.stop !== null && reached.has(at.stop)) break;
    if (at.stop !== null) reached.add(at.stop);
  }
  const missed = await page.evaluate(
    (seen) => {
      const stops = [...document.querySelectorAll<HTMLElement>('[data-tab-stop]')];
      const left = stops.filter((one) => !seen.includes(one.dataset.tabStop ?? '') && one.checkVisibility());
      const names = left.map((one) => one.outerHTML.slice(0, 160));
      for (const one of stops) delete one.dataset.tabStop;
      return names;
    },
    [...reached],
  );
  return { missed, trap };
}
