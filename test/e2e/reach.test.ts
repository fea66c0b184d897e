/**
 * Reaching one's bots from anywhere, as a person does it in a browser: sign in at a cloud, pair two computers, one floor over both,
 * keys, sign-ins, notifications, spending; and how it looks when a computer is away, a session is over, a pairing is revoked.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LocalPairing } from '../../src/contracts/link/local-pairing.ts';
import { sections } from '../../src/renderer/areas/settings/sections.ts';
import { type Installation, startInstallation } from '../host/paired-support.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import {
  axe,
  type Browser,
  go,
  inFocus,
  openBrowser,
  openPalette,
  seeInPane,
  signInThrough,
  typeInto,
  type Visit,
  visit,
} from './support/browser.ts';
import { looked, narrow, picture, wide } from './support/looks.ts';
import { type Reach, startReach } from './support/reach.ts';

let reach: Reach;
let browser: Browser;
let ada: Visit;
let tower: Installation;
let laptop: Installation;
const stop = keepUntilEnd();
const wholeCode = /^[A-Z]{4}-[A-Z]{4}$/;

beforeAll(async () => {
  [reach, browser] = await Promise.all([startReach(), openBrowser()]);
  [tower, laptop] = await Promise.all([reach.installation('build'), reach.installation('notes')]);
});
afterAll(async () => {
  await browser?.close();
  await stop();
  await reach?.close();
});

test('a stranger at a cloud sees who signs people in, and comes back to the page they asked for', async () => {
  ada = await visit(browser, `${reach.origin}/settings/computers`, { plain: true });
  const { page } = ada;
  await page.getByRole('heading', { name: 'This browser is not signed in' }).waitFor();
  await page.getByText(reach.people.provider.issuer).waitFor();
  expect(await axe(page)).toEqual([]);
  await picture(page, 'sign-in-dark');
  await signInThrough(page, 'ada', reach.origin);
  await page.getByText('Computers that you pair appear here').waitFor();
  await expect.poll(() => new URL(page.url()).pathname).toBe('/settings/computers');
  await page.goto(`${reach.origin}/floor`);
  await page.getByRole('heading', { name: 'Pair your first computer' }).waitFor();
  expect(await axe(page)).toEqual([]);
});

test('a signed-in person has a queue of their own at the cloud, with their session alone', async () => {
  const { page } = ada;
  await page.goto(`${reach.origin}/queue`);
  await page.getByText('Tasks for your own computers appear here').waitFor();
  await page.keyboard.press('n');
  await inFocus(page.getByRole('dialog', { name: 'Add task' }).getByRole('textbox', { name: /^Command/ }));
  await page.keyboard.type('uname -a');
  await page.keyboard.press('Control+Enter');
  const task = page.getByRole('region', { name: 'Task', exact: true });
  await task.getByText('0 of 5').waitFor();
  const openTask = () => new URL(page.url()).searchParams.get('task') ?? '';
  await expect.poll(openTask).toMatch(/^task_/);
  const id = openTask();
  await task.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('dialog', { name: 'Stop this task?' }).getByRole('button', { name: 'Stop now' }).click();
  await page.locator('tr[data-status="cancelled"]').waitFor();
  // Nobody else has it.
  expect((await page.request.get(`${reach.origin}/beta/work/${id}`)).status()).toBe(200);
  expect((await fetch(`${reach.origin}/beta/work/${id}`)).status).toBe(401);
});

test('a computer is let in by its code, typed by hand, after the page said which one asks', async () => {
  const asked = await tower.web('POST', '/api/v1/pairing', { body: { cloudUrl: reach.origin } });
  const code = (asked.json as never as LocalPairing).userCode ?? '';
  expect(code).toMatch(wholeCode);
  const { page } = ada;
  await page.goto(`${reach.origin}/pair`);
  await page.getByRole('textbox', { name: 'Code' }).fill(code.toLowerCase().replace('-', ' '));
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText(code).waitFor();
  await page.getByRole('button', { name: /^computer_/ }).waitFor();
  expect(await axe(page)).toEqual([]);
  await picture(page, 'pair-dark');
  await page.getByRole('button', { name: /^Approve/ }).click();
  await page.getByText(/is approved/).waitFor();
  await page.getByRole('link', { name: 'View your computers' }).click();
  const row = page.locator('[data-computer]');
  await row.getByText('Linked').waitFor();
  await row.getByRole('button', { name: /^Rename/ }).click();
  await page.getByRole('textbox', { name: /^New name for/ }).fill('tower');
  await page.keyboard.press('Enter');
  await row.getByText('tower', { exact: true }).waitFor();
});

test('another one is paired from its own page, which shows the code, waits, and then says how its link is', async () => {
  const { url } = await laptop.gantry.openUrl('/settings/computers');
  const own = await visit(browser, url);
  const { page } = own;
  await page.getByRole('textbox', { name: 'Cloud address' }).fill(reach.origin);
  await page.getByRole('button', { name: 'Pair with this cloud' }).click();
  await page.getByText('Waiting for your approval').waitFor();
  const link = await page.getByRole('link', { name: 'Open here' }).getAttribute('href');
  expect(await axe(page)).toEqual([]);
  await picture(page, 'pairing-dark');
  // The code is typed where it is approved: the link brings none along.
  const codeShown = async () => (await page.locator('[data-code]').textContent()) ?? '';
  await expect.poll(codeShown).toMatch(wholeCode);
  const shown = await codeShown();
  expect(link).not.toContain(shown);
  await ada.page.goto(link ?? '');
  await ada.page.getByRole('textbox', { name: 'Code' }).fill(shown);
  await ada.page.getByRole('button', { name: 'Continue' }).click();
  await ada.page.getByRole('button', { name: /^Approve/ }).click();
  await page.getByText(/^Paired by Ada/).waitFor();
  await page.getByRole('contentinfo').getByText(new URL(reach.origin).host).waitFor();
  await ada.page.goto(`${reach.origin}/settings/computers`);
  await expect.poll(() => ada.page.locator('[data-computer]').count()).toBe(2);
  const id = (await laptop.pairing()).computerId;
  const row = ada.page.locator(`[data-computer="${id}"]`);
  await row.getByRole('button', { name: /^Rename/ }).click();
  await ada.page.getByRole('textbox', { name: /^New name for/ }).fill('laptop');
  await ada.page.keyboard.press('Enter');
  await row.getByText('laptop', { exact: true }).waitFor();
  // The page's stream goes over to the new home: the one it had is cut.
  expect(own.errors.filter((error) => !error.includes('CHUNKED'))).toEqual([]);
  await own.close();
});

test('the page of computers says which computer’s clock is off, by how much and what to do', async () => {
  const { page } = ada;
  const id = (await laptop.pairing()).computerId;
  await page.route('**/api/v1/computers', async (route) => {
    if (route.request().method() !== 'GET') return route.continue();
    const response = await route.fetch();
    const body = (await response.json()) as { computers: { id: string }[] };
    const computers = body.computers.map((one) => ({ ...one, clockAheadMs: one.id === id ? 3 * 3_600_000 : 20_000 }));
    await route.fulfill({ response, json: { ...body, computers } });
  });
  await page.goto(`${reach.origin}/settings/computers`);
  const told = page.locator('[data-computer]').getByText(/its clock is .* this cloud’s/);
  await told.waitFor();
  expect(await told.allTextContents()).toEqual(['its clock is 3 h ahead of this cloud’s: set its time']);
  await page.locator(`[data-computer="${id}"]`, { hasText: 'its clock is 3 h' }).waitFor();
  await page.unroute('**/api/v1/computers');
});

