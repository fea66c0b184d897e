/**
 * Reaching one's bots from anywhere, as a person does it in a browser: sign in at a cloud, pair two computers, one floor over both,
 * keys, sign-ins, notifications, spending; and how it looks when a computer is away, a session is over, a pairing is revoked.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Desk } from '../host/paired-support.ts';
import { signIn } from '../host/paired-support.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import { axe, type Browser, drawPlainly, openBrowser, seeInPane, type Visit, visit } from './support/browser.ts';
import { looks, picture, tooWide } from './support/looks.ts';
import { type Reach, signInThrough, startReach } from './support/reach.ts';

let reach: Reach;
let browser: Browser;
let ada: Visit;
let tower: Desk;
let laptop: Desk;
const stop = keepUntilEnd();

beforeAll(async () => {
  [reach, browser] = await Promise.all([startReach(), openBrowser()]);
  [tower, laptop] = await Promise.all([reach.desk('build'), reach.desk('notes')]);
});
afterAll(async () => {
  await browser?.close();
  await stop();
  await reach?.close();
});

test('a stranger at a cloud sees who signs people in, and comes back to the page they asked for', async () => {
  ada = await visit(browser, `${reach.origin}/settings/computers`);
  await drawPlainly(ada.context);
  const { page } = ada;
  await page.getByRole('heading', { name: 'This browser is not signed in' }).waitFor();
  await page.getByText(reach.people.provider.issuer).waitFor();
  expect(await axe(page)).toEqual([]);
  await picture(page, 'sign-in-dark');
  await signInThrough(page, 'ada', reach.origin);
  await page.getByText('Computers that you pair will be here').waitFor();
  expect(new URL(page.url()).pathname).toBe('/settings/computers');
  await page.goto(`${reach.origin}/floor`);
  await page.getByRole('heading', { name: 'Pair your first computer' }).waitFor();
  expect(await axe(page)).toEqual([]);
});

test('a computer is let in by its code, typed by hand, after the page said which one asks', async () => {
  const asked = await tower.web('POST', '/api/v1/pairing', { body: { cloudUrl: reach.origin } });
  const code = String(asked.json.userCode);
  const { page } = ada;
  await page.goto(`${reach.origin}/pair`);
  await page.getByRole('textbox', { name: 'Code' }).fill(code.toLowerCase().replace('-', ' '));
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.getByText(code).waitFor();
  await page.getByRole('button', { name: /^computer_/ }).waitFor();
  expect(await axe(page)).toEqual([]);
  await picture(page, 'pair-dark');
  await page.getByRole('button', { name: /^Approve/ }).click();
  await page.getByText(/is approved/).waitFor();
  await page.getByRole('link', { name: 'See your computers' }).click();
  const row = page.locator('[data-computer]');
  await row.getByText('Linked').waitFor({ timeout: 20_000 });
  await row.getByRole('button', { name: /^Rename/ }).click();
  await page.getByRole('textbox', { name: /^New name of/ }).fill('tower');
  await page.keyboard.press('Enter');
  await row.getByText('tower', { exact: true }).waitFor();
});

test('another one is paired from its own page, which shows the code, waits, and then says how its link is', async () => {
  const { url } = await laptop.gantry.openUrl('/settings/computers');
  const own = await visit(browser, url);
  const { page } = own;
  await page.getByRole('textbox', { name: 'Address of the cloud' }).fill(reach.origin);
  await page.getByRole('button', { name: 'Pair with this cloud' }).click();
  await page.getByText('Waiting for your approval').waitFor();
  const link = await page.getByRole('link', { name: 'Open here' }).getAttribute('href');
  expect(await axe(page)).toEqual([]);
  await picture(page, 'pairing-dark');
  await ada.page.goto(link ?? '');
  await ada.page.getByRole('button', { name: /^Approve/ }).click();
  await page.getByText(/^Paired by Ada/).waitFor({ timeout: 20_000 });
  await page.getByRole('contentinfo').getByText(new URL(reach.origin).host).waitFor();
  await ada.page.goto(`${reach.origin}/settings/computers`);
  await expect.poll(() => ada.page.locator('[data-computer]').count()).toBe(2);
  const { id } =
    (await laptop.pairing()).computerId === undefined ? { id: '' } : { id: (await laptop.pairing()).computerId };
  const row = ada.page.locator(`[data-computer="${id}"]`);
  await row.getByRole('button', { name: /^Rename/ }).click();
  await ada.page.getByRole('textbox', { name: /^New name of/ }).fill('laptop');
  await ada.page.keyboard.press('Enter');
  await row.getByText('laptop', { exact: true }).waitFor();
  expect(own.errors).toEqual([]);
  await own.close();
});

test('one floor shows the bots of both computers; a team is started and typed into where it lives', async () => {
  const { page } = ada;
  await page.goto(`${reach.origin}/floor`);
  await page.getByRole('heading', { name: 'laptop', level: 2 }).waitFor();
  await page.getByRole('heading', { name: 'tower', level: 2 }).waitFor();
  for (const team of ['build', 'notes']) {
    await page.getByRole('button', { name: `Start ${team}` }).click();
    await page.getByRole('button', { name: 'Start 2 bots' }).click();
    await page.locator(`[data-bot="web@${team}"]`, { hasText: 'Idle' }).waitFor({ timeout: 30_000 });
  }
  await page.locator('[data-bot="web@notes"]').click();
  await page.keyboard.type('echo far-$((40+2))');
  await page.keyboard.press('Enter');
  await seeInPane(page, 'web', /^far-42/m);
  await page.getByRole('combobox', { name: 'Computer' }).first().selectOption({ label: 'tower' });
  await expect.poll(() => page.locator('[data-bot="web@notes"]').count()).toBe(0);
  await page.getByRole('combobox', { name: 'Computer' }).first().selectOption({ label: 'All computers' });
  await page.locator('[data-bot="web@notes"]').waitFor();
});
