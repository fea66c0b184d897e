/** What the simulated carrier does when it is asked to go wrong: after it acted, on the way, and in what it says. */
import { createPublicKey, verify } from 'node:crypto';
import { expect, test } from 'vitest';
import { faultNames } from '../../../tools/carrier-simulator/faults.ts';
import {
  boughtNumber,
  type Ear,
  type SimulatedCarrier,
  startEar,
  startSimulator,
} from '../../support/phone/simulator.ts';

const ada = '+12025550101';
const order = { phone_numbers: [{ phone_number: '+19705550160' }], customer_reference: 'ours' };

function signedBy(publicKey: string, { raw, signature, timestamp }: Ear['heard'][number]): boolean {
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey, 'base64').toString('base64url') },
    format: 'jwk',
  });
  return verify(null, Buffer.from(`${timestamp}|${raw}`), key, Buffer.from(signature, 'base64'));
}

const orders = async ({ ask }: SimulatedCarrier) => (await ask('GET', '/number_orders')).body.data.length;

test.for([
  ['fail_after', 1],
  ['cut_after', 1],
  ['hang_after', 1],
  ['broken_after', 1],
  ['fail_before', 0],
  ['cut_before', 0],
] as const)('%s: an order that was not answered was made %i times, and can be found', async ([name, made]) => {
  await using carrier = await startSimulator();
  carrier.sim.fault({ name, on: 'numbers.order' });
  const asked = fetch(`${carrier.sim.url}/number_orders`, {
    method: 'POST',
    headers: { authorization: `Bearer ${carrier.sim.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(order),
    signal: AbortSignal.timeout(500),
  });
  const answer = await asked.then(
    async (response) => [response.status, await response.json().catch(() => 'broken')] as const,
    () => null,
  );
  expect(answer === null || answer[0] === 500 || answer[1] === 'broken').toBe(true);
  expect(await orders(carrier)).toBe(made);
  const again = await carrier.ask('POST', '/number_orders', order);
  expect(again.status).toBe(made === 0 ? 200 : 400);
});

test('too many requests say when to come back, and money, level and a sold number each have their code', async () => {
  await using carrier = await startSimulator();
  carrier.sim.fault({ name: 'too_many', on: 'numbers.order', retryAfter: 7 });
  const response = await fetch(`${carrier.sim.url}/number_orders`, {
    method: 'POST',
    headers: { authorization: `Bearer ${carrier.sim.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(order),
  });
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7']);
  const codes = [];
  for (const name of ['no_funds', 'level_1', 'level_2', 'number_taken'] as const) {
    carrier.sim.fault({ name });
    codes.push((await carrier.ask('POST', '/number_orders', order)).body.errors[0].code);
  }
  expect(codes).toEqual(['20100', '20016', '20017', '85001']);
  expect(await orders(carrier)).toBe(0);
});

test('an order can fail after it was accepted, and what was paid comes back', async () => {
  await using carrier = await startSimulator();
  carrier.sim.fault({ name: 'order_fails' });
  await carrier.ask('POST', '/number_orders', order);
  await carrier.sim.settled();
  const found = await carrier.ask('GET', '/number_orders?filter[customer_reference]=ours');
  expect(found.body.data).toMatchObject([{ status: 'failure' }]);
  expect((await carrier.ask('GET', '/phone_numbers')).body.data).toEqual([]);
  expect(carrier.sim.state.charges.reduce((sum, { amount }) => sum + amount, 0)).toBe(0);
});

test('events come twice, reordered, late, not at all, or as nobody may believe them', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url);
  const heardAfter = async (name: Parameters<typeof carrier.sim.fault>[0]['name'], ...texts: string[]) => {
    const before = ear.heard.length;
    carrier.sim.fault({ name, on: 'message.received', ms: 30 });
    for (const text of texts) carrier.sim.text({ from: ada, to: e164, text });
    await carrier.sim.settled();
    return ear.heard.slice(before);
  };
  const textsOf = (heard: Ear['heard']) => heard.map(({ body }) => body.data.payload.text);

  const twice = await heardAfter('twice', 'a');
  expect(textsOf(twice)).toEqual(['a', 'a']);
  expect(new Set(twice.map(({ body }) => body.data.id)).size).toBe(1);
  expect(textsOf(await heardAfter('reorder', 'b', 'c'))).toEqual(['c', 'b']);
  expect(textsOf(await heardAfter('delay', 'd', 'e'))).toEqual(['e', 'd']);
  expect(textsOf(await heardAfter('missing', 'f', 'g'))).toEqual(['g']);
  const [bare] = await heardAfter('bare', 'h');
  expect(bare?.body).toMatchObject({ record_type: 'message', text: 'h' });

  const believed = async (name: 'forged' | 'changed' | 'old') => {
    const [event] = await heardAfter(name, name);
    const age = Date.now() / 1000 - Number(event?.timestamp);
    return [event !== undefined && signedBy(carrier.sim.publicKey, event), age > 300];
  };
  expect(await believed('forged')).toEqual([false, false]);
  expect(await believed('changed')).toEqual([false, false]);
  expect(await believed('old')).toEqual([true, true]);
  const [good] = await heardAfter('twice', 'i');
  expect(good !== undefined && signedBy(carrier.sim.publicKey, good)).toBe(true);
});