test('one floor shows the bots of both computers; a team is started and typed into where it lives', async () => {
  const { page } = ada;
  await page.goto(`${reach.origin}/floor`);
  await page.getByRole('heading', { name: 'laptop', level: 2 }).waitFor();
  await page.getByRole('heading', { name: 'tower', level: 2 }).waitFor();
  for (const team of ['build', 'notes']) {
    await page.getByRole('button', { name: `Start ${team}` }).click();
    await page.getByRole('button', { name: 'Start 2 bots' }).click();
    await page.locator(`[data-bot="web@${team}"]`, { hasText: 'Idle' }).waitFor();
  }
  await typeInto(page, 'web@notes', 'echo far-$((40+2))');
  await seeInPane(page, 'web@notes', /^far-42/m);
  await page.getByRole('combobox', { name: 'Computer' }).first().selectOption({ label: 'tower' });
  await expect.poll(() => page.locator('[data-bot="web@notes"]').count()).toBe(0);
  await page.getByRole('combobox', { name: 'Computer' }).first().selectOption({ label: 'All computers' });
  await page.locator('[data-bot="web@notes"]').waitFor();
  // The computer that is looked at stays in the address from page to page.
  await page.getByRole('contentinfo').getByRole('combobox', { name: 'Computer' }).selectOption({ label: 'laptop' });
  const { computerId } = await laptop.pairing();
  await expect.poll(() => new URL(page.url()).searchParams.get('computer')).toBe(computerId);
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('heading', { name: 'laptop', level: 2 }).waitFor();
  await page.getByText(laptop.gantry.workspace).waitFor();
  await go(page, '/floor');
});

