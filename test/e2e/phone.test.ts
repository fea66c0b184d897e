/**
 * The page of the phone with the demo phone: the simulated carrier is a program of its own, its handsets are held by the test, and a bot
 * that a model server answers for gets what they text.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { text } from '../support/model-server/script.ts';
import { type ModelServer, startModelServer } from '../support/model-server/server.ts';
import { axe, type Browser, chord, go, type Locator, openBrowser, type Page, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, picture, wide } from './support/looks.ts';
import { ownerCall } from './support/owner-call.ts';

const team = `bots:
  - bot: clerk
    binding: hosted
    model: local/scripted
    permissions: REQUIRE_APPROVAL
  - bot: night
    binding: hosted
    model: local/scripted
    permissions: REQUIRE_APPROVAL
`;

let model: ModelServer;
let gantry: Gantry;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [model, browser] = await Promise.all([startModelServer(), openBrowser()]);
  gantry = await startGantry({
    workspace: 'empty',
    demoPhone: true,
    env: { GANTRY_EGRESS_ALLOW: '127.0.0.1' },
    settings: { models: { endpoints: { local: { wire: 'openai', baseUrl: `${model.url}/v1` } } } },
  });
  const desk = join(gantry.workspace, '.gantry', 'teams', 'desk');
  mkdirSync(desk, { recursive: true });
  writeFileSync(join(desk, 'team.yaml'), team);
  await ownerCall(gantry, 'POST', '/api/factory/teams/desk/up', {});
  await ownerCall(gantry, 'POST', '/api/v1/phone/demo/speed', { speed: 'instant' });
  first = await visit(browser, gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
  await model?.close();
});

/** Carrier, cloud, computer and bot each take their time on a busy machine. Milliseconds. */
const patience = { timeout: 90_000 };
const button = (page: Page | Locator, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' });
const status = (page: Page, word: string) =>
  page.getByRole('status').getByText(word, { exact: true }).waitFor(patience);

test('on every page it says that the carrier is simulated, and the place of the phone how a number comes about', async () => {
  const { page } = first;
  const banner = page.getByRole('region', { name: 'Demo phone' });
  await banner.getByText('Simulated carrier: no real texts or calls').waitFor();
  const heading = page.getByRole('heading', { name: 'Phone', level: 1 });
  await expect
    .poll(async () => {
      await chord(page, 'g', 'p');
      return heading.isVisible();
    })
    .toBe(true);
  await banner.waitFor();
  await page.getByText('Numbers that people reach your bots by will be here.').waitFor();
  expect(await axe(page)).toEqual([]);
});

test('a number is searched, planned with its cost, and bought for a bot', async () => {
  const { page } = first;
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog', { name: 'Get a number' });
  await dialog.locator('[data-offered]').first().waitFor(patience);
  await dialog.getByRole('textbox', { name: 'Area code' }).fill('303');
  await dialog.locator('[data-offered^="+1303"]').first().check();
  expect(await button(dialog, 'Buy').isDisabled()).toBe(true);
  await dialog.getByRole('combobox', { name: /^Bot/ }).selectOption({ label: 'clerk' });
  await dialog.getByText(/You have 1 of the 10 numbers of your plan/).waitFor();
  await looked(page, 'phone-buy');
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached', ...patience });
  await status(page, 'Needs registration');
  await page.getByRole('region', { name: 'This number' }).getByText('clerk').waitFor();
});
