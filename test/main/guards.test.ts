/** What every page of the desktop app may do, rule by rule, against a substitute that has Electron's own types. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { externalTarget, mayNavigate, sessionCookie } from '../../src/main/navigation.ts';
import { againAddress } from '../../src/main/reviving.ts';
import { origin, startDesktop } from './support.ts';

test('1. every window is isolated, sandboxed and without Node, and nothing of the web’s own guard is touched', async () => {
  const { fake } = await startDesktop();
  const entries = fake.menus.app.flatMap(({ submenu }) => submenu as { label?: string; click?(): void }[]);
  entries.find(({ label }) => label === 'New Window')?.click?.();
  expect(fake.windows).toHaveLength(2);
  for (const { options } of fake.windows) {
    expect(options.webPreferences).toEqual({
      preload: '/app/preload.cjs',
      contextIsolation: true,
      sandbox: true,
      nodeIntegration: false,
      webviewTag: false,
    });
  }
});

test('2. webviews are never attached; a page opens no window; https and mailto go to the person’s own programs', async () => {
  const { fake } = await startDesktop();
  const [window] = fake.windows;
  expect(window?.go('will-attach-webview', '')).toBe(true);
  fake.done.length = 0;
  const hostile = [
    'http://example.com',
    'file:///etc/passwd',
    'javascript:1',
    'ms-x:y',
    'smb://a/b',
    'data:text/html,x',
    '%',
  ];
  for (const url of ['https://example.com/a', 'mailto:a@b.c', ...hostile, againAddress.replace('https', 'http')]) {
    expect(window?.open(url)).toEqual({ action: 'deny' });
  }
  expect(fake.done).toEqual(['external https://example.com/a', 'external mailto:a@b.c']);
  expect(fake.windows).toHaveLength(1);
});

test.each(['will-navigate', 'will-redirect', 'will-frame-navigate'] as const)(
  '3. %s leaves our origin for nothing, and no page of ours can ask for another try',
  async (event) => {
    const { fake, servers } = await startDesktop();
    const [window] = fake.windows;
    expect(window?.go(event, `${origin}/floor`)).toBe(false);
    for (const url of [
      'https://example.com/',
      'http://127.0.0.1:3011/',
      'https://127.0.0.1:3010/',
      'http://localhost:3010/',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'data:text/html,x',
      'gantry://inbox',
      againAddress,
    ])
      expect(window?.go(event, url), url).toBe(true);
    expect(servers).toEqual(['open']);
  },
);

test('4. only our own page may notify and write to the clipboard; every other permission and every device is denied', async () => {
  const { fake } = await startDesktop();
  const yes = { asked: true, checked: true, device: false };
  const no = { asked: false, checked: false, device: false };
  expect(fake.mayUse('notifications', `${origin}/`)).toEqual(yes);
  expect(fake.mayUse('clipboard-sanitized-write', `${origin}/`)).toEqual(yes);
  for (const permission of [
    ...['media', 'geolocation', 'clipboard-read', 'openExternal', 'usb', 'hid', 'serial', 'fullscreen', 'midiSysex'],
    ...['pointerLock', 'display-capture', 'mediaKeySystem', 'idle-detection', 'fileSystem', 'speaker-selection'],
  ])
    expect(fake.mayUse(permission, `${origin}/`), permission).toEqual(no);
  expect(fake.mayUse('notifications', 'https://example.com/')).toEqual(no);
});

test('4. while there is no Gantry to show nothing may be gone to and nothing is allowed', async () => {
  const { fake } = await startDesktop({ open: () => Promise.reject(new Error('no')) });
  expect(fake.windows[0]?.go('will-navigate', `${origin}/`)).toBe(true);
  expect(fake.mayUse('notifications', `${origin}/`)).toEqual({ asked: false, checked: false, device: false });
});

test('6. a page calls the channels of the table and no other, from the main frame of our window with our origin', async () => {
  const { fake, logged } = await startDesktop();
  const { id } = fake.windows[0]!;
  const ours = { id, url: `${origin}/settings/desktop` };
  expect(fake.channels()).toEqual(['desktop:act', 'desktop:change', 'desktop:read']);
  await expect(fake.call('desktop:read', [undefined], ours)).resolves.toMatchObject({ servers: 'own' });
  const refusals: [string, unknown[], Parameters<typeof fake.call>[2], string][] = [
    ['desktop:read', [undefined], { ...ours, id: 99 }, 'no window of ours'],
    ['desktop:read', [undefined], { ...ours, frame: 'child' }, 'no main frame'],
    ['desktop:read', [undefined], { ...ours, frame: 'gone' }, 'no main frame'],
    ['desktop:read', [undefined], { id, url: 'https://example.com/' }, 'another origin'],
    ['desktop:read', [undefined], { id, url: '' }, 'another origin'],
    ['desktop:read', [{}], ours, 'another shape'],
    ['desktop:read', [undefined, 1], ours, 'another shape'],
    ['desktop:change', [{ closeToTray: 'yes' }], ours, 'another shape'],
    ['desktop:change', [{ closeToTray: true, profile: '/tmp' }], ours, 'another shape'],
    ['desktop:change', [undefined], ours, 'another shape'],
    ['desktop:act', ['quit'], ours, 'another shape'],
  ];
  for (const [channel, payload, from, why] of refusals) {
    logged.length = 0;
    await expect(fake.call(channel, payload, from), why).rejects.toThrow('was refused');
    expect(logged.join(), why).toContain(why);
  }
});

test('6. the bridge has these keys and nothing that passes a channel on', () => {
  const text = readFileSync(new URL('../../src/preload/preload.ts', import.meta.url), 'utf8');
  const bridge = /const bridge: DesktopBridge = \{([\s\S]*?)^\};/m.exec(text)?.[1] ?? '';
  expect([...bridge.matchAll(/^ {2}(\w+)[:(]/gm)].map((match) => match[1])).toMatchInlineSnapshot(`
    [
      "platform",
      "read",
      "change",
      "act",
      "onSay",
    ]
  `);
  expect(text.match(/exposeInMainWorld\([^)]*\)/g)).toEqual(["exposeInMainWorld('desktop', bridge)"]);
});

test('7. nothing of the desktop program is loaded from a file', async () => {
  const { fake } = await startDesktop();
  expect(fake.windows.flatMap(({ loaded }) => loaded).every((address) => address.startsWith(`${origin}/`))).toBe(true);
});

test('10. Electron is not older than the line that Gantry was made for', () => {
  const { devDependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(Number(devDependencies.electron.split('.')[0])).toBeGreaterThanOrEqual(45);
});

test('the guards are exact', () => {
  expect(mayNavigate(`${origin}.evil.com/`, origin)).toBe(false);
  expect(mayNavigate(`http://user@127.0.0.1:3010/x`, origin)).toBe(true);
  expect(mayNavigate('http://127.0.0.1:3010@evil.com/', origin)).toBe(false);
  expect(externalTarget('HTTPS://example.com')).toBe('https://example.com/');
  expect(sessionCookie(['a=1; Path=/', 'b=x=y; httponly'])).toEqual({ name: 'b', value: 'x=y' });
});