test('the dialog that starts a team offers the other computer, and the bot appears once, with where it runs', async () => {
  const { page } = ada;
  await page.getByRole('button', { name: 'Stop build' }).click();
  await page.getByRole('button', { name: 'Stop 2 bots' }).click();
  await page.locator('[data-bot="web@build"]', { hasText: 'Offline' }).waitFor();
  await page.getByRole('button', { name: 'Start build' }).click();
  const dialog = page.getByRole('dialog', { name: 'Start build' });
  await dialog.getByRole('combobox', { name: 'On' }).selectOption({ label: 'laptop' });
  await expect.poll(() => dialog.locator('[data-plan="spawn"]').count()).toBe(2);
  await picture(page, 'start-on-dark');
  await dialog.getByRole('button', { name: 'Start 2 bots' }).click();
  const bot = page.locator('[data-bot="ops@build"]');
  await bot.getByText('on laptop').waitFor();
  await bot.getByText('Idle').waitFor();
  await expect.poll(() => bot.count()).toBe(1);
  await typeInto(page, 'ops@build', 'echo guest-$((40+3))');
  await seeInPane(page, 'ops@build', /^guest-43/m);
});

test('from the palette of any page a message is written to a bot of the other computer, with the keyboard only', async () => {
  const { page } = ada;
  await go(page, '/ledger');
  const find = await openPalette(page);
  await find.fill('message to a bot');
  await page.getByRole('option', { name: /Write a message to a bot/ }).waitFor();
  await page.keyboard.press('Enter');
  const form = page.getByRole('form', { name: 'Message to a bot' });
  const field = form.getByRole('textbox');
  await inFocus(field);
  await form.getByRole('combobox', { name: 'Bot' }).selectOption({ label: 'web@notes on laptop' });
  await field.fill('clear; echo sent-$((40+5))');
  await form.getByRole('button', { name: 'Send' }).press('Enter');
  await seeInPane(page, 'web@notes', /^sent-45/m);
  // The button has nothing to send any more and lets go of the focus.
  await inFocus(form.getByRole('textbox', { name: 'Message to web@notes' }));
});

test('a question names the computer it comes from and is answered here', async () => {
  const { page } = ada;
  await typeInto(
    page,
    'web@notes',
    'clear; gantry gate check shell.exec --wait 600 --command "touch made" && echo allowed-$?',
  );
  // The pane that the person looks at shows the question, so no toast stays to lead there.
  await page.getByRole('article').filter({ hasText: 'touch made' }).first().waitFor();
  await go(page, '/inbox');
  const card = page.getByRole('region', { name: 'Waiting for you' }).getByRole('article').first();
  await card.getByText('on laptop').waitFor();
  await card.getByRole('button', { name: 'Approve' }).click();
  await page.getByText(/Approved by you in the browser/).waitFor();
});

