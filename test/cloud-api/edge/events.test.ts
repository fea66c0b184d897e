/** Events at the edge, from subscribe to a signed delivery, on both engines. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { newSecret, startReceiver } from './receiver.ts';
import { moving, openWorld, until } from './support.ts';

const hour = 60 * 60_000;
const day = 24 * hour;

describe.each(engines)('events of the edge on $name', ({ place }) => {
  test('an app subscribes, is asked for its challenge, and gets what happens from then on, signed, once', async () => {
    const clock = createTestClock();
    const [receiver, world] = [await startReceiver(), await openWorld({ place: await place(), clock })];
    await world.run('before');
    await clock.advance(1);
    const { result } = await world.subscribe(receiver);
    expect(result).toEqual({
      id: expect.stringMatching(/^sub_[0-9a-f]{24}$/),
      refreshBefore: new Date(clock.now() + day).toISOString(),
      cursor: null,
      truncated: false,
    });
    const [challenge] = receiver.control('verification');
    expect(challenge).toMatchObject({ path: '/hook?tenant=a%20b', subscription: result.id, status: 200 });
    expect(challenge?.id).toMatch(/^msg_verification_\w+$/);
    expect(challenge?.signedWith).toEqual(receiver.secrets);
    await world.run('run_1');
    await world.run('run_1');
    await world.run('run_2', 'bot_1', 'somebody_else');
    await world.run('run_3');
    await until(() => receiver.events().length === 2);
    const [first, last] = receiver.events();
    expect(first?.body).toEqual({
      eventId: first?.id,
      name: 'agent.run.completed',
      timestamp: new Date(clock.now()).toISOString(),
      data: { runId: 'run_1', status: 'completed', title: 'A run', botId: 'bot_1' },
    });
    expect(last?.body).toMatchObject({ data: { runId: 'run_3' } });
    for (const event of [first, last]) {
      expect(event).toMatchObject({
        path: '/hook?tenant=a%20b',
        subscription: result.id,
        signedWith: receiver.secrets,
      });
      expect(event?.timestamp).toBe(Math.floor(clock.now() / 1000));
    }
    await moving(clock, 30_000, async () => (await world.store.all('SELECT * FROM edge_claim')).length === 0);
    expect(receiver.events()).toHaveLength(2);
  });

  test('the same subscription is renewed whatever the order of its arguments, and both secrets sign for an hour', async () => {
    const clock = createTestClock();
    const [receiver, world] = [await startReceiver(), await openWorld({ place: await place(), clock })];
    const first = await world.subscribe(receiver);
    const [old] = receiver.secrets;
    receiver.secrets.push(newSecret());
    const second = await world.subscribe(receiver, { ttlMs: null });
    expect(second.result).toMatchObject({ id: first.result.id, deliveryStatus: { active: true, lastError: null } });
    expect(Date.parse(second.result.refreshBefore!)).toBe(clock.now() + 7 * day);
    expect(receiver.control('verification')).toHaveLength(1);
    await world.run('during');
    await until(() => receiver.events().length === 1);
    expect(receiver.events()[0]?.signedWith).toEqual(receiver.secrets);
    await clock.advance(hour);
    await world.run('after');
    await until(() => receiver.events().length === 2);
    expect(receiver.events()[1]?.signedWith).toEqual([receiver.secrets[1]]);
    expect(receiver.events()[1]?.signatures).toHaveLength(1);
    const sealed = JSON.stringify(await world.store.all('SELECT * FROM edge_subscription'));
    for (const secret of [old!, receiver.secrets[1]!]) expect(sealed).not.toContain(secret.slice(6));
  });
});
