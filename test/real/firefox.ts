/**
 * A real Firefox with an empty profile, whose push service is the given one. Notifications are Firefox's own alerts: read, and
 * their buttons pressed, where a desktop's notification daemon would tell Firefox of a press.
 */
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import puppeteer, { type Page } from 'puppeteer-core';

export const firefoxPath = process.env.GANTRY_FIREFOX ?? '/usr/bin/firefox-esr';
export const hasFirefox = (): boolean => existsSync(firefoxPath);

export interface Alert {
  readonly title: string;
  readonly body: string;
}

export interface Firefox {
  readonly version: string;
  readonly page: Page;
  /** Errors of the page's console and uncaught ones so far. */
  readonly errors: readonly string[];
  /** Clicks the first visible button, link or field with this name, or the bot with this address, as soon as there is one. */
  click(name: string): Promise<void>;
  /** The words of the page. */
  words(): Promise<string>;
  /** Whether keys go to a bot's pane. */
  hasFocus(slug: string): Promise<boolean>;
  /** The rows of a bot's pane, which must be drawn with plain elements. */
  pane(slug: string): Promise<string>;
  /** What Firefox shows at this moment, oldest first. */
  alerts(): Promise<readonly Alert[]>;
  /** Presses a button of the alert with this text: its worker gets a `notificationclick`. */
  press(body: string, action: string): Promise<void>;
  close(): Promise<void>;
}

/** The raw protocol: what Firefox shows beside pages lies in its own scope, which puppeteer does not know. */
interface Bidi {
  send(method: string, params: object): Promise<{ result: unknown }>;
}
interface Tree {
  readonly contexts: readonly { readonly context: string; readonly url: string }[];
}
interface Evaluated {
  readonly type: 'success' | 'exception';
  readonly result?: { readonly value?: unknown };
  readonly exceptionDetails?: { readonly text: string };
}

export async function openFirefox(pushUrl: string): Promise<Firefox> {
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: firefoxPath,
    headless: true,
    // Lets the protocol see Firefox's own windows: alerts are such.
    args: ['--remote-allow-system-access'],
    defaultViewport: { width: 1440, height: 900 },
    extraPrefsFirefox: {
      'dom.push.enabled': true,
      'dom.push.connection.enabled': true,
      'dom.push.serverURL': pushUrl,
      'dom.push.testing.allowInsecureServerURL': true,
      'dom.push.testing.ignorePermission': true,
      'dom.serviceWorkers.enabled': true,
      // The person has allowed notifications; there is no daemon of a desktop here.
      'permissions.default.desktop-notification': 1,
      'alerts.useSystemBackend': false,
    },
  });
  const page = await browser.newPage();
  page.setDefaultTimeout(20_000);
  const errors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text().slice(0, 500));
  });
  page.on('pageerror', (error) => errors.push(`uncaught: ${(error as Error).message}`));

  const { connection } = browser as unknown as { connection: Bidi };
  async function windows(): Promise<string[]> {
    const { contexts } = (await connection.send('browsingContext.getTree', { 'moz:scope': 'chrome' })).result as Tree;
    return contexts.filter(({ url }) => url.endsWith('/alerts/alert.xhtml')).map(({ context }) => context);
  }
  async function inWindow(context: string, expression: string): Promise<unknown> {
    const evaluated = (
      await connection.send('script.evaluate', { expression, target: { context }, awaitPromise: true })
    ).result as Evaluated;
    if (evaluated.type === 'exception') throw new Error(evaluated.exceptionDetails?.text);
    return evaluated.result?.value;
  }
  const read = async (context: string): Promise<Alert> =>
    JSON.parse(
      String(
        await inWindow(
          context,
          `JSON.stringify({
            title: document.getElementById('alertTitleLabel').value,
            body: document.getElementById('alertTextLabel').textContent,
          })`,
        ),
      ),
    ) as Alert;

  return {
    version: await browser.version(),
    page,
    errors,
    async click(name) {
      // By hand: puppeteer's own searches evaluate text in the page, which its policy forbids.
      let before = '';
      for (let tries = 0; tries < 200; tries += 1) {
        const at = await page.evaluate(middleOf, name).catch(() => null);
        const now = JSON.stringify(at);
        // What still moves would not be where it was seen.
        if (at !== null && now === before) return page.mouse.click(at.x, at.y);
        before = now;
        await delay(150);
      }
      throw new Error(`Nothing on the page is called ${JSON.stringify(name)}.`);
    },
    hasFocus: (slug) =>
      page.evaluate(
        (name) => document.activeElement?.closest('section')?.getAttribute('aria-label') === `Pane of ${name}`,
        slug,
      ),
    pane: (slug) =>
      page.evaluate((name) => {
        const rows = document.querySelectorAll(`section[aria-label="Pane of ${name}"] .xterm-rows > div`);
        return [...rows].map((row) => row.textContent?.replaceAll('\u00a0', ' ').trimEnd()).join('\n');
      }, slug),
    // biome-ignore lint/performance/useDomNodeTextContent: what is seen, without the styles that terminals bring along
    words: () => page.evaluate(() => document.body.innerText),
    alerts: async () => Promise.all((await windows()).map(read)),
    async press(body, action) {
      for (const context of await windows()) {
        if ((await read(context)).body !== body) continue;
        await inWindow(
          context,
          `gAlertListener.observe(
            { QueryInterface: ChromeUtils.generateQI(['nsIAlertAction']), action: ${JSON.stringify(action)}, title: '' },
            'alertclickcallback',
            gAlertCookie,
          )`,
        );
        return;
      }
      throw new Error(`Firefox shows no alert with ${JSON.stringify(body)}.`);
    },
    close: () => browser.close(),
  };
}

/** Runs in the page. */
function middleOf(name: string): { x: number; y: number } | null {
  for (const element of document.querySelectorAll<HTMLElement>('button, a, input, textarea, [role=button]')) {
    const { name: field, bot } = { name: element.getAttribute('name'), bot: element.dataset.bot };
    const names = [element.getAttribute('aria-label'), element.textContent?.trim(), field, bot];
    if (!names.includes(name) || !element.checkVisibility() || element.matches(':disabled')) continue;
    element.scrollIntoView({ block: 'center', behavior: 'instant' });
    const { left, top, width, height } = element.getBoundingClientRect();
    return { x: left + width / 2, y: top + height / 2 };
  }
  return null;
}
