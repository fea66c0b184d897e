/** What a call may cost: numbers rung up by transfers count, and nothing that is lost, late or broken keeps a line open or cuts one off. */
import { describe, expect, test } from 'vitest';
import { createWatch } from '../../../../src/cloud-api/phone/calls/watch.ts';
import { systemTimers } from '../../../../src/kit/clock/timers.ts';
import { engines } from '../../../support/engines.ts';
import { alice, bob, carol, eventually, type Floor, openFloor, ours, person, said } from './support.ts';

const hour = 60 * 60_000;

/** Looks after the floor's calls in its place, at a carrier that answers as told. */
function watchOver(floor: Floor, isAlive: (carrierLeg: string) => Promise<boolean>) {
  return createWatch({
    store: floor.store,
    clock: floor.clock,
    timers: systemTimers,
    worker: floor.calls.worker,
    calls: { isAlive },
    maxCallMs: 4 * hour,
    log: { warn: (message) => void floor.warnings.push(message), error: () => {} },
  });
}

describe.each(engines)('what a call costs, on $name', ({ place }) => {
  test('whom transfers ring up counts as the calls out of a number do', async () => {
    const limits = { maxConcurrent: 5, perDay: 3, maxCallMs: 4 * hour };
    const floor = await openFloor(await place(), { limits });
    const { id } = await floor.addNumber();
    const callId = await floor.talking(id);
    await floor.consent(id, bob);
    for (const [at, mode] of (['cold', 'warm'] as const).entries()) {
      expect((await floor.control(callId, { action: 'transfer', to: bob, mode })).status).toBe(202);
      await eventually(() => floor.legs(bob).length).toBe(at + 1);
      await floor.settled();
      await floor.handset(bob, 'busy');
      await eventually(() => floor.last(id)).toMatchObject({ status: 'active', transfer: { mode, state: 'busy' } });
    }
    for (const mode of ['cold', 'warm']) {
      const refused = await floor.control(callId, { action: 'transfer', to: bob, mode });
      expect([mode, refused.status, refused.json.error]).toEqual([mode, 429, 'daily_limit']);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(86_000);
    }
    expect(floor.legs(bob).length).toBe(2);
    await floor.texted(id, carol);
    const daily = await floor.dial(said(await floor.ask(id, carol)).consentRef);
    expect([daily.status, daily.json.error]).toEqual([429, 'daily_limit']);
    expect((await floor.last(id)).status).toBe('active');
  });

  test('two whom the carrier has joined are not parted since it told nobody', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const callId = await floor.talking(id);
    floor.sim.fault({ name: 'missing', on: 'call.bridged', times: 9 });
    await floor.control(callId, { action: 'transfer', to: bob, mode: 'cold' });
    await eventually(() => floor.legs(bob).length).toBe(1);
    await floor.settled();
    await floor.handset(bob, 'answer');
    await eventually(async () => (await floor.last(id)).legs[1]?.state).toBe('talking');
    expect(await floor.last(id)).toMatchObject({ status: 'transferring' });
    await floor.stop();
    floor.clock.move(76_000);
    await floor.start();
    await eventually(() => floor.last(id)).toMatchObject({ status: 'active', transfer: { state: 'accepted' } });
    await floor.settled();
    expect(floor.legs(bob)[0]).toMatchObject({ state: 'talking', bridgedWith: floor.legs(alice)[0]!.id });
  });

  test('word of an earlier transfer, come late, is not taken for the one that is asked for now', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.asking();
    const { id: leg, sessionId } = floor.legs(alice)[0]!;
    await floor.take({
      id: 'event_1',
      type: 'call.bridged',
      numberId: null,
      occurredAt: floor.clock.now(),
      receivedAt: floor.clock.now(),
      payload: { call_control_id: leg, call_session_id: sessionId },
    });
    expect(await floor.last(id)).toMatchObject({ status: 'transferring', transfer: { state: 'asking' } });
    await floor.handset(bob, 'answer');
    await eventually(() => floor.legs(bob)[0]!.heard[0]).toMatch(/Press 1/);
  });

  test('who pressed 1 and then said STOP is not joined to her', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.asking();
    await floor.handset(bob, 'answer');
    await eventually(() => floor.legs(bob)[0]!.heard.length).toBe(1);
    await floor.settled();
    // Both are heard before the carrier is told anything, and it is slow to hang up.
    await floor.stop();
    await floor.handset(bob, 'press', '1');
    await floor.settled();
    await floor.say(id, bob, 'stop');
    floor.sim.fault({ name: 'refuse', on: 'calls.hangup', times: 5, status: 429, code: '10011', title: 'Too many' });
    await floor.start();
    await eventually(() => floor.legs(bob)[0]!.state).toBe('ended');
    await eventually(() => floor.legs(alice)[0]!.heard.at(-1)).toMatch(/not allowed to call/);
    expect(floor.legs(alice)[0]).toMatchObject({ state: 'talking', bridgedWith: null });
  });

  test('the longest call ends also where its legs cannot be read, and none waits for another one’s answer', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.talking(id, alice);
    await floor.talking(id, bob);
    await floor.stop();
    floor.clock.move(4 * hour);
    const hung = Promise.withResolvers<boolean>();
    const aliceAt = floor.legs(alice)[0]!.id;
    const watch = watchOver(floor, (leg) =>
      leg === aliceAt ? hung.promise : Promise.reject(new TypeError('The answer could not be read.')),
    );
    await watch.start();
    await eventually(async () => (await floor.list(id)).find((call) => call.with === bob)).toMatchObject({
      status: 'ended',
      endedBecause: 'time_limit',
    });
    hung.resolve(true);
    await eventually(async () => (await floor.list(id)).map(({ status }) => status)).toEqual(['ended', 'ended']);
    await watch.close();
    expect(floor.emitted.length).toBe(2);
  });

  test('a caller who was taken up is spoken to, and was not missed, also where nobody tells of it', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    floor.sim.fault({ name: 'missing', on: 'call.answered', times: 9 });
    floor.sim.call(alice, ours);
    await eventually(() => floor.legs(alice)[0]?.heard.length).toBe(1);
    expect(await floor.last(id)).toMatchObject({ status: 'active' });
    await floor.handset(alice, 'hangup');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended', missed: false });
    expect(floor.emitted).toMatchObject([{ data: { missed: false } }]);
  });

  test('a call that comes while its number is released is not taken up', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const number = (await floor.rows.numbers.find(id))!;
    // It was looked for a moment before.
    Object.assign(floor.rows.numbers, { byE164: async () => number });
    await floor.store.write(function* (tx) {
      yield* floor.rows.move(tx, id, 'release');
      yield* floor.calls.hooks.released!(tx, number);
    });
    floor.sim.call(alice, ours);
    await floor.settled();
    expect(await floor.store.all('SELECT id FROM phone_call')).toEqual([]);
    expect(floor.legs(alice)[0]!.state).not.toBe('talking');
  });

  test('a caller whose name holds what no database keeps is taken up all the same', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const payload = { call_control_id: 'leg_1', call_session_id: 'session_1', from: 'a\u0000b', to: ours };
    await floor.take({
      id: 'event_1',
      type: 'call.initiated',
      numberId: null,
      payload: { ...payload, direction: 'incoming' },
      occurredAt: floor.clock.now(),
      receivedAt: floor.clock.now(),
    });
    expect(await floor.list(id)).toMatchObject([{ with: 'ab', direction: 'in' }]);
  });
});

describe.each(engines)('what calls cost, on $name', ({ place }) => {
  test('is counted once for each leg, as the carrier says it, with the minutes', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.talking(id);
    floor.clock.move(61_000);
    await floor.handset(alice, 'hangup');
    await floor.settled();
    await eventually(() => floor.counted.counted()).toEqual(['phone_call 0.01']);
    const [cost] = floor.events.filter(({ type }) => type === 'call.cost');
    await floor.take(cost!);
    await floor.take({ ...cost!, id: 'another', payload: { ...cost!.payload, status: 'error', total_cost: null } });
    expect([...floor.counted.lines.values()]).toMatchObject([
      { userId: person, name: ours, botId: 'bot_1', microUsd: 10_000, thousandths: expect.any(Number) },
    ]);
    floor.sim.call(alice, ours);
    await eventually(() => floor.legs(alice).at(-1)?.heard.length).toBe(1);
    await floor.handset(alice, 'hangup');
    await eventually(() => floor.counted.counted()).toEqual(['phone_call 0.01', 'phone_call 0.0035']);
  });
});
