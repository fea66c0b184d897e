/** Updates: the table of states walked whole, and what the driver does with an updater. */
import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { UpdateState } from '../../src/contracts/desktop/channels.ts';
import {
  createUpdates,
  nextUpdateState,
  type UpdateEvent,
  type Updater,
  updateEveryMs,
  updateStates,
} from '../../src/main/updates.ts';
import { origin, startDesktop } from './support.ts';

const samples: Record<UpdateState['kind'], UpdateState> = {
  off: { kind: 'off', why: 'x' },
  current: { kind: 'current', checkedAt: null },
  checking: { kind: 'checking' },
  downloading: { kind: 'downloading', version: '2.0.0', percent: 3 },
  ready: { kind: 'ready', version: '2.0.0', waits: null },
  installing: { kind: 'installing', version: '2.0.0' },
  failed: { kind: 'failed', why: 'x' },
};
const events: UpdateEvent[] = [
  { name: 'check' },
  { name: 'none', at: '2026-03-01T08:00:00.000Z' },
  { name: 'found', version: '2.0.0' },
  { name: 'progress', percent: 140.4 },
  { name: 'fetched', version: '2.0.0' },
  { name: 'failed', why: 'no network' },
  { name: 'install' },
  { name: 'wait', why: '1 run is under way' },
];

test('every state and every event: what leads where, and that all else leads nowhere', () => {
  const table = Object.fromEntries(
    Object.entries(samples).map(([kind, state]) => [
      kind,
      events.flatMap((event) => {
        const next = nextUpdateState(state, event);
        expect(UpdateState.parse(next)).toEqual(next);
        expect(next === state).toBe(updateStates[state.kind][event.name] === undefined);
        return next === state ? [] : [`${event.name} → ${next.kind}`];
      }),
    ]),
  );
  expect(table).toEqual({
    off: [],
    current: ['check → checking'],
    checking: ['none → current', 'found → downloading', 'failed → failed'],
    downloading: ['progress → downloading', 'fetched → ready', 'failed → failed'],
    ready: ['install → installing', 'wait → ready'],
    installing: ['failed → failed'],
    failed: ['check → checking'],
  });
});

function fakeUpdater(check: (emit: (event: string, value?: unknown) => void) => Promise<void> = async () => {}) {
  const events = new EventEmitter();
  const done: string[] = [];
  const updater: Updater & { autoDownload: boolean } = Object.assign(events, {
    autoDownload: false,
    autoInstallOnAppQuit: true,
    setFeedURL: ({ url }: { url: string }) => void done.push(`feed ${url}`),
    checkForUpdates: async () => {
      done.push('check');
      await check((event, value) => events.emit(event, value));
    },
    quitAndInstall: () => void done.push('install'),
  });
  return { updater, done };
}

const feed = 'https://updates.example/gantry';

function open(change: Partial<Parameters<typeof createUpdates>[0]> = {}) {
  const seen: UpdateState[] = [];
  const every: number[] = [];
  const updates = createUpdates({
    packaged: true,
    feed,
    load: () => Promise.reject(new Error('not loaded')),
    busy: async () => null,
    now: () => '2026-03-01T08:00:00.000Z',
    every: (ms) => {
      every.push(ms);
      return () => {};
    },
    changed: (state) => seen.push(state),
    onFault() {},
    beforeInstall: async () => {},
    ...change,
  });
  return { updates, seen, every };
}

test.each([
  ['from the sources', { packaged: false }, /from source/],
  ['without a feed', { feed: undefined }, /No update feed/],
  ['with an empty feed', { feed: '' }, /No update feed/],
  ['with a feed that anybody could write', { feed: 'http://updates.example/' }, /not an https address/],
  ['with a feed of files', { feed: 'file:///tmp' }, /not an https address/],
])('%s updates are off: nothing is loaded, asked or planned', async (_name, change, why) => {
  let loaded = 0;
  const { updates, every } = open({
    ...change,
    load: () => {
      loaded += 1;
      return Promise.reject(new Error('x'));
    },
  });
  await updates.check();
  await updates.install();
  expect(updates.state()).toMatchObject({ kind: 'off', why: expect.stringMatching(why) });
  expect([loaded, every]).toEqual([0, []]);
});

