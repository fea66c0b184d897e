/** What the page says when there is nothing, when something is wrong, and when nobody answers. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, chord, focusedName, go, openBrowser, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty' }), openBrowser()]);
  first = await visit(browser, gantry.url);
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

async function writeTeam(name: string, text: string): Promise<void> {
  const folder = join(gantry.workspace, '.gantry', 'teams', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'team.yaml'), text);
  await gantry.agree();
}

test('without a team the first steps offer the demo, and show which files it writes before it does', async () => {
  const { page } = first;
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  await page.getByRole('heading', { name: /Sign in to an agent program/ }).waitFor();
  await page.getByText('claude', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Add the demo team' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add the demo team' });
  await dialog.getByText(/\.gantry\/teams\/demo\/team\.yaml/).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await chord(page, 'g', 'f');
  await page.getByText('Teams of this workspace appear here.').waitFor();
});

test('a team file with problems shows each with its line, and follows the file', async () => {
  const { page } = first;
  await writeTeam(
    'draft',
    'bots:\n  - bot: web\n    harness: clade\n  - bot: web\n    harness: shell\n    colour: red\n',
  );
  const row = page.getByRole('button', { name: /draft.*problems/ });
  await row.waitFor();
  await row.click();
  const dialog = page.getByRole('dialog', { name: 'The team file of draft is invalid' });
  await dialog.getByText('line 3').waitFor();
  await dialog.getByText(/colour/).waitFor();
  await writeTeam('draft', 'bots:\n  - bot: web\n    harness: shell\n');
  await dialog.getByText('All problems are fixed.').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('[data-bot="web@draft"]', { hasText: 'Offline' }).waitFor();
});

test('while the disk takes nothing one banner says so and what to do, on each page, until it takes something again', async () => {
  const { page } = first;
  const banner = page.getByRole('alert', { name: 'Full disk' });
  const check = {
    name: 'Database',
    group: 'disk',
    state: 'warn',
    version: null,
    detail: 'The disk that holds runtime.db is full.',
    fix: 'Free some space or repair the disk; Gantry then continues automatically',
  };
  await page.route('**/api/factory/health', (route) =>
    route.fulfill({ json: { ok: false, service: 'gantry', panes: true } }),
  );
  await page.route('**/api/factory/doctor', (route) => route.fulfill({ json: { checks: [check] } }));
  await banner.getByText('The disk that holds runtime.db is full. Free some space or repair the disk').waitFor();
  await go(page, '/inbox');
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
  expect(await banner.count()).toBe(1);
  await page.unroute('**/api/factory/health');
  await page.unroute('**/api/factory/doctor');
  await banner.waitFor({ state: 'detached' });
  await go(page, '/floor');
});

test('a command that mends something can be copied, a step is a sentence', async () => {
  const { page } = first;
  const check = { group: 'program', state: 'warn', version: null, detail: 'It is missing.' };
  await page.route('**/api/factory/doctor', (route) =>
    route.fulfill({
      json: {
        checks: [
          { ...check, name: 'Wheel', fix: 'npm install -g wheel' },
          { ...check, name: 'Browser', fix: 'Install Chromium, or set CHROMIUM to the browser to use' },
        ],
      },
    }),
  );
  await page.goto(`${gantry.origin}/settings/general`);
  const row = (name: string) => page.locator('li', { has: page.getByText(name, { exact: true }) });
  await row('Wheel')
    .getByRole('button', { name: /npm install -g wheel/ })
    .waitFor();
  await row('Browser').getByText('Install Chromium, or set CHROMIUM to the browser to use.').waitFor();
  expect(await row('Browser').getByRole('button').count()).toBe(0);
  await page.unroute('**/api/factory/doctor');
  await page.goto(`${gantry.origin}/floor`);
});

test('a bot that never ran has a pane that says so', async () => {
  const { page } = first;
  await page.locator('[data-bot="web@draft"]').click();
  await page.getByText('web has not run yet. Start its team to give it a pane.').waitFor();
});

test('a filter that nothing matches says so and shows the rest with one press', async () => {
  const { page } = first;
  await page.getByRole('searchbox', { name: 'Filter bots' }).fill('nobody');
  await page.getByText('No bot matches “nobody”.').waitFor();
  await page.getByRole('button', { name: 'Show all bots' }).click();
  await page.locator('[data-bot="web@draft"]').waitFor();
  expect(await focusedName(page)).toBe('Filter bots');
});

test('a browser without a session is told how to get in', async () => {
  const stranger = await visit(browser, `${gantry.origin}/floor`);
  await stranger.page.getByRole('heading', { name: 'This browser is not signed in' }).waitFor();
  await stranger.page.getByText('npx gantry open').waitFor();
  await stranger.close();
});

test('while nobody answers, lists say what happened, try again by themselves and come back', async () => {
  const { page } = first;
  await page.route('**/api/factory/teams', (route) => route.abort());
  await page.reload();
  await page.getByText('Nobody answers at Gantry.').first().waitFor();
  await page.getByRole('button', { name: /Try again/ }).waitFor();
  await page.unroute('**/api/factory/teams');
  await page.locator('[data-bot="web@draft"]').waitFor();
  await expect.poll(() => page.getByText('Nobody answers at Gantry.').count()).toBe(0);
});

