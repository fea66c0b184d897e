/** The desktop window, against a substitute that has Electron's own types. */
import { expect, test } from 'vitest';
import { externalTarget, mayNavigate, readOpenAddress, sessionCookie } from '../../src/main/navigation.ts';
import { runShell } from '../../src/main/shell.ts';
import { createFakeElectron, type FakeElectron } from '../support/fake-electron.ts';

const origin = 'http://127.0.0.1:3010';
const openAddress = `${origin}/open?t=code`;
const cookieLine = 'gantry_3010=secret; Path=/; HttpOnly; SameSite=Strict';

async function start(
  fake: FakeElectron,
  change: { openAddress?: string; status?: number; setCookie?: string | null } = {},
): Promise<{ said: string[]; asked: string[] }> {
  const said: string[] = [];
  const asked: string[] = [];
  await runShell({
    ...fake,
    preload: '/app/preload.cjs',
    profile: '/home/me/.gantry/desktop',
    openAddress: 'openAddress' in change ? change.openAddress : openAddress,
    say: (sentence) => said.push(sentence),
    fetch: async (input, init) => {
      asked.push(`${String(input)} ${init?.redirect}`);
      const headers = new Headers();
      if (change.setCookie !== null) headers.append('set-cookie', change.setCookie ?? cookieLine);
      return new Response(null, { status: change.status ?? 303, headers });
    },
  });
  return { said, asked };
}

test('the window is shown with a cookie that main got for the one-time code; the code never reaches the page', async () => {
  const fake = createFakeElectron();
  const { asked } = await start(fake);
  expect(asked).toEqual([`${openAddress} manual`]);
  expect(fake.cookies).toEqual([
    { url: origin, name: 'gantry_3010', value: 'secret', path: '/', httpOnly: true, sameSite: 'strict' },
  ]);
  expect(fake.done).toEqual([
    'path userData /home/me/.gantry/desktop',
    'ready',
    'cookie',
    'window',
    `load ${origin}/`,
    'show',
  ]);
});

test('every window is isolated, sandboxed and without Node', async () => {
  const fake = createFakeElectron();
  await start(fake);
  expect(fake.windows).toHaveLength(1);
  expect(fake.windows[0]?.webPreferences).toEqual({
    preload: '/app/preload.cjs',
    contextIsolation: true,
    sandbox: true,
    nodeIntegration: false,
    webviewTag: false,
  });
});

test.each(['will-navigate', 'will-redirect', 'will-frame-navigate'] as const)('%s stays with Gantry', async (event) => {
  const fake = createFakeElectron();
  await start(fake);
  expect(fake.contents(event, `${origin}/floor`)).toBe(false);
  for (const elsewhere of [
    'https://example.com/',
    'http://127.0.0.1:3011/',
    'http://localhost:3010/',
    'file:///etc/passwd',
    'x',
  ])
    expect(fake.contents(event, elsewhere), elsewhere).toBe(true);
});

test('no window opens from a page; https and mail go to the person’s own programs, nothing else does', async () => {
  const fake = createFakeElectron();
  await start(fake);
  fake.done.length = 0;
  for (const url of [
    'https://example.com/a',
    'mailto:a@b.c',
    'http://example.com',
    'file:///x',
    'javascript:1',
    'ms-x:y',
    '%',
  ]) {
    expect(fake.openWindow(url)).toEqual({ action: 'deny' });
  }
  expect(fake.done).toEqual(['external https://example.com/a', 'external mailto:a@b.c']);
});

test('webviews are never attached', async () => {
  const fake = createFakeElectron();
  await start(fake);
  expect(fake.contents('will-attach-webview', '')).toBe(true);
});

test('only our own page may notify and write to the clipboard; every other permission is denied', async () => {
  const fake = createFakeElectron();
  await start(fake);
  expect(fake.mayUse('notifications', `${origin}/`)).toEqual({ asked: true, checked: true });
  expect(fake.mayUse('clipboard-sanitized-write', `${origin}/`)).toEqual({ asked: true, checked: true });
  for (const permission of [
    'media',
    'geolocation',
    'clipboard-read',
    'openExternal',
    'usb',
    'hid',
    'serial',
    'fullscreen',
  ])
    expect(fake.mayUse(permission, `${origin}/`), permission).toEqual({ asked: false, checked: false });
  expect(fake.mayUse('notifications', 'https://example.com/')).toEqual({ asked: false, checked: false });
});

test('a second window shows the first one instead', async () => {
  const second = createFakeElectron({ secondInstance: true });
  await start(second);
  expect(second.done).toEqual([expect.stringContaining('path'), 'quit']);
  const first = createFakeElectron({ minimized: true });
  await start(first);
  first.raise('second-instance');
  expect(first.done.slice(-2)).toEqual(['restore', 'focus']);
});

test('closing the window quits: whoever started it then ends the servers', async () => {
  const fake = createFakeElectron();
  await start(fake);
  fake.raise('window-all-closed');
  expect(fake.done.at(-1)).toBe('quit');
});

test.each([
  undefined,
  '',
  'https://127.0.0.1:3010/open?t=x',
  'http://example.com/open?t=x',
  'http://127.0.0.1:3010/other?t=x',
  'http://127.0.0.1:3010/open',
])('without a one-time address of this computer (%s) nothing is shown', async (address) => {
  const fake = createFakeElectron();
  const { said, asked } = await start(fake, { openAddress: address });
  expect(fake.done.at(-1)).toBe('exit 3');
  expect(asked).toEqual([]);
  expect(said).toHaveLength(1);
});

test.each([
  ['an old code', { status: 410, setCookie: null }],
  ['a cookie that pages could read', { setCookie: 'gantry_3010=secret; Path=/' }],
])('%s shows no window', async (_name, change) => {
  const fake = createFakeElectron();
  const { said } = await start(fake, change);
  expect(fake.windows).toEqual([]);
  expect(fake.done.at(-1)).toBe('exit 3');
  expect(said).toHaveLength(1);
});

test('the guards are exact', () => {
  expect(mayNavigate(`${origin}.evil.com/`, origin)).toBe(false);
  expect(mayNavigate(`http://user@127.0.0.1:3010/x`, origin)).toBe(true);
  expect(mayNavigate('http://127.0.0.1:3010@evil.com/', origin)).toBe(false);
  expect(externalTarget('HTTPS://example.com')).toBe('https://example.com/');
  expect(readOpenAddress('http://127.0.0.1:3010@evil.com/open?t=x')).toBeNull();
  expect(sessionCookie(['a=1; Path=/', 'b=x=y; httponly'])).toEqual({ name: 'b', value: 'x=y' });
});
