/** Five hundred bots: each page draws what fits, and all of it can be reached. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, go, openBrowser, openPalette, type Page, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;

const bots = 500;
/** Of one page: a screen of 900 px holds some thirty rows, and lists draw a few beyond their edges. */
const maxRows = 120;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  first = await visit(browser, gantry.url);
  await asMany(first.page);
  await first.page.reload();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly team: string;
}

/** One bot of the demo, five hundred times, each live and at work; what a page makes of it is its own. */
async function asMany(page: Page): Promise<void> {
  const many = (one: Listed, state: string) =>
    Array.from({ length: bots }, (_, index) => {
      const name = `bot-${String(index).padStart(3, '0')}`;
      const pane = { id: `pane_${index}`, cols: 80, rows: 24 };
      return { ...one, id: `agent_${index}`, name, address: `${name}@demo`, state, pane };
    });
  await page.route('**/api/factory/agents', async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { agents: Listed[] };
    const half = many(body.agents[0]!, 'working').map((one, index) =>
      index % 2 === 0 ? one : { ...one, state: 'blocked', stateReason: 'No disk.' },
    );
    await route.fulfill({ response: answer, json: { ...body, agents: half } });
  });
  await page.route('**/api/factory/teams', async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { teams: (Listed & { agents: Listed[] })[] };
    const teams = body.teams.map((team) => ({ ...team, agents: many(team.agents[0]!, 'working') }));
    await route.fulfill({ response: answer, json: { ...body, teams } });
  });
  await page.route('**/api/factory/spending', async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { month: object; bots: object[] };
    const used = { requests: 1, input: 10, output: 10, cacheRead: 0, cacheWrite: 0, cents: 1, unpriced: 0 };
    const each = Array.from({ length: bots }, (_, index) => ({
      agentId: `agent_${index}`,
      address: `bot-${index}@demo`,
      today: { ...body.month, ...used },
      month: { ...body.month, ...used },
    }));
    await route.fulfill({ response: answer, json: { ...body, bots: each, month: { ...body.month, ...used } } });
  });
}

/** Rows of lists and tables, whatever they are made of; a button inside of a row is none. */
const rowsIn = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const rows = 'li, tr, [role="option"]';
    return document.querySelectorAll(`${rows}, [data-row]:not(:is(${rows}) *)`).length;
  });

/** Rows that lie outside of what is shown and that no scrolling brings into it. */
const outOfReach = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const scrolls = (element: Element) =>
      /auto|scroll/.test(getComputedStyle(element).overflowY) && element.scrollHeight > element.clientHeight;
    return [...document.querySelectorAll('main li, main tr, nav li, section li, [data-row]')]
      .filter((row) => {
        const { bottom, height } = row.getBoundingClientRect();
        if (height === 0 || bottom <= innerHeight) return false;
        for (let at = row.parentElement; at !== null; at = at.parentElement) if (scrolls(at)) return false;
        return true;
      })
      .map((row) => (row.textContent ?? '').slice(0, 80));
  });

test.each([
  ['/', 'Home'],
  ['/floor', 'Floor'],
  ['/work', 'Work'],
  ['/work?start=', 'Work'],
  ['/inbox', 'Inbox'],
  ['/tools', 'Tools'],
  ['/connectors', 'Connectors'],
  ['/computers', 'Computers'],
  ['/phone', 'Phone'],
  ['/ledger', 'Ledger'],
  ['/queue', 'Queue'],
  ['/settings/general', 'Settings'],
  ['/settings/usage', 'Settings'],
  ['/settings/set-up', 'Settings'],
])('%s draws no more rows than fit, and each can be reached in a low window', async (path, place) => {
  const { page } = first;
  await page.setViewportSize({ width: 1440, height: 900 });
  await go(page, path);
  await page.locator('h1', { hasText: place }).waitFor();
  if (path === '/floor') await page.locator('[data-bot="bot-000@demo"]').waitFor();
  if (path === '/') await page.getByRole('list', { name: 'Bots at work' }).waitFor();
  if (path === '/settings/usage') await page.getByRole('table', { name: 'Usage by bot' }).waitFor();
  await expect.poll(() => page.locator('[data-state="loading"]').count()).toBe(0);
  await expect.poll(() => rowsIn(page)).toBeLessThan(maxRows);
  await page.setViewportSize({ width: 1440, height: 420 });
  await expect.poll(() => outOfReach(page)).toEqual([]);
});

test('the floor of one computer is scrolled to its last bot', async () => {
  const { page } = first;
  await page.setViewportSize({ width: 1440, height: 900 });
  await go(page, '/floor');
  await page.locator('[data-bot="bot-000@demo"]').hover();
  await expect
    .poll(async () => {
      await page.mouse.wheel(0, 5_000);
      return page.locator(`[data-bot="bot-${bots - 1}@demo"]`).count();
    })
    .toBe(1);
  await page.locator(`[data-bot="bot-${bots - 1}@demo"]`).click();
  await expect.poll(() => new URL(page.url()).searchParams.get('bot')).toBe(`agent_${bots - 1}`);
  await expect.poll(() => rowsIn(page)).toBeLessThan(maxRows);
});

test('the palette draws some of the bots, says how many more there are, and finds each by its name', async () => {
  const { page } = first;
  await go(page, '/');
  await openPalette(page);
  const palette = page.getByRole('dialog', { name: 'Commands and search' });
  await palette.getByText(/\d+ more\. Type part of a name/).waitFor();
  await expect.poll(() => palette.getByRole('option').count()).toBeLessThan(maxRows);
  await page.keyboard.type('bot-437');
  await palette.getByRole('option', { name: 'Open bot-437@demo' }).waitFor();
  await expect.poll(() => palette.getByRole('option').count()).toBeLessThan(maxRows);
  await page.keyboard.press('Escape');
});