test('what a bot writes to its person is among the notifications, counted until it is read', async () => {
  const { page } = ada;
  await go(page, '/settings/notifications');
  await page.getByRole('switch', { name: 'A bot wrote to your inbox' }).click();
  await page.getByRole('button', { name: 'Reset A bot wrote to your inbox to its default' }).waitFor();
  await page.getByRole('link', { name: 'Floor' }).click();
  const text = `"$(printf 'they add up\\n\\n- %0200d\\n' 0; seq -f '- %g' 80)"`;
  await typeInto(page, 'web@notes', `clear; gantry orchestration mail --to owner --subject Numbers ${text}`);
  await page.getByRole('link', { name: '1 unread notification' }).first().click();
  const news = page.getByRole('region', { name: 'Notifications' });
  // The question that was answered stands as its card and is no news.
  await expect.poll(() => news.getByRole('listitem').count()).toBe(1);
  await news.getByRole('button', { name: /^Unread: web wrote to you/ }).waitFor();
  await picture(page, 'news-dark');
  await news.getByRole('button', { name: 'Mark shown as read' }).click();
  await expect.poll(() => news.locator('[data-unread]').count()).toBe(0);
  await page.getByRole('link', { name: 'Notifications', exact: true }).waitFor();
  // A notification has only the subject: the mail opens from it, whichever computer it is on.
  await news.getByRole('button', { name: /^web wrote to you/ }).click();
  const mail = page.getByRole('dialog', { name: 'web wrote to you' });
  await mail.getByText('they add up', { exact: true }).waitFor();
  await picture(page, 'mail-dark');
  // It is longer than the dialog, and has a word that is wider than a phone.
  const last = mail.getByText('80', { exact: true });
  const bottom = async () => ((await last.boundingBox())?.y ?? Number.POSITIVE_INFINITY) < wide.height;
  expect(await bottom()).toBe(false);
  await page.keyboard.press('End');
  await expect.poll(bottom).toBe(true);
  await page.setViewportSize(narrow);
  const tooWide = () =>
    mail.evaluate((it) => [...it.querySelectorAll('div')].some((one) => one.scrollWidth > one.clientWidth));
  await expect.poll(tooWide).toBe(false);
  expect(await axe(page)).toEqual([]);
  await picture(page, 'mail-390');
  await page.setViewportSize(wide);
  await page.keyboard.press('Escape');
  await mail.waitFor({ state: 'detached' });
  // Taken back by key, and marked again.
  await page.keyboard.press('Control+z');
  await expect.poll(() => news.locator('[data-unread]').count()).toBe(1);
  await page.getByRole('link', { name: '1 unread notification' }).first().waitFor();
  await news.getByRole('button', { name: 'Mark shown as read' }).click();
  await expect.poll(() => news.locator('[data-unread]').count()).toBe(0);
});

test('the page of a paired computer shows its own bots and, through its home, those of the other one', async () => {
  const { url } = await tower.gantry.openUrl('/floor');
  const own = await visit(browser, url, { plain: true });
  const { page } = own;
  await page.getByRole('heading', { name: 'tower', level: 2 }).waitFor();
  await typeInto(page, 'web@notes', 'echo home-$((40+4))');
  await seeInPane(page, 'web@notes', /^home-44/m);
  await own.close();
});

