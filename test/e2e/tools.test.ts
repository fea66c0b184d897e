/** The page of the tools: servers are attached, watched, changed and detached, and tools tried, with a real one on stdin and stdout. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { serveHttp } from '../support/attached/http.ts';
import { startOidcProvider } from '../support/oidc-provider.ts';
import {
  axe,
  type Browser,
  byLetters,
  focusedName,
  go,
  inFocus,
  type Locator,
  openBrowser,
  type Page,
  type Visit,
  visit,
} from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, picture, wide } from './support/looks.ts';
import { ownerCall } from './support/owner-call.ts';

const tracker = join(import.meta.dirname, 'support', 'tracker.ts');

let gantry: Gantry;
let browser: Browser;
let first: Visit;
/** While it is there, the tracker does not start. */
let closed: string;

beforeAll(async () => {
  // The provider of the sign-in is on this computer.
  const env = { GANTRY_EGRESS_ALLOW: '127.0.0.1' };
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty', env }), openBrowser()]);
  closed = join(gantry.home, 'closed');
  first = await visit(browser, gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

const row = (page: Page, server: string): Locator =>
  page.locator('li', { has: page.locator(`[data-server="${server}"]`) });
const health = (page: Page, server: string, words: string | RegExp) =>
  row(page, server).locator('[data-health]', { hasText: words }).waitFor({ timeout: 60_000 });
const tool = (page: Page, name: string): Locator => page.locator(`[data-tool="${name}"]`);
const result = (page: Page): Locator => page.getByRole('region', { name: 'Result', exact: true });
const field = (page: Page, name: RegExp): Locator => page.getByRole('textbox', { name });
const call = (page: Page): Locator => page.getByRole('button', { name: /^Call/ });

async function openTool(page: Page, name: string): Promise<void> {
  await go(page, `/tools?tool=${name}`);
  await page.getByRole('heading', { name, exact: true }).waitFor();
}

test('before anything is attached, Gantry’s own tools are there, and what attaching brings is said', async () => {
  const { page } = first;
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));
  await byLetters(page, 'g', 't', 'Tools');
  await page.getByText(/Tool servers that you attach/).waitFor();
  await tool(page, 'file.read').waitFor();
  await health(page, 'gantry.', /Built in.*\d+ tools/);
  await health(page, 'documents.', /Built in.*\d+ tools/);
  await page.getByText(`${gantry.origin}/mcp/server?names=safe`).waitFor();
  await page.getByText('npx gantry tools connect').waitFor();
  expect(await axe(page)).toEqual([]);
  await picture(page, 'tools-empty-dark');
});

test('tools are narrowed by every word of a filter, which is in the address', async () => {
  const { page } = first;
  await page.keyboard.press('/');
  await expect.poll(() => focusedName(page)).toBe('Filter tools');
  await page.keyboard.type('file read');
  await expect.poll(() => page.locator('[data-tool]').count()).toBeLessThan(5);
  await tool(page, 'file.read').waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get('filter')).toBe('file read');
  // Those that are called so stand before those that only speak of it.
  await expect.poll(() => page.locator('[data-tool]').first().getAttribute('data-tool')).toBe('file.read');
  await page.keyboard.type(' nothing is called like this');
  await page.getByText('No tool matches this filter.').waitFor();
  await page.getByRole('button', { name: 'Show all', exact: true }).click();
  await tool(page, 'shell.exec').waitFor();
});

test('a program is attached with keys alone, and followed until its tools are there', async () => {
  const { page } = first;
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Tools', level: 1 }).click();
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog', { name: 'Attach a tool server' });
  await dialog.waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT');
  await page.keyboard.type('file');
  await page.keyboard.press('Control+Enter');
  await dialog.getByText('"file" is reserved for Gantry’s own tools. Choose another name.').waitFor();
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('tracker');
  await dialog.getByRole('textbox', { name: /^Command/ }).fill(process.execPath);
  await dialog.getByRole('textbox', { name: /^Arguments/ }).fill(`${tracker}\n${closed}`);
  await dialog.getByRole('button', { name: 'Add variable' }).click();
  await expect.poll(() => focusedName(page)).toBe('Name of variable 1');
  await page.keyboard.type('TRACKER_TOKEN');
  await page.keyboard.press('Tab');
  await page.keyboard.type('not-for-everybody');
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'tracker', exact: true }).waitFor();
  await health(page, 'tracker', /Connected.*4 tools.*listed/);
  await tool(page, 'tracker.create_issue').waitFor();
  await page.getByText('"old tool" is left out').waitFor();
  // Its secret is nowhere.
  await page.getByText('TRACKER_TOKEN').waitFor();
  expect(await page.content()).not.toContain('not-for-everybody');
});

