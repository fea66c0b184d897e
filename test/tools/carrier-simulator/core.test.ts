/** The simulated carrier's numbers, texts and events, asked on its wire. */
import { createPublicKey, verify } from 'node:crypto';
import { expect, test } from 'vitest';
import { boughtNumber, startEar, startSimulator } from '../../support/phone/simulator.ts';

const ada = '+12025550101';

test('nobody is answered without the key', async () => {
  await using carrier = await startSimulator();
  const response = await fetch(`${carrier.sim.url}/phone_numbers`, { headers: { authorization: 'Bearer other' } });
  expect(response.status).toBe(401);
  const control = await fetch(`${carrier.sim.origin}/sim`);
  expect(control.status).toBe(401);
});

test('numbers for sale are of reserved ranges, have a price and a place, and are not offered once they are held', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const path =
    '/available_phone_numbers?filter[country_code]=US&filter[phone_number_type]=local&filter[national_destination_code]=970';
  const { body } = await carrier.ask('GET', path);
  expect(body.data).toHaveLength(20);
  for (const offer of body.data) {
    expect(offer.phone_number).toMatch(/^\+19705550[1]\d\d$/);
    expect(offer.cost_information).toEqual({ monthly_cost: '1.00', upfront_cost: '1.00', currency: 'USD' });
    expect(offer.region_information).toContainEqual({ region_type: 'location', region_name: 'Fort Collins' });
  }
  const { e164 } = await boughtNumber(carrier, ear.url);
  const again = await carrier.ask('GET', path);
  expect(again.body.data.map((offer: { phone_number: string }) => offer.phone_number)).not.toContain(e164);
  const taken = await carrier.ask('POST', '/number_orders', { phone_numbers: [{ phone_number: e164 }] });
  expect(taken).toMatchObject({ status: 400, body: { errors: [{ code: '85001' }] } });
  const tollFree = await carrier.ask('GET', '/available_phone_numbers?filter[phone_number_type]=toll_free');
  expect(tollFree.body.data[0].phone_number).toMatch(/^\+18(00|33|44|55|66|77|88)5550\d{3}$/);
});

test('an order is pending at first, is found by its reference, and completes with an event that the given key signed', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator({ webhookUrl: `${ear.url}/account`, speed: 'paused' });
  const ordered = await carrier.ask('POST', '/number_orders', {
    phone_numbers: [{ phone_number: '+19705550150' }],
    customer_reference: 'ours',
  });
  expect(ordered.body.data.status).toBe('pending');
  expect((await carrier.ask('GET', '/phone_numbers')).body.data).toEqual([]);
  carrier.sim.step();
  await carrier.sim.settled();
  const found = await carrier.ask('GET', '/number_orders?filter[customer_reference]=ours');
  expect(found.body.data).toMatchObject([{ id: ordered.body.data.id, status: 'success' }]);
  const [event] = ear.heard;
  expect(event?.body.data).toMatchObject({ event_type: 'number_order.complete', payload: { status: 'success' } });
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(carrier.sim.publicKey, 'base64').toString('base64url') },
    format: 'jwk',
  });
  const signed = (raw: string) =>
    verify(null, Buffer.from(`${event?.timestamp}|${raw}`), key, Buffer.from(event?.signature ?? '', 'base64'));
  expect(signed(event?.raw ?? '')).toBe(true);
  expect(signed(`${event?.raw} `)).toBe(false);
});

