/** A cloud for a person who has not paired a computer: each page works or says how to pair one, and asks for nothing that is not there. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sections } from '../../src/renderer/areas/settings/sections.ts';
import { places } from '../../src/renderer/base/rail-places.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import { axe, type Browser, openBrowser, openPalette, signInThrough, type Visit, visit } from './support/browser.ts';
import { picture, standsOut } from './support/looks.ts';
import { type Reach, startReach } from './support/reach.ts';

let reach: Reach;
let browser: Browser;
let ada: Visit;
/** `404 /api/…`, of the pages that were opened so far. */
const refused: string[] = [];
const stop = keepUntilEnd();

const command = () => `npx gantry pair ${reach.origin}`;

/** They show what is on a computer: without one, how it is paired. */
const ofComputers = ['/', '/floor', '/work', '/tools', '/connectors', '/ledger', '/computers'].concat([
  '/settings/set-up',
  '/settings/agent-accounts',
  '/computers?start=1',
  '/?new=1',
]);
const others = [
  ...['/inbox', '/phone', '/queue', '/queue/history', '/queue/sessions', '/queue/deployments', '/docs', '/pair'],
  ...sections.map(({ path }) => path).filter((path) => !ofComputers.includes(path)),
];

beforeAll(async () => {
  [reach, browser] = await Promise.all([startReach(), openBrowser()]);
  ada = await visit(browser, `${reach.origin}/settings/account`);
  await signInThrough(ada.page, 'ada', reach.origin);
  await ada.page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  ada.errors.length = 0;
  ada.page.on('response', (response) => {
    if (response.status() >= 400) refused.push(`${response.status()} ${new URL(response.url()).pathname}`);
  });
});
afterAll(async () => {
  await browser?.close();
  await stop();
  await reach?.close();
});

/** Loaded anew, so that nothing is known yet of who is there, and until it has asked for all that it wants. */
async function open(path: string): Promise<void> {
  const { page } = ada;
  await page.goto(`${reach.origin}${path}`, { waitUntil: 'load' });
  await page.locator('h1').first().waitFor();
  await page.getByRole('contentinfo').getByText('No computer').waitFor();
  await expect.poll(() => page.locator('[data-state="loading"]').count(), { message: path }).toBe(0);
}

test.each(ofComputers)('%s says how the first computer is paired', async (path) => {
  await open(path);
  await ada.page.getByRole('main').getByText(command()).first().waitFor();
  expect(await ada.page.getByRole('alert').count()).toBe(0);
});

test.each(others)('%s works without a computer', async (path) => {
  await open(path);
  expect(await ada.page.getByRole('alert').count()).toBe(0);
});

test('every place of the rail is among them', () => {
  const known = [...ofComputers, ...others, '/settings'];
  expect(places.map(({ path }) => path).filter((path) => !known.includes(path))).toEqual([]);
});

test('the palette looks only through what there is', async () => {
  await open('/inbox');
  const find = await openPalette(ada.page);
  await find.fill('account');
  await ada.page.getByRole('option', { name: /Settings: Account/ }).waitFor();
  await ada.page.keyboard.press('Escape');
});

test('axe finds nothing where a computer is to be paired', async () => {
  for (const path of ['/computers', '/settings/set-up']) {
    await open(path);
    expect(await axe(ada.page), path).toEqual([]);
    expect(await standsOut(ada.page), path).toEqual([]);
    await picture(ada.page, `unpaired${path.replaceAll('/', '-')}-dark`);
  }
});

test('no page asked its server for what only a computer answers', () => {
  expect(refused).toEqual([]);
  expect(ada.errors).toEqual([]);
});