test('a name that is taken is refused where it was typed', async () => {
  const { page } = first;
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog', { name: 'Attach a tool server' });
  await dialog.getByRole('textbox', { name: /^Name/ }).fill('tracker');
  await dialog.getByRole('textbox', { name: /^Command/ }).fill('true');
  await page.keyboard.press('Control+Enter');
  await dialog.locator('[aria-invalid="true"]').waitFor();
  await dialog
    .getByText(/tracker/)
    .first()
    .waitFor();
  expect(await dialog.getByRole('alert').count()).toBe(0);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
});

test('a tool is called with a form made from its schema, and answers in type, as JSON and with its structure', async () => {
  const { page } = first;
  await tool(page, 'tracker.create_issue').click();
  await page.getByRole('heading', { name: 'tracker.create_issue' }).waitFor();
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => page.getByText('Required.').count()).toBe(3);
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('repo/owner');
  await page.keyboard.type('ada');
  await field(page, /^name/).fill('engine');
  await field(page, /^title/).fill('It stops');
  await page.getByRole('button', { name: 'Add to labels' }).click();
  await inFocus(field(page, /^labels 1/));
  await page.keyboard.type('bug');
  await page.getByRole('button', { name: 'Add to labels' }).click();
  await inFocus(field(page, /^labels 2/));
  await page.keyboard.type('urgent');
  await page.getByRole('button', { name: 'Remove labels 1' }).click();
  await page.getByRole('combobox', { name: 'priority' }).selectOption('high');
  await field(page, /^assign/).fill('{"team": ');
  await page.getByText('Invalid JSON: Unexpected end of JSON input.').waitFor();
  await field(page, /^assign/).fill('{"team": "web"}');
  await page.keyboard.press('Control+Enter');
  await result(page)
    .getByText(/^took /)
    .waitFor();
  // JSON is set with a line a value, Markdown when asked for.
  await result(page).getByText('"team": "web"').waitFor();
  await result(page).getByRole('button', { name: 'Read as Markdown' }).click();
  await result(page).getByRole('cell', { name: 'engine' }).waitFor();
  await result(page).getByRole('button', { name: 'Structured' }).click();
  await result(page).getByText('"number": 42').waitFor();
  await expect.poll(() => result(page).getByText('bug').count()).toBe(0);
  await result(page).getByText('"urgent"').waitFor();
  expect(await axe(page)).toEqual([]);
});

test('the same arguments can be written as JSON, and back; what has no field stays JSON', async () => {
  const { page } = first;
  await page.getByRole('group', { name: 'Input format' }).getByRole('button', { name: 'JSON' }).click();
  const json = field(page, /^Arguments as JSON/);
  await expect
    .poll(async () => JSON.parse(await json.inputValue()))
    .toEqual({
      repo: { owner: 'ada', name: 'engine' },
      title: 'It stops',
      labels: ['urgent'],
      priority: 'high',
      assign: { team: 'web' },
    });
  const form = page.getByRole('button', { name: 'Form' });
  await json.fill('{"repo": {"owner": "ada", "name": "engine"}, "title": "x", "color": "red"}');
  await page.getByText('Contains a value that the form has no field for.').waitFor();
  await expect.poll(() => form.isDisabled()).toBe(true);
  await json.fill('{"repo": {"owner": "bob", "name": "engine"}, "title": "x"');
  await page.getByText(/^Invalid JSON: /).waitFor();
  await json.fill('{"repo": {"owner": "bob", "name": "engine"}, "title": "x"}');
  await form.click();
  await expect.poll(() => field(page, /^owner/).inputValue()).toBe('bob');
});

