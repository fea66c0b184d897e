/** A real Chromium, and pages that remember every error of the console: a test asserts that there was none. */
import AxeBuilder from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright';
import { expect } from 'vitest';

export const chromiumPath = process.env.GANTRY_CHROMIUM ?? '/usr/bin/chromium';

/**
 * Each window of this Chromium loads the suggestions of an address bar that nobody sees, as a page of its own: half of what a visit costs.
 * Only the last of two such switches counts, so playwright's own list (its chromiumSwitches) is repeated here as far as it concerns us.
 */
const withoutFeatures = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup'],
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'PaintHolding', 'MediaRouter'],
  ...['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable', 'ThirdPartyStoragePartitioning', 'LensOverlay'],
  ...['AvoidCorsURLLoaderRestartOnRedirect', 'OptimizationHints', 'NetworkTimeServiceQuerying', 'AimEnabled'],
  'PreconnectToSearch',
];

/** `more`: further arguments of Chromium. */
export async function openBrowser(more: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-quic',
      '--no-first-run',
      `--disable-features=${withoutFeatures.join(',')}`,
      ...more,
    ],
  });
}

export interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors of the console and uncaught ones so far. */
  readonly errors: string[];
  close(): Promise<void>;
}

export interface VisitOptions {
  readonly width?: number;
  readonly height?: number;
  /** Whose session it is: cookies of an earlier visit, and none of its settings. */
  readonly like?: BrowserContext;
  /** Panes are drawn with plain elements, so that a test reads what a person sees. */
  readonly plain?: boolean;
}

/**
 * Opens an address in a browser of its own, dark, and without motion: a ring that turns is drawn sixty times a second by the processor.
 * It costs two seconds of one, a page in a browser that has been there before (`go`, `page.goto`) a tenth or a half.
 */
export async function visit(browser: Browser, url: string, options: VisitOptions = {}): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
    colorScheme: 'dark',
    hasTouch: options.width !== undefined && options.width < 640,
    reducedMotion: 'reduce',
    storageState: options.like === undefined ? undefined : { cookies: await options.like.cookies(), origins: [] },
  });
  if (options.plain === true) await drawPlainly(context);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const errors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`.slice(0, 500));
  });
  page.on('pageerror', (error) => errors.push(`uncaught: ${error.message}`));
  await page.goto(url);
  return { context, page, errors, close: () => context.close() };
}

/** Answers the provider's own pages: its name field, then its consent. */
export async function signInThrough(page: Page, name: string, origin: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('input[name=login]').fill(name);
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.locator('button[type=submit]').click();
  await page.waitForURL(`${origin}/**`);
}

/** What the pane of an address is called: where no other bot has its name, without its team. */
const paneNames = (bot: string): readonly string[] => [`Pane of ${bot}`, `Pane of ${bot.split('@')[0]}`];

/** The text that a pane's terminal shows, row by row, from xterm's own accessible rows or its canvas-free buffer. */
export async function paneText(page: Page, bot: string): Promise<string> {
  const [pane, short] = paneNames(bot).map((name) => page.getByRole('region', { name, exact: true }));
  return (await pane!.or(short!).locator('.xterm-rows > div').allTextContents()).join('\n').replaceAll('\u00a0', ' ');
}

/** Waits until the pane shows the text. */
export async function seeInPane(page: Page, bot: string, wanted: string | RegExp): Promise<void> {
  await expect.poll(() => paneText(page, bot), { interval: 100, message: `pane of ${bot}` }).toMatch(wanted);
}

/** Opens the bot's pane and waits for its focus: what is typed before is typed into the page. `bot` is its address. */
export async function openPane(page: Page, bot: string): Promise<void> {
  await page.locator(`[data-bot="${bot}"]`).click();
  await expect
    .poll(() => page.evaluate(paneInFocus), { interval: 50, message: `focus in the pane of ${bot}` })
    .toSatisfy((name) => paneNames(bot).includes(name));
}

/** A line that is pasted and entered: what each key costs on its way to the screen is paid only where a test is about it. */
export async function typeInto(page: Page, bot: string, line: string): Promise<void> {
  await openPane(page, bot);
  await paste(page, line);
  await page.keyboard.press('Enter');
}

/** Into what has the focus. */
export async function paste(page: Page, text: string): Promise<void> {
  await page.evaluate((pasted) => {
    const data = new DataTransfer();
    data.setData('text/plain', pasted);
    const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
    document.activeElement?.dispatchEvent(event);
  }, text);
}

