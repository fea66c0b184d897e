/** The simulated carrier's own time: instant, in its own time, paused and by hand. */
import { expect, test } from 'vitest';
import { startEar, startSimulator } from '../../support/phone/simulator.ts';
import { createTestClock } from '../../support/test-clock.ts';

const order = (last: number) => ({ phone_numbers: [{ phone_number: `+197055501${last}` }] });
const statuses = async ({ ask }: Awaited<ReturnType<typeof startSimulator>>) =>
  (await ask('GET', '/number_orders')).body.data.map(({ status }: { status: string }) => status);

test('at the speed of a demo an order takes its two seconds, and what is due is listed with its time', async () => {
  const clock = createTestClock();
  await using carrier = await startSimulator({ clock, timers: clock, speed: 'realistic' });
  await carrier.ask('POST', '/number_orders', order(50));
  const { body } = await carrier.ask('GET', '/sim');
  expect(body.waiting).toMatchObject([
    { what: 'order of +19705550150', dueAt: new Date(clock.now() + 2_000).toISOString() },
  ]);
  await clock.advance(1_999);
  expect(await statuses(carrier)).toEqual(['pending']);
  await clock.advance(1);
  expect(await statuses(carrier)).toEqual(['success']);
});

test('paused, nothing happens until a step; afterwards what was left takes the time that it had left', async () => {
  const clock = createTestClock();
  await using carrier = await startSimulator({ clock, timers: clock, speed: 'realistic' });
  await carrier.ask('POST', '/number_orders', order(50));
  await carrier.ask('POST', '/number_orders', order(51));
  await clock.advance(1_500);
  const paused = await carrier.ask('POST', '/sim/speed', { speed: 'paused' });
  expect(paused.body.waiting.map(({ dueAt }: { dueAt: string | null }) => dueAt)).toEqual([null, null]);
  await clock.advance(3_600_000);
  expect(await statuses(carrier)).toEqual(['pending', 'pending']);
  await carrier.ask('POST', '/sim/speed', { step: true });
  expect(await statuses(carrier)).toEqual(['success', 'pending']);
  await carrier.ask('POST', '/number_orders', order(52));
  await carrier.ask('POST', '/sim/speed', { speed: 'realistic' });
  await clock.advance(1);
  expect(await statuses(carrier)).toEqual(['success', 'success', 'pending']);
  await clock.advance(2_000);
  expect(await statuses(carrier)).toEqual(['success', 'success', 'success']);
  expect((await carrier.ask('POST', '/sim/speed', { speed: 'backwards' })).status).toBe(400);
});

test('by hand its time goes on by as much as is said, and its events carry the time of the clock', async () => {
  await using ear = await startEar();
  const clock = createTestClock();
  await using carrier = await startSimulator({ clock, timers: clock, speed: 'paused', webhookUrl: ear.url });
  await carrier.ask('POST', '/number_orders', order(50));
  await carrier.ask('POST', '/sim/advance', { ms: 1_999 });
  expect(await statuses(carrier)).toEqual(['pending']);
  await carrier.ask('POST', '/sim/advance', { ms: 1 });
  expect(await statuses(carrier)).toEqual(['success']);
  await carrier.sim.settled();
  expect(ear.heard[0]).toMatchObject({
    timestamp: String(Math.floor(clock.now() / 1000)),
    body: { data: { occurred_at: new Date(clock.now()).toISOString() } },
  });
});

test('one seed gives the same ids, another one others', async () => {
  const idsOf = async (seed: string) => {
    await using carrier = await startSimulator({ seed });
    return (await carrier.ask('POST', '/number_orders', order(50))).body.data.id as string;
  };
  const first = await idsOf('a');
  expect(await idsOf('a')).toBe(first);
  expect(await idsOf('b')).not.toBe(first);
});
