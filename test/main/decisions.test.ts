/** What the desktop program decides without Electron: places of windows, what is news, menus, what is kept, the start with a session. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoginItemSettings, MenuItemConstructorOptions } from 'electron';
import { expect, onTestFinished, test } from 'vitest';
import type { Notification } from '../../src/contracts/notifications/routes.ts';
import { placeWindow, smallest } from '../../src/main/bounds.ts';
import { defaultSettings, openDesktopState } from '../../src/main/desktop-state.ts';
import { countsOf } from '../../src/main/feed.ts';
import { autostartEntry, canOpenAtLogin, setOpenAtLogin } from '../../src/main/login-item.ts';
import { appMenu, type MenuActs, trayMenu, trayWords } from '../../src/main/menus.ts';
import { createNews, freshMs, maxConcurrent, shownAs } from '../../src/main/news.ts';
import { createReviving, revivals } from '../../src/main/reviving.ts';

const display = { x: 0, y: 0, width: 1920, height: 1080 };
const left = { x: 100, y: 50, width: 1200, height: 800, maximized: false };

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-kept-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a window stands where it was left, while a display that exists shows enough of its top to take hold of', () => {
  expect(placeWindow(left, [display])).toEqual({ x: 100, y: 50, width: 1200, height: 800 });
  const right = { x: 1920, y: 0, width: 1280, height: 1024 };
  expect(placeWindow({ ...left, x: 2000 }, [display, right])).toMatchObject({ x: 2000 });
  // The second display is gone; the title bar is above the top; only a corner is to be seen.
  for (const lost of [{ x: 2000 }, { y: -20 }, { x: 1850 }, { x: -1150 }, { y: 1060 }]) {
    expect(placeWindow({ ...left, ...lost }, [display]), JSON.stringify(lost)).toEqual({ width: 1200, height: 800 });
  }
});

test('a window is never larger than its display nor smaller than its page, and without a display it still has a size', () => {
  const small = { x: 0, y: 0, width: 800, height: 600 };
  expect(placeWindow({ ...left, x: 0, y: 0 }, [small])).toEqual({ x: 0, y: 0, width: 800, height: 600 });
  expect(placeWindow({ ...left, width: 10, height: 10, x: 500, y: 500 }, [display])).toMatchObject(smallest);
  expect(placeWindow(null, [display])).toEqual({ width: 1440, height: 900 });
  expect(placeWindow(null, [])).toEqual({ width: 1440, height: 900 });
});

test('another window stands a little beside the last one', () => {
  expect(placeWindow(left, [display], [{ x: 10, y: 20, width: 700, height: 600 }])).toEqual({
    x: 38,
    y: 48,
    width: 700,
    height: 600,
  });
});

const at = '2026-03-01T08:00:00.000Z';
const row = (id: string, change: Partial<Notification> = {}): Notification => ({
  id,
  event: 'run.finished',
  title: `Run ${id}`,
  body: '',
  url: '/work',
  at,
  readAt: null,
  outcome: 'unreachable',
  ...change,
});
const away = { choice: 'all', watched: false } as const;
const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

test('each thing is told once, oldest first, and what was there at the first look is not news', () => {
  const news = createNews(() => Date.parse(at));
  expect(news.take([row('a')], away)).toEqual([]);
  expect(ids(news.take([row('c'), row('b'), row('a')], away))).toEqual(['b', 'c']);
  expect(news.take([row('c'), row('b'), row('a')], away)).toEqual([]);
});

test('what another device took as a push is not told again here, once that is known', () => {
  const news = createNews(() => Date.parse(at));
  const view = { choice: 'unless-pushed', watched: false } as const;
  news.take([], view);
  expect(news.take([row('a', { outcome: 'claimed' }), row('b', { outcome: 'claimed' })], view)).toEqual([]);
  expect(ids(news.take([row('a', { outcome: 'sent' }), row('b', { outcome: 'unreachable' })], view))).toEqual(['b']);
  expect(ids(news.take([row('d', { outcome: 'sent' })], away))).toEqual(['d']);
});

test('nothing is told that the page tells, that is off, read or old: after a day of sleep nobody wants a hundred of them', () => {
  const news = createNews(() => Date.parse(at));
  news.take([], away);
  expect(news.take([row('watched')], { ...away, watched: true })).toEqual([]);
  expect(news.take([row('none')], { ...away, choice: 'none' })).toEqual([]);
  expect(news.take([row('read', { readAt: at })], away)).toEqual([]);
  const old = new Date(Date.parse(at) - freshMs).toISOString();
  expect(news.take([row('old', { at: old })], away)).toEqual([]);
  // Passed over is passed over.
  expect(news.take([row('watched'), row('none'), row('old', { at: old })], away)).toEqual([]);
});

test('a few are told one by one, many as one that leads to the inbox', () => {
  const many = Array.from({ length: maxConcurrent + 1 }, (_, number) => row(String(number)));
  expect(shownAs(many.slice(1), [])).toHaveLength(maxConcurrent);
  expect(shownAs(many, [])).toEqual([
    { title: `${maxConcurrent + 1} new notifications`, body: 'Run 0\nRun 1\nRun 2', url: '/inbox', answers: null },
  ]);
});

test('panes, runs and needs are counted as the page counts them: a bot that asks is one need', () => {
  const bot = (id: string, state: string, pane: object | null = {}) => ({ id, state, pane });
  const campaign = (status: string, proven: number, total: number) => ({ status, proven, total });
  expect(
    countsOf(
      [bot('a', 'working'), bot('b', 'needs_you'), bot('c', 'blocked'), bot('d', 'offline', null)],
      [campaign('active', 1, 2), campaign('active', 2, 2), campaign('paused', 0, 1), campaign('finished', 1, 1)],
      [{ agentId: 'b' }, { agentId: null }],
    ),
  ).toEqual({ panes: 3, runs: 1, needs: 3 });
});

const nothing: MenuActs = { newWindow() {}, show() {}, lead() {}, openLogs() {}, quit() {} };
const labels = (entries: readonly MenuItemConstructorOptions[]): (string | undefined)[] =>
  entries.map(({ label, role, type }) => label ?? role ?? type);

test('the tray says what runs and who is needed, and leads there', () => {
  expect(trayWords({ panes: 1, runs: 0, needs: 0 })).toBe('Gantry: 1 pane live, 0 runs');
  expect(trayWords({ panes: 3, runs: 1, needs: 2 })).toBe('Gantry: 3 panes live, 1 run, 2 need you');
  expect(trayWords(null)).toBe('Gantry: does not answer');
  const needed = trayMenu({ panes: 3, runs: 1, needs: 2 }, nothing);
  expect(labels(needed).slice(0, 3)).toEqual(['3 panes live', '1 run', '2 need you']);
  expect(labels(needed)).toContain('Open Inbox');
  expect(labels(trayMenu({ panes: 3, runs: 1, needs: 0 }, nothing))).not.toContain('Open Inbox');
});

test('the menu has a page’s tools only from the sources, logs under Help, and on macOS the system’s own first', () => {
  const menu = appMenu(nothing, { platform: 'linux', packaged: true });
  const all = menu.flatMap(({ submenu }) => (submenu ?? []) as MenuItemConstructorOptions[]);
  expect(labels(all)).not.toContain('toggleDevTools');
  expect(labels(all)).toContain('Quit');
  expect(labels(menu.at(-1)?.submenu as MenuItemConstructorOptions[])).toEqual(['Open Logs']);
  const mac = appMenu(nothing, { platform: 'darwin', packaged: false });
  expect(mac[0]?.role).toBe('appMenu');
  expect(JSON.stringify(mac)).toContain('toggleDevTools');
});

test('choices and the window’s place are kept in a private file; a damaged one is as none, and said', () => {
  const file = join(scratch(), 'desktop', 'desktop.json');
  const faults: unknown[] = [];
  const open = () => openDesktopState(file, (fault) => faults.push(fault));
  const first = open();
  expect([first.settings(), first.bounds()]).toEqual([defaultSettings, null]);
  first.change({ closeToTray: true });
  first.stood(left);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const second = open();
  expect([second.settings().closeToTray, second.bounds()]).toEqual([true, left]);
  expect(faults).toEqual([]);
  for (const text of ['{', '[]', '{"settings":{"closeToTray":"yes"},"bounds":null}']) {
    writeFileSync(file, text);
    expect(open().settings(), text).toEqual(defaultSettings);
  }
  expect(faults).toHaveLength(3);
});

test('where the file cannot be written the choice holds for this run', () => {
  const folder = scratch();
  writeFileSync(join(folder, 'file'), '');
  const faults: unknown[] = [];
  const kept = openDesktopState(join(folder, 'file', 'desktop.json'), (fault) => faults.push(fault));
  expect(kept.change({ notifications: 'none' }).notifications).toBe('none');
  expect(kept.settings().notifications).toBe('none');
  expect(faults.length).toBeGreaterThan(0);
});

test('the start with a session is the system’s own on macOS and Windows, a file on Linux, and nothing from the sources', () => {
  const userHome = scratch();
  const told: Partial<LoginItemSettings>[] = [];
  const app = {
    isPackaged: true,
    setLoginItemSettings: (settings: Partial<LoginItemSettings>) => void told.push(settings),
  };
  const deps = { app, platform: 'linux', execPath: '/opt/My "Apps"/gantry', env: {}, userHome };
  const file = join(userHome, '.config', 'autostart', 'gantry.desktop');
  setOpenAtLogin(deps, true);
  expect(readFileSync(file, 'utf8')).toContain('Exec="/opt/My \\\\"Apps\\\\"/gantry" --quietly\n');
  setOpenAtLogin({ ...deps, env: { APPIMAGE: '/home/me/Gantry.AppImage' } }, true);
  expect(readFileSync(file, 'utf8')).toContain('Exec="/home/me/Gantry.AppImage" --quietly\n');
  setOpenAtLogin(deps, false);
  expect(existsSync(file)).toBe(false);
  setOpenAtLogin({ ...deps, platform: 'darwin' }, true);
  expect(told).toEqual([{ openAtLogin: true, args: ['--quietly'] }]);
  setOpenAtLogin({ ...deps, app: { ...app, isPackaged: false } }, true);
  expect(existsSync(file)).toBe(false);
  expect(canOpenAtLogin({ app: { ...app, isPackaged: false } })).toBe(false);
  expect(autostartEntry('/a%b')).toContain('Exec="/a%%b"');
});

test('a page is loaded anew three times within a minute, and again once that is over', () => {
  let now = 0;
  const mayRevive = createReviving(() => now);
  expect([mayRevive(), mayRevive(), mayRevive(), mayRevive()]).toEqual([true, true, true, false]);
  now = revivals.withinMs;
  expect(mayRevive()).toBe(true);
});