test('pictures are shown, failures are said, and a call that goes on can be cancelled', async () => {
  const { page } = first;
  await page.keyboard.press('Escape');
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-tool')))
    .toBe('tracker.create_issue');
  await tool(page, 'tracker.burndown').click();
  await page.getByText('This tool takes no arguments.').waitFor();
  await call(page).click();
  await result(page).getByRole('img').waitFor();
  await expect
    .poll(() =>
      result(page)
        .getByRole('img')
        .evaluate((one: HTMLImageElement) => one.naturalWidth),
    )
    .toBe(48);
  await result(page).getByText('image/png, 210 B').waitFor();

  await openTool(page, 'tracker.close_issue');
  await field(page, /^id/).fill('many');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Must be a number.').waitFor();
  await field(page, /^id/).fill('7');
  await page.keyboard.press('Control+Enter');
  await result(page).getByText('Failed', { exact: true }).waitFor();
  await result(page).getByText('There is no issue 7.').waitFor();

  // How far it is, where the tool says so: a document tool does, this one does not.
  const progress = { what: 'Converting the document', done: 12, total: 300, unit: 'pages' };
  await page.route('**/api/factory/progress/*', (route) =>
    route.fulfill({ json: { progress: { ...progress, startedAt: new Date().toISOString() } } }),
  );
  await openTool(page, 'tracker.watch');
  await page.keyboard.press('Control+Enter');
  await result(page)
    .getByText(/^Running · /)
    .waitFor();
  await result(page).getByText('12 of 300 pages').waitFor();
  await result(page).getByRole('progressbar', { name: 'Converting the document' }).waitFor();
  await picture(page, 'tool-progress-dark');
  await page.unroute('**/api/factory/progress/*');
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await result(page).getByText('You cancelled the call.').waitFor();
  // The last result of each tool is kept.
  await openTool(page, 'tracker.close_issue');
  await result(page).getByText('There is no issue 7.').waitFor();
  await expect.poll(() => field(page, /^id/).inputValue()).toBe('7');
});

test('a call that needs a person asks on the page itself, and runs once they said yes', async () => {
  const { page } = first;
  const file = join(gantry.workspace, 'old.txt');
  writeFileSync(file, 'old');
  await openTool(page, 'file.remove');
  await field(page, /^path/).fill('old.txt');
  await page.keyboard.press('Control+Enter');
  await result(page)
    .getByText(/^Waiting for you · /)
    .waitFor({ timeout: 60_000 });
  await result(page)
    .getByRole('button', { name: /^Approve/ })
    .waitFor();
  expect(await axe(page)).toEqual([]);
  await picture(page, 'tools-asks-dark');
  await result(page)
    .getByRole('button', { name: /^Approve/ })
    .click();
  await result(page)
    .getByText(/^took /)
    .waitFor({ timeout: 60_000 });
  await expect.poll(() => page.locator('[data-result="ok"]').count()).toBe(1);
  await openTool(page, 'file.exists');
  await field(page, /^path/).fill('old.txt');
  await page.keyboard.press('Control+Enter');
  await result(page).getByText('"exists": false').first().waitFor();
});

test('where nobody answered in time it says so, with the way to the inbox', async () => {
  const { page } = first;
  await page.route('**/api/v1/tools/file.exists/call', (route) =>
    route.fulfill({
      status: 409,
      json: {
        error: 'approval_required',
        message: 'Nobody has answered.',
        approvalId: 'apr_00000000',
        retryable: true,
      },
    }),
  );
  await call(page).click();
  await result(page)
    .getByText(/nobody answered for 50 seconds/)
    .waitFor();
  await page.unroute('**/api/v1/tools/file.exists/call');
  await result(page).getByRole('link', { name: 'inbox' }).click();
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
  await page.goBack();
  // The way back leads to the same call, with what was typed.
  await result(page)
    .getByText(/nobody answered for 50 seconds/)
    .waitFor();
  await expect.poll(() => field(page, /^path/).inputValue()).toBe('old.txt');
  await call(page).click();
  await result(page).getByText('"exists": false').first().waitFor();
  // The browser itself notes each refusal.
  expect(first.errors.filter((error) => !/status of 409/.test(error))).toEqual([]);
  first.errors.length = 0;
});

test('a server that dies and does not come back is an error with its reason, until it is connected again', async () => {
  const { page } = first;
  await go(page, '/tools?server=tracker');
  const ofProcess = page.locator('dl > div', { hasText: 'Process' }).locator('dd');
  await expect.poll(() => ofProcess.textContent()).toMatch(/^[1-9]\d*$/);
  const pid = Number(await ofProcess.textContent());
  writeFileSync(closed, '');
  process.kill(pid);
  await health(page, 'tracker', 'Error');
  await page
    .locator('[data-trouble="server"]')
    .getByText(/license of this tracker has ended/)
    .waitFor({ timeout: 60_000 });
  await row(page, 'tracker')
    .getByText(/license of this tracker has ended/)
    .waitFor();
  // What it listed last stays.
  await tool(page, 'tracker.create_issue').waitFor();
  expect(await axe(page)).toEqual([]);
  await picture(page, 'tools-error-dark');
  rmSync(closed);
  await row(page, 'tracker').getByRole('button', { name: 'Reconnect tracker' }).click();
  await health(page, 'tracker', 'Connected');
});

