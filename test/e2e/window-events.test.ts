/** The app's window events and the links of notifications, obeyed by the real page. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, openBrowser, type Page, seeInPane, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';

interface Bot {
  readonly id: string;
  readonly slug: string;
  readonly pane: { readonly id: string } | null;
}

let gantry: Gantry;
let browser: Browser;
let first: Visit;
let bots: Bot[];

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  const up = await gantry.cli('teams', 'up', 'demo', '--json');
  if (up.code !== 0) throw new Error(up.out + up.err);
  first = await visit(browser, gantry.url, { plain: true });
  const answer = await first.page.request.get(`${gantry.origin}/api/factory/agents`);
  bots = ((await answer.json()) as { agents: Bot[] }).agents;
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

function dispatch(page: Page, name: string, detail: unknown): Promise<void> {
  return page.evaluate(
    ([eventName, eventDetail]) => {
      window.dispatchEvent(new CustomEvent(eventName as string, { detail: eventDetail }));
    },
    [name, detail],
  );
}
const bot = (slug: string): Bot => bots.find((one) => one.slug === slug)!;
const attach = (slug: string, originView: string) => ({
  paneId: bot(slug).pane?.id,
  botId: bot(slug).id,
  originView,
});
const pane = (page: Page, slug: string) => page.getByRole('region', { name: `Pane of ${slug}`, exact: true });

test('attach-pane shows the pane; detaching it goes back to the view it came from', async () => {
  const { page } = first;
  await page.goto(`${gantry.origin}/settings`);
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  await dispatch(page, 'platform:factory-attach-pane', attach('tester', 'settings'));
  await pane(page, 'tester').waitFor();
  await seeInPane(page, 'tester', /tests passed/);
  await page.getByRole('button', { name: 'Detach tester; the bot keeps running' }).click();
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
});

test('attach-pane of an attached pane brings it to the front and opens no second one', async () => {
  const { page } = first;
  await page.goto(`${gantry.origin}/floor`);
  for (const slug of ['builder', 'tester', 'builder', 'builder']) {
    await dispatch(page, 'platform:factory-attach-pane', attach(slug, 'floor'));
  }
  await pane(page, 'builder').waitFor();
  await expect.poll(() => page.locator('.dv-tab').count()).toBe(2);
  await expect.poll(() => page.getByRole('tab', { name: 'builder', exact: true }).count()).toBe(2);
});

test('attach-pane before the lists have loaded waits for them', async () => {
  // A browser that remembers no bots: it would show those until it has read them.
  const { page, close } = await visit(browser, 'about:blank', { plain: true, like: first.context });
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/api/factory/agents', async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${gantry.origin}/`);
  await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  await dispatch(page, 'platform:factory-attach-pane', attach('scribe', 'home'));
  await page.getByRole('heading', { name: 'Floor', level: 1 }).waitFor();
  expect(await pane(page, 'scribe').count()).toBe(0);
  release();
  await pane(page, 'scribe').waitFor();
  await page.getByRole('button', { name: 'Detach scribe; the bot keeps running' }).click();
  await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  await close();
});

test('a pane nobody has is said, and other shapes are ignored', async () => {
  const { page } = first;
  await page.goto(`${gantry.origin}/settings`);
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  await dispatch(page, 'platform:factory-attach-pane', { paneId: 'pane_x' });
  await dispatch(page, 'platform:switch-mode', { mode: 'chat' });
  await dispatch(page, 'platform:factory-open-node', null);
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/settings/general');
  await dispatch(page, 'platform:factory-attach-pane', { paneId: 'pane_x', botId: 'agent_x', originView: 'home' });
  await page.getByText('Bot agent_x was not found.').waitFor();
});

test('switch-mode to code goes to the floor; open-node of a run nobody knows says so, without trying again', async () => {
  const { page, errors } = first;
  // Slow enough that the floor's panes are still coming when the page is left again.
  const slow = await page.context().newCDPSession(page);
  await slow.send('Emulation.setCPUThrottlingRate', { rate: 8 });
  await page.goto(`${gantry.origin}/settings`);
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  await dispatch(page, 'platform:switch-mode', { mode: 'code' });
  await page.getByRole('heading', { name: 'Floor', level: 1 }).waitFor();
  await dispatch(page, 'platform:factory-open-node', { dagId: 'dag_1', nodeId: 'node_1' });
  await page.getByRole('region', { name: 'Step', exact: true }).getByText(/dag_1/).first().waitFor();
  await slow.detach();
  expect(await page.getByRole('button', { name: /Try again/ }).count()).toBe(0);
  // The browser's own lines about what was not found; before them there was none.
  expect(errors.filter((text) => !text.includes('status of 404'))).toEqual([]);
  errors.length = 0;
});

test('the link of a notification opens the pane of the thread’s bot, and an unknown one is said', async () => {
  const { page } = first;
  const made = await gantry.cli('orchestration', 'threads', '--json');
  expect(made.code).toBe(0);
  await page.goto(`${gantry.origin}/?allternit_thread=thread_unknown&bot=${bot('builder').id}`);
  await pane(page, 'builder').waitFor();
  await expect.poll(() => new URL(page.url()).pathname).toBe('/floor');
  await page.goto(`${gantry.origin}/?allternit_thread=thread_unknown`);
  await page.getByText('Thread thread_unknown was not found on this computer.').waitFor();
  await expect.poll(() => new URL(page.url()).search).toBe('');
  await page.goto(`${gantry.origin}/?allternit_channel=sms`);
  await page.getByText('No conversation through sms yet.').waitFor();
});

test('none of it left an error in the console', () => {
  expect(first.errors).toEqual([]);
});
