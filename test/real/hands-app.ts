/** "Hands" as somebody sees it who opens the printed address for the first time: steps written in the form, a task for a model, the replay. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Run } from '../../src/contracts/computer-use/run.ts';
import { type Browser, go, type Page, paste, type Visit, visit } from '../e2e/support/browser.ts';
import type { Product } from '../support/bench/product.ts';
import type { ModelServer } from '../support/model-server/server.ts';
import { type Order, orders, places, type Shop } from './hands-site.ts';
import { type Scenes, seconds, until } from './scenes.ts';

export interface App {
  readonly seen: Visit;
  /** Into the folder that `GANTRY_SCREENSHOTS` names; without it none is made. `looks`: all four, where one is enough else. */
  picture(name: string, looks?: 'all'): Promise<void>;
}

const sizes = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } } as const;

export async function openApp(browser: Browser, url: string): Promise<App> {
  const seen = await visit(browser, url, sizes.wide);
  const { page } = seen;
  return {
    seen,
    async picture(name, looks) {
      const folder = process.env.GANTRY_SCREENSHOTS;
      if (folder === undefined) return;
      const shot = (look: string) =>
        page.screenshot({ path: join(folder, `${name}-${look}.png`), animations: 'disabled' });
      await shot('dark');
      if (looks !== 'all') return;
      await page.emulateMedia({ colorScheme: 'light' });
      await shot('light');
      await page.setViewportSize(sizes.narrow);
      // The live view is fitted to its new size, which nothing says.
      await delay(300);
      await shot('390-light');
      await page.emulateMedia({ colorScheme: 'dark' });
      await shot('390');
      await page.setViewportSize(sizes.wide);
      // As above.
      await delay(300);
    },
  };
}

const control = (page: Page, name: string) => page.locator(`[data-control="${name}"]`);
const status = (page: Page, word: string) =>
  page.getByRole('status').getByText(word, { exact: true }).waitFor({ timeout: 90_000 });
const runIdOf = (page: Page) => new URL(page.url()).searchParams.get('run') ?? '';

interface Around {
  readonly scenes: Scenes;
  readonly app: App;
  readonly product: Product;
  readonly shop: Shop;
  readonly model: ModelServer;
}

const runOf = ({ product }: Around, id: string) => product.web.call<Run>('GET', `/computer-use/runs/${id}`);

