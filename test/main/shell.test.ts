/** The desktop program from its start to its end, against a substitute that has Electron's own types. */
import { expect, test } from 'vitest';
import { AppError } from '../../src/contracts/common/errors.ts';
import { againAddress } from '../../src/main/reviving.ts';
import { createFakeElectron } from '../support/fake-electron.ts';
import { origin, startDesktop } from './support.ts';

const page = (address: string): string => decodeURIComponent(address.replace(/^data:text\/html;charset=utf-8,/, ''));

test('main spends a one-time address for the cookie and sets it; the page is loaded with neither', async () => {
  const { fake, asked, logged } = await startDesktop();
  expect(asked[0]).toBe('/open?t=code manual');
  expect(fake.cookies).toEqual([
    { url: origin, name: 'gantry_3010', value: 'secret', path: '/', httpOnly: true, sameSite: 'strict' },
  ]);
  expect(fake.windows.map(({ loaded }) => loaded)).toEqual([[`${origin}/`]]);
  expect(logged).toContain('secret secret');
  expect(logged.filter((line) => !line.startsWith('secret')).join()).not.toContain('secret');
});

test('the lock is taken before anything is opened, and a second program shows the first and ends', async () => {
  const { fake, servers } = await startDesktop();
  expect(fake.done.slice(0, 2)).toEqual([expect.stringMatching(/^path userData /), 'lock']);
  expect(servers).toEqual(['open']);
  const second = await startDesktop({ secondInstance: true });
  expect(second.shell).toBeNull();
  expect(second.fake.done.at(-1)).toBe('exit 0');
  expect([second.servers, second.asked]).toEqual([[], []]);
  fake.windows[0]!.minimized = true;
  fake.secondInstance(['gantry']);
  expect(fake.windows[0]?.done.slice(-3)).toEqual(['restore', 'show', 'focus']);
  expect(fake.windows).toHaveLength(1);
});

test('what a second program was started with leads the first: a link of ours to its place, a hostile one nowhere', async () => {
  const { fake, logged } = await startDesktop();
  const [window] = fake.windows;
  await fake.call('desktop:read', [undefined], { id: window!.id, url: `${origin}/` });
  fake.secondInstance(['gantry', '--flag', 'gantry://inbox']);
  expect(window?.sent).toEqual([['desktop:say', { kind: 'go', path: '/inbox' }]]);
  fake.secondInstance(['gantry', 'gantry://inbox/../../api/factory/stop?all=1']);
  expect(window?.sent).toHaveLength(1);
  expect(logged.join('\n')).toContain('A link was refused.');
});

test('a link fills in a new run, names only a repository that was used before, and starts nothing', async () => {
  const repository = { path: '/home/me/shop', name: 'shop', branch: 'main', lastUsed: null };
  const choices = { repositories: [repository], programs: [], models: [], providers: [] };
  const { fake, asked } = await startDesktop({ answers: { '/api/factory/quick-runs/choices': choices } });
  const [window] = fake.windows;
  await fake.call('desktop:read', [undefined], { id: window!.id, url: `${origin}/` });
  const before = asked.length;
  fake.secondInstance(['gantry', 'gantry://new?prompt=Fix&repo=/home/me/shop']);
  await expect
    .poll(() => window?.sent.at(-1))
    .toEqual(['desktop:say', { kind: 'go', path: '/?new=1&prompt=Fix&repo=%2Fhome%2Fme%2Fshop' }]);
  fake.secondInstance(['gantry', 'gantry://new?prompt=Fix&repo=/home/me/other']);
  await expect.poll(() => window?.sent.at(-1)).toEqual(['desktop:say', { kind: 'go', path: '/?new=1&prompt=Fix' }]);
  expect(asked.slice(before).map((one) => one.split(' ')[0])).toEqual([
    '/api/factory/quick-runs/choices',
    '/api/factory/quick-runs/choices',
  ]);
});

test('a link that comes while another try is under way leads as soon as there is something to show', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { fake } = await startDesktop({
    open: (attempt) => (attempt === 1 ? Promise.reject(new Error('no disk')) : promise.then(() => ({}))),
  });
  const [window] = fake.windows;
  window?.go('will-navigate', againAddress);
  fake.secondInstance(['gantry', 'gantry://inbox']);
  resolve();
  await expect.poll(() => window?.loaded.at(-1)).toBe(`${origin}/`);
  await fake.call('desktop:read', [undefined], { id: window!.id, url: `${origin}/` });
  await expect.poll(() => window?.sent).toEqual([['desktop:say', { kind: 'go', path: '/inbox' }]]);
});

test('a link of the system is kept from it and waits until there is something to show', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const fake = createFakeElectron();
  const started = startDesktop({ fake, open: () => promise.then(() => ({})) });
  await new Promise((next) => setTimeout(next, 5));
  expect(fake.prevented('open-url', 'gantry://node/dag_1/node_1')).toBe(true);
  expect(fake.windows).toEqual([]);
  resolve();
  await started;
  const [window] = fake.windows;
  expect(window?.sent).toEqual([]);
  await fake.call('desktop:read', [undefined], { id: window!.id, url: `${origin}/` });
  expect(window?.sent).toEqual([
    [
      'desktop:say',
      { kind: 'event', name: 'platform:factory-open-node', detail: { dagId: 'dag_1', nodeId: 'node_1' } },
    ],
  ]);
});

