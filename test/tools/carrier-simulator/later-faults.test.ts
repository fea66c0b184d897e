/** Faults of the simulated carrier that strike after something was accepted. */
import { expect, test } from 'vitest';
import { boughtNumber, type SimulatedCarrier, startEar, startSimulator } from '../../support/phone/simulator.ts';

const ada = '+12025550101';
const campaign = { usecase: 'LOW_VOLUME', description: 'Answers of a bakery to people who text it first.' };

async function filed({ ask, sim }: SimulatedCarrier, webhookURL: string): Promise<string> {
  const brand = await ask('POST', '/10dlc/brand', {
    entityType: 'PRIVATE_PROFIT',
    displayName: 'Acme',
    companyName: 'Acme LLC',
    ein: '12-3456789',
    country: 'US',
    email: 'owner@acme.example',
    vertical: 'RETAIL',
  });
  await sim.settled();
  const { body } = await ask('POST', '/10dlc/campaignBuilder', {
    ...campaign,
    brandId: brand.body.brandId,
    webhookURL,
  });
  await sim.settled();
  return body.campaignId as string;
}

test.for([
  ['campaign_dormant', { status: 'DORMANT', campaignStatus: 'MNO_PROVISIONED' }, 'TELNYX_EVENT'],
  ['campaign_suspended', { status: 'ACTIVE', campaignStatus: 'TCR_SUSPENDED' }, 'TCR_EVENT'],
] as const)(
  '%s: a campaign that was set up is not for use any more, and its number’s texts fail',
  async ([name, state, type]) => {
    await using ear = await startEar();
    await using carrier = await startSimulator();
    const { e164 } = await boughtNumber(carrier, ear.url);
    carrier.sim.fault({ name });
    const id = await filed(carrier, ear.url);
    await carrier.ask('POST', '/10dlc/phone_number_campaigns', { phoneNumber: e164, campaignId: id });
    expect((await carrier.ask('GET', `/10dlc/campaign/${id}`)).body).toMatchObject(state);
    expect(ear.of('10dlc.campaign.update').at(-1)).toMatchObject({ type });
    await carrier.ask('POST', '/messages', { from: e164, to: ada, text: 'hello' });
    await carrier.sim.settled();
    expect(ear.of('message.finalized')).toMatchObject([{ errors: [{ code: '40010' }] }]);
  },
);

test('a number can fail to be linked, with its reason, and is linked when it is asked for again', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url);
  const campaignId = await filed(carrier, ear.url);
  const link = async () => {
    await carrier.ask('POST', '/10dlc/phone_number_campaigns', { phoneNumber: e164, campaignId });
    await carrier.sim.settled();
    return (await carrier.ask('GET', `/10dlc/phone_number_campaigns/${encodeURIComponent(e164)}`)).body;
  };
  carrier.sim.fault({ name: 'assignment_fails', reason: 'It is with another carrier.' });
  expect(await link()).toMatchObject({
    assignmentStatus: 'FAILED_ASSIGNMENT',
    failureReasons: 'It is with another carrier.',
  });
  expect((await link()).assignmentStatus).toBe('ASSIGNED');
  expect(ear.of('10dlc.phone_number.update').map(({ status }) => status)).toEqual(['FAILED', 'ADDED']);
});

test('an answer can be slow, and is still the answer', async () => {
  await using carrier = await startSimulator();
  carrier.sim.fault({ name: 'slow', on: 'numbers.search', ms: 120 });
  const began = performance.now();
  const { status } = await carrier.ask('GET', '/available_phone_numbers');
  expect(status).toBe(200);
  expect(performance.now() - began).toBeGreaterThan(110);
});

