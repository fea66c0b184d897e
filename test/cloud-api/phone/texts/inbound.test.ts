import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, eventually, openFloor, ours } from './support.ts';

describe.each(engines)('a text that comes, on $name', ({ place }) => {
  test('reaches the bot of its number once, however often the carrier brings it', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Are you open on Sunday?');
    await eventually(() => floor.delivered.length).toBe(1);
    expect(floor.delivered[0]).toMatchObject({
      provider: 'sms',
      numberId: id,
      botId: 'bot_1',
      from: alice,
      to: ours,
      text: 'Are you open on Sunday?',
      media: [],
      attempt: 1,
    });
    const [event] = floor.events.filter(({ type }) => type === 'message.received');
    await floor.take(event!);
    await floor.take({ ...event!, id: 'another id of the same text' });
    await floor.settled();
    expect((await floor.list(id)).messages).toHaveLength(1);
    expect(floor.delivered).toHaveLength(1);
    expect(floor.pushed.map(({ message }) => message.messageId)).toEqual([floor.delivered[0]!.messageId]);
  });

  test('STOP is kept back, logged, and confirmed by the carrier alone where that has answered', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hello');
    await floor.say(alice, ' stop ');
    await floor.say(alice, 'STOP');
    expect((await floor.list(id)).messages.map(({ status }) => status)).toEqual(['kept_back', 'kept_back', 'received']);
    expect(floor.reached(alice)).toEqual([]);
    expect(floor.answeredByCarrier(alice)).toHaveLength(1);
    expect(floor.stopped).toContain(`${id} ${alice}`);
    const refused = await floor.send(id, alice, 'Are you sure?');
    expect([refused.status, refused.json.error]).toEqual([403, 'recipient_opted_out']);
    const { entries } = (await floor.web.call('GET', `/api/v1/phone/numbers/${id}/opt-outs`)).json as never as {
      entries: { e164: string; action: string; source: string; evidence: string }[];
    };
    expect(entries[0]).toMatchObject({ e164: alice, action: 'stop', source: 'text', evidence: 'STOP' });
    await eventually(() => floor.delivered.map(({ text }) => text)).toEqual(['Hello']);
  });

  test('words that the carrier does not know are confirmed by us, once', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hello');
    await floor.say(alice, 'please stop texting me');
    await expect
      .poll(() => floor.reached(alice))
      .toEqual([`${ours}: You have opted out and get no more texts from this number. Reply START to get texts again.`]);
    await floor.say(alice, 'Take me off your list!!');
    await floor.say(alice, 'Stop. Thank you');
    await floor.settled();
    expect(floor.reached(alice)).toHaveLength(1);
    expect((await floor.send(id, alice, 'Hi')).status).toBe(403);
  });

  test('START lifts it and is confirmed, and nothing else does', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'stop texting me');
    await eventually(() => floor.reached(alice).length).toBe(1);
    await floor.say(alice, 'yes, write to me again');
    expect((await floor.send(id, alice, 'Hi')).json.error).toBe('recipient_opted_out');
    await floor.say(alice, 'Unstop!');
    await eventually(() => floor.reached(alice).length).toBe(2);
    expect(floor.reached(alice)[1]).toContain('You get texts from this number');
    expect((await floor.send(id, alice, 'Hi')).status).toBe(200);
    await eventually(() => floor.delivered.map(({ text }) => text)).toEqual(['yes, write to me again']);
  });

  test('STOP that was said later wins, in whatever order both come', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    floor.held.events = true;
    floor.simulated.sim.text({ from: alice, to: ours, text: 'START' });
    floor.clock.move(1000);
    floor.simulated.sim.text({ from: alice, to: ours, text: 'STOP' });
    await floor.simulated.sim.settled();
    const [first, second] = floor.events.filter(({ type }) => type === 'message.received');
    await floor.take(second!);
    await floor.take(first!);
    expect((await floor.send(id, alice, 'Hi')).json.error).toBe('recipient_opted_out');
  });

  test('HELP is answered also to somebody who said STOP, and not without end', async () => {
    const floor = await openFloor(await place());
    await floor.addNumber();
    await floor.say(alice, 'leave me alone');
    await eventually(() => floor.reached(alice).length).toBe(1);
    await floor.say(alice, '«help»');
    await floor.say(alice, '«help»');
    await eventually(() => floor.reached(alice).length).toBe(2);
    expect(floor.reached(alice)[1]).toContain('Reply STOP to opt out');
    expect(floor.delivered).toEqual([]);
  });

  test('what may mean STOP reaches the bot with a mark, and the list says why', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'haha stop');
    await eventually(() => floor.delivered[0]?.flag).toBe('may_mean_stop');
    expect((await floor.list(id)).messages[0]).toMatchObject({
      status: 'received',
      reason: expect.stringContaining('STOP'),
    });
    expect((await floor.send(id, alice, 'Shall I stop?')).status).toBe(200);
  });

  test('short codes and names of letters may write, and are not written to', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say('72975', 'Your code is 123456');
    await floor.say('GANTRY', 'stop texting me');
    await eventually(() => floor.delivered.map(({ from }) => from)).toEqual(['72975']);
    expect((await floor.send(id, '72975', 'Thanks')).json.error).toBe('bad_request');
    expect(floor.reached('GANTRY')).toEqual([]);
  });

  test('a text of another number, of no number, or that nobody can read is left alone', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hello');
    const [event] = floor.events.filter(({ type }) => type === 'message.received');
    const to = [{ phone_number: bob }];
    await floor.take({ ...event!, payload: { ...event!.payload, id: 'other', to } });
    await floor.take({ ...event!, numberId: 'number_unknown', payload: { ...event!.payload, id: 'third' } });
    await floor.take({ ...event!, payload: { id: 7 } });
    await floor.take({ ...event!, payload: { ...event!.payload, id: 'fourth', text: 'a\u0000b' } });
    expect((await floor.list(id)).messages.map(({ text }) => text)).toEqual(['ab', 'Hello']);
    expect(floor.warnings).toHaveLength(3);
  });

  test('a picture is known by where it is, and never fetched', async () => {
    const floor = await openFloor(await place());
    await floor.addNumber();
    floor.simulated.sim.text({ from: alice, to: ours, text: '', media: true });
    await floor.settled();
    await expect
      .poll(() => floor.delivered[0]?.media)
      .toEqual([{ url: expect.stringContaining('/media/'), contentType: 'image/png', size: expect.any(Number) }]);
  });
});
