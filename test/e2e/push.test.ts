/**
 * Pushes in a real browser: what wakes the page's worker, what its buttons do, where a click leads. DevTools delivers the push, since no
 * browser here reaches its vendor's service; what it delivers is what the cloud sent to a push service on this machine.
 */
import type { CDPSession, Worker } from 'playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pairUp, signIn } from '../host/paired-support.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import {
  type Browser,
  openBrowser,
  type Page,
  seeInPane,
  signInThrough,
  typeInto,
  type Visit,
  visit,
} from './support/browser.ts';
import { type Reach, startReach } from './support/reach.ts';

let reach: Reach;
let browser: Browser;
let ada: Visit;
const stop = keepUntilEnd();

beforeAll(async () => {
  [reach, browser] = await Promise.all([startReach(), openBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await stop();
  await reach?.close();
});

test('the page of a paired computer whose bots are at work', async () => {
  const installation = await reach.installation('notes');
  ada = await visit(browser, `${reach.origin}/floor`, { plain: true });
  const { page, context } = ada;
  await signInThrough(page, 'ada', reach.origin);
  await pairUp(installation, reach.people, await signIn(reach.people));
  await context.grantPermissions(['notifications'], { origin: reach.origin });
  await page.goto(`${reach.origin}/floor`);
  await page.getByRole('button', { name: 'Start notes' }).click();
  await page.getByRole('button', { name: 'Start 2 bots' }).click();
  for (const bot of ['web', 'ops']) {
    await page.locator(`[data-bot="${bot}@notes"]`, { hasText: 'Idle' }).waitFor({ timeout: 60_000 });
  }
});

/** The page's worker, active and in charge of the page, and the id by which DevTools knows its registration. */
async function registered({ page, context }: Visit, cdp: CDPSession): Promise<{ id: string; worker: Worker }> {
  const id = new Promise<string>((resolve) => {
    cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const one = registrations.find(({ scopeURL, isDeleted }) => scopeURL === `${reach.origin}/` && !isDeleted);
      if (one !== undefined) resolve(one.registrationId);
    });
  });
  await cdp.send('ServiceWorker.enable');
  const [known] = context.serviceWorkers();
  const worker = known === undefined ? context.waitForEvent('serviceworker', { timeout: 60_000 }) : known;
  await page.evaluate(async () => {
    await navigator.serviceWorker.register('/sw.js', { scope: '/' });
    // Claimed: it is past its activation.
    while (navigator.serviceWorker.controller === null) await new Promise((resolve) => setTimeout(resolve, 50));
  });
  return { id: await id, worker: await worker };
}

interface Scope {
  readonly registration: ServiceWorkerRegistration;
  dispatchEvent(event: Event): void;
  readonly NotificationEvent: new (type: string, init: object) => Event;
  /** Titles of what was shown, in order. */
  shown: string[];
}

/**
 * Within the worker: notes what it has shown. Chromium drops a notification that is on its way to the screen while somebody asks which
 * ones there are (about every second time), so nobody asks before it has said that it is shown.
 */
function noteShown(): void {
  const scope = self as never as Scope;
  const { registration } = scope;
  const show = registration.showNotification.bind(registration);
  scope.shown = [];
  registration.showNotification = async (title, options) => {
    await show(title, options);
    scope.shown.push(title);
  };
}

/** The question that has the focus. */
const asked = (page: Page): Promise<string> =>
  page.evaluate(() => document.activeElement?.closest('[data-approval]')?.textContent ?? '');

const shownSoFar = (): string[] => (self as never as Scope).shown;

/** Within the worker. */
async function titlesNow(): Promise<string[]> {
  return (await (self as never as Scope).registration.getNotifications()).map(({ title }) => title);
}

/** Within the worker: what a person does with the one notification; an empty action is a click on its text. */
async function pressed(action: string): Promise<void> {
  const scope = self as never as Scope;
  const [notification, ...others] = await scope.registration.getNotifications();
  if (notification === undefined || others.length > 0) throw new Error(`${others.length} others are shown`);
  scope.dispatchEvent(new scope.NotificationEvent('notificationclick', { notification, action }));
}

test('a push wakes the worker, whose button answers the question; a click leads into the open page', async () => {
  const { page, context } = ada;
  const cdp = await context.newCDPSession(page);
  const { id, worker } = await registered(ada, cdp);
  const device = reach.service.device();
  const added = await page.evaluate(async (subscription) => {
    const { csrf } = (await (await fetch('/api/v1/session')).json()) as { csrf: string };
    const { status } = await fetch('/api/v1/push/subscriptions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-platform-csrf': csrf },
      body: JSON.stringify({ ...subscription, name: 'This one' }),
    });
    return status;
  }, device.subscription);
  expect(added).toBe(201);
  // Another question has waited longer, and stands first wherever questions are.
  await typeInto(page, 'ops@notes', 'clear; gantry gate check shell.exec --wait 600 --command "touch other"');
  await page.getByRole('article').filter({ hasText: 'touch other' }).first().waitFor();
  await typeInto(
    page,
    'web@notes',
    'clear; gantry gate check shell.exec --wait 600 --command "touch pushed" && echo pushed-$?',
  );
  // A service whose answer came late may be sent the same once more.
  const push = () => device.received.find((one) => one.includes('touch pushed'));
  await expect.poll(push, { timeout: 60_000 }).toBeDefined();

  const wake = () =>
    cdp.send('ServiceWorker.deliverPushMessage', {
      origin: reach.origin,
      registrationId: id,
      data: push() ?? '',
    });
  /** All that was shown up to now, the last of it in place of the others. */
  const seen = async (...shown: readonly RegExp[]) => {
    const titles = shown.map((title) => expect.stringMatching(title));
    await expect.poll(() => worker.evaluate(shownSoFar)).toEqual(titles);
    expect(await worker.evaluate(titlesNow)).toEqual(titles.slice(-1));
  };
  const press = (action: string) => worker.evaluate(pressed, action);

  await worker.evaluate(noteShown);
  await wake();
  await seen(/asks for approval/);
  await press('');
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
  await expect.poll(() => asked(page)).toContain('touch pushed');
  await page.getByRole('link', { name: 'Floor' }).click();
  await wake();
  await seen(/asks for approval/, /asks for approval/);
  await press('approve');
  await seen(/asks for approval/, /asks for approval/, /^Approved$/);
  await seeInPane(page, 'web@notes', /^pushed-0/m);
  // The same button again, as on another device: the worker says who was first.
  await wake();
  const before = [/asks for approval/, /asks for approval/, /^Approved$/, /asks for approval/];
  await seen(...before);
  await press('reject');
  await seen(...before, /^Already answered$/);
  // It leads to the question all the same, which says who answered it; a key answers no other one from there.
  await press('');
  await expect.poll(() => asked(page)).toMatch(/touch pushed.*Approved by you/);
  await page.keyboard.press('r');
  await page.goto(`${reach.origin}/inbox?approval=apr_unknown`);
  await page.getByText('This question is no longer listed').waitFor();
  const waiting = page.getByRole('region', { name: 'Waiting for you' });
  await waiting
    .getByRole('article')
    .filter({ hasText: 'touch other' })
    .getByRole('button', { name: 'Reject' })
    .waitFor();
});