test('a new version is fetched by itself and installed only when the person says so and nothing runs', async () => {
  let busy: string | null = '2 runs are under way';
  const order: string[] = [];
  const { updater, done } = fakeUpdater(async (emit) => {
    emit('update-available', { version: '2.0.0' });
    emit('download-progress', { percent: 41.6 });
    emit('update-downloaded', { version: '2.0.0' });
  });
  const { updates, seen, every } = open({
    load: async () => updater,
    busy: async () => busy,
    beforeInstall: async () => void order.push(...done.splice(0), 'closed'),
  });
  expect(every).toEqual([updateEveryMs]);
  await updates.check();
  expect(seen.map(({ kind }) => kind)).toEqual(['checking', 'downloading', 'downloading', 'ready']);
  expect([updater.autoDownload, updater.autoInstallOnAppQuit, done]).toEqual([true, false, [`feed ${feed}`, 'check']]);
  await updates.install();
  expect(updates.state()).toEqual({ kind: 'ready', version: '2.0.0', waits: '2 runs are under way' });
  busy = null;
  await updates.install();
  expect([order.at(-1), done]).toEqual(['closed', ['install']]);
  expect(updates.state()).toEqual({ kind: 'installing', version: '2.0.0' });
});

test('a look that fails says why, and the next one may go well', async () => {
  let fails = true;
  const { updater } = fakeUpdater(async (emit) => {
    if (fails) throw new Error('net::ERR_INTERNET_DISCONNECTED\n at x');
    emit('update-not-available');
  });
  const { updates } = open({ load: async () => updater });
  await updates.check();
  expect(updates.state()).toEqual({ kind: 'failed', why: 'net::ERR_INTERNET_DISCONNECTED' });
  fails = false;
  await updates.check();
  expect(updates.state()).toEqual({ kind: 'current', checkedAt: '2026-03-01T08:00:00.000Z' });
});

test('the installed app closes its servers before it is replaced, keeps its hands off the end, and waits for runs and leases', async () => {
  const { updater, done } = fakeUpdater(async (emit) => {
    emit('update-available', { version: '2.0.0' });
    emit('update-downloaded', { version: '2.0.0' });
  });
  const { fake, servers, answers } = await startDesktop({
    packaged: true,
    env: { GANTRY_UPDATE_FEED: feed },
    loadUpdater: async () => updater,
    answers: { '/api/factory/campaigns': { campaigns: [{ status: 'active', proven: 0, total: 2 }] } },
  });
  expect(fake.notifications.map(({ options }) => options.title)).toEqual(['Gantry 2.0.0 is ready']);
  const from = { id: fake.windows[0]!.id, url: `${origin}/settings/desktop` };
  const install = () => fake.call('desktop:act', ['install-update'], from);
  expect(await install()).toMatchObject({ update: { kind: 'ready', waits: '1 run is under way' } });
  answers['/api/factory/campaigns'] = { campaigns: [] };
  answers['/api/factory/leases'] = { leases: [{}, {}] };
  expect(await install()).toMatchObject({ update: { waits: '2 leases are held' } });
  answers['/api/factory/leases'] = 500;
  expect(await install()).toMatchObject({ update: { waits: 'Gantry could not be asked what is running' } });
  expect(servers).toEqual(['open']);
  answers['/api/factory/leases'] = { leases: [] };
  await install();
  expect(servers.at(-1)).toBe('close');
  expect(done.at(-1)).toBe('install');
  expect(fake.prevented('before-quit')).toBe(false);
  expect(fake.done.join()).not.toContain('exit');
});

test('a program that its updater does not know how to replace says so, and does not look for ever', async () => {
  const { updater } = fakeUpdater();
  // As electron-updater answers where it can do nothing: no event comes.
  updater.checkForUpdates = async () => null;
  const updates = createUpdates({
    packaged: true,
    feed,
    load: async () => updater,
    busy: async () => null,
    now: () => '2026-03-01T08:00:00.000Z',
    every: () => () => {},
    changed() {},
    onFault() {},
    beforeInstall: async () => {},
  });
  await updates.check();
  expect(updates.state()).toMatchObject({ kind: 'failed', why: expect.stringContaining('cannot update itself') });
});
