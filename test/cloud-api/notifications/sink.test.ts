/** From events to pushes: the sink's six steps, its limits and its times. */
import { describe, expect, test, vi } from 'vitest';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { openWorld, person, type World } from './support.ts';

const minute = 60_000;
const hour = 60 * minute;
const message = (thread: string, text = 'Hello', more: object = {}) => ({
  messageId: `m-${thread}`,
  from: '+15550100',
  text,
  threadId: thread,
  botId: 'agent_1',
  provider: 'sms',
  ...more,
});
const needs = { reason: 'It asks.' };
const until = (world: World, ...wanted: string[]) =>
  world.settled(async () => (await world.outcomes()).join() === wanted.join());

// A machine with much else to do takes its time for hundreds of pushes.
vi.setConfig({ testTimeout: 120_000 });

describe.each(engines)('on $name', ({ place }) => {
  test('what became of an event is said: sent, off, unreachable, skipped', async () => {
    const world = await openWorld({ place: await place() });
    await world.emit('thread.needs_user', 'n1', needs);
    await until(world, 'thread.needs_user unreachable');
    const device = await world.device();
    const other = await world.device('user_2');
    await world.emit('thread.needs_user', 'n2', needs);
    await world.emit('inbox.item.created', 'i1', { itemId: 'i1', title: 'Mail' });
    await world.emit('thread.needs_user', 'n3', needs, { occurredAt: world.clock.now() - 12 * hour - 1 });
    await world.emit('thread.needs_user', 'n4', needs, { occurredAt: world.clock.now() - 12 * hour + minute });
    await until(
      world,
      'thread.needs_user sent',
      'thread.needs_user skipped',
      'inbox.item.created off',
      'thread.needs_user sent',
      'thread.needs_user unreachable',
    );
    expect(device.pushes()).toHaveLength(2);
    expect(other.pushes()).toHaveLength(0);
    // An event that is known is no second one.
    expect(await world.emit('thread.needs_user', 'n2', needs)).toBe(false);
    expect(await world.outcomes('user_2')).toEqual([]);
  });

  test('what was stored while no sink ran is pushed within ten minutes, and afterwards only listed', async () => {
    const there = await place();
    const world = await openWorld({ place: there, started: false });
    const device = await world.device();
    await world.emit('thread.needs_user', 'old', needs);
    await world.clock.advance(9 * minute);
    await world.emit('thread.needs_user', 'new', needs);
    await world.clock.advance(minute + 1);
    await world.notifications.start();
    await until(world, 'thread.needs_user sent', 'thread.needs_user skipped');
    expect(device.pushes()).toHaveLength(1);
  });

  test('what another process stores is found by looking every three seconds', async () => {
    const there = await place();
    const clock = createTestClock();
    const world = await openWorld({ place: there, clock, listen: false });
    const device = await world.device();
    const silent = await openWorld({ place: there, clock, service: world.service, started: false });
    await silent.emit('thread.needs_user', 'n1', needs);
    await clock.advance(2900);
    expect(device.pushes()).toHaveLength(0);
    await clock.advance(100);
    await world.settled(() => device.pushes().length === 1);
  });

  test('two sinks on one database push each event once', async () => {
    const there = await place();
    const clock = createTestClock();
    const first = await openWorld({ place: there, clock });
    const second = await openWorld({ place: there, clock, service: first.service });
    const devices = [await first.device(), await first.device()];
    const events = Array.from({ length: 60 }, (_, index) => `n${index}`);
    await Promise.all(
      events.map((id, index) => (index % 2 === 0 ? first : second).emit('thread.needs_user', id, { reason: id })),
    );
    await first.settled(async () => {
      // A lane that the other one holds is asked for again in a second.
      await clock.advance(200);
      return devices.every((device) => device.pushes().length >= events.length);
    });
    await until(first, ...events.map(() => 'thread.needs_user sent'));
    await clock.advance(10_000);
    for (const device of devices) {
      const told = device.pushes().map(({ body }) => body);
      expect(told.toSorted()).toEqual(events.toSorted());
    }
    expect(await first.outcomes()).toHaveLength(events.length);
  });

  test('of one conversation one message in twenty seconds is pushed, of all at most forty an hour', async () => {
    const world = await openWorld({ place: await place() });
    const device = await world.device();
    let count = 0;
    const say = async (thread: string, text: string) => {
      count += 1;
      await world.emit('message.received', `m${count}`, message(thread, text));
      await world.settled(async () => {
        const [newest] = await world.feed();
        return newest?.body === text && newest.outcome !== 'claimed';
      });
    };
    await say('a', 'first');
    await say('a', 'too soon');
    await say('b', 'of another');
    await world.clock.advance(20_000);
    await say('a', 'late enough');
    expect(device.pushes().map(({ body }) => body)).toEqual(['first', 'of another', 'late enough']);
    for (let index = 4; index <= 40; index += 1) await say(`thread ${index}`, `message ${index}`);
    expect(device.pushes()).toHaveLength(40);
    await say('one more', 'forty-first');
    expect(device.pushes()).toHaveLength(40);
    // Other events are no messages.
    await world.emit('thread.needs_user', 'n1', needs);
    await world.settled(() => device.pushes().length === 41);
    await world.clock.advance(hour);
    await say('one more', 'an hour later');
    expect(device.pushes()).toHaveLength(42);
  });

  test('a message is not pushed for two minutes after a direct push to the same person', async () => {
    const world = await openWorld({ place: await place() });
    const device = await world.device();
    const direct = (thread: string, computerId = 'computer_1', userId = person) =>
      world.store.write((tx) =>
        world.notifications.pushDirectly(tx, { userId, computerId, message: message(thread, `direct ${thread}`) }),
      );
    expect(await direct('a')).toBe('pushed');
    await world.settled(() => device.pushes().length === 1);
    await world.emit('message.received', 'm1', message('b'));
    await until(world, 'message.received skipped');
    await world.clock.advance(2 * minute);
    await world.emit('message.received', 'm2', message('b'));
    await until(world, 'message.received sent', 'message.received skipped');
    expect(device.pushes().map(({ body }) => body)).toEqual(['direct a', 'Hello']);
    expect(await direct('a', 'computer_1', 'user_of_no_device')).toBe('unreachable');
  });

  test('a direct push is for a computer that never forwarded an event, and for all while the sink is down', async () => {
    const there = await place();
    const clock = createTestClock();
    const world = await openWorld({ place: there, clock });
    const device = await world.device();
    const direct = (of: World, thread: string, computerId: string) =>
      of.store.write((tx) =>
        of.notifications.pushDirectly(tx, { userId: person, computerId, message: message(thread) }),
      );
    await world.store.write((tx) => world.backbone.forwarded(tx, 'computer_1'));
    expect(await direct(world, 'a', 'computer_1')).toBe('left');
    expect(await direct(world, 'a', 'computer_2')).toBe('pushed');
    // No message of theirs would be told otherwise.
    expect(await direct(world, 'a', 'computer_2')).toBe('pushed');
    await world.call('PUT', '/api/v1/notifications/preferences', { body: { 'message.received': false } });
    expect(await direct(world, 'b', 'computer_2')).toBe('off');
    await world.call('PUT', '/api/v1/notifications/preferences', { body: { 'message.received': null } });
    const down = await openWorld({ place: there, clock, service: world.service, started: false });
    expect(await direct(down, 'b', 'computer_1')).toBe('pushed');
    await down.notifications.start();
    await world.settled(() => device.pushes().length === 3);
    expect(device.pushes()[1]).toMatchObject({ type: 'message', data: { event: 'message.received' } });
  });

  test('a permission that its harness asks for itself is never pushed', async () => {
    const world = await openWorld({ place: await place() });
    const device = await world.device();
    const asked = { approvalId: 'apr_1', kind: 'permission', title: 'Run it', risk: 'low' };
    await world.emit('approval.requested', 'apr_1', { ...asked, source: 'gizzi-permission' });
    await world.emit('approval.requested', 'apr_2', { ...asked, approvalId: 'apr_2', source: 'gate' });
    await until(world, 'approval.requested sent', 'approval.requested skipped');
    expect(device.pushes().map(({ tag }) => tag)).toEqual(['approval-apr_2']);
  });

  test('what a slow transaction stores late, below the place that was read already, is pushed all the same', async () => {
    const there = await place();
    const world = await openWorld({ place: there });
    const other = await openWorld({ place: there, service: world.service, clock: world.clock, started: false });
    const device = await world.device();
    let stored = () => {};
    const ahead = new Promise<void>((resolve) => {
      stored = resolve;
    });
    const slow = other.store.write(function* (tx) {
      const event = { userId: person, type: 'thread.needs_user', occurredAt: world.clock.now(), data: needs } as const;
      yield* other.backbone.emit(tx, { ...event, sourceId: 'slow' });
      stored();
      // SQLite has one writer: nobody overtakes it.
      if (other.store.engine === 'postgres') yield* tx.get('SELECT 1 AS x FROM pg_sleep(0.5)');
    });
    await ahead;
    await world.emit('thread.needs_user', 'quick', needs);
    await world.settled(() => device.pushes().length > 0);
    await slow;
    await world.settled(() => device.pushes().length === 2);
    const rows = await world.store.all<{ source_id: string }>('SELECT source_id FROM user_event ORDER BY seq');
    expect(rows.map((row) => row.source_id)).toEqual(['slow', 'quick']);
  });

  test('what is older than ninety days goes, and leaves nothing unread behind', async () => {
    const world = await openWorld({ place: await place() });
    for (let index = 0; index < 250; index += 1) await world.emit('thread.needs_user', `old${index}`, needs);
    const unread = async () =>
      Number(((await world.call('GET', '/api/v1/notifications')).json as { unread?: unknown }).unread);
    await world.settled(async () => (await unread()) === 250);
    world.clock.jump(24 * hour);
    await world.emit('thread.needs_user', 'new', needs);
    await world.settled(async () => (await unread()) === 251);
    world.clock.jump(89 * 24 * hour + 1);
    const now = world.clock.now();
    await world.notifications.forgetOld(now);
    await world.backbone.forget(now - 90 * 24 * hour);
    expect(await unread()).toBe(1);
    expect(await world.feed()).toHaveLength(1);
    expect(await world.store.all('SELECT source_id AS id FROM user_event')).toEqual([{ id: 'new' }]);
    expect(await world.store.all('SELECT event_id FROM notification')).toHaveLength(1);
  });

  test('an event that cannot be handled is skipped and logged; those around it are pushed', async () => {
    const world = await openWorld({ place: await place(), started: false });
    const device = await world.device();
    await world.emit('thread.needs_user', 'n1', needs);
    await world.emit('thread.needs_user', 'broken', needs);
    await world.store.write((tx) => tx.run("UPDATE user_event SET data = '{' WHERE source_id = 'broken'"));
    await world.emit('thread.needs_user', 'n2', needs);
    await world.notifications.start();
    await world.settled(() => device.pushes().length === 2);
    const rows = await world.store.all<{ source_id: string; outcome: string }>(
      'SELECT source_id, outcome FROM user_event e JOIN notification n ON n.event_id = e.id ORDER BY e.seq',
    );
    expect(rows.map(({ source_id: id, outcome }) => `${id} ${outcome}`)).toContain('broken skipped');
    expect(world.errors).toEqual([expect.stringContaining('could not be handled')]);
    await world.emit('thread.needs_user', 'n3', needs);
    await world.settled(() => device.pushes().length === 3);
    expect(world.errors).toHaveLength(1);
  });
});
