/** Windows of the app: several, where they stand, and what a person sees when a page dies, hangs or cannot be loaded. */
import { expect, test } from 'vitest';
import { openDesktopState } from '../../src/main/desktop-state.ts';
import { againAddress, revivals } from '../../src/main/reviving.ts';
import { unresponsiveMs } from '../../src/main/windows.ts';
import { origin, startDesktop } from './support.ts';

const page = (address = ''): string => decodeURIComponent(address.replace(/^data:text\/html;charset=utf-8,/, ''));

test('a window comes back where it was closed, maximised if it was', async () => {
  const first = await startDesktop();
  const [window] = first.fake.windows;
  window!.bounds = { x: 300, y: 200, width: 1000, height: 700 };
  window!.done.push('maximize');
  window!.close();
  const second = await startDesktop({ profile: first.profile });
  const [again] = second.fake.windows;
  expect(again?.options).toMatchObject({ x: 300, y: 200, width: 1000, height: 700 });
  expect(again?.done).toContain('maximize');
  expect(openDesktopState(`${first.profile}/desktop.json`, () => {}).bounds()).toMatchObject({ maximized: true });
});

test('a quit by the menu keeps the place, too: it closes windows without asking them', async () => {
  const { fake, profile, timeline } = await startDesktop();
  fake.windows[0]!.bounds = { x: 70, y: 80, width: 900, height: 600 };
  fake.prevented('before-quit');
  await timeline.move(0);
  expect(openDesktopState(`${profile}/desktop.json`, () => {}).bounds()).toMatchObject({ x: 70, y: 80, width: 900 });
});

test('a page whose process is ended is loaded anew; after three times within a minute the window says what happened', async () => {
  const { fake, logged, timeline } = await startDesktop();
  const [window] = fake.windows;
  for (let time = 1; time <= revivals.max; time += 1) {
    window?.gone('killed');
    expect(window?.done.filter((one) => one === 'reload')).toHaveLength(time);
  }
  window?.gone('oom');
  expect(page(window?.loaded.at(-1))).toContain('It ran out of memory');
  expect(page(window?.loaded.at(-1))).toContain('nothing is lost');
  expect(logged.filter((line) => line.includes('The process of a page ended.'))).toHaveLength(4);
  window?.go('will-navigate', againAddress);
  await timeline.move(0);
  expect(window?.loaded.at(-1)).toBe(`${origin}/`);
  window?.gone('clean-exit');
  expect(window?.loaded.at(-1)).toBe(`${origin}/`);
});

test('a page that hangs is ended after ten seconds, one that comes to itself is not', async () => {
  const { fake, timeline } = await startDesktop();
  const [window] = fake.windows;
  window?.raise('unresponsive');
  await timeline.move(unresponsiveMs - 1);
  window?.raise('responsive');
  await timeline.move(unresponsiveMs);
  expect(window?.done).not.toContain('crash');
  window?.raise('unresponsive');
  await timeline.move(unresponsiveMs);
  expect(window?.done).toContain('crash');
});

test('only a main frame that could not be loaded is said, and a load that another one replaced is not', async () => {
  const { fake } = await startDesktop();
  const [window] = fake.windows;
  window?.failLoad(-3, `${origin}/`);
  window?.failLoad(-102, `${origin}/frame`, false);
  expect(window?.loaded).toEqual([`${origin}/`]);
  window?.failLoad(-102, `${origin}/`);
  expect(page(window?.loaded.at(-1))).toContain('Running bots keep running.');
});

test('what main says before the page listens reaches it then, and only the window in front is led', async () => {
  const { fake } = await startDesktop();
  fake.secondInstance(['gantry', 'gantry://inbox']);
  const [first] = fake.windows;
  expect(first?.sent).toEqual([]);
  await fake.call('desktop:read', [undefined], { id: first!.id, url: `${origin}/` });
  expect(first?.sent).toEqual([['desktop:say', { kind: 'go', path: '/inbox' }]]);
  const entries = fake.menus.app.flatMap(({ submenu }) => submenu as { label?: string; click?(): void }[]);
  entries.find(({ label }) => label === 'New Window')?.click?.();
  const second = fake.windows[1]!;
  await fake.call('desktop:read', [undefined], { id: second.id, url: `${origin}/` });
  fake.secondInstance(['gantry', 'gantry://floor']);
  expect([first?.sent.length, second.sent]).toEqual([1, [['desktop:say', { kind: 'go', path: '/floor' }]]]);
  await fake.call('desktop:change', [{ notifications: 'all' }], { id: second.id, url: `${origin}/` });
  for (const window of fake.windows) expect(window.sent.at(-1)).toMatchObject(['desktop:say', { kind: 'state' }]);
});

test('with every window closed to the tray a link opens a new one at its place', async () => {
  const { fake, timeline } = await startDesktop();
  const from = { id: fake.windows[0]!.id, url: `${origin}/` };
  await fake.call('desktop:change', [{ closeToTray: true }], from);
  fake.windows[0]?.close();
  await timeline.move(0);
  fake.secondInstance(['gantry', 'gantry://settings/desktop']);
  expect(fake.windows[0]?.loaded).toEqual([`${origin}/settings/desktop`]);
});