test('a handset’s text reaches the address of the number’s profile, STOP blocks, START lifts, each answered once in the profile’s words', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164, profileId } = await boughtNumber(carrier, `${ear.url}/relay`);
  const stop = 'Acme: you get no more texts. START brings them back.';
  const set = await carrier.ask('POST', `/messaging_profiles/${profileId}/autoresp_configs`, {
    op: 'stop',
    keywords: ['STOP', 'END'],
    resp_text: stop,
    country_code: '*',
  });
  expect(set.status).toBe(200);
  carrier.sim.text({ from: ada, to: e164, text: 'hello' });
  carrier.sim.text({ from: ada, to: e164, text: ' stop ' });
  await carrier.sim.settled();
  expect(ear.of('message.received')).toMatchObject([
    { text: 'hello', from: { phone_number: ada }, to: [{ phone_number: e164 }], parts: 1 },
    { text: ' stop ', autoresponse_type: 'STOP' },
  ]);
  expect(ear.heard.map(({ path }) => path)).toEqual(['/relay', '/relay']);
  const send = { from: e164, to: ada, text: 'Are you there?', messaging_profile_id: profileId };
  expect(await carrier.ask('POST', '/messages', send)).toMatchObject({
    status: 400,
    body: { errors: [{ code: '40300' }] },
  });
  const optOuts = await carrier.ask('GET', `/messaging_optouts?filter[messaging_profile_id]=${profileId}`);
  expect(optOuts.body.data).toMatchObject([{ from: ada, to: e164, keyword: 'STOP' }]);
  carrier.sim.text({ from: ada, to: e164, text: 'STOP' });
  carrier.sim.text({ from: ada, to: e164, text: 'Start' });
  expect((await carrier.ask('POST', '/messages', send)).status).toBe(200);
  const answers = carrier.sim.handsets.find(ada).texts.filter(({ direction }) => direction === 'in');
  expect(answers.map(({ text }) => text)).toEqual([stop, expect.stringContaining('re-subscribed')]);
});

test('a text of a sender that nobody registered is taken, and fails later with the reason', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url);
  const sent = await carrier.ask('POST', '/messages', { from: e164, to: ada, text: 'x'.repeat(161) });
  expect(sent.body.data).toMatchObject({ parts: 2, to: [{ status: 'queued' }] });
  await carrier.sim.settled();
  expect(ear.of('message.sent')).toHaveLength(1);
  expect(ear.of('message.finalized')).toMatchObject([
    { id: sent.body.data.id, to: [{ status: 'delivery_failed' }], errors: [{ code: '40010' }] },
  ]);
});

test('an event that nobody takes is posted three times, and no more', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url);
  ear.answers = [500, 302, 500, 500];
  carrier.sim.text({ from: ada, to: e164, text: 'hello' });
  await carrier.sim.settled();
  expect(ear.heard.map(({ body }) => body.meta.attempt)).toEqual([1, 2, 3]);
  expect(new Set(ear.heard.map(({ body }) => body.data.id)).size).toBe(1);
});

test('its answers have the status and the shape that the carrier’s document gives them', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const checked = await carrier.ask('POST', '/portability_checks', { phone_numbers: ['+13035550129'] });
  expect(checked.status).toBe(201);

  const { e164, id } = await boughtNumber(carrier, ear.url);
  // A leg has only the state that it was given.
  const dial = async (more: object) => {
    const call = { connection_id: '1', from: e164, to: ada, webhook_url: ear.url, ...more };
    return (await carrier.ask('POST', '/calls', call)).body.data;
  };
  expect(await dial({})).not.toHaveProperty('client_state');
  expect(await dial({ client_state: 'b3Vycw==' })).toHaveProperty('client_state', 'b3Vycw==');
  carrier.sim.text({ from: ada, to: e164, text: '', media: true });
  await carrier.sim.settled();
  const states = ear.of('call.initiated').map((payload) => Object.hasOwn(payload, 'client_state'));
  expect(states).toEqual([false, true]);
  expect(ear.of('message.received')[0].media[0].hash_sha256).toMatch(/^[0-9a-f]{32}$/);

  const { body } = await carrier.ask('DELETE', `/phone_numbers/${id}`);
  expect(body.data).toMatchObject({ id, phone_number: e164, record_type: 'phone_number', status: 'deleted' });
  // Nothing that only a number that is held has.
  expect(Object.keys(body.data).sort()).toEqual(
    ['created_at', 'id', 'phone_number', 'purchased_at', 'record_type', 'status', 'tags'].sort(),
  );
});
