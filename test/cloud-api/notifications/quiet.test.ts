/** Quiet hours, muted bots and the digest: only pushes are held back, and nobody is told twice. */
import { describe, expect, test } from 'vitest';
import { isQuiet } from '../../../src/cloud-api/notifications/quiet.ts';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { openWorld, type World } from './support.ts';

const minute = 60_000;
const path = '/api/v1/notifications/quiet';
const message = (bot: string) => ({
  messageId: `m-${bot}`,
  from: '+15550100',
  text: 'Hello',
  threadId: bot,
  botId: bot,
});
const until = (world: World, ...wanted: string[]) =>
  world.settled(async () => (await world.outcomes()).join() === wanted.join());

/** Quiet hours that began some minutes ago and end in some. */
function around(world: World, ago: number, ahead: number) {
  const time = (at: number) => new Date(at).toISOString().slice(11, 16);
  const now = world.clock.now();
  return { from: time(now - ago * minute), to: time(now + ahead * minute), timezone: 'UTC' };
}

describe.each(engines)('on $name', ({ place }) => {
  test('in quiet hours nothing is pushed but questions, the list stays as it is, and one push tells of the rest afterwards', async () => {
    const world = await openWorld({ place: await place() });
    const device = await world.device();
    const set = await world.call('PUT', path, { body: { quietHours: around(world, 30, 30) } });
    expect(set.json).toMatchObject({ questions: true, digest: true, mutedBots: [] });
    await world.emit('message.received', 'm1', message('a'));
    await world.emit('thread.needs_user', 'n1', { reason: 'It asks.' });
    await world.emit('message.received', 'm2', message('b'));
    await until(world, 'message.received skipped', 'thread.needs_user sent', 'message.received skipped');
    expect((await world.feed()).every(({ readAt }) => readAt === null)).toBe(true);
    expect(device.pushes().map(({ title }) => title)).toEqual(['Your bot needs you']);
    await world.clock.advance(31 * minute);
    await world.settled(() => device.pushes().length === 2);
    expect(device.pushes().at(-1)).toMatchObject({ title: '2 notifications in quiet hours', url: '/inbox' });
    await world.clock.advance(10 * minute);
    expect(device.pushes()).toHaveLength(2);
    await world.emit('message.received', 'm3', message('c'));
    await world.settled(() => device.pushes().length === 3);
  });

  test('who wants neither questions nor a digest hears nothing at all', async () => {
    const world = await openWorld({ place: await place() });
    const device = await world.device();
    const body = { quietHours: around(world, 5, 5), questions: false, digest: false };
    await world.call('PUT', path, { body });
    await world.emit('thread.needs_user', 'n1', { reason: 'It asks.' });
    await until(world, 'thread.needs_user skipped');
    await world.clock.advance(20 * minute);
    await world.emit('message.received', 'm1', message('a'));
    await world.settled(() => device.pushes().length === 1);
    expect(device.pushes()[0]?.type).toBe('message');
  });

  test('two sinks tell of the end of quiet hours once', async () => {
    const there = await place();
    const clock = createTestClock();
    const first = await openWorld({ place: there, clock });
    const second = await openWorld({ place: there, clock, service: first.service });
    const device = await first.device();
    await first.call('PUT', path, { body: { quietHours: around(first, 5, 5) } });
    await first.emit('message.received', 'm1', message('a'));
    await until(second, 'message.received skipped');
    await clock.advance(6 * minute);
    await first.settled(() => device.pushes().length === 1);
    await clock.advance(minute);
    expect(device.pushes()).toHaveLength(1);
  });

  test('a muted bot is not pushed about, others and other people are', async () => {
    const world = await openWorld({ place: await place() });
    const [mine, theirs] = [await world.device(), await world.device('user_2')];
    await world.call('PUT', path, { body: { mutedBots: ['loud'] } });
    await world.emit('message.received', 'm1', message('loud'));
    await world.emit('message.received', 'm2', message('calm'));
    await world.emit('message.received', 'm3', message('loud'), { userId: 'user_2' });
    await until(world, 'message.received sent', 'message.received skipped');
    await world.settled(() => theirs.pushes().length === 1);
    expect(mine.pushes()).toHaveLength(1);
    expect((await world.call('GET', path)).json).toMatchObject({ mutedBots: ['loud'], quietHours: null });
    // Fields left out stay.
    await world.call('PUT', path, { body: { digest: false } });
    expect((await world.call('GET', path)).json).toMatchObject({ mutedBots: ['loud'], digest: false });
  });

  test('a time zone that does not exist, and hours without length, are refused', async () => {
    const world = await openWorld({ place: await place() });
    const hours = { from: '22:00', to: '07:00', timezone: 'UTC' };
    for (const wrong of [
      { ...hours, timezone: 'Mars/Olympus' },
      { ...hours, to: '22:00' },
      { ...hours, from: '24:00' },
    ])
      expect((await world.call('PUT', path, { body: { quietHours: wrong } })).status).toBe(400);
  });
});

test('quiet hours go over midnight, by the clocks of their time zone', () => {
  const night = { from_minute: 22 * 60, to_minute: 7 * 60, timezone: 'Europe/Berlin' };
  const quiet = (at: string) => isQuiet(night, Date.parse(at));
  // 22:00 in Berlin is 21:00 UTC in winter and 20:00 UTC in summer.
  expect(
    ['2026-01-10T20:59:59Z', '2026-01-10T21:00:00Z', '2026-01-11T05:59:00Z', '2026-01-11T06:00:00Z'].map(quiet),
  ).toEqual([false, true, true, false]);
  expect(['2026-07-10T19:59:00Z', '2026-07-10T20:00:00Z'].map(quiet)).toEqual([false, true]);
  expect(isQuiet({ ...night, from_minute: null }, 0)).toBe(false);
});
