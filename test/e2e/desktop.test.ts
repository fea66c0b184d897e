/**
 * What only the desktop app shows, in a real browser with a substitute of its bridge (the same contract): its settings, its updates, where
 * main leads the page, and the pages of a Gantry that cannot be shown.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DesktopState, Saying } from '../../src/contracts/desktop/channels.ts';
import { faultPage, pageGone } from '../../src/main/reviving.ts';
import { axe, type Browser, go, openBrowser, type Page, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, picture, wide } from './support/looks.ts';

const fresh: DesktopState = {
  settings: { closeToTray: false, openAtLogin: false, notifications: 'unless-pushed' },
  canOpenAtLogin: true,
  hasTray: true,
  servers: 'own',
  logs: '/home/me/.gantry/logs',
  update: { kind: 'current', checkedAt: null },
};

/** Within the page: keeps what it is told, and lets the test speak as main. */
function substitute(state: DesktopState): void {
  const calls: unknown[] = [];
  const listeners = new Set<(saying: unknown) => void>();
  let now = state;
  Object.assign(window, {
    desktop: {
      platform: 'linux',
      read: async () => now,
      change: async (change: object) => {
        calls.push(change);
        now = { ...now, settings: { ...now.settings, ...change } };
        return now;
      },
      act: async (act: string) => {
        calls.push(act);
        if (act === 'check-updates') throw new Error("Error invoking remote method 'desktop:act'");
        return now;
      },
      onSay: (listener: (saying: unknown) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    desktopTest: {
      calls,
      say: (saying: unknown) => {
        for (const listener of listeners) listener(saying);
      },
    },
  });
}

interface Tested {
  readonly desktopTest: { readonly calls: unknown[]; say(saying: unknown): void };
}
const say = (page: Page, saying: Saying | { kind: string }): Promise<void> =>
  page.evaluate((said) => (window as unknown as Tested).desktopTest.say(said), saying);
const calls = (page: Page): Promise<unknown[]> => page.evaluate(() => (window as unknown as Tested).desktopTest.calls);

let gantry: Gantry;
let browser: Browser;
let signedIn: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty' }), openBrowser()]);
  signedIn = await visit(browser, gantry.url);
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

/** One app of each size; whoever comes finds it as it was installed, on the page of its settings. */
const apps = new Map<number, Visit>();
async function inApp(size: { width: number; height: number } = wide): Promise<Visit> {
  let seen = apps.get(size.width);
  if (seen === undefined) {
    seen = await visit(browser, 'about:blank', { ...size, like: signedIn.context });
    await seen.context.addInitScript(substitute, fresh);
    apps.set(size.width, seen);
  }
  await seen.page.goto(`${gantry.origin}/settings/desktop`);
  await seen.page.getByText('Stay in the tray').waitFor();
  return seen;
}

test('a browser has none of it: not among the settings, not among the commands', async () => {
  const { page } = signedIn;
  await page.goto(`${gantry.origin}/settings/general`);
  await page.getByRole('link', { name: 'Usage' }).waitFor();
  expect(await page.getByRole('link', { name: 'Desktop' }).count()).toBe(0);
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').fill('Settings: Desktop');
  await page.getByText('Settings: Usage').waitFor({ state: 'detached' });
  expect(await page.getByRole('option', { name: 'Settings: Desktop' }).count()).toBe(0);
  await page.keyboard.press('Escape');
  await go(page, '/settings/desktop');
  await page.getByText('These settings are for the desktop app').waitFor();
  expect(signedIn.errors).toEqual([]);
});

describe.each([wide, narrow])('in a $name window', (size) => {
  test('the settings of the app, and what becomes of an update; axe finds nothing', async () => {
    const seen = await inApp(size);
    const { page } = seen;
    await looked(page, 'desktop-settings', { light: true });
    const states: [DesktopState['update'], RegExp][] = [
      [{ kind: 'off', why: 'No update feed is set (GANTRY_UPDATE_FEED).' }, /No update feed/],
      [{ kind: 'downloading', version: '0.2.0', percent: 40 }, /40 % downloaded/],
      [{ kind: 'failed', why: 'net::ERR_INTERNET_DISCONNECTED' }, /ERR_INTERNET_DISCONNECTED/],
      [{ kind: 'ready', version: '0.2.0', waits: '2 runs go on' }, /Not installed: 2 runs go on/],
    ];
    for (const [update, words] of states) {
      await say(page, { kind: 'state', state: { ...fresh, update } });
      await page.getByText(words).waitFor();
    }
    await looked(page, 'desktop-update', { light: true });
    await say(page, { kind: 'state', state: { ...fresh, servers: 'attached', hasTray: false, canOpenAtLogin: false } });
    await page.getByText('They run in another program and keep running without this app.').waitFor();
    await page.getByText('This desktop has no tray').waitFor();
    expect(await page.getByRole('switch').count()).toBe(0);
    expect(seen.errors).toEqual([]);
  });
});

test('each choice goes to main as it was made, and what main answers is shown', async () => {
  const seen = await inApp();
  const { page } = seen;
  await page.getByRole('switch', { name: 'Stay in the tray' }).click();
  await page.getByRole('switch', { name: 'Stay in the tray', checked: true }).waitFor();
  await page.getByRole('switch', { name: 'Start when you sign in' }).click();
  await page.getByRole('switch', { name: 'Start when you sign in', checked: true }).waitFor();
  await page.getByRole('combobox', { name: 'Notifications' }).selectOption('none');
  await page.getByRole('button', { name: 'Open logs' }).click();
  const made = [{ closeToTray: true }, { openAtLogin: true }, { notifications: 'none' }, 'open-logs'];
  await expect.poll(() => calls(page)).toEqual(made);
  await page.getByRole('button', { name: 'Check for updates' }).click();
  await page.getByRole('alert').waitFor();
  expect(await calls(page)).toEqual([...made, 'check-updates']);
  expect(seen.errors).toEqual([]);
});

test('main leads to a page or by a window event of the app; other words do nothing', async () => {
  const seen = await inApp();
  const { page } = seen;
  await say(page, { kind: 'go', path: '/inbox' });
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
  await say(page, { kind: 'go', path: '//evil.example/' });
  await say(page, { kind: 'quit' });
  await say(page, { kind: 'event', name: 'platform:switch-mode', detail: { mode: 'code' } });
  await page.getByRole('heading', { name: 'Floor', level: 1 }).waitFor();
  expect(new URL(page.url()).origin).toBe(gantry.origin);
  await page.goto(`${gantry.origin}/settings/notifications`);
  await page.getByText('System notifications').waitFor();
  await page.getByRole('link', { name: 'Choose which' }).click();
  await page.getByText('Stay in the tray').waitFor();
  expect(seen.errors).toEqual([]);
});

test.each([
  [
    'desktop-cannot-start',
    {
      title: 'Gantry could not start',
      fact: 'Port 3010 is taken by another program.',
      action: 'Stop it, or set GANTRY_PORT to another one and start the app again.',
    },
  ],
  ['desktop-page-gone', pageGone('oom', '/home/me/.gantry/logs')],
])('a page that needs no server says what happened and what to do: %s', async (name, fault) => {
  const seen = await visit(browser, faultPage(fault), wide);
  const { page } = seen;
  await page.getByRole('heading', { name: fault.title, level: 1 }).waitFor();
  await page.getByRole('link', { name: 'Try again' }).waitFor();
  expect(await axe(page)).toEqual([]);
  await picture(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: 'light' });
  expect(await axe(page)).toEqual([]);
  await picture(page, `${name}-light`);
  await page.setViewportSize(narrow);
  await picture(page, `${name}-390`);
  expect(seen.errors).toEqual([]);
  await seen.close();
});
