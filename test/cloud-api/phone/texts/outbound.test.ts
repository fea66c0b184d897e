import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, eventually, openFloor, ours, person } from './support.ts';

const statuses = async (floor: Awaited<ReturnType<typeof openFloor>>, id: string) =>
  (await floor.list(id)).messages.filter(({ direction }) => direction === 'out').map(({ status }) => status);

describe.each(engines)('a text that is sent, on $name', ({ place }) => {
  test('leaves with the carrier’s count of parts, and its receipts say that it arrived', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    const sent = await floor.send(id, alice, 'é'.repeat(161));
    expect([sent.status, sent.json]).toEqual([200, { ok: true, messageId: expect.stringMatching(/^text_/), parts: 2 }]);
    await floor.settled();
    await eventually(() => statuses(floor, id)).toEqual(['delivered']);
    expect((await floor.list(id)).messages[0]).toMatchObject({
      from: ours,
      by: 'person',
      botId: 'bot_1',
      parts: 2,
      reason: null,
    });
    expect(floor.reached(alice)).toEqual(['é'.repeat(161)]);
  });

  test('is refused in one order, each with its reason', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const waiting = await floor.addNumber('+14165550151', { smsState: 'pending_registration' });
    const foreign = await floor.addNumber('+14165550152', { userId: 'somebody else' });
    const answer = async (numberId: string, to: string, text: string) => {
      const { status, json } = await floor.send(numberId, to, text);
      return [status, json.error];
    };
    for (const to of ['12025550199', '+19005551234', '+18765551234', '911', '+442079460000']) {
      expect(await answer(id, to, 'Hi')).toEqual([400, 'bad_request']);
    }
    expect(await answer(id, alice, ' \n')).toEqual([400, 'bad_request']);
    expect(await answer('number_unknown', alice, 'x'.repeat(1601))).toEqual([413, 'too_long']);
    expect(await answer(id, alice, 'ж'.repeat(671))).toEqual([413, 'too_long']);
    expect(await answer(id, alice, '😀'.repeat(400))).toEqual([413, 'too_long']);
    expect(await answer('number_unknown', alice, 'Hi')).toEqual([404, 'number_not_found']);
    expect(await answer(foreign.id, alice, 'Hi')).toEqual([404, 'number_not_found']);
    expect(await answer(waiting.id, alice, 'Hi')).toEqual([403, 'sms_not_active']);
    expect(await answer(id, alice, 'Hi')).toEqual([403, 'no_consent']);
    await floor.say(alice, 'Hello');
    await floor.say(alice, 'STOP');
    expect(await answer(id, alice, 'Hi')).toEqual([403, 'recipient_opted_out']);
    expect(floor.reached(alice)).toEqual([]);
  });

  test('may be sent by the number’s own computer, and by no other', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    const from = (device: string) =>
      floor.send(id, alice, `from ${device}`, { 'x-test-device': device, authorization: '' });
    expect((await from('computer_1')).status).toBe(200);
    expect((await from('computer_2')).json.error).toBe('number_not_found');
    expect((await floor.list(id)).messages[0]).toMatchObject({ by: 'bot', text: 'from computer_1' });
  });

  test('is sent once for one Idempotency-Key', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    const key = { 'idempotency-key': 'reply-1' };
    const [one, two] = await Promise.all([floor.send(id, alice, 'Yes', key), floor.send(id, alice, 'Yes', key)]);
    expect(one.json).toEqual(two.json);
    expect((await floor.send(id, alice, 'Yes', key)).json).toEqual(one.json);
    expect((await floor.send(id, alice, 'No', key)).json.error).toBe('idempotency_conflict');
    expect(floor.reached(alice)).toEqual(['Yes']);
  });

  test.each(['cut_after', 'fail_after', 'broken_after'])(
    'is not sent twice when the carrier took it and did not say so (%s)',
    async (name) => {
      const floor = await openFloor(await place(), { patienceMs: 200 });
      const { id } = await floor.addNumber();
      await floor.say(alice, 'Hi');
      for (const on of ['message.sent', 'message.finalized']) floor.simulated.sim.fault({ name: 'missing', on });
      floor.simulated.sim.fault({ name, on: 'texts.send' } as never);
      const sent = await floor.send(id, alice, 'Once');
      expect(sent.json).toMatchObject({ ok: true, parts: 1 });
      await eventually(() => statuses(floor, id)).toEqual(['sent']);
      expect(floor.reached(alice)).toEqual(['Once']);
    },
  );

  test('is sent again when the carrier surely has not taken it, and not before that is sure', async () => {
    const floor = await openFloor(await place(), { patienceMs: 200 });
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    floor.simulated.sim.fault({ name: 'cut_before', on: 'texts.send' });
    expect((await floor.send(id, alice, 'Late')).status).toBe(200);
    expect(await statuses(floor, id)).toEqual(['sending']);
    expect(floor.reached(alice)).toEqual([]);
    floor.pass(121_000);
    await eventually(() => floor.reached(alice)).toEqual(['Late']);
  });

  test('STOP while the carrier is silent ends it before it is tried again', async () => {
    const floor = await openFloor(await place(), { patienceMs: 200 });
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    floor.simulated.sim.fault({ name: 'cut_before', on: 'texts.send' });
    await floor.send(id, alice, 'Never');
    await floor.say(alice, 'STOP');
    floor.pass(121_000);
    await eventually(() => statuses(floor, id)).toEqual(['cancelled']);
    expect(floor.reached(alice)).toEqual([]);
  });

  test('STOP cancels what waits for that pair, and nothing of others', async () => {
    const floor = await openFloor(await place(), { limits: { perDay: 100, perMinute: 1 } });
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    await floor.say(bob, 'Hi');
    expect((await floor.send(id, bob, 'first')).status).toBe(200);
    // Both wait for their minute, and say so.
    expect((await floor.send(id, alice, 'second')).json).toMatchObject({ ok: true, parts: 1 });
    expect((await floor.send(id, bob, 'third')).status).toBe(200);
    expect(await statuses(floor, id)).toEqual(['queued', 'queued', expect.stringMatching(/sent|delivered/)]);
    await floor.say(alice, 'STOP');
    floor.pass(61_000);
    await eventually(() => floor.reached(bob)).toEqual(['first', 'third']);
    expect(floor.reached(alice)).toEqual([]);
    expect(
      (await floor.list(id, `?with=${encodeURIComponent(alice)}`)).messages.find(
        ({ direction }) => direction === 'out',
      ),
    ).toMatchObject({
      status: 'cancelled',
      reason: 'They said STOP before it was sent.',
    });
  });

  test('the carrier’s own block counts as STOP', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    floor.simulated.sim.fault({ name: 'blocked' });
    const refused = await floor.send(id, alice, 'Hello');
    expect([refused.status, refused.json]).toEqual([
      502,
      expect.objectContaining({ error: 'carrier_refused', code: '40300', message: expect.stringContaining('STOP') }),
    ]);
    expect((await floor.send(id, alice, 'Hello')).json.error).toBe('recipient_opted_out');
    const { entries } = (await floor.web.call('GET', `/api/v1/phone/numbers/${id}/opt-outs`)).json as never as {
      entries: unknown[];
    };
    expect(entries[0]).toMatchObject({ e164: alice, action: 'stop', source: 'carrier' });
  });

  test('a refusal has its code and words, and a later one is read in the list', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    floor.simulated.sim.fault({
      name: 'refuse',
      on: 'texts.send',
      status: 400,
      code: '40322',
      title: 'Content',
      detail: 'No',
    } as never);
    const refused = await floor.send(id, alice, 'Hello');
    expect([refused.status, refused.json.error, refused.json.code]).toEqual([502, 'carrier_refused', '40322']);
    const landline = '+12025550140';
    await floor.say(landline, 'Hi');
    // Its receipt may be as fast as the answer.
    await floor.send(id, landline, 'Hello');
    await floor.settled();
    await expect
      .poll(async () => (await floor.list(id)).messages[0])
      .toMatchObject({
        status: 'failed',
        reason: 'That is a landline, which cannot receive texts. (40001)',
      });
  });

  test('what the carrier is too busy for goes a little later', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    floor.simulated.sim.fault({ name: 'too_many', on: 'texts.send', retryAfter: 1 } as never);
    expect((await floor.send(id, alice, 'Soon')).json).toMatchObject({ ok: true });
    await eventually(() => floor.reached(alice)).toEqual(['Soon']);
  });

  test('a number and rolling day has its limit, which says when it ends', async () => {
    const floor = await openFloor(await place(), { limits: { perDay: 2, perMinute: null } });
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    expect((await floor.send(id, alice, '1')).status).toBe(200);
    floor.clock.move(3_600_000);
    expect((await floor.send(id, alice, '2')).status).toBe(200);
    const refused = await floor.send(id, alice, '3');
    expect([refused.status, refused.json.error]).toEqual([429, 'daily_limit']);
    const after = Number(refused.headers['retry-after']);
    expect(after).toBeGreaterThan(22.9 * 3600);
    expect(after).toBeLessThanOrEqual(23 * 3600);
    floor.clock.move(after * 1000 + 1000);
    expect((await floor.send(id, alice, '3')).status).toBe(200);
  });

  test('receipts that come late, twice and out of order move nothing back', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    await floor.send(id, alice, 'Hello');
    await floor.settled();
    await eventually(() => statuses(floor, id)).toEqual(['delivered']);
    for (const event of floor.events.filter(({ type }) => type !== 'message.received').toReversed()) {
      await floor.take(event);
      await floor.take(event);
    }
    const finalized = floor.events.find(({ type }) => type === 'message.finalized');
    const to = [{ status: 'delivery_failed' }];
    await floor.take({ ...finalized!, payload: { ...finalized!.payload, to, errors: [{ code: '40008' }] } });
    expect(await statuses(floor, id)).toEqual(['delivered']);
    expect(floor.texts.readers[0]!.prefix).toBe('message.');
  });

  test('what waits when its number is released never leaves', async () => {
    const floor = await openFloor(await place(), { limits: { perDay: 100, perMinute: 1 } });
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    await floor.send(id, alice, 'first');
    await floor.send(id, alice, 'second');
    const number = await floor.rows.numbers.find(id);
    await floor.store.write((tx) => floor.texts.hooks.released!(tx, number!));
    expect(await statuses(floor, id)).toEqual(['cancelled', expect.any(String)]);
    floor.pass(61_000);
    await floor.settled();
    expect(floor.reached(alice)).toEqual(['first']);
  });

  test('what the carrier knows and we do not is noted once a day', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hi');
    for (let times = 0; times < 3; times += 1) floor.simulated.sim.fault({ name: 'missing', on: 'message.received' });
    await floor.say(alice, 'STOP');
    expect((await floor.list(id)).messages).toHaveLength(1);
    await floor.texts.forgetOld(floor.clock.now());
    expect((await floor.send(id, alice, 'Hello')).json.error).toBe('recipient_opted_out');
    await floor.texts.forgetOld(floor.clock.now());
    const { entries } = (await floor.web.call('GET', `/api/v1/phone/numbers/${id}/opt-outs`)).json as never as {
      entries: unknown[];
    };
    expect(entries).toEqual([expect.objectContaining({ action: 'stop', source: 'carrier' })]);
  });
});

describe.each(engines)('what texts cost, on $name', ({ place }) => {
  test('is counted once for each text, as the carrier says it', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hello');
    await floor.send(id, alice, 'a'.repeat(200));
    await eventually(() => floor.counted.counted()).toEqual(['phone_text 0.008']);
    await floor.settled();
    for (const event of floor.events.filter(({ type }) => type.startsWith('message.'))) await floor.take(event);
    expect([...floor.counted.lines.values()]).toMatchObject([{ userId: person, name: ours, botId: 'bot_1' }]);
  });
});
