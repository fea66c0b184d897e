/** Several clouds over one PostgreSQL: each event counts once, each command is given once, whichever of them hears it. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, eventually, openFloor, ours, said } from './support.ts';

describe.each(engines.filter(({ name }) => name === 'postgres'))('replicas on $name', ({ place }) => {
  test('two that hear every event, and look after every call, dial once, speak once and tell its end once', async () => {
    const at = await place();
    const floor = await openFloor(at);
    const other = await floor.replica(at);
    const { id } = await floor.addNumber();
    await floor.talking(id);
    await floor.consent(id, bob);
    const { id: callId } = await floor.last(id);
    expect((await floor.control(callId, { action: 'transfer', to: bob, mode: 'warm' })).status).toBe(202);
    await eventually(() => floor.legs(bob).length).toBe(1);
    await floor.handset(bob, 'answer');
    await eventually(() => floor.legs(bob)[0]!.heard.length).toBe(1);
    await floor.handset(bob, 'press', '1');
    await eventually(() => floor.last(id)).toMatchObject({ transfer: { state: 'accepted' } });
    await floor.handset(alice, 'hangup');
    await eventually(() => floor.last(id)).toMatchObject({ status: 'ended' });
    await floor.settled();
    await other.heardAll();
    expect(other.events()).toBeGreaterThan(8);
    expect(floor.legs(alice).length).toBe(1);
    expect(floor.legs(alice)[0]!.heard.length).toBe(1);
    expect(floor.legs(bob).length).toBe(1);
    expect(floor.legs(bob)[0]!.heard.length).toBe(1);
    expect(floor.emitted.length).toBe(1);
  });

  test('one call that comes in is one call, whoever hears of it', async () => {
    const at = await place();
    const floor = await openFloor(at);
    const other = await floor.replica(at);
    const { id } = await floor.addNumber();
    floor.sim.call(alice, ours);
    await eventually(() => floor.legs(alice)[0]?.heard.length).toBe(1);
    await other.heardAll();
    expect((await floor.list(id)).length).toBe(1);
    expect(floor.legs(alice)[0]!.heard.length).toBe(1);
  });

  test('one reference presented to two of them makes one call', async () => {
    const at = await place();
    const floor = await openFloor(at);
    const other = await floor.replica(at);
    const { id } = await floor.addNumber();
    await floor.texted(id, alice);
    const { consentRef } = said(await floor.ask(id, alice));
    const replies = await Promise.all(
      [0, 1, 2, 3].map((n) => (n % 2 === 0 ? floor.dial(consentRef) : other.dial(consentRef))),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 403, 403, 403]);
    await floor.settled();
    expect(floor.legs(alice).length).toBe(1);
  });
});
