/** The cloud goes in the middle of a call and comes back: what the carrier said meanwhile is lost, and each leg is read again. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, eventually, openFloor, said } from './support.ts';

describe.each(engines)('a cloud that was away on $name', ({ place }) => {
  test('he hung up meanwhile: she is brought back and told', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.asking();
    await floor.stop();
    floor.away.is = true;
    await floor.handset(bob, 'reject');
    await floor.settled();
    floor.away.is = false;
    expect(await floor.last(id)).toMatchObject({ status: 'transferring' });
    await floor.start();
    await eventually(() => floor.last(id)).toMatchObject({ status: 'active', transfer: { state: 'failed' } });
    await eventually(() => floor.legs(alice)[0]!.heard.at(-1)).toMatch(/could not connect/);
    expect(floor.legs(alice)[0]!.state).toBe('talking');
  });

  test('she hung up meanwhile: it ends, is told once, and he is dropped', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.asking();
    await floor.stop();
    floor.away.is = true;
    await floor.handset(alice, 'hangup');
    await floor.settled();
    floor.away.is = false;
    await floor.start();
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended' });
    await eventually(() => floor.legs(bob)[0]!.state).toBe('ended');
    expect(floor.emitted.length).toBe(1);
  });

  test('a dial that was begun is made once, and one that ended before it left is not made', async () => {
    const floor = await openFloor(await place(), { patienceMs: 100 });
    const { id } = await floor.addNumber();
    await floor.texted(id, alice);
    await floor.stop();
    const ref = async () => said(await floor.ask(id, alice)).consentRef;
    // Nobody tells the carrier yet: it goes on by itself.
    expect((await floor.dial(await ref())).status).toBe(201);
    expect(floor.legs(alice)).toEqual([]);
    await floor.say(id, alice, 'stop');
    await floor.start();
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended', endedBecause: 'They said STOP.' });
    await floor.settled();
    expect(floor.legs(alice)).toEqual([]);

    await floor.say(id, alice, 'start');
    await floor.stop();
    await floor.dial(await ref());
    await floor.start();
    await eventually(() => floor.legs(alice).length).toBe(1);
    await floor.settled();
    await floor.stop();
    await floor.start();
    await floor.settled();
    expect(floor.legs(alice).length).toBe(1);
  });

  test('an answer of the carrier that was lost makes no second call', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.texted(id, alice);
    floor.sim.fault({ name: 'fail_after', on: 'calls.dial' });
    expect((await floor.dial(said(await floor.ask(id, alice)).consentRef)).status).toBe(201);
    await floor.settled();
    await floor.handset(alice, 'answer');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'active' });
    floor.clock.move(30_000);
    // The worker looks at what is due by real time, and a look that does nothing leaves no trace.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(floor.legs(alice).length).toBe(1);
  });

  test('a carrier that cannot be reached for a moment hears what it was told a moment later', async () => {
    const floor = await openFloor(await place(), { patienceMs: 100 });
    const { id } = await floor.addNumber();
    await floor.texted(id, alice);
    floor.away.carrier = 'unreachable';
    expect((await floor.dial(said(await floor.ask(id, alice)).consentRef)).status).toBe(201);
    floor.away.carrier = 'there';
    await eventually(() => floor.legs(alice).length).toBe(1);
    await floor.settled();
    await floor.handset(alice, 'answer');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'active' });
    expect(floor.legs(alice).length).toBe(1);
  });

  test('a carrier that says nothing does not keep the cloud from its end', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.talking(id);
    await floor.settled();
    await floor.stop();
    floor.away.carrier = 'silent';
    await floor.start();
    // It has to have begun a request for there to be something to wait for at the end.
    await eventually(() => floor.away.asked).toBeGreaterThan(0);
    const begun = performance.now();
    await floor.stop();
    expect(performance.now() - begun).toBeLessThan(4_000);
    floor.away.carrier = 'there';
  });

  test('what tells a person from a machine is lost: they are spoken to a little later, and asked', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.texted(id, alice);
    await floor.consent(id, bob);
    floor.sim.fault({ name: 'missing', on: 'call.machine.detection.ended', times: 2 });
    const { callId } = said(await floor.dial(said(await floor.ask(id, alice)).consentRef));
    await floor.settled();
    await floor.handset(alice, 'answer');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'active' });
    expect(floor.legs(alice)[0]!.heard).toEqual([]);
    await floor.stop();
    floor.clock.move(11_000);
    await floor.start();
    await eventually(() => floor.legs(alice)[0]!.heard.length).toBe(1);

    await floor.control(String(callId), { action: 'transfer', to: bob, mode: 'warm' });
    await eventually(() => floor.legs(bob).length).toBe(1);
    await floor.settled();
    await floor.handset(bob, 'answer');
    await eventually(async () => (await floor.last(id)).legs[1]?.state).toBe('talking');
    await floor.stop();
    floor.clock.move(11_000);
    await floor.start();
    await eventually(() => floor.legs(bob)[0]!.heard.length).toBe(1);
    await floor.handset(bob, 'press', '1');
    await eventually(() => floor.last(id)).toMatchObject({ transfer: { state: 'accepted' } });
    expect(floor.legs(alice)[0]!.heard.length).toBe(1);
  });

  test('nobody who is asked says anything, and the carrier neither: she does not wait without end', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const callId = await floor.talking(id);
    await floor.consent(id, bob);
    floor.sim.setSpeed('paused');
    for (const [at, mode] of (['warm', 'cold'] as const).entries()) {
      await floor.control(callId, { action: 'transfer', to: bob, mode });
      await eventually(() => floor.legs(bob).length).toBe(at + 1);
      await floor.settled();
      await floor.stop();
      floor.clock.move(76_000);
      await floor.start();
      await eventually(() => floor.last(id)).toMatchObject({
        status: 'active',
        transfer: { mode, state: 'no_answer' },
      });
      await eventually(() => floor.legs(bob).every(({ state }) => state === 'ended')).toBe(true);
      await eventually(() => floor.legs(alice)[0]!.state).toBe('talking');
    }
    expect(floor.emitted).toEqual([]);
  });
});
