/** The code of an invite counts when it comes as a text of the phone that was named, and is answered there; no bot sees it. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, eventually, openFloor, ours } from './support.ts';

describe.each(engines)('the code of an invite, on $name', ({ place }) => {
  test('is a consent once it comes from the phone that was named, and is thanked for', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const code = await floor.agreedOnPage(id, alice);
    expect(floor.reached(alice)).toEqual([]);
    await floor.say(alice, ` ${code} `);
    expect(floor.consents).toEqual([
      {
        numberId: id,
        e164: alice,
        source: 'invite',
        evidence: 'Ticked. Proven by a text of the code from that number.',
      },
    ]);
    await eventually(() => floor.reached(alice)).toEqual([
      expect.stringContaining(`You agreed to be called from ${ours}`),
    ]);
    const { messages } = await floor.list(id);
    expect(messages.find(({ direction }) => direction === 'in')).toMatchObject({
      status: 'kept_back',
      reason: 'The code of an invite.',
    });
    expect(floor.delivered).toEqual([]);
  });

  test('from another phone, with another code, or a second time it is an ordinary message', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const code = await floor.agreedOnPage(id, alice);
    const wrong = code === '123456' ? '654321' : '123456';
    await floor.say(bob, code);
    await floor.say(alice, wrong);
    expect(floor.consents).toEqual([]);
    await eventually(() => floor.delivered.map(({ text }) => text).sort()).toEqual([code, wrong].sort());
    await floor.say(alice, code);
    await floor.say(alice, code);
    expect(floor.consents).toHaveLength(1);
    await eventually(() => floor.delivered.filter(({ from }) => from === alice).map(({ text }) => text)).toEqual([
      wrong,
      code,
    ]);
  });
});