test('a page that cannot be loaded waits inside the app: what was typed stays, and it opens once Gantry answers', async () => {
  const { page } = first;
  await page.goto(`${gantry.origin}/floor`);
  await page.locator('[data-bot="web@draft"]').click();
  const composer = page.getByRole('textbox', { name: 'Message to web@draft' });
  await composer.fill('half a sentence');
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));
  await gantry.kill();
  await page.getByRole('link', { name: 'Computers' }).click();
  const notice = page.getByRole('status').filter({ hasText: 'Computers opens as soon as it does.' });
  await notice.waitFor();
  expect(await composer.inputValue()).toBe('half a sentence');
  await notice.getByRole('button', { name: 'Stay here' }).click();
  await notice.waitFor({ state: 'detached' });
  expect([new URL(page.url()).pathname, await composer.inputValue()]).toEqual(['/floor', 'half a sentence']);
  await page.getByRole('link', { name: 'Computers' }).click();
  await notice.waitFor();
  await gantry.start();
  await page.getByRole('heading', { name: 'Computers', level: 1 }).waitFor();
  await notice.waitFor({ state: 'detached' });
  expect(await page.evaluate(() => 'sameDocument' in window)).toBe(true);
  await go(page, '/floor');
  await expect.poll(() => page.locator('[data-composer]').inputValue()).toBe('half a sentence');
  await page.locator('[data-composer]').fill('');
});

test('after an update the rest of the page is offered with a reload, which keeps what was typed', async () => {
  const { page } = first;
  await page.goto(`${gantry.origin}/floor`);
  await page.locator('[data-composer]').fill('still here');
  await page.route('**/assets/ledger-page-*.js', (route) => route.fulfill({ status: 404, json: {} }));
  await page.route('**/index.html', (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
  await page.getByRole('link', { name: 'Ledger' }).click();
  const notice = page.getByRole('status').filter({ hasText: 'Gantry may have been updated.' });
  await notice.waitFor();
  expect(await page.locator('[data-composer]').inputValue()).toBe('still here');
  await page.unroute('**/assets/ledger-page-*.js');
  await page.unroute('**/index.html');
  await notice.getByRole('button', { name: 'Reload' }).click();
  await page.getByRole('heading', { name: 'Ledger', level: 1 }).waitFor();
  await go(page, '/floor');
  await expect.poll(() => page.locator('[data-composer]').inputValue()).toBe('still here');
  await page.locator('[data-composer]').fill('');
});

test('an error of the engine shows its fact, its action and the request it belongs to', async () => {
  const { page } = first;
  await page.locator('[data-bot="web@draft"]').click();
  await page.route('**/api/factory/send', (route) =>
    route.fulfill({
      status: 502,
      headers: { 'x-request-id': 'req_test' },
      json: { error: { code: 'transport', fact: 'The engine is away.', action: 'Start it again.' } },
    }),
  );
  await page.getByRole('textbox', { name: 'Message to web@draft' }).fill('hello');
  await page.keyboard.press('Control+Enter');
  const alert = page.getByRole('form', { name: 'Message to a bot' }).getByRole('alert');
  await alert.getByText('The engine is away.').waitFor();
  await alert.getByText('Start it again.').waitFor();
  await alert.getByText('Details').click();
  await alert.getByText(/transport.*req_test/).waitFor();
  expect(await page.getByRole('textbox', { name: 'Message to web@draft' }).inputValue()).toBe('hello');
  await page.unroute('**/api/factory/send');
});

test('a bot that begins to need a person is said at once, with the way to its pane', async () => {
  const { page } = first;
  await gantry.cli('teams', 'up', 'draft', '--json');
  await page.locator('[data-bot="web@draft"]', { hasText: 'Idle' }).waitFor();
  // The state as a harness would report it; everything behind it is the page's own.
  await page.route('**/api/factory/agents', async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { agents: { state: string; stateReason: string | null }[] };
    for (const agent of body.agents) Object.assign(agent, { state: 'needs_you', stateReason: 'run `npm publish`?' });
    await route.fulfill({ response: answer, json: body });
  });
  await page.locator('[data-bot="web@draft"]').click();
  await expect.poll(() => focusedName(page)).toBe('Terminal of web');
  await page.keyboard.type('true');
  await page.keyboard.press('Enter');
  await page.getByText('web@draft needs you').waitFor();
  await expect.poll(() => page.title()).toBe('(1) Floor · Gantry');
  await expect.poll(() => page.locator('[data-bot="web@draft"]').textContent()).toContain('run `npm publish`?');
  await page.getByRole('link', { name: 'Home' }).click();
  await page.getByRole('main').getByText('run `npm publish`?').waitFor();
  await page.getByRole('main').getByRole('button', { name: 'Open pane' }).click();
  await page.getByRole('region', { name: 'Pane of web', exact: true }).getByText('Needs you').waitFor();
  await page.unroute('**/api/factory/agents');
});

test('signing out forgets the browser at once', async () => {
  const { page } = first;
  await page.goto(`${gantry.origin}/settings/account`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'This browser is not signed in' }).waitFor();
  expect((await page.request.get(`${gantry.origin}/api/factory/agents`)).status()).toBe(401);
});
