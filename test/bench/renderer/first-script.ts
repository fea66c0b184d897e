/**
 * What a browser has to load before a page shows anything, all scripts of Home, and all of a floor with a bot's terminal in it: weighed as
 * they are sent to Chromium, which says how many bytes of each body came over the wire (`encodedBodySize`).
 */
import type { Page } from 'playwright';
import type { Figure, Measured } from '../../support/bench/figure.ts';
import { rounded } from '../../support/bench/numbers.ts';
import { browserName, type ShownProduct, withPage } from '../../support/bench/page.ts';
import { shellTeam, teamUp } from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [
  { name: 'renderer.first-script', run: () => withPage({}, firstScript) },
  { name: 'renderer.sent.home', run: () => withPage({}, home) },
  { name: 'renderer.sent.floor', run: () => withPage({ teams: { bench: shellTeam('bench', ['one']) } }, floor) },
];

/** The one page that everybody opens, and those that a link opens. */
const paths = ['/', '/settings', '/inbox', '/floor', '/work'];

interface Script {
  readonly url: string;
  /** Bytes of the body over the wire, and after unpacking. */
  readonly sent: number;
  readonly whole: number;
}

async function firstScript({ page, product, browser }: ShownProduct): Promise<Measured> {
  const answer = await page.request.get(`${product.origin}/`);
  const named = namedIn(await answer.text()).map((path) => new URL(path, product.origin).href);
  const sent = await scriptsOf(page, product.origin, '/');
  const first = sent.filter(({ url }) => named.includes(url));
  if (first.length !== named.length) throw new Error(`Not all of ${named.join(', ')} were loaded.`);
  return {
    value: kilobytes(first),
    unit: 'kB as sent',
    n: named.length,
    at: `the scripts that the document names as it is served, and all that they import; ${browserName(browser)}`,
    detail: { unpacked: rounded(first.reduce((sum, { whole }) => sum + whole, 0) / 1000, 1) },
  };
}

async function home({ page, product, browser }: ShownProduct): Promise<Measured> {
  const detail: Record<string, { sent: number; unpacked: number; files: number }> = {};
  for (const path of paths) {
    const scripts = await scriptsOf(page, product.origin, path);
    const unpacked = rounded(scripts.reduce((sum, { whole }) => sum + whole, 0) / 1000, 1);
    detail[path] = { sent: kilobytes(scripts), unpacked, files: scripts.length };
  }
  return {
    value: detail['/']!.sent,
    unit: 'kB as sent',
    n: paths.length,
    at: `every script that was loaded by the time nothing was asked for any more, with an empty cache; ${browserName(browser)}`,
    detail,
  };
}

async function floor({ page, product, browser }: ShownProduct): Promise<Measured> {
  const [bot] = await teamUp(product, 'bench');
  if (bot === undefined) throw new Error('The team has no bot.');
  const terminal = page.locator('[data-pane-terminal] textarea').first();
  const scripts = await scriptsOf(page, product.origin, '/floor', async () => {
    await page.locator(`[data-bot="${bot.address}"]`).click();
    await terminal.waitFor({ state: 'attached' });
  });
  return {
    value: kilobytes(scripts),
    unit: 'kB as sent',
    n: scripts.length,
    at: `every script of the floor with the terminal of one bot in sight, by the time nothing was asked for any more, with an empty cache; ${browserName(browser)}`,
    detail: Object.fromEntries(
      scripts
        .toSorted((a, b) => b.sent - a.sent)
        .slice(0, 12)
        .map((script) => [pieceName(script.url), kilobytes([script])]),
    ),
  };
}

/** Without the folder and the hash of its content. */
const pieceName = (url: string): string => new URL(url).pathname.replace(/^.*\/(.+)-[^-]{8}\.js$/, '$1');

/** Every script that a page loads, including those it requests later; `show` does what a person does to see all of it. */
async function scriptsOf(page: Page, origin: string, path: string, show?: () => Promise<void>): Promise<Script[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  await page.goto(origin + path, { waitUntil: 'load' });
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await show?.();
  // Streams of events stay open: scripts are what has to come to rest.
  let before = -1;
  let found: Script[] = [];
  while (found.length !== before) {
    before = found.length;
    await page.waitForTimeout(500);
    found = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .filter((entry) => new URL(entry.name).pathname.endsWith('.js'))
        .map((entry) => entry as PerformanceResourceTiming)
        .map(({ name, encodedBodySize, decodedBodySize }) => ({
          url: name,
          sent: encodedBodySize,
          whole: decodedBodySize,
        })),
    );
  }
  await session.detach();
  return [...new Map(found.map((one) => [one.url, one])).values()];
}

const kilobytes = (scripts: readonly Script[]): number =>
  rounded(scripts.reduce((sum, { sent }) => sum + sent, 0) / 1000, 1);

/** Addresses of the scripts in the text of a document. */
function namedIn(html: string): string[] {
  return [...new Set([...html.matchAll(/(?:src|href)="([^"]+\.js)"/g)].map(([, url]) => url as string))];
}