test('an event that was told can be told again, by its id, with a signature of now', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url);
  carrier.sim.text({ from: ada, to: e164, text: 'hello' });
  await carrier.sim.settled();
  const { body } = await carrier.ask('GET', '/sim/postings');
  expect(body.postings).toMatchObject([{ type: 'message.received', state: 'delivered', answer: '200' }]);
  expect((await carrier.ask('POST', `/sim/postings/${body.postings[0].id}/again`)).status).toBe(202);
  await carrier.sim.settled();
  expect(ear.heard.map(({ body: { data } }) => data.id)).toEqual([
    ear.heard[0]?.body.data.id,
    ear.heard[0]?.body.data.id,
  ]);
  expect((await carrier.ask('POST', '/sim/postings/nobody/again')).status).toBe(404);
});

test('a block that only the carrier knows of, a delivery that fails, a number that is taken away', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url, '+14165550150');
  const text = { from: e164, to: ada, text: 'hello' };
  carrier.sim.fault({ name: 'blocked' });
  expect((await carrier.ask('POST', '/messages', text)).body.errors[0].code).toBe('40300');
  carrier.sim.fault({ name: 'delivery', code: '40002' });
  await carrier.ask('POST', '/messages', text);
  await carrier.ask('POST', '/messages', { ...text, to: '+12025550140' });
  await carrier.ask('POST', '/messages', text);
  await carrier.sim.settled();
  expect(ear.of('message.finalized').map(({ errors }) => errors[0]?.code ?? null)).toEqual(['40002', '40001', null]);
  carrier.sim.fault({ name: 'port_out', on: e164 });
  expect((await carrier.ask('POST', '/messages', text)).body.errors[0].code).toBe('40305');
  const listed = await carrier.ask('GET', `/phone_numbers?filter[phone_number]=${encodeURIComponent(e164)}`);
  expect(listed.body.data).toMatchObject([{ status: 'ported-out' }]);
});

test('faults are planted by name over HTTP, are listed, and are forgotten', async () => {
  await using carrier = await startSimulator();
  expect((await carrier.ask('POST', '/sim/faults', { name: 'earthquake' })).status).toBe(400);
  expect((await carrier.ask('POST', '/sim/faults', { name: 'fail_after', on: 'texts.send', times: 3 })).status).toBe(
    201,
  );
  const { body } = await carrier.ask('GET', '/sim/faults');
  expect(Object.keys(body.known)).toEqual(Object.keys(faultNames));
  expect(body.planted).toMatchObject([{ name: 'fail_after', on: 'texts.send', times: 3 }]);
  await carrier.ask('DELETE', '/sim/faults');
  expect((await carrier.ask('GET', '/sim/faults')).body.planted).toEqual([]);
});
