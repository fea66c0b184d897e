// Runs always: it opens every page, whatever else there is no time for.
/**
 * Every page of the router with something on it, at 1440 and 390 px, dark and light: axe finds nothing, nothing is larger than the window,
 * the keyboard reaches everything and is held nowhere, and the palette names every button.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sections } from '../../src/renderer/areas/settings/sections.ts';
import {
  axe,
  type Browser,
  go,
  openBrowser,
  openPalette,
  type Page,
  themeOf,
  type Visit,
  visit,
} from './support/browser.ts';
import { caller, type FullHouse, startFullHouse } from './support/full-house.ts';
import { narrow, picture, standsOut } from './support/looks.ts';

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
  ['docs', () => '/docs'],
  ['docs-search', () => '/docs?q=approve'],
  ['docs-concepts', () => '/docs?doc=concepts'],
  ['queue', () => '/queue'],
  ['queue-task', () => `/queue?task=${house.taskId}`],
  ['queue-history', () => '/queue/history'],
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
  const read = () => [
    document.querySelectorAll('h1').length,
    document.querySelectorAll('[data-state="loading"]').length,
  ];
  await expect.poll(() => page.evaluate(read), { message: address, interval: 20 }).toEqual([1, 0]);
}

/** Both windows at once; each is opened once, looked at in each of its ways, and all that is wrong is told. */
test.each(pages)('%s', async (name, address) => {
  const [ofWide, ofNarrow] = await Promise.all([wide(name, address()), small390(name, address())]);
  expect(ofWide).toEqual({ dark: [], light: [], larger: [], unreached: [], trap: null, unnamed: [] });
  expect(ofNarrow).toEqual({ dark: [], larger: [], tooSmall: [] });
});

/** axe in dark and in light, what stands out, what Tab does not reach or not leave, and buttons that the palette does not name. */
async function wide(name: string, address: string) {
  const { page } = first;
  await open(page, address);
  const dark = await axe(page);
  const larger = await standsOut(page);
  await picture(page, `every-${name}-dark`);
  await page.emulateMedia({ colorScheme: 'light' });
  await expect.poll(() => themeOf(page), { interval: 20 }).toBe('light');
  const light = await axe(page, 'colours');
  await picture(page, `every-${name}-light`);
  await page.emulateMedia({ colorScheme: 'dark' });
  const { missed, trap } = await tabThrough(page);
  return { dark, light, larger, unreached: missed, trap, unnamed: await unnamed(page) };
}

/** axe, what stands out, and what is pressed and smaller than a finger needs. */
async function small390(name: string, address: string) {
  const { page } = small;
  await open(page, address);
  const found = { dark: await axe(page), larger: await standsOut(page), tooSmall: await page.evaluate(tooSmall) };
  await picture(page, `every-${name}-390`);
  return found;
}

/** Buttons of the page that the palette does not name. */
async function unnamed(page: Page): Promise<string[]> {
  if (!(await page.getByRole('dialog').isVisible())) await page.evaluate(() => document.querySelector('h1')?.click());
  const wanted = await page.evaluate(buttonNames);
  const find = await openPalette(page);
  // Rows below those in sight are drawn as the list is scrolled.
  const list = page.locator('[cmdk-list]');
  for (let before = -1, drawn = 0; before !== drawn; ) {
    before = drawn;
    drawn = await list.evaluate(async (one) => {
      one.scrollTop = one.scrollHeight;
      for (let frames = 0; frames < 3; frames += 1) await new Promise(requestAnimationFrame);
      return one.querySelectorAll('[cmdk-item]').length;
    });
  }
  const known = (await page.locator('[cmdk-item]').allTextContents()).map((one) => one.toLowerCase());
  await page.keyboard.press('Escape');
  await find.waitFor({ state: 'detached' });
  return wanted.filter((one) => !known.some((item) => item.startsWith(one.toLowerCase())));
}

test('no page said an error in the console', () => {
  // A number without a registration is answered with 404, which the browser writes down by itself.
  const said = [...first.errors, ...small.errors];
  expect(said).toEqual([]);
});

test(`with forced colours the marks that colour alone would carry are still there`, async () => {
  const { page } = first;
  await page.emulateMedia({ forcedColors: 'active' });
  for (const [, address] of pages.slice(0, 6)) {
    await open(page, address());
    expect(await standsOut(page)).toEqual([]);
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

/**
 * Presses Tab until the focus was everywhere, at most three times round; which elements it never reached, and the one that kept it. The page notes where the focus is
 * before each press, so that many are pressed in one go.
 */
async function tabThrough(page: Page): Promise<{ missed: string[]; trap: string | null }> {
  // In a page that the browser does not hold for the focused one Tab moves nothing.
  await expect.poll(() => page.evaluate(() => document.hasFocus()), { interval: 20 }).toBe(true);
  const stops = await page.evaluate(() => {
    const dialog = document.querySelector<HTMLElement>('[role="dialog"]');
    (document.activeElement as HTMLElement | null)?.blur();
    dialog?.focus();
    // A terminal takes Tab for its program; other keys leave it (Ctrl Shift K, Ctrl Shift L).
    for (const one of document.querySelectorAll<HTMLElement>('.xterm textarea')) one.tabIndex = -1;
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
    const been: Element[] = [];
    const note = (event: KeyboardEvent) => event.key === 'Tab' && been.push(document.activeElement ?? document.body);
    document.addEventListener('keydown', note, { capture: true });
    Object.assign(window, {
      tabbed: { been, end: () => document.removeEventListener('keydown', note, { capture: true }) },
    });
    return count;
  });
  // What is no stop of ours (a pane, a radio, the page itself) takes presses, too; and what is read late may take the focus away.
  for (let round = 0; round < 3; round++) {
    // Each is over when the page has answered it: a question asked before that would overtake it.
    await Promise.all(Array.from({ length: stops + 4 }, () => page.keyboard.press('Tab')));
    if (await page.evaluate(allReached)) break;
  }
  return page.evaluate(() => {
    const { been, end } = (window as unknown as Tabbed).tabbed;
    end();
    const kept = been.findIndex(
      (one, at) =>
        at > 2 &&
        one !== document.body &&
        !one.matches('[data-tab-stop]') &&
        been.slice(at - 3, at).every((o) => o === one),
    );
    const all = [...document.querySelectorAll<HTMLElement>('[data-tab-stop]')];
    const missed = all
      .filter((one) => !been.includes(one) && one.checkVisibility())
      .map((one) => one.outerHTML.slice(0, 160));
    for (const one of all) delete one.dataset.tabStop;
    return { missed, trap: been[kept]?.outerHTML.slice(0, 120) ?? null };
  });
}

interface Tabbed {
  readonly tabbed: { readonly been: readonly HTMLElement[]; end(): void };
}

/** Within the page: Tab was at each stop of ours that is still there. */
function allReached(): boolean {
  const { been } = (window as unknown as Tabbed).tabbed;
  return [...document.querySelectorAll<HTMLElement>('[data-tab-stop]')].every((one) => been.includes(one));
}
