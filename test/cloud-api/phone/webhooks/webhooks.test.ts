/** What a carrier may post and what becomes of it, on each engine. */
import { describe, expect, test } from 'vitest';
import { largestPosted } from '../../../../src/cloud-api/phone/webhooks/receiver.ts';
import { waitFor } from '../../../runtime-server/engine.ts';
import { engines } from '../../../support/engines.ts';
import { address, carrierPath, e164, eventText, newKey, openReceiver, relay } from './support.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

describe.each(engines)('what the carrier posts, on $name', ({ place, name }) => {
  const open = async (how?: Parameters<typeof openReceiver>[1]) => openReceiver(await place(), how);

  test('an event is kept before it is answered, and brought to its reader with all that it says', async () => {
    const it = await open();
    const reply = await it.send(eventText('evt_1', 'message.received', { media: [{ url: 'https://x.example' }] }));
    expect([reply.status, reply.json]).toEqual([200, { status: 'accepted' }]);
    expect(reply.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'x-request-id': expect.stringMatching(/^req_/),
    });
    expect(await it.rows('phone_webhook_receipt')).toHaveLength(1);
    await waitFor(
      () => it.taken.length,
      (count) => count === 1,
    );
    expect(it.taken[0]).toMatchObject({
      id: 'evt_1',
      type: 'message.received',
      numberId: 'number_1',
      occurredAt: Date.parse('2026-01-02T03:04:05.000Z'),
      payload: { text: 'Hello', media: [{ url: 'https://x.example' }], to: [{ phone_number: e164 }] },
    });
    await waitFor(
      () => it.rows('lane_item'),
      (rows) => rows.length === 0,
    );
  });

  test('of an event is kept what its reader keeps of it', async () => {
    const it = await open({
      keep: ({ brandId }) => ({ brandId }),
      take: () => Promise.reject(new Error('not now')),
    });
    const text = eventText('evt_1', '10dlc.brand.update', { brandId: 'b_1', reasons: ['EIN 45-9876543'] });
    expect((await it.send(text, carrierPath)).status).toBe(200);
    const kept = JSON.stringify(await it.rows('lane_item'));
    expect(kept).toContain('b_1');
    expect(kept).not.toContain('9876543');
  });

  test('what is forged, changed, too old or too new is refused in one way and leaves nothing', async () => {
    const it = await open();
    const text = eventText('evt_1');
    const good = it.key.headers(text, it.clock.now());
    const at = (seconds: number) => it.key.headers(text, it.clock.now() + seconds * 1000);
    const without = (gone: string) => Object.fromEntries(Object.entries(good).filter(([header]) => header !== gone));
    const signature = good['telnyx-signature-ed25519']!;
    const forged: [string, Record<string, string>][] = [
      [text, {}],
      [text, newKey().headers(text, it.clock.now())],
      [text.replace('Hello', 'hello'), good],
      [JSON.stringify(JSON.parse(text), null, 1), good],
      [`${text} `, good],
      [text, at(-302)],
      [text, at(302)],
      [text, { ...good, 'telnyx-timestamp': String(Number(good['telnyx-timestamp']) + 1) }],
      [text, { ...good, 'telnyx-timestamp': 'now' }],
      [text, { ...good, 'telnyx-signature-ed25519': signature.slice(4) }],
      [text, { ...good, 'telnyx-signature-ed25519': Buffer.alloc(64).toString('base64') }],
      [text, without('telnyx-timestamp')],
      [text, without('telnyx-signature-ed25519')],
    ];
    const replies = [];
    for (const [body, headers] of forged) replies.push(await it.post(relay, body, headers));
    expect(replies.map(({ status }) => status)).toEqual(forged.map(() => 401));
    expect(
      new Set(replies.map(({ json }) => JSON.stringify(json)).map((one) => one.replace(/req_[\d.]+/, ''))).size,
    ).toBe(1);
    expect(await it.rows('phone_webhook_receipt')).toEqual([]);
    expect(await it.rows('lane_item')).toEqual([]);
    expect((await it.post(relay, text, at(-298))).status).toBe(200);
  });

  test('without a key nobody is believed, and it is told', async () => {
    for (const publicKey of ['', 'x', Buffer.alloc(31).toString('base64')]) {
      const it = await open({ publicKey });
      expect((await it.send(eventText('evt_1'))).status).toBe(401);
      expect(it.logged.map(({ message }) => message)).toEqual([expect.stringContaining('public key')]);
    }
  });

  test('what was signed for one number does not count for another, and says no more than a forged one', async () => {
    const it = await open();
    const other = '+19705550151';
    const wrong = [
      eventText('evt_1', 'message.received', { to: [{ phone_number: other }] }),
      eventText('evt_2', 'message.received', { to: [] }),
      eventText('evt_3', 'message.received', { to: [{ phone_number: other }], from: { phone_number: e164 } }),
      eventText('evt_4', 'message.finalized', { direction: 'outbound' }),
      eventText('evt_5', 'message.finalized', { direction: 'outbound', from: other, to: [{ phone_number: e164 }] }),
      eventText('evt_6', 'message.received', { to: undefined, from: undefined }),
    ];
    for (const text of wrong) expect((await it.send(text)).status).toBe(401);
    const right = [
      eventText('evt_7', 'message.finalized', { direction: 'outbound', from: { phone_number: e164 }, to: [] }),
      eventText('evt_8', 'message.received', { to: [{ phone_number: other }], cc: [{ phone_number: e164 }] }),
      eventText('evt_9', 'porting_order.status_changed', { to: undefined, from: undefined }),
    ];
    for (const text of right) expect((await it.send(text)).status).toBe(200);
    // At the carrier's own address it is of no number.
    const elsewhere = await it.send(wrong[0]!, carrierPath);
    expect(elsewhere.json).toEqual({ status: 'accepted' });
    await waitFor(
      () => it.taken.length,
      (count) => count === 4,
    );
    expect(it.taken.find(({ id }) => id === 'evt_1')?.numberId).toBe(null);
  });

  test('a revoked address and one that never was answer the same, also for what is signed', async () => {
    const it = await open();
    const text = eventText('evt_1');
    const never = await it.send(text, `/channels/in/${'cd'.repeat(32)}`);
    const strange = await it.send(text, '/channels/in/x');
    it.revoked.add(address);
    const revoked = await it.send(text);
    expect([never, strange, revoked].map(({ status }) => status)).toEqual([410, 410, 410]);
    expect([never, strange].map(({ json }) => json.error)).toEqual([revoked.json.error, revoked.json.error]);
    expect((await it.send(text, '/api/v1/phone/webhooks/twilio')).status).toBe(404);
    expect(await it.rows('phone_webhook_receipt')).toEqual([]);
  });

  test('what comes again is taken once, also when it comes many times at once', async () => {
    const it = await open();
    const replies = await Promise.all(Array.from({ length: 12 }, () => it.send(eventText('evt_1'))));
    const said = replies.map(({ json }) => (json as unknown as { status: string }).status).sort();
    expect(said).toEqual(['accepted', ...Array.from({ length: 11 }, () => 'duplicate')]);
    await waitFor(
      () => it.taken.length,
      (count) => count === 1,
    );
    it.clock.move(6 * day);
    expect((await it.send(eventText('evt_1'))).json).toEqual({ status: 'duplicate' });
    await it.webhooks.forgetOld?.(it.clock.now());
    it.clock.move(6 * day);
    expect((await it.send(eventText('evt_1'))).json).toEqual({ status: 'duplicate' });
    it.clock.move(8 * day);
    await it.webhooks.forgetOld?.(it.clock.now());
    expect(await it.rows('phone_webhook_receipt')).toEqual([]);
    expect(it.taken).toHaveLength(1);
  });

  test('receipts of one text are told apart by their own ids', async () => {
    const it = await open();
    for (const id of ['evt_1', 'evt_2']) {
      const text = eventText(id, 'message.finalized', {
        id: 'sms-1',
        direction: 'outbound',
        from: { phone_number: e164 },
      });
      expect((await it.send(text)).json).toEqual({ status: 'accepted' });
    }
  });

  test('the tag of a text comes back with what is posted to its address', async () => {
    const it = await open();
    await it.send(eventText('evt_1', 'message.finalized', { tags: ['a'] }), `${carrierPath}?tag=text_1`);
    await waitFor(
      () => it.taken.length,
      (count) => count === 1,
    );
    expect(it.taken[0]?.payload.tags).toEqual(['a', 'text_1']);
  });

  test('what nobody reads is answered so that it does not come again, and is not kept', async () => {
    const it = await open();
    expect((await it.send(eventText('evt_1', 'fax.received'))).json).toEqual({ status: 'ignored' });
    expect(await it.rows('phone_webhook_receipt')).toEqual([]);
  });

  test('the registry’s events are read in an envelope and flat, and a flat one that says the same later is another', async () => {
    const it = await open();
    const flat = JSON.stringify({ campaignId: 'c', brandId: 'b', type: 'MNO_REVIEW', status: 'ACCEPTED' });
    expect((await it.send(flat, `${carrierPath}?ref=k`)).json).toEqual({ status: 'accepted' });
    expect((await it.send(flat, carrierPath)).json).toEqual({ status: 'duplicate' });
    it.clock.move(1000);
    expect((await it.send(flat, carrierPath)).json).toEqual({ status: 'accepted' });
    await it.send(eventText('evt_1', '10dlc.campaign.update', { campaignId: 'c' }), carrierPath);
    await it.send(JSON.stringify({ brandId: 'b', status: 'OK' }), carrierPath);
    await it.send(JSON.stringify({ verificationRequestId: 'v', status: 'verified' }), carrierPath);
    await it.send(JSON.stringify({ phoneNumber: e164, campaignId: 'c', status: 'ADDED' }), carrierPath);
    await waitFor(
      () => it.taken.length,
      (count) => count === 6,
    );
    expect(it.taken.map(({ type }) => type).sort()).toEqual([
      '10dlc.brand.update',
      '10dlc.campaign.update',
      '10dlc.campaign.update',
      '10dlc.campaign.update',
      '10dlc.phone_number.update',
      'toll_free_verification.status_update',
    ]);
    expect(it.taken.find(({ payload }) => payload.type === 'MNO_REVIEW')?.payload).toMatchObject({
      status: 'ACCEPTED',
    });
  });

  test('what is signed and no event, or too large, is refused without a trace', async () => {
    const it = await open();
    const deep = eventText('evt_1', 'message.received', { text: 'DEEP' }).replace(
      '"DEEP"',
      `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
    );
    for (const text of ['no JSON', '[1]', '"x"', '{}', '{"data":{"event_type":7,"id":"x"}}', eventText(''), deep]) {
      expect([text.slice(0, 40), (await it.send(text)).status]).toEqual([text.slice(0, 40), 400]);
    }
    const large = eventText('evt_1', 'message.received', { text: 'x'.repeat(largestPosted) });
    expect((await it.send(large)).status).toBe(413);
    expect(await it.rows('phone_webhook_receipt')).toEqual([]);
  });

  test('events of one subject are brought in order though the first is refused at first; others pass it', async () => {
    let refusals = 3;
    let passed = false;
    const it = await open({
      take: async ({ id }) => {
        passed ||= id === 'evt_4';
        // Until the other subject's event has passed it, and often enough to be told of.
        if (id === 'evt_1' && (refusals > 0 || !passed)) {
          refusals -= 1;
          throw new Error('not now: Hello');
        }
      },
    });
    for (const id of ['evt_1', 'evt_2', 'evt_3']) await it.send(eventText(id));
    await it.send(eventText('evt_4', 'message.received', { from: { phone_number: '+12025550102' } }));
    await waitFor(
      () => it.taken.length,
      (count) => count === 4,
    );
    const order = it.taken.map(({ id }) => id);
    expect(order.filter((id) => id !== 'evt_4')).toEqual(['evt_1', 'evt_2', 'evt_3']);
    expect(order.indexOf('evt_4')).toBeLessThan(order.indexOf('evt_1'));
    expect(it.logged[0]?.facts).toMatchObject({ id: 'evt_1', type: 'message.received', attempt: 3 });
    expect(JSON.stringify(it.logged)).not.toContain('Hello');
  });

  test('what nobody could take for a day is given up, and the log says which', async () => {
    const it = await open({ take: async () => Promise.reject(new Error('never')) });
    await it.send(eventText('evt_1'));
    it.clock.move(day + minute);
    await waitFor(
      () => it.rows('lane_item'),
      (rows) => rows.length === 0,
    );
    expect(it.logged.at(-1)).toEqual({
      message: expect.stringContaining('given up after 24 hours'),
      facts: { id: 'evt_1', type: 'message.received', numberId: 'number_1' },
    });
  });

  test('what waits for its reader is not forgotten however much time passes, and what was given up is a first one again', async () => {
    const [asked, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const it = await open({
      take: () => {
        asked.resolve();
        return read.promise;
      },
    });
    const again = async () => (await it.send(eventText('evt_1'))).json;
    expect(await again()).toEqual({ status: 'accepted' });
    await asked.promise;
    it.clock.move(8 * day);
    await it.webhooks.forgetOld?.(it.clock.now());
    expect(await it.rows('phone_webhook_receipt')).toHaveLength(1);
    expect(await again()).toEqual({ status: 'duplicate' });
    read.reject(new Error('never'));
    await waitFor(
      () => it.rows('lane_item'),
      (rows) => rows.length === 0,
    );
    expect(await again()).toEqual({ status: 'accepted' });
  });

  test('many receipts are forgotten, all but those of what waits', async () => {
    const it = await open({ take: () => new Promise(() => {}) });
    await it.send(eventText('evt_1'));
    const insert = 'INSERT INTO phone_webhook_receipt (id, seen_at) VALUES (?, ?)';
    await it.store.write(function* (tx) {
      for (let n = 0; n < 450; n += 1) yield* tx.run(insert, `receipt ${n}`, it.clock.now() - Math.floor(n / 100));
    });
    it.clock.move(8 * day);
    await it.webhooks.forgetOld?.(it.clock.now());
    const [receipt, ...others] = await it.rows('phone_webhook_receipt');
    expect(others).toEqual([]);
    expect(await it.rows('lane_item')).toMatchObject([{ id: receipt?.id }]);
  });

  test('what was answered is brought by the next process when this one ends before', async () => {
    const floor = await place();
    const first = await openReceiver(floor, { take: () => new Promise(() => {}) });
    await first.send(eventText('evt_1'));
    await first.webhooks.close?.();
    if (name === 'sqlite') await first.store.close();
    const second = await openReceiver(floor);
    // Its claim on the lane lapses where others share the database.
    second.clock.move(minute);
    await waitFor(
      () => second.taken.map(({ id }) => id),
      (ids) => ids.length === 1,
    );
    expect(second.taken[0]?.id).toBe('evt_1');
  });
});

describe.each(engines.filter(({ name }) => name === 'postgres'))('several replicas on $name', ({ place }) => {
  test('what the carrier posts to each of them is taken once, and in order', async () => {
    const floor = await place();
    const key = newKey();
    const [one, two] = [await openReceiver(floor, { key }), await openReceiver(floor, { key })];
    const ids = Array.from({ length: 10 }, (_, n) => `evt_${n}`);
    for (const id of ids) {
      const replies = await Promise.all([one.send(eventText(id)), two.send(eventText(id))]);
      const said = replies.map(({ json }) => (json as unknown as { status: string }).status).sort();
      expect(said).toEqual(['accepted', 'duplicate']);
    }
    const all = () => [...one.taken, ...two.taken].map(({ id }) => id);
    await waitFor(all, (taken) => taken.length >= ids.length);
    await waitFor(
      () => one.rows('lane_item'),
      (rows) => rows.length === 0,
    );
    expect(all().sort()).toEqual(ids);
    for (const { taken } of [one, two]) expect(taken.map(({ id }) => id)).toEqual(taken.map(({ id }) => id).sort());
  });
});