/** The first time that somebody is there: no hint but what the page says. */
export async function playApp(around: Around): Promise<void> {
  const { scenes, app, shop, model } = around;
  const { page, errors } = app.seen;

  await scenes.scene('somebody new finds where a run begins', async () => {
    await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    await page.locator('a[href="/computers"]').first().click();
    await page.getByRole('heading', { name: 'Computers', level: 1 }).waitFor();
    await app.picture('1-empty', 'all');
    await page.getByRole('button', { name: 'Run something' }).first().click();
    await page.getByRole('combobox', { name: 'Step 1' }).waitFor();
    return 'Computers, then “Run something”: two clicks';
  });

  await scenes.scene(
    'steps put together in the form fill an order of three pages; its PIN is approved in the inbox',
    async () => {
      const order = {
        name: 'Ada Lovelace',
        mail: 'ada@example.com',
        town: 'Łódź 🏭',
        country: 'Poland',
        gift: 'yes',
        pin: '4711',
        note: 'by hand',
      };
      await writeSteps(page, shop, order);
      await app.picture('2-form', 'all');
      const from = performance.now();
      await page.keyboard.press('Control+Enter');
      await page.getByRole('toolbar', { name: 'Run controls' }).waitFor();
      const id = runIdOf(page);
      await status(page, 'Needs you');
      const asked = seconds(from);
      await app.picture('3-asks', 'all');
      await page.locator('a[href="/inbox"]').first().click();
      await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
      const card = page.getByRole('button', { name: /^Approve/ }).first();
      await card.waitFor();
      await app.picture('4-inbox', 'all');
      await card.click();
      await until('that it was heard', async () => (await runOf(around, id)).status !== 'awaiting_approval');
      await go(page, `/computers?run=${id}`);
      await status(page, 'Done');
      await page.getByRole('region', { name: 'Replay' }).waitFor();
      await app.picture('5-replay', 'all');
      assert.deepEqual(shop.orders.at(-1), order);
      const run = await runOf(around, id);
      assert.doesNotMatch(JSON.stringify([run, await page.content()]), /4711/);
      return `${run.steps} steps, ${run.artifacts.length} artifacts; asked ${asked} after the start, ended ${tookOf(run)} after it began; the PIN stands nowhere; the shop got ${JSON.stringify(shop.orders.at(-1))}`;
    },
  );

  let id = '';
  await scenes.scene(
    'a task for a model: approved on its page, paused, taken over, typed and clicked into, given back, resumed',
    async () => {
      const order = {
        name: 'Grace Hopper',
        mail: 'grace@example.com',
        town: 'Arlington',
        country: 'Spain',
        pin: '9813',
      };
      model.script(orders(shop, order, 'native', 8));
      await go(page, '/computers');
      await page.keyboard.press('n');
      await page.getByRole('combobox', { name: 'Step 1' }).waitFor();
      await page.getByRole('button', { name: 'Task', exact: true }).click();
      await page
        .getByRole('textbox', { name: /^Task/ })
        .fill(
          `Order at ${shop.origin}/ for Grace Hopper, Arlington, Spain, with the PIN of the context. Done when it says thank you.`,
        );
      await page.getByRole('checkbox', { name: 'Record a video' }).check();
      await app.picture('6-task', 'all');
      await page.keyboard.press('Control+Enter');
      await page.getByRole('toolbar', { name: 'Run controls' }).waitFor();
      id = runIdOf(page);
      await page.getByRole('img', { name: 'Live view' }).waitFor({ timeout: 60_000 });
      await app.picture('7-live');
      await status(page, 'Needs you');
      await app.picture('8-asks', 'all');
      await control(page, 'approve').click();
      await page.getByText('Now: Wait 8 s').waitFor({ timeout: 60_000 });
      const paused = performance.now();
      await control(page, 'pause').click();
      await until('a paused run', async () => (await runOf(around, id)).status === 'paused');
      const pauseTook = seconds(paused);
      await status(page, 'Paused');
      await app.picture('9-paused');
      const taken = performance.now();
      await control(page, 'take').click();
      const view = page.getByRole('application', { name: 'Live view: you have control' });
      await view.waitFor();
      const takeTook = seconds(taken);
      const box = (await view.boundingBox())!;
      const [x = 0, y = 0] = places.second.split(',').map(Number);
      await view.click({ position: { x: (x / 1280) * box.width, y: (y / 800) * box.height } });
      await page.keyboard.type('Leave it with ');
      await paste(page, 'Ödön');
      // What was pasted is to be seen in the live view, a picture of which no text can be read.
      await delay(1500);
      await app.picture('10-mine', 'all');
      await control(page, 'release').click();
      await control(page, 'resume').click();
      await status(page, 'Done');
      const last = shop.orders.at(-1);
      assert.deepEqual(last, { ...order, note: 'Leave it with Ödön' });
      const run = await runOf(around, id);
      assert.equal(run.result?.stop_reason, 'done');
      const { events } = await around.product.web.call<{ events: { event_type: string; index: number }[] }>(
        'GET',
        `/computer-use/runs/${id}/events?limit=200`,
      );
      assert.deepEqual(
        events.map(({ index }) => index),
        events.map((_, at) => at),
      );
      const told = events.map(({ event_type }) => event_type).filter((type) => /^(run|approval|control)/.test(type));
      return `paused ${pauseTook} after the click, control ${takeTook} after it; ${run.steps} requests to ${run.usage.model} (${model.requests.filter(({ pictures }) => pictures > 0).length} with pictures), ${run.usage.actions} actions, ${tookOf(run)}; ${told.join(' ')}; the shop got ${JSON.stringify(last)}`;
    },
  );

  await scenes.scene('the finished run is played back, with its video', async () => {
    const replay = page.getByRole('region', { name: 'Replay' });
    await replay.waitFor();
    await replay.getByRole('button', { name: 'Previous picture' }).click();
    const pictures = await replay.getByRole('slider', { name: 'Picture' }).getAttribute('max');
    await app.picture('11-replay', 'all');
    await replay.getByRole('button', { name: 'Video', exact: true }).click();
    const video = replay.locator('video');
    await video.evaluate((one: HTMLVideoElement) => {
      one.muted = true;
      return one.play();
    });
    await until('frames of the video', () => video.evaluate((one: HTMLVideoElement) => one.currentTime > 0.5));
    const shown = await video.evaluate(
      (one: HTMLVideoElement) => `${one.videoWidth} × ${one.videoHeight}, ${one.duration.toFixed(1)} s`,
    );
    await app.picture('12-video', 'all');
    const kinds = (await runOf(around, id)).artifacts.map((one) => one.kind);
    const count = (kind: string) => kinds.filter((one) => one === kind).length;
    return `${Number(pictures) + 1} pictures; a video of ${shown}; kept: ${[...new Set(kinds)].map((kind) => `${count(kind)} ${kind}`).join(', ')}`;
  });

  await scenes.scene('the page made no mistake of its own', async () => {
    assert.deepEqual(errors, []);
    return 'no error in its console';
  });
}

const tookOf = ({ started_at: began, finished_at: ended }: Run) =>
  `${((Date.parse(ended ?? '') - Date.parse(began ?? '')) / 1000).toFixed(1)} s`;

async function writeSteps(page: Page, shop: Shop, order: Order): Promise<void> {
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Order for Ada');
  await page.getByRole('textbox', { name: /^Address/ }).fill(`${shop.origin}/`);
  const add = async (member: string, texts: Readonly<Record<string, string>>) => {
    await page.getByRole('button', { name: 'Add a step' }).click();
    await page.locator('[data-member]').last().selectOption(`browser ${member}`);
    const step = page.locator('[data-action]').last();
    for (const [name, text] of Object.entries(texts)) {
      await step.getByRole('textbox', { name: new RegExp(`^${name}`) }).fill(text);
    }
  };
  const click = (place: string) => add('left_click', { Target: place });
  const type = (text: string) => add('type', { Text: text });
  const key = (keys: string) => add('key', { Keys: keys });
  const { name = '', mail = '', town = '', country = '', pin = '', note = '' } = order;
  await click(places.first);
  await type(name);
  await key('Tab');
  await type(mail);
  await click(places.button);
  await click(places.first);
  await type(town);
  await key('Tab');
  await type(country);
  await click(places.third);
  await click(places.button);
  await click(places.first);
  await type(pin);
  await click(places.second);
  await type(note);
  await click(places.button);
  await add('get_page_text', {});
}
