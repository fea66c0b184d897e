/** The place of the computers: a direct run over the real gate and a real browser, watched, paused, taken over, answered and played back. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Run } from '../../src/contracts/computer-use/run.ts';
import {
  axe,
  type Browser,
  chord,
  go,
  type Locator,
  openBrowser,
  type Page,
  type Visit,
  visit,
} from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, picture, wide } from './support/looks.ts';
import { ownerCall } from './support/owner-call.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;
let site: Server;
let origin: string;

const page = (body: string) =>
  `<!doctype html><title>Order</title><style>body{font:20px system-ui;margin:48px}input{font:inherit;padding:8px;display:block;margin:8px 0 16px;width:320px}button{font:inherit;padding:8px 16px}</style>${body}`;

/** A form of two pages; what was sent is on the last one. */
function serveForm(): Server {
  return createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const name = searchParams.get('name') ?? '';
    const bodies: Readonly<Record<string, string>> = {
      '/': '<h1>Order</h1><form action=/second><label>Name <input name=name autofocus></label><button>Next</button></form>',
      '/second': `<h1>Where to?</h1><form action=/done><input type=hidden name=name value="${name}"><label>Town <input name=town autofocus></label><button>Order</button></form>`,
      '/done': `<h1>Thank you</h1><p>${name}, ${searchParams.get('town')}</p>`,
    };
    response.end(page(bodies[pathname] ?? ''));
  });
}

