/** Carriers that are away, say it late, or say it in ways that nobody expects: nothing is sent twice, lost, or sent after STOP. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, eventually, type Floor, openFloor, ours } from './support.ts';

const sentOf = async (floor: Floor, id: string) =>
  (await floor.list(id)).messages.filter(({ direction }) => direction === 'out').map(({ status }) => status);

describe.each(engines)('texts in trouble, on $name', ({ place }) => {
  test.each([
    { name: 'fail_before' },
    { name: 'too_many', retryAfter: 1 },
    { name: 'refuse', status: 403, code: '20100', title: 'No funds' },
  ])(
    'one that went unanswered has not failed because the carrier’s records could not be read ($name)',
    async (fault) => {
      const floor = await openFloor(await place(), { patienceMs: 200 });
      const { id } = await floor.addNumber();
      await floor.say(alice, 'Hi');
      for (const on of ['message.sent', 'message.finalized']) floor.simulated.sim.fault({ name: 'missing', on });
      floor.simulated.sim.fault({ name: 'cut_after', on: 'texts.send' });
      floor.simulated.sim.fault({ on: 'texts.records', ...fault } as never);
      expect((await floor.send(id, alice, 'Once')).json).toMatchObject({ ok: true });
      await eventually(() => floor.simulated.sim.state.faults).toEqual([]);
      // Longer than its 200 ms of patience: what it made of that would be there by now.
      await new Promise((resolve) => void setTimeout(resolve, 300));
      expect(await sentOf(floor, id)).toEqual([expect.stringMatching(/^(sending|sent)$/)]);
      floor.pass(3_000);
      await eventually(() => sentOf(floor, id)).toEqual(['sent']);
      expect(floor.reached(alice)).toEqual(['Once']);
    },
  );

  test('one of which nobody can ever tell whether it was sent holds up its conversation for minutes, not hours', async () => {
    const floor = await openFloor(await place(), { patienceMs: 200 });
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    for (const on of ['message.sent', 'message.finalized']) floor.simulated.sim.fault({ name: 'missing', on });
    floor.simulated.sim.fault({ name: 'cut_after', on: 'texts.send' });
    const refused = { name: 'refuse', on: 'texts.records', status: 403, code: '10010', times: 10_000 };
    floor.simulated.sim.fault(refused as never);
    await floor.send(id, alice, 'Unknown');
    await floor.send(id, alice, 'Next');
    floor.pass(60_000);
    await eventually(() => sentOf(floor, id)).toEqual(['queued', 'sending']);
    floor.pass(10 * 60_000);
    await eventually(() => floor.reached(alice)).toEqual(['Unknown', 'Next']);
    expect((await sentOf(floor, id)).at(-1)).toBe('unconfirmed');
  });

  test('waits while nobody can reach the carrier, and leaves once when that is over', async () => {
    const floor = await openFloor(await place(), { patienceMs: 200 });
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    floor.away.carrier = true;
    expect((await floor.send(id, alice, 'Later')).json).toMatchObject({ ok: true });
    expect(await sentOf(floor, id)).toEqual([expect.stringMatching(/^(queued|sending)$/)]);
    floor.away.carrier = false;
    floor.pass(1_000);
    await eventually(() => floor.reached(alice)).toEqual(['Later']);
  });

  test('a receipt that speaks of STOP counts as one, and one that does not is no more than a failure', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    const fails = async (title: string) => {
      for (const on of ['message.sent', 'message.finalized']) floor.simulated.sim.fault({ name: 'missing', on });
      const json = (await floor.send(id, alice, title)).json as { messageId?: string };
      await floor.settled();
      const [sample] = floor.events;
      const payload = {
        id: `receipt of ${title}`,
        direction: 'outbound',
        tags: [json.messageId],
        errors: [{ code: '40300', title }],
        from: { phone_number: ours },
        to: [{ phone_number: alice, status: 'delivery_failed' }],
      };
      const known = await floor.store.get<{ key: string }>(
        'SELECT carrier_key AS key FROM phone_text WHERE id = ?',
        String(json.messageId),
      );
      const carrierId = known!.key.slice('out:'.length);
      await floor.take({ ...sample!, id: title, type: 'message.finalized', payload: { ...payload, id: carrierId } });
    };
    await fails('Destination unreachable');
    expect((await floor.list(id)).messages[0]).toMatchObject({ status: 'failed' });
    expect(floor.stopped).toEqual([]);
    await fails('Blocked due to STOP message');
    expect(floor.stopped).toEqual([`${id} ${alice}`]);
    expect((await floor.send(id, alice, 'Hello')).json.error).toBe('recipient_opted_out');
  });

  test('a STOP is heard whatever else stands in the event', async () => {
    const floor = await openFloor(await place());
    const { id, e164 } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    const event = floor.events.find(({ type }) => type === 'message.received')!;
    const media = [{ url: `https://media.test/${'x'.repeat(3000)}` }, { url: 7 }, { url: 'https://media.test/1' }];
    const payload = { ...event.payload, id: 'with media', text: 'STOP', media, parts: 'one' };
    await floor.take({ ...event, id: 'odd', payload });
    expect(floor.stopped).toEqual([`${id} ${alice}`]);
    const group = { to: [{ phone_number: '+12025550155' }], cc: [{ phone_number: e164 }], media: 'none' };
    await floor.take({
      ...event,
      id: 'group',
      payload: { ...event.payload, ...group, id: 'group', text: 'All of us' },
    });
    await eventually(() => floor.delivered.map(({ text }) => text)).toEqual(['Hi', 'All of us']);
    const came = (await floor.list(id)).messages.filter(({ direction }) => direction === 'in');
    expect(came.map(({ text }) => text)).toEqual(['All of us', 'STOP', 'Hi']);
  });

  test('waits with others for the minute’s limit also after the carrier was too busy for it', async () => {
    const floor = await openFloor(await place(), { limits: { perDay: 100, perMinute: 1 }, patienceMs: 200 });
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    await floor.say(bob, 'Hi');
    floor.simulated.sim.fault({ name: 'too_many', on: 'texts.send', retryAfter: 3600 } as never);
    await floor.send(id, alice, 'first');
    await eventually(() => sentOf(floor, id)).toEqual(['queued']);
    floor.clock.move(61_000);
    await floor.send(id, bob, 'second');
    await eventually(() => floor.reached(bob)).toEqual(['second']);
    floor.pass(1_000);
    // Nothing tells that a lane looked and let it wait; a text that was due goes out in a few milliseconds.
    await new Promise((resolve) => void setTimeout(resolve, 300));
    expect(floor.reached(alice)).toEqual([]);
    floor.pass(61_000);
    await eventually(() => floor.reached(alice)).toEqual(['first']);
  });
});