test('an API key shows its text once, a second of its name may live beside it, a third may not, and revoking asks first', async () => {
  const { page } = ada;
  await go(page, '/settings/keys');
  const create = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('textbox', { name: /^Name/ }).fill('ci');
    await page.getByRole('textbox', { name: 'Tools' }).fill('time.* file.read');
    await page.keyboard.press('Control+Enter');
  };
  await create();
  const secretShown = async () => (await page.locator('[data-secret] button span').first().textContent()) ?? '';
  await expect.poll(secretShown).not.toBe('');
  const secret = await secretShown();
  expect(
    (await fetch(`${reach.origin}/api/factory/agents`, { headers: { authorization: `Bearer ${secret}` } })).status,
  ).toBe(200);
  expect(await axe(page)).toEqual([]);
  await page.getByRole('button', { name: 'I have it' }).click();
  await expect.poll(() => page.getByText(secret).count()).toBe(0);
  await page.getByText('only the tools time.*, file.read').waitFor();
  await create();
  await page.getByRole('button', { name: 'I have it' }).click();
  await create();
  await page.getByRole('dialog').getByRole('alert').waitFor();
  await page.keyboard.press('Escape');
  await page
    .getByRole('button', { name: /^Revoke ci/ })
    .first()
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect.poll(() => page.getByRole('button', { name: /^Revoke ci/ }).count()).toBe(1);
});

test('preferences are switched and go back to their defaults; a device is registered, tested and removed; what reaches is said', async () => {
  const { page } = ada;
  await go(page, '/settings/notifications');
  const summary = page.locator('[data-reach]');
  await summary.getByText('Only open tabs reach you.').waitFor();
  await page.getByRole('button', { name: 'Reset all to default' }).click();
  await page.getByText('all at their defaults').waitFor();

  const device = reach.service.device();
  await page.evaluate(async (subscription) => {
    const { csrf } = (await (await fetch('/api/v1/session')).json()) as { csrf: string };
    await fetch('/api/v1/push/subscriptions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-platform-csrf': csrf },
      body: JSON.stringify({ ...subscription, name: 'Phone' }),
    });
  }, device.subscription);
  await page.reload();
  await summary.getByText('A push reaches one device.').waitFor();
  await page.getByRole('button', { name: 'Send a test to Phone' }).click();
  await page.getByText('Its push service accepted the test.').waitFor();
  await expect.poll(() => JSON.parse(device.received[0] ?? 'null')).toMatchObject({ type: 'test' });
  await looked(page, 'notifications');
  device.expire();
  await page.getByRole('button', { name: 'Send a test to Phone' }).click();
  await summary.getByText('Only open tabs reach you.').waitFor();
});

test('spending is empty until something was spent; a budget is checked before it is kept, and said to be saved', async () => {
  const { page } = ada;
  await go(page, '/settings/usage');
  await page.getByText('Nothing was spent.').waitFor();
  await page.getByRole('textbox', { name: /^Budget/ }).fill('twenty');
  await page.getByText('Enter an amount such as 20 or 12.50.').waitFor();
  await page.getByRole('textbox', { name: /^Budget/ }).fill('20');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  await page.getByRole('textbox', { name: /^Budget/ }).fill('21');
  await page.getByText('Saved.', { exact: true }).waitFor({ state: 'detached' });
  await page.reload();
  await expect.poll(() => page.getByRole('textbox', { name: /^Budget/ }).inputValue()).toBe('20');
});

test('a computer that is away keeps its bots on the floor, greyed, with how long ago it was seen, and comes back by itself', async () => {
  const { page } = ada;
  await laptop.gantry.close();
  await page.goto(`${reach.origin}/floor`);
  const heading = page.locator('[data-computer]', { hasText: 'laptop' });
  await heading.getByText('Away').waitFor();
  await heading.getByText(/seen/).waitFor();
  const bot = page.locator('[data-bot="web@notes"]');
  await bot.waitFor();
  await expect.poll(() => bot.getAttribute('data-away')).toBe('true');
  await bot.click();
  await page.getByText('laptop is away. Its screen appears when it is back.').first().waitFor();
  await picture(page, 'floor-away-dark');
  laptop = await startInstallation({ home: laptop.home });
  await heading.getByText('Linked').waitFor();
  await expect.poll(() => bot.getAttribute('data-away')).toBeNull();
});