test('a server is disabled and enabled, and its tools go and come with it', async () => {
  const { page } = first;
  await page.getByRole('switch', { name: 'Enabled' }).click();
  await health(page, 'tracker', 'Disabled');
  await page.getByText('This server is disabled: its tools are not offered.').waitFor();
  await page.getByRole('switch', { name: 'Enabled' }).click();
  await health(page, 'tracker', /Connected/);
  await tool(page, 'tracker.create_issue').waitFor();
});

test('a change keeps the secrets that nobody typed anew, and a new name renames the tools', async () => {
  const { page } = first;
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Change tracker' });
  await expect.poll(() => dialog.getByLabel('Value of TRACKER_TOKEN').inputValue()).toBe('•••');
  // Another program gets no secret that it was not given.
  const args = dialog.getByRole('textbox', { name: /^Arguments/ });
  await expect.poll(() => args.inputValue()).toContain(tracker);
  const before = await args.inputValue();
  await args.fill(`${before}\nmore`);
  await page.keyboard.press('Control+Enter');
  await dialog.getByText('Enter the value of TRACKER_TOKEN again: the program has changed.').waitFor();
  expect(await axe(page)).toEqual([]);
  await args.fill(before);
  await dialog.getByRole('textbox', { name: 'Name required' }).fill('issues');
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'issues', exact: true }).waitFor();
  await tool(page, 'issues.create_issue').waitFor();
  await health(page, 'issues', 'Connected');
  await page.getByText('TRACKER_TOKEN').waitFor();
});

