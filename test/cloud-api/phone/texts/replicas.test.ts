import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, eventually, openFloor } from './support.ts';

/** SQLite has one process alone. */
describe.each(engines.filter(({ name }) => name === 'postgres'))('several replicas, on $name', ({ place }) => {
  test('take each text once, whoever is brought it, and send each once', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const other = await floor.another();
    floor.held.events = true;
    for (const from of [alice, bob])
      floor.simulated.sim.text({ from, to: '+14165550150', text: 'please stop texting me' });
    await floor.simulated.sim.settled();
    const came = floor.events.filter(({ type }) => type === 'message.received');
    await Promise.all(came.flatMap((event) => [floor.take(event), other.take(event), floor.take(event)]));
    expect((await floor.list(id)).messages.filter(({ direction }) => direction === 'in')).toHaveLength(2);
    await eventually(() => [floor.reached(alice).length, floor.reached(bob).length]).toEqual([1, 1]);
    // Each of them looks once a second at what the others left in the queue.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect([floor.reached(alice).length, floor.reached(bob).length]).toEqual([1, 1]);
  });

  test('ask the own phone once', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.another();
    await floor.another();
    const put = await floor.web.call('PUT', '/api/v1/phone/own', { body: { e164: alice, numberId: id } });
    await floor.say(alice, (put.json as never as { code: string }).code);
    await eventually(() => floor.reached(alice).length).toBe(1);
    await floor.request('approval_1', 'Order flour');
    await eventually(() => floor.reached(alice).length).toBe(2);
    // Each of them looks once a second at what the others left in the queue.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(floor.reached(alice)).toHaveLength(2);
  });

  test('let one of a burst go over no limit', async () => {
    const floor = await openFloor(await place(), { limits: { perDay: 3, perMinute: null } });
    const { id } = await floor.addNumber();
    await floor.another();
    await floor.say(alice, 'Hi');
    const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => floor.send(id, alice, `text ${index}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
    await eventually(() => floor.reached(alice).length).toBe(3);
  });
});
