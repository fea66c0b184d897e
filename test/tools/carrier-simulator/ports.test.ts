/** Numbers brought from other carriers, asked on the simulated carrier's wire. */
import { expect, test } from 'vitest';
import { type SimulatedCarrier, startEar, startSimulator } from '../../support/phone/simulator.ts';

const e164 = '+13035551234';
const end_user = {
  admin: { entity_name: 'Acme LLC', auth_person_name: 'Ada Byron', account_number: '4711', pin_passcode: '0000' },
  location: {
    street_address: '1 Main St',
    locality: 'Denver',
    administrative_area: 'CO',
    postal_code: '80202',
    country_code: 'US',
  },
};

async function confirmed(carrier: SimulatedCarrier, webhook_url: string): Promise<string> {
  const profile = await carrier.ask('POST', '/messaging_profiles', {
    name: 'one',
    whitelisted_destinations: ['US'],
    webhook_url,
  });
  const { body } = await carrier.ask('POST', '/porting_orders', { phone_numbers: [e164], customer_reference: 'ours' });
  const id = body.data[0].id as string;
  const document = await carrier.ask('POST', '/documents', { file: 'JVBERi0=', filename: 'loa.pdf' });
  await carrier.ask('PATCH', `/porting_orders/${id}`, {
    end_user,
    documents: { loa: document.body.data.id, invoice: document.body.data.id },
    messaging: { enable_messaging: true },
    phone_number_configuration: { messaging_profile_id: profile.body.data.id, connection_id: '1' },
    webhook_url,
  });
  await carrier.ask('POST', `/porting_orders/${id}/actions/confirm`);
  return id;
}

const read = async (carrier: SimulatedCarrier, id: string) =>
  (await carrier.ask('GET', `/porting_orders/${id}`)).body.data;

test('an order is a list of drafts, and says what is missing before it is confirmed', async () => {
  await using carrier = await startSimulator();
  const checked = await carrier.ask('POST', '/portability_checks', { phone_numbers: [e164, '+13035550130'] });
  expect(checked.body.data).toMatchObject([{ portable: true }, { portable: false, phone_number: '+13035550130' }]);
  const made = await carrier.ask('POST', '/porting_orders', { phone_numbers: [e164], customer_reference: 'ours' });
  expect(made).toMatchObject({ status: 201, body: { data: [{ status: { value: 'draft' } }] } });
  const id = made.body.data[0].id;
  const refused = await carrier.ask('POST', `/porting_orders/${id}/actions/confirm`);
  expect(refused.status).toBe(422);
  expect(refused.body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer)).toContain(
    '/end_user/admin/pin_passcode',
  );
  expect((await carrier.ask('POST', '/porting_orders', { phone_numbers: [e164] })).status).toBe(422);
  expect((await carrier.ask('DELETE', `/porting_orders/${id}`)).status).toBe(204);
  const found = await carrier.ask('GET', '/porting_orders?filter[customer_reference]=ours');
  expect(found.body.data).toEqual([]);
});

test('a PIN that is refused is refused again until it is another one; calls come first, texts after', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator({ speed: 'paused' });
  carrier.sim.fault({ name: 'port_pin' });
  const id = await confirmed(carrier, ear.url);
  const steps = (count: number) => Array.from({ length: count }, () => carrier.sim.step());
  steps(2);
  expect((await read(carrier, id)).status).toMatchObject({
    value: 'exception',
    details: [{ code: 'PASSCODE_PIN_INVALID' }],
  });
  expect(steps(1)).toEqual([false]);
  await carrier.ask('PATCH', `/porting_orders/${id}`, { end_user: { admin: { entity_name: 'Acme' } } });
  steps(2);
  expect((await read(carrier, id)).status.value).toBe('exception');
  await carrier.ask('PATCH', `/porting_orders/${id}`, { end_user: { admin: { pin_passcode: '1234' } } });
  steps(2);
  expect(await read(carrier, id)).toMatchObject({
    status: { value: 'foc-date-confirmed', details: [] },
    activation_settings: { foc_datetime_actual: expect.any(String) },
    messaging: { messaging_port_status: 'pending' },
  });
  steps(1);
  const text = { from: e164, to: '+12025550101', text: 'hello' };
  expect((await carrier.ask('POST', '/messages', text)).body.errors[0].code).toBe('40320');
  steps(2);
  expect(await read(carrier, id)).toMatchObject({
    status: { value: 'ported' },
    messaging: { messaging_port_status: 'ported' },
  });
  expect((await carrier.ask('POST', '/messages', text)).status).toBe(200);
  await carrier.sim.settled();
  expect(ear.of('porting_order.status_changed').map(({ status }) => status.value)).toEqual(
    'in-process submitted exception in-process submitted exception in-process submitted foc-date-confirmed ported'.split(
      ' ',
    ),
  );
});

test('by hand, the other carrier refuses the PIN or goes on; a cancelled order leaves no number', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator({ speed: 'paused' });
  const id = await confirmed(carrier, ear.url);
  carrier.sim.settlePort(id, 'next');
  carrier.sim.settlePort(id, 'wrong_pin');
  expect((await read(carrier, id)).status.value).toBe('exception');
  expect(() => carrier.sim.settlePort(id, 'next')).toThrow('Nothing happens automatically');
  await carrier.ask('POST', `/porting_orders/${id}/actions/cancel`);
  carrier.sim.setSpeed('instant');
  await carrier.sim.settled();
  expect((await read(carrier, id)).status.value).toBe('cancelled');
  expect((await carrier.ask('GET', '/phone_numbers')).body.data).toEqual([]);
});

test('an order that is split holds its number in another one', async () => {
  await using carrier = await startSimulator();
  carrier.sim.fault({ name: 'port_split' });
  const { body } = await carrier.ask('POST', '/porting_orders', { phone_numbers: [e164], customer_reference: 'ours' });
  expect(body.data.map((order: { phone_numbers: unknown[] }) => order.phone_numbers.length)).toEqual([0, 1]);
  const found = await carrier.ask('GET', '/porting_orders?filter[customer_reference]=ours');
  expect(found.body.data).toHaveLength(2);
});