/**
 * Types a program into the pane that runs until Ctrl-C, and waits until it runs: a Ctrl-C that comes between Enter and its beginning stops
 * nothing.
 */
export async function keepBusy(page: Page, bot: string): Promise<void> {
  await typeInto(page, bot, "sh -c 'echo at-work; exec sleep 1000'");
  await seeInPane(page, bot, /^at-work/m);
  await page.locator(`[data-bot="${bot}"]`, { hasText: 'Working' }).waitFor();
}

/** The palette with the focus in its field: it is loaded when it is first asked for, and what is typed before is typed into the page. */
export async function openPalette(page: Page): Promise<Locator> {
  const find = page.getByPlaceholder('Find bots, runs, messages and commands');
  // A page that has just been shown takes its keys a moment later, and the palette is loaded when it is first asked for.
  const opened = async () => {
    await page.keyboard.press('Control+k');
    return find.waitFor({ timeout: 3000 }).then(
      () => true,
      () => false,
    );
  };
  await expect.poll(opened).toBe(true);
  await inFocus(find);
  return find;
}

/** Waits until this field has the focus: what is typed before goes elsewhere. */
export async function inFocus(field: Locator): Promise<void> {
  await expect.poll(() => field.evaluate((one) => one === document.activeElement)).toBe(true);
}

/** Two letters one after the other as a hand presses them: a busy page has no say in the time between them. */
export async function chord(page: Page, first: string, second: string): Promise<void> {
  await Promise.all([page.keyboard.press(first), page.keyboard.press(second)]);
}

/** To the place whose heading this is. On a busy computer the second letter may come too late for the first: then both again. */
export async function byLetters(page: Page, first: string, second: string, place: string): Promise<void> {
  const heading = page.getByRole('heading', { name: place, level: 1 });
  const there = async () => {
    await page.keyboard.press(first);
    await page.keyboard.press(second);
    return heading.isVisible();
  };
  await expect.poll(there).toBe(true);
}

/** Within the page. */
function paneInFocus(): string | null {
  const terminal = document.activeElement?.closest('[data-pane-terminal]');
  return terminal?.closest('section')?.getAttribute('aria-label') ?? null;
}

async function drawPlainly(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const stored = localStorage.getItem('gantry.settings');
    const settings = stored === null ? {} : (JSON.parse(stored) as Record<string, unknown>);
    localStorage.setItem('gantry.settings', JSON.stringify({ ...settings, terminalRenderer: 'dom' }));
  });
}

/**
 * To another page of the app as a click goes there: nothing is loaded that the browser has. The page that is left shows, and takes clicks,
 * until the other one has been loaded; what was opened on it goes with it.
 */
export async function go(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => history.pushState(null, '', to), path);
  await page.waitForFunction(() => {
    // Where the library of the addresses keeps itself for its own tools.
    const { state } = (window as unknown as { __TSR_ROUTER__?: { state: RouterState } }).__TSR_ROUTER__ ?? {};
    return state?.status === 'idle' && state.resolvedLocation?.pathname === location.pathname;
  });
}

interface RouterState {
  readonly status: string;
  readonly resolvedLocation?: { readonly pathname: string };
}

/** `dark` or `light`, as the page shows it. */
export function themeOf(page: Page): Promise<string | undefined> {
  return page.evaluate(() => document.documentElement.dataset.theme);
}

/**
 * axe with all rules of WCAG 2.0–2.2 A and AA and its best practices, or only what colours decide; the answer names rule and element.
 * In the page itself (`legacy`): else each look opens another one only to put its results together. Its half a megabyte is given to a page
 * once and not twice a look: `true` is what is run in its place.
 */
export async function axe(page: Page, rules: 'all' | 'colours' = 'all'): Promise<string[]> {
  const given = await page.evaluate(() => 'axe' in window);
  const builder = new AxeBuilder({ page, ...(given ? { axeSource: 'true' } : {}) })
    .options({ resultTypes: ['violations'] })
    .setLegacyMode();
  const { violations } = await (rules === 'colours'
    ? builder.withRules(['color-contrast', 'link-in-text-block'])
    : builder.withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
  ).analyze();
  return violations.flatMap((one) =>
    one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 200)} (${node.failureSummary})`),
  );
}

/** The one element that has the focus, as a person would call it. */
export function focusedName(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement;
    return element?.getAttribute('aria-label') ?? element?.textContent ?? '';
  });
}

export type { Browser, Locator, Page };