test('a server that wants a sign-in leads to its provider in a tab of its own, and then connects by itself', async () => {
  const { page, context } = first;
  let issuer = '';
  const server = await serveHttp({
    first(request, response) {
      const { origin } = new URL(server.url);
      if (request.url === '/.well-known/oauth-protected-resource/mcp') {
        response.writeHead(200, { 'content-type': 'application/json' });
        const says = { resource: server.url, authorization_servers: [issuer], scopes_supported: ['agents:read'] };
        response.end(JSON.stringify(says));
        return true;
      }
      if (request.headers.authorization?.startsWith('Bearer ') === true) return false;
      const where = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
      response.writeHead(401, { 'www-authenticate': `Bearer ${where}` }).end();
      return true;
    },
  });
  const provider = await startOidcProvider({ origins: [new URL(server.url).origin], openToClients: true });
  issuer = provider.issuer;
  onTestFinished(async () => {
    await provider.close();
    await server.close();
  });
  await go(page, '/tools');
  await page.getByRole('button', { name: 'Attach a server' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Attach a tool server' });
  await dialog.getByRole('textbox', { name: 'Name required' }).fill('wiki');
  await dialog.getByRole('radio', { name: /^Address/ }).check();
  await dialog.getByRole('textbox', { name: /^Address/ }).fill('ftp://wiki');
  await page.keyboard.press('Control+Enter');
  await dialog.getByText('Must be an address that begins with https:// or http://.').waitFor();
  await dialog.getByRole('textbox', { name: /^Address/ }).fill(server.url);
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached' });
  await health(page, 'wiki', 'Needs sign-in');
  expect(await axe(page)).toEqual([]);
  await picture(page, 'tools-sign-in-dark');
  const signIn = row(page, 'wiki').getByRole('link', { name: 'Sign in to wiki' });
  const [tab] = await Promise.all([context.waitForEvent('page'), signIn.click()]);
  await tab.locator('[name="login"]').fill('ann');
  await tab.locator('[name="password"]').fill('any');
  await tab.locator('[type="submit"]').click();
  await tab.getByRole('button', { name: 'Continue' }).click();
  await expect.poll(() => tab.locator('body').textContent()).toContain('Signed in at wiki');
  await tab.close();
  await health(page, 'wiki', /Connected.*4 tools/);
  await tool(page, 'wiki.echo').waitFor();
  await go(page, '/tools?server=issues');
});

describe.each([wide, narrow])('in a $name window', (size) => {
  test('the overview, a server and a tool fit, and axe finds nothing', async () => {
    const isNarrow = size === narrow;
    const own = await visit(browser, `${gantry.origin}/tools`, { ...size, like: first.context });
    const { page } = own;
    await health(page, 'issues', 'Connected');
    await tool(page, 'document.convert').waitFor();
    await looked(page, 'tools');
    await page.locator('[data-server="issues"]').click();
    await tool(page, 'issues.create_issue').waitFor();
    await looked(page, 'tools-server');
    await tool(page, 'issues.create_issue').click();
    await field(page, /^owner/).fill('ada');
    await field(page, /^name/).fill('engine');
    await field(page, /^title/).fill('The engine stops at a carry');
    await page.getByRole('button', { name: 'Add to labels' }).click();
    await field(page, /^labels 1/).fill('bug');
    await call(page).click();
    await result(page)
      .getByText(/^took /)
      .waitFor();
    await result(page).getByRole('button', { name: 'Read as Markdown' }).click();
    await result(page).getByRole('cell', { name: 'engine' }).waitFor();
    await looked(page, 'tools-tool');
    if (isNarrow) {
      // Only what a narrow window has: the way out, step by step.
      await page.getByRole('button', { name: 'Back to the tools' }).click();
      await tool(page, 'issues.create_issue').waitFor();
      await page.getByRole('button', { name: 'Back to all tools' }).click();
      await page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor();
    }
    expect(own.errors).toEqual([]);
    await own.close();
  });
});

test('detaching says what goes, and takes it', async () => {
  const { page } = first;
  await page.getByRole('button', { name: 'Detach' }).click();
  const dialog = page.getByRole('dialog', { name: 'Detach issues?' });
  await dialog.getByText('Removes 4 tools from every client and bot: all that begin with “issues.”').waitFor();
  await dialog.getByText(/^Ends its program \(process \d+\)\.$/).waitFor();
  await dialog.getByText('Deletes its secrets from this computer.').waitFor();
  expect(await axe(page)).toEqual([]);
  await picture(page, 'tools-detach-dark');
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Connect a client' }).waitFor();
  await expect.poll(() => row(page, 'issues').count()).toBe(0);
  await expect.poll(() => tool(page, 'issues.create_issue').count()).toBe(0);
  await tool(page, 'file.read').waitFor();
  expect(await page.evaluate(() => 'sameDocument' in window)).toBe(true);
  // What an address still names is said to be gone.
  await go(page, '/tools?server=issues');
  await page.getByText(/^No server named issues\./).waitFor();
  await go(page, '/tools?tool=issues.watch');
  await page.getByText(/^No tool named issues\.watch\./).waitFor();
});

test('a server with two thousand tools draws those in view alone, and a filter finds each of them', async () => {
  const { page } = first;
  const attached = join(import.meta.dirname, '..', 'support', 'attached', 'stdio.ts');
  const { id } = await ownerCall(gantry, 'POST', '/mcp/servers', {
    name: 'many',
    transport: { type: 'stdio', command: process.execPath, args: [attached, 'many'] },
  });
  await go(page, '/tools?server=many');
  await health(page, 'many', /Connected.*2000 tools/);
  await tool(page, 'many.tool_0').waitFor();
  await page.getByRole('status').getByText('2000 tools').waitFor();
  await expect.poll(() => page.locator('[data-tool]').count()).toBeLessThan(150);
  await page.getByRole('searchbox', { name: 'Filter tools' }).fill('tool_1999');
  await expect.poll(() => page.locator('[data-tool]').count()).toBe(1);
  await tool(page, 'many.tool_1999').waitFor();
  await ownerCall(gantry, 'DELETE', `/mcp/servers/${id}`);
  await expect.poll(() => row(page, 'many').count()).toBe(0);
});

test('while the servers cannot be read, what was known stays, with the reason and the next try; then it goes on', async () => {
  const { page } = first;
  expect(first.errors).toEqual([]);
  await go(page, '/tools');
  await tool(page, 'file.read').waitFor();
  await page.route('**/mcp/servers', (route) => route.abort());
  await page.getByRole('alert').getByText('Nobody answers at Gantry.').waitFor();
  await page.getByRole('button', { name: /^Try again/ }).waitFor();
  await tool(page, 'file.read').waitFor();
  await page.unroute('**/mcp/servers');
  await expect.poll(() => page.getByRole('alert').count()).toBe(0);
});