test('a code can miss its phone, and a brand stay unverified or pending', async () => {
  await using carrier = await startSimulator();
  const person = {
    entityType: 'SOLE_PROPRIETOR',
    displayName: 'Ada Bakes',
    firstName: 'Ada',
    lastName: 'Byron',
    country: 'US',
    email: 'ada@bakes.example',
    vertical: 'RETAIL',
    mobilePhone: ada,
  };
  const { body } = await carrier.ask('POST', '/10dlc/brand', person);
  carrier.sim.fault({ name: 'code_undelivered' });
  const words = { pinSms: 'Code @OTP_PIN@', successSms: 'Done.' };
  expect((await carrier.ask('POST', `/10dlc/brand/${body.brandId}/smsOtp`, words)).status).toBe(200);
  expect(carrier.sim.handsets.find(ada).texts).toEqual([]);

  const business = { ...person, entityType: 'PRIVATE_PROFIT', companyName: 'Acme LLC', ein: '12-3456789' };
  const brandWith = async (name: 'brand_unverified' | 'brand_slow') => {
    carrier.sim.fault({ name });
    const made = await carrier.ask('POST', '/10dlc/brand', business);
    await carrier.sim.settled();
    return (await carrier.ask('GET', `/10dlc/brand/${made.body.brandId}`)).body;
  };
  expect(await brandWith('brand_unverified')).toMatchObject({ status: 'OK', identityStatus: 'UNVERIFIED' });
  expect(await brandWith('brand_slow')).toMatchObject({ status: 'REGISTRATION_PENDING' });
});

test('a campaign refused outright costs nothing', async () => {
  await using carrier = await startSimulator();
  carrier.sim.fault({ name: 'campaign_refused', reason: 'Not allowed.' });
  await filed(carrier, '');
  expect(carrier.sim.state.charges.map(({ what }) => what)).toEqual(['brand']);
  expect(carrier.sim.state.campaigns).toEqual({});
});

test('a text’s delivery can stay unconfirmed, and its words still reach the handset', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url, '+14165550150');
  carrier.sim.fault({ name: 'delivery_unconfirmed' });
  await carrier.ask('POST', '/messages', { from: e164, to: ada, text: 'hello' });
  await carrier.sim.settled();
  expect(ear.of('message.finalized')).toMatchObject([{ to: [{ status: 'delivery_unconfirmed' }], errors: [] }]);
  expect(carrier.sim.handsets.find(ada).texts).toMatchObject([{ text: 'hello' }]);
});

test('a port can meet another exception, and its texts can stay behind', async () => {
  await using carrier = await startSimulator({ speed: 'paused' });
  const { body } = await carrier.ask('POST', '/porting_orders', { phone_numbers: ['+13035551234'] });
  const at = `/porting_orders/${body.data[0].id}`;
  const words = (...names: string[]) => Object.fromEntries(names.map((name) => [name, 'x']));
  await carrier.ask('PATCH', at, {
    end_user: {
      admin: words('entity_name', 'auth_person_name', 'account_number', 'pin_passcode'),
      location: words('street_address', 'locality', 'administrative_area', 'postal_code', 'country_code'),
    },
    documents: words('loa', 'invoice'),
    messaging: { enable_messaging: true },
  });
  carrier.sim.fault({ name: 'port_exception', code: 'LOCATION_MISMATCH', text: 'Another address.' });
  carrier.sim.fault({ name: 'port_messaging' });
  await carrier.ask('POST', `${at}/actions/confirm`);
  carrier.sim.step();
  carrier.sim.step();
  const read = async () => (await carrier.ask('GET', at)).body.data;
  expect((await read()).status).toEqual({
    value: 'exception',
    details: [{ code: 'LOCATION_MISMATCH', description: 'Another address.' }],
  });
  await carrier.ask('PATCH', at, { end_user: { location: { locality: 'Denver' } } });
  while (carrier.sim.step());
  expect(await read()).toMatchObject({
    status: { value: 'ported' },
    messaging: { messaging_port_status: 'exception' },
  });
  carrier.sim.settlePort(body.data[0].id, 'next');
  expect((await read()).messaging.messaging_port_status).toBe('ported');
});