beforeAll(async () => {
  site = serveForm().listen(0, '127.0.0.1');
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty' }), openBrowser()]);
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  mkdirSync(join(gantry.workspace, '.gantry'), { recursive: true });
  const rules = `rules:\n  - when: {tool: browser, host: '127.0.0.1:*'}\n    then: allow\n`;
  writeFileSync(join(gantry.workspace, '.gantry', 'policy.yaml'), rules);
  await gantry.agree();
  first = await visit(browser, gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
  site?.close();
});

const control = (on: Page, name: string): Locator => on.locator(`[data-control="${name}"]`);
const status = (on: Page, word: string) =>
  on.getByRole('status').getByText(word, { exact: true }).waitFor({ timeout: 60_000 });
const click = (x: number, y: number) => ({
  toolset: 'browser',
  member: 'left_click',
  input: { target: { type: 'coordinate', x, y } },
});
const type = (text: string) => ({ toolset: 'browser', member: 'type', input: { text } });
const open = () => ({ toolset: 'browser', member: 'navigate', input: { url: `${origin}/` } });
const wait = (duration: number) => ({ toolset: 'browser', member: 'wait', input: { duration } });

const begin = (actions: readonly object[], name: string, more: object = {}) =>
  ownerCall<Run>(gantry, 'POST', '/computer-use/execute', {
    mode: 'direct',
    target_scope: 'browser',
    actions,
    metadata: { name },
    ...more,
  });

test('before anything ran, the place says what will be here, and keys alone lead to the form', async () => {
  const { page } = first;
  const heading = page.getByRole('heading', { name: 'Computers', level: 1 });
  await expect
    .poll(async () => {
      await chord(page, 'g', 'c');
      return heading.isVisible();
    })
    .toBe(true);
  await page.getByText(/^Runs appear here: steps that you write/).waitFor();
  await page.getByText(/^Hosted computers are off for your project|^This Gantry hosts no computers/).waitFor();
  // With one computer, the list says what a second one is good for and how it gets here.
  await page.getByText('npx gantry pair https://gantry.example').waitFor();
  await looked(page, 'computers-empty');
  await page.setViewportSize(narrow);
  await page.getByText('npx gantry pair https://gantry.example').waitFor();
  await looked(page, 'computers-empty');
  await page.setViewportSize(wide);
  await page.keyboard.press('n');
  await page.getByRole('heading', { name: /^Run something on/ }).waitFor();
  await page.getByRole('combobox', { name: 'Step 1' }).waitFor();
});

test('a run is put together from the schemas of its steps, says what is missing, fills a form of two pages and is played back', async () => {
  const { page } = first;
  await page.keyboard.press('Control+Enter');
  await page.getByText('Required.').waitFor();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Order for Ada');
  await page.getByRole('textbox', { name: /^Address/ }).fill(`${origin}/`);
  const add = async (member: string, texts: Readonly<Record<string, string>>) => {
    await page.getByRole('button', { name: 'Add a step' }).click();
    await page.locator('[data-member]').last().selectOption(`browser ${member}`);
    const step = page.locator('[data-action]').last();
    for (const [name, text] of Object.entries(texts)) {
      await step.getByRole('textbox', { name: new RegExp(`^${name}`) }).fill(text);
    }
  };
  await add('left_click', { Target: 'over there' });
  await page.keyboard.press('Control+Enter');
  await page.locator('[aria-invalid="true"]').waitFor();
  await page
    .locator('[data-action="left_click"]')
    .getByRole('textbox', { name: /^Target/ })
    .fill('120, 170');
  await add('type', { Text: 'Ada Lovelace' });
  await add('key', { Keys: 'Return' });
  await add('type', { Text: 'Łódź 🏭' });
  await looked(page, 'computers-form');
  await add('key', { Keys: 'Return' });
  await add('get_page_text', {});
  await page.keyboard.press('Control+Enter');
  await page.getByRole('toolbar', { name: 'Run controls' }).waitFor();
  await status(page, 'Done');
  const steps = page.getByRole('list', { name: 'Steps' });
  await steps.getByText('Type •••• (6 characters)').waitFor();
  expect(await steps.locator('[data-entry="failed"]').count()).toBe(0);
  await page.getByRole('region', { name: 'Result' }).getByText('Ada Lovelace, Łódź 🏭').waitFor();
  // Played back: the last picture, then those before it.
  const replay = page.getByRole('region', { name: 'Replay' });
  const last = await replay.locator('[data-replay]').getAttribute('data-replay');
  await expect
    .poll(() => replay.locator('img').evaluate((one: HTMLImageElement) => one.naturalWidth))
    .toBeGreaterThan(300);
  await replay.getByRole('button', { name: 'Previous picture' }).click();
  await expect.poll(() => replay.locator('[data-replay]').getAttribute('data-replay')).not.toBe(last);
  await replay.getByRole('slider', { name: 'Picture' }).press('End');
  await expect.poll(() => replay.locator('[data-replay]').getAttribute('data-replay')).toBe(last);
  for (const name of ['pause', 'take', 'approve', 'stop'])
    await expect.poll(() => control(page, name).isDisabled()).toBe(true);
  await looked(page, 'computers-replay');
});

test('a run is watched, paused and resumed; taken over, its page is the person’s until they give it back', async () => {
  const { page } = first;
  const { run_id: id } = await begin([open(), wait(20), wait(20), type('x')], 'Slow order');
  await go(page, `/computers?run=${id}`);
  await status(page, 'Running');
  const view = page.getByRole('img', { name: 'Live view' });
  await view.waitFor({ timeout: 60_000 });
  await page.getByText('Now: Wait 20 s').waitFor();
  const before = await control(page, 'pause').boundingBox();
  await looked(page, 'computers-live');
  await control(page, 'take').click();
  await status(page, 'Paused');
  const picture = page.getByRole('application', { name: 'Live view: you have control' });
  await picture.waitFor();
  // Where the buttons were they are.
  await expect.poll(() => control(page, 'resume').boundingBox()).toEqual(before);
  const box = (await picture.boundingBox())!;
  const frame = { width: 1280, height: 800 };
  await picture.click({ position: { x: (130 / frame.width) * box.width, y: (170 / frame.height) * box.height } });
  await page.keyboard.type('By hand');
  await page.keyboard.press('Enter');
  await expect
    .poll(async () => {
      const { sessions } = await ownerCall<{ sessions: { browser: { url: string } | null; run_ids: string[] }[] }>(
        gantry,
        'GET',
        '/computer-use/sessions',
      );
      return sessions.find(({ run_ids }) => run_ids.includes(id))?.browser?.url;
    })
    .toBe(`${origin}/second?name=By+hand`);
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press('Control+Shift+L');
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-control'))).toBe('release');
  await page.keyboard.press('Enter');
  await control(page, 'resume').click();
  await status(page, 'Running');
  await control(page, 'stop').click();
  await status(page, 'Stopped');
});

test('taken over from a phone, what its keyboard writes, corrects and deletes arrives', async () => {
  const { run_id: id } = await begin([open(), wait(20), wait(20), type('x')], 'Order on the way');
  const own = await visit(browser, `${gantry.origin}/computers?run=${id}`, { ...narrow, like: first.context });
  const { page } = own;
  await page.getByRole('img', { name: 'Live view' }).waitFor({ timeout: 60_000 });
  await page.getByText('Now: Wait 20 s').waitFor();
  await control(page, 'take').click();
  const view = page.getByRole('application', { name: 'Live view: you have control' });
  await view.waitFor();
  const box = (await view.boundingBox())!;
  const field = { x: (130 / 1280) * box.width, y: (170 / 800) * box.height };
  await view.tap({ position: field });
  const keyboard = page.getByRole('button', { name: 'Keyboard' });
  await keyboard.tap();
  await page.getByRole('button', { name: 'Hide keyboard' }).waitFor();
  // As keyboards on glass do: no keys, only text, and words that change while they are written.
  const { send } = await own.context.newCDPSession(page).then((cdp) => ({ send: cdp.send.bind(cdp) }));
  const compose = (text: string) =>
    send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
  await compose('Gr');
  await compose('Grüsse');
  await send('Input.insertText', { text: 'Grüße' });
  await send('Input.insertText', { text: ' an Adaa' });
  await looked(page, 'computers-keyboard', { light: false });
  // A tap in the picture leaves the keyboard where it is.
  await view.tap({ position: field });
  await page.getByRole('button', { name: 'Hide keyboard' }).waitFor();
  await page.keyboard.press('End');
  await page.keyboard.press('Backspace');
  await send('Input.insertText', { text: '!\n' });
  await expect
    .poll(async () => {
      const { sessions } = await ownerCall<{ sessions: { browser: { url: string } | null; run_ids: string[] }[] }>(
        gantry,
        'GET',
        '/computer-use/sessions',
      );
      const url = sessions.find(({ run_ids }) => run_ids.includes(id))?.browser?.url ?? origin;
      return new URL(url).searchParams.get('name');
    })
    .toBe('Grüße an Ada!');
  await page.getByRole('button', { name: 'Hide keyboard' }).tap();
  await keyboard.waitFor();
  // Who leaves without giving back holds the computer for a minute.
  await control(page, 'release').click();
  await control(page, 'resume').click();
  await control(page, 'stop').click();
  await status(page, 'Stopped');
  await own.close();
});

test('a step that asks is answered beside the picture', async () => {
  const { page } = first;
  const { run_id: id } = await begin([open(), click(120, 170)], 'Careful order', { options: { approvals: 'always' } });
  await go(page, `/computers?run=${id}`);
  await status(page, 'Needs you');
  await page
    .getByRole('article')
    .getByRole('button', { name: /^Approve/ })
    .waitFor();
  await looked(page, 'computers-asks', { light: false });
  await control(page, 'approve').click();
  await expect.poll(() => page.locator('[data-entry]', { hasText: /^Approved/ }).count()).toBeGreaterThan(0);
  await status(page, 'Needs you');
  await page
    .getByRole('article')
    .getByRole('button', { name: /^Reject/ })
    .click();
  await status(page, 'Failed');
});

describe.each([wide, narrow])('in a $name window', (size) => {
  test('the list fits, and axe finds nothing', async () => {
    const own = await visit(browser, `${gantry.origin}/computers`, { ...size, like: first.context });
    await own.page.getByText('Order for Ada').waitFor();
    await looked(own.page, 'computers-runs');
    if (size === narrow) {
      await own.page.getByText('Order for Ada').click();
      await own.page.getByRole('region', { name: 'Replay' }).waitFor();
      await looked(own.page, 'computers-replay');
      await own.page.getByRole('button', { name: /^Back to the runs/ }).click();
      await own.page.getByRole('button', { name: 'Run something' }).click();
      await own.page.getByRole('combobox', { name: 'Step 1' }).waitFor();
      await looked(own.page, 'computers-form');
    }
    expect(own.errors).toEqual([]);
    await own.close();
  });
});

/** Where somebody runs the helper on this machine, a computer would really be made here. */
const helper = '/var/lib/gantry-computers/host.sock';

test.skipIf(existsSync(helper))(
  'hosted computers are there once the project may have them; where none can be made, it says why',
  async () => {
    const { page } = first;
    // A refusal is noted by the browser itself: what went before has none.
    expect(first.errors).toEqual([]);
    const made = await gantry.cli(
      'admin',
      'projects',
      'create',
      'shop',
      '--user',
      'user_local',
      '--hosted-driver',
      'on',
    );
    expect([made.code, made.err]).toEqual([0, '']);
    await go(page, '/');
    await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    await go(page, '/computers');
    await page.getByText(/^Computers that Gantry hosts for your programs appear here/).waitFor();
    await page.getByRole('button', { name: 'Hosted computer settings' }).click();
    const settings = page.getByRole('dialog', { name: 'Hosted computer settings' });
    await settings.getByRole('combobox', { name: 'Who answers approvals' }).selectOption('api_key');
    await settings.getByRole('textbox', { name: /^Running computers per key/ }).fill('11');
    await settings.getByText('Enter a whole number from 1 to 10.').waitFor();
    await settings.getByRole('textbox', { name: /^Running computers per key/ }).fill('3');
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press('Control+Enter');
    await settings.waitFor({ state: 'detached' });
    expect(await ownerCall(gantry, 'GET', '/v1/computer_settings')).toMatchObject({
      hosted_driver_enabled: true,
      approval_mode: 'api_key',
      per_key_concurrency: 3,
    });
    await page.getByRole('button', { name: 'Create a computer' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create a hosted computer' });
    await dialog.getByRole('textbox', { name: 'Name' }).fill('crawler');
    await page.keyboard.press('Control+Enter');
    await dialog.getByRole('alert').waitFor();
    await picture(page, 'computers-create-dark');
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press('Escape');
    first.errors.length = 0;
  },
);

test('nothing went wrong in the page meanwhile, and what cannot be read says so and comes back', async () => {
  const { page } = first;
  expect(first.errors).toEqual([]);
  await go(page, '/computers');
  await page.getByText('Order for Ada').waitFor();
  await page.route('**/computer-use/runs**', (route) => route.abort());
  await page.getByRole('alert').getByText('Nobody answers at Gantry.').waitFor({ timeout: 60_000 });
  await page.getByText('Order for Ada').waitFor();
  await page.unroute('**/computer-use/runs**');
  await expect.poll(() => page.getByRole('alert').count()).toBe(0);
});
