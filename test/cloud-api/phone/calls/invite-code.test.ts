/** The code of an invite counts when it is keyed in on a call from the phone that was named, for which its carrier vouches. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, eventually, type Floor, openFloor, ours } from './support.ts';

const heard = (floor: Floor, from = alice) => floor.legs(from).at(-1)!.heard;
const invited = async (floor: Floor, id: string) =>
  (await floor.consents(id)).filter(({ source }) => source === 'invite');

describe.each(engines)('the code of an invite on a call, on $name', ({ place }) => {
  test('is asked for, may be mistyped, and is a consent then', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const code = await floor.agreedOnPage(id, alice);
    floor.sim.call(alice, ours);
    await eventually(() => heard(floor)).toEqual([expect.stringContaining('enter the six digits')]);
    await floor.settled();
    await floor.handset(alice, 'press', code === '123456' ? '654321' : '123456');
    await eventually(() => heard(floor).at(-1)).toContain('not the code');
    await floor.settled();
    expect(await invited(floor, id)).toEqual([]);
    await floor.handset(alice, 'press', code);
    await eventually(() => heard(floor).at(-1)).toContain('You agreed to be called from this number');
    expect(await invited(floor, id)).toMatchObject([
      { e164: alice, evidence: expect.stringContaining('keyed in on a call from that number') },
    ]);
  });

  test('whoever did not agree, and a caller for whom no carrier vouches, is not asked for it', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.agreedOnPage(id, alice);
    floor.sim.call(bob, ours);
    await eventually(() => heard(floor, bob)).toEqual([expect.stringContaining('I answer by text message')]);
    floor.away.vouches = false;
    floor.sim.call(alice, ours);
    await eventually(() => heard(floor)).toEqual([expect.stringContaining('does not vouch for the number')]);
    await floor.settled();
    await floor.handset(alice, 'press', '123456');
    await floor.settled();
    expect(await invited(floor, id)).toEqual([]);
  });

  test('without a key in time the caller hears what every caller does', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.agreedOnPage(id, alice);
    floor.sim.call(alice, ours);
    await eventually(() => heard(floor)).toHaveLength(1);
    await floor.settled();
    floor.clock.move(15_001);
    floor.sim.advance(15_001);
    await eventually(() => heard(floor).at(-1)).toContain('I answer by text message');
  });
});