const headings: Readonly<Record<string, string>> = { '/floor': 'Floor', '/': 'Home', '/inbox': 'Inbox' };

/** Every page where it is wide, but the one that was looked at above; what is laid out anew where it is narrow. */
const settings = sections.slice(1).map(({ path }) => path);
const pages = {
  wide: ['/floor', '/', ...settings.filter((path) => !path.endsWith('/notifications'))],
  narrow: ['/floor', '/inbox', '/settings/computers', '/settings/notifications'],
} as const;
const withColours = ['/floor', '/settings/computers'];

test.each([wide, narrow])('in a $name window axe finds nothing and nothing is wider than it', async (size) => {
  const isNarrow = size === narrow;
  const seen = isNarrow ? await visit(browser, `${reach.origin}/floor`, { ...size, like: ada.context }) : ada;
  const { page, errors } = seen;
  const before = errors.length;
  for (const path of pages[size.name]) {
    await go(page, path);
    await page.getByRole('heading', { level: 1, name: headings[path] ?? 'Settings' }).waitFor();
    if (path === '/floor') await page.locator('[data-bot="web@notes"]').waitFor();
    await expect.poll(() => page.locator('[data-state="loading"]').count()).toBe(0);
    const name = path in headings ? `${headings[path]?.toLowerCase()}-computers` : (path.split('/').at(-1) ?? '');
    await looked(page, name, { light: !isNarrow && withColours.includes(path) });
  }
  expect(errors.slice(before)).toEqual([]);
  if (isNarrow) await seen.close();
});

test('another browser is signed out from here, and its open page says that its session has ended', async () => {
  const other = await visit(browser, `${reach.origin}/floor`);
  await signInThrough(other.page, 'ada', reach.origin);
  await other.page.locator('[data-bot="web@notes"]').waitFor();
  const { page } = ada;
  await go(page, '/settings/sign-ins');
  await page.getByText('this browser').waitFor();
  await page.getByText('Paired computer').first().waitFor();
  await page
    .getByRole('button', { name: /^Sign out/ })
    .first()
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
  await other.page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  await picture(other.page, 'session-ended-dark');
  await other.close();
});

test('revoking a computer says what it ends, and its bots are gone from the floor at once', async () => {
  const { page } = ada;
  await go(page, '/settings/computers');
  await page.getByRole('button', { name: 'Revoke laptop' }).click();
  const dialog = page.getByRole('dialog', { name: 'Revoke laptop?' });
  await dialog.getByText('Its link ends now').waitFor();
  expect(await axe(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await expect.poll(() => page.locator('[data-computer]').count()).toBe(1);
  await page.getByRole('link', { name: 'Floor' }).click();
  await page.locator('[data-bot="web@build"]').waitFor();
  await expect.poll(() => page.locator('[data-bot="web@notes"]').count()).toBe(0);
});

test('a person without a computer reads that there is none, in a wide window and in a narrow one', async () => {
  const bob = await visit(browser, `${reach.origin}/floor`);
  await signInThrough(bob.page, 'bob', reach.origin);
  await bob.page.locator('footer').getByText('No computer').waitFor();
  await bob.page.setViewportSize({ width: 390, height: 844 });
  await bob.page.getByRole('status').getByText('No computer').waitFor();
  await expect.poll(() => bob.page.getByText(/Off since/).count()).toBe(0);
  await bob.close();
});

test('while home is away the page of a paired computer says so once among the notifications', async () => {
  const { url } = await tower.gantry.openUrl('/floor');
  const own = await visit(browser, url);
  const { page } = own;
  await page.locator('[data-bot="web@build"]').waitFor();
  await reach.people.cloud.close();
  await page.goto(new URL('/settings/notifications', url).href);
  await page.getByRole('alert').first().waitFor();
  await expect.poll(() => page.locator('[data-state="loading"]').count()).toBe(0);
  await expect.poll(() => page.getByRole('alert').count()).toBe(1);
  await own.close();
});