test('a start that fails is a page with what happened and what to do; another try shows Gantry', async () => {
  const taken = new AppError('transport', 'Port 3010 is taken by process 7.', 'Stop it, or set GANTRY_PORT.');
  const { fake, servers, timeline } = await startDesktop({
    open: (attempt) => (attempt === 1 ? Promise.reject(taken) : {}),
  });
  const [window] = fake.windows;
  expect(page(window?.loaded[0] ?? '')).toContain('Port 3010 is taken by process 7.');
  expect(page(window?.loaded[0] ?? '')).toContain('Stop it, or set GANTRY_PORT.');
  expect(fake.cookies).toEqual([]);
  expect(window?.go('will-navigate', againAddress)).toBe(true);
  await timeline.move(0);
  expect(servers).toEqual(['open', 'open']);
  expect(window?.loaded.at(-1)).toBe(`${origin}/`);
});

test.each([
  ['an old code', null],
  ['a cookie that pages could read', 'gantry_3010=secret; Path=/'],
])('%s is not taken: the window says so and shows nothing of Gantry', async (_name, setCookie) => {
  const { fake } = await startDesktop({ setCookie });
  expect(fake.cookies).toEqual([]);
  expect(page(fake.windows[0]?.loaded[0] ?? '')).toContain('refused its own window');
});

test('quit closes the servers once, in order, and ends with 0; the last window quits as well', async () => {
  const menu = await startDesktop();
  expect(menu.fake.prevented('before-quit')).toBe(true);
  menu.shell?.quit(70);
  await menu.timeline.move(0);
  expect(menu.servers).toEqual(['open', 'close']);
  expect(menu.fake.done.at(-1)).toBe('exit 0');
  expect(menu.fake.tray.alive).toBe(false);
  const closed = await startDesktop();
  closed.fake.windows[0]?.close();
  await closed.timeline.move(0);
  expect([closed.servers.at(-1), closed.fake.done.at(-1)]).toEqual(['close', 'exit 0']);
});

test('servers that do not close hold the end up for five seconds and no longer', async () => {
  const { fake, shell, timeline, logged } = await startDesktop({
    open: () => ({ close: () => new Promise(() => {}) }),
  });
  shell?.quit(0);
  await timeline.move(4_999);
  expect(fake.done.join()).not.toContain('exit');
  await timeline.move(1);
  expect(fake.done.at(-1)).toBe('exit 70');
  expect(logged.join('\n')).toContain('did not close cleanly');
});

test('a fault that nobody caught closes in order and ends with 70', async () => {
  const { fake, shell, timeline, servers } = await startDesktop();
  shell?.quit(70);
  await timeline.move(0);
  expect([servers.at(-1), fake.done.at(-1)]).toEqual(['close', 'exit 70']);
});

test('closing to the tray is the person’s choice, kept over starts, and needs a tray', async () => {
  const first = await startDesktop();
  const from = { id: first.fake.windows[0]!.id, url: `${origin}/settings/desktop` };
  expect(await first.fake.call('desktop:change', [{ closeToTray: true }], from)).toMatchObject({
    settings: { closeToTray: true },
    hasTray: true,
  });
  first.fake.windows[0]?.close();
  await first.timeline.move(0);
  expect(first.servers).toEqual(['open']);
  first.fake.tray.emit('click');
  expect(first.fake.windows).toHaveLength(1);
  const without = await startDesktop({ profile: first.profile, tray: false });
  without.fake.windows[0]?.close();
  await without.timeline.move(0);
  expect(without.fake.done.at(-1)).toBe('exit 0');
});

test('sleep lets go of the link and stops asking; a day later both go on', async () => {
  const { fake, servers, timeline, asked } = await startDesktop();
  fake.power('suspend');
  expect(servers.at(-1)).toBe('rest true');
  const before = asked.length;
  await timeline.move(24 * 60 * 60_000);
  expect(asked).toHaveLength(before);
  fake.power('resume');
  await timeline.move(0);
  expect(servers.at(-1)).toBe('rest false');
  expect(asked.length).toBeGreaterThan(before);
});

test('an attached program shows the other one’s servers, and starts its own once those are gone and the person asks', async () => {
  const { fake, servers, timeline } = await startDesktop({ kind: 'attached' });
  const [window] = fake.windows;
  const state = await fake.call('desktop:read', [undefined], { id: window!.id, url: `${origin}/` });
  expect(state).toMatchObject({ servers: 'attached' });
  window?.failLoad(-102, `${origin}/floor`);
  expect(page(window?.loaded.at(-1) ?? '')).toContain('Gantry does not answer');
  window?.go('will-navigate', againAddress);
  await timeline.move(0);
  expect(servers).toEqual(['open', 'open']);
  expect(window?.loaded.at(-1)).toBe(`${origin}/`);
});

test('what ends beside the pages is written down', async () => {
  const { fake, logged } = await startDesktop();
  fake.childGone({ type: 'GPU', reason: 'crashed', exitCode: 11, name: 'gpu' });
  expect(logged.at(-1)).toContain('"type":"GPU","reason":"crashed","exitCode":11');
});

test('started with the session it shows no window, unless it has something to say or no tray to be found by', async () => {
  const quiet = await startDesktop({ argv: ['--quietly'] });
  expect(quiet.fake.windows).toEqual([]);
  const failed = await startDesktop({ argv: ['--quietly'], open: () => Promise.reject(new Error('broken')) });
  expect(page(failed.fake.windows[0]?.loaded[0] ?? '')).toContain('broken');
  expect((await startDesktop({ argv: ['--quietly'], tray: false })).fake.windows).toHaveLength(1);
});
