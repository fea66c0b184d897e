/** Numbers, profiles and texts over the carrier's wire; with CARRIER_OPENAPI also held against its own papers. */
import { describe, expect, test } from 'vitest';
import type { CarrierFault } from '../../../../src/cloud-api/phone/carrier/port.ts';
import { carriers, type Opened } from './contract-support.ts';
import { withoutPapers } from './prism.ts';

const nobody = '00000000-0000-4000-8000-000000000000';

async function bought({ carrier, sim }: Opened, name = 'gantry phone_1') {
  const profile = await carrier.numbers.createProfile({
    name,
    webhookUrl: 'http://127.0.0.1:9/in',
    destinations: ['US', 'CA'],
  });
  const [offer] = await carrier.numbers.search({ country: 'US', type: 'local', areaCode: '970', limit: 1 });
  const e164 = offer!.e164;
  const order = await carrier.numbers.order({ e164, profileId: profile.id, key: `order ${name}` });
  await sim.settled();
  return { e164, profileId: profile.id, orderId: order.orderId };
}

describe.each(carriers)('numbers and texts of $name', ({ open }) => {
  test('offers are of the area that was asked for, with a place and a price', async () => {
    const { carrier } = await open();
    const local = await carrier.numbers.search({ country: 'US', type: 'local', areaCode: '970', limit: 3 });
    expect(local).toHaveLength(3);
    for (const offer of local) {
      expect(offer.e164).toMatch(/^\+1970\d{7}$/);
      expect(offer.type).toBe('local');
      expect(offer.locality).toEqual(expect.any(String));
      expect(offer.monthlyCost).toMatch(/^\d+\.\d+ USD$/);
    }
    const free = await carrier.numbers.search({ country: 'US', type: 'toll_free', limit: 2 });
    expect(free.map(({ type, e164 }) => [type, /^\+18(?:00|88|77|66|55|44|33)/.test(e164)])).toEqual([
      ['toll_free', true],
      ['toll_free', true],
    ]);
    expect(await carrier.numbers.search({ country: 'US', type: 'local', areaCode: '000', limit: 3 })).toEqual([]);
  });

  test('an order is found again by its key, and becomes a number that can be given up', async () => {
    const opened = await open();
    const { numbers } = opened.carrier;
    expect(await numbers.findOrder('order gantry phone_1')).toBe(null);
    const { e164, orderId, profileId } = await bought(opened);
    expect(await numbers.findOrder('order gantry phone_1')).toEqual({ orderId, state: 'done', reason: null });
    expect(await numbers.readOrder(orderId)).toEqual({ orderId, state: 'done', reason: null });
    const ours = await numbers.find(e164);
    expect(ours).toEqual({ id: expect.any(String), status: 'active' });
    await expect(numbers.order({ e164, profileId, key: 'another' })).rejects.toMatchObject({ kind: 'taken' });
    await numbers.release(ours!.id);
    await numbers.release(ours!.id);
    expect(await numbers.find(e164)).toBe(null);
    await expect(numbers.readOrder(nobody)).rejects.toMatchObject({ kind: 'not_found' });
  });

  test('a profile is found by its whole name, answers keywords in our words, and goes', async () => {
    const { carrier, sim } = await open();
    const { numbers } = carrier;
    const asked = { webhookUrl: 'http://127.0.0.1:9/in', destinations: ['US', 'CA'] };
    const { id } = await numbers.createProfile({ name: 'gantry 1', ...asked });
    await numbers.createProfile({ name: 'gantry 11', ...asked });
    expect(await numbers.findProfile('gantry 1')).toEqual({ id });
    expect(await numbers.findProfile('gantry')).toBe(null);
    const words = {
      stop: 'Acme: no more messages. START to begin again.',
      start: 'Acme: you are back again.',
      help: 'Acme: write to us@acme.example.',
    };
    await numbers.setAutoResponses(id, words);
    await numbers.setAutoResponses(id, { ...words, help: 'Acme: call us at 1-800-555-0199.' });
    const help = 'Acme: call us at 1-800-555-0199.';
    for (const of of ['US', 'CA']) {
      const there = sim.state.autoResponses.filter(({ country }) => country === of);
      expect(there.map(({ op, text }) => [op, text])).toEqual([
        ['stop', words.stop],
        ['start', words.start],
        ['info', help],
      ]);
    }
    await numbers.deleteProfile(id);
    await numbers.deleteProfile(id);
    expect(await numbers.findProfile('gantry 1')).toBe(null);
  });

  test('a text has the parts that the carrier counts, and is found again by its tag alone', async () => {
    const opened = await open();
    const { texts } = opened.carrier;
    const { e164: from, profileId } = await bought(opened);
    const since = Date.now() - 60_000;
    const one = { from, to: '+12025550101', profileId };
    const sent = await texts.send({ ...one, text: 'Hello', tag: 'text_1' });
    const long = await texts.send({ ...one, text: '€'.repeat(81), tag: 'text_11' });
    expect([sent.parts, long.parts]).toEqual([1, 2]);
    const find = (tag: string, to = one.to) => texts.findSent({ from, to, tag, since });
    expect(await find('text_1')).toEqual(sent);
    expect(await find('text_11')).toEqual(long);
    expect(await find('text')).toBe(null);
    expect(await find('text_1', '+12025550102')).toBe(null);
  });

  test('who said STOP is told, whichever side of the record they stand on', async () => {
    const opened = await open();
    const { e164, profileId } = await bought(opened);
    opened.sim.text({ from: '+12025550101', to: e164, text: 'Stop' });
    await opened.sim.settled();
    expect(await opened.carrier.texts.optOuts(profileId)).toEqual([
      { e164: '+12025550101', keyword: expect.stringMatching(/stop/i), at: expect.any(Number) },
    ]);
    const refused = opened.carrier.texts.send({ from: e164, to: '+12025550101', profileId, text: 'Hi', tag: 't' });
    await expect(refused).rejects.toMatchObject({ kind: 'opted_out', code: '40300' });
  });

  test('texts are refused by what is wrong with them', async () => {
    const opened = await open();
    const { e164: from, profileId } = await bought(opened);
    const kindOf = (to: string, text: string) =>
      opened.carrier.texts.send({ from, to, profileId, text, tag: 't' }).then(
        () => 'sent',
        (fault: CarrierFault) => fault.kind,
      );
    expect(await kindOf('+447911123456', 'Hi')).toBe('destination');
    expect(await kindOf('+12025550101', 'x'.repeat(1600))).toBe('content');
    expect(await kindOf('+12025550101', 'Hi')).toBe('sent');
  });
});

describe.skipIf(withoutPapers !== null)('the carrier’s OpenAPI', () => {
  test('is among what the contract is held against (needs CARRIER_OPENAPI to point to it)', () =>
    expect(carriers).toHaveLength(2));
});
