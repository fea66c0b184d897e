/** What each refusal of the carrier means, over HTTP: every code, each shape of an error, and what must not be repeated in words. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { type BrandAsked, CarrierFault } from '../../../../src/cloud-api/phone/carrier/port.ts';
import { kindOfCode } from '../../../../src/cloud-api/phone/carrier/telnyx/faults.ts';
import { createTelnyxCarrier, kindOfTextError } from '../../../../src/cloud-api/phone/carrier/telnyx/index.ts';
import { onEnd } from '../../../kit/http/support.ts';
import { freePort } from '../../../support/free-port.ts';

type Reply =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  | ((response: ServerResponse) => void);

/** A carrier that answers everything in the same way, and counts how often it was asked. */
async function openCarrier() {
  let reply: Reply = { status: 500 };
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += String(part);
    asked.push(`${request.method} ${request.url} ${text}`);
    if (typeof reply === 'function') return reply(response);
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2`;
  const carrier = createTelnyxCarrier({ baseUrl, apiKey: 'KEY', connectionId: '1', name: 'telnyx' });
  return {
    carrier,
    asked,
    async faultOf(given: Reply, act: (it: typeof carrier) => Promise<unknown>): Promise<CarrierFault> {
      reply = given;
      const fault = await act(carrier).then(
        (value) => new Error(`done: ${JSON.stringify(value)}`),
        (error: unknown) => error,
      );
      if (!(fault instanceof CarrierFault)) throw fault;
      return fault;
    },
  };
}

type Act = Parameters<Awaited<ReturnType<typeof openCarrier>>['faultOf']>[1];

const brand: BrandAsked = {
  entityType: 'PRIVATE_PROFIT',
  displayName: 'Acme',
  companyName: 'Acme Inc',
  ein: '12-3456789',
  email: 'us@acme.example',
  country: 'US',
  vertical: 'RETAIL',
  webhookUrl: 'https://gantry.example/hook',
};
const text: Act = ({ texts }) =>
  texts.send({ from: '+19705550150', to: '+12025550101', text: 'Hi', profileId: 'p', tag: 't' });
const order: Act = ({ numbers }) => numbers.order({ e164: '+19705550150', profileId: 'p', key: 'k' });
const file: Act = ({ registry }) => registry.createBrand(brand);
const campaign: Act = ({ registry }) => registry.appealCampaign('c', 'mended');
const hangUp: Act = ({ calls }) => calls.speak('leg', 'Hi', 'k');
const read: Act = ({ registry }) => registry.readBrand('b');

const errors = (code: string, title = 'No', detail = 'Not so.') => ({ errors: [{ code, title, detail }] });

/** Where a code is heard. */
function whereOf(code: string): Act {
  if (/^85/.test(code)) return order;
  if (/^90/.test(code)) return hangUp;
  if (/^40|^10016/.test(code)) return text;
  return file;
}

test('each code that is known means over the wire what the table says', async () => {
  const { faultOf } = await openCarrier();
  for (const [code, kind] of kindOfCode) {
    const fault = await faultOf({ status: 400, body: errors(code) }, whereOf(code));
    expect([code, fault.kind, fault.code]).toEqual([code, kind, code]);
  }
});

test('money, level, key and rate are never the person’s fault, whatever was asked', async () => {
  const { faultOf } = await openCarrier();
  for (const act of [text, order, file, campaign]) {
    for (const code of ['20100', '20012', '20016', '20017', '10009', '20002', '10011', '10038']) {
      for (const status of [400, 401, 403, 422]) {
        expect([code, status, (await faultOf({ status, body: errors(code) }, act)).kind]).toEqual([
          code,
          status,
          'service',
        ]);
      }
    }
    // The single one of campaignBuilder.
    const poor = { status: 402, body: { code: '10015', title: 'Insufficient funds', detail: 'Top up.' } };
    expect((await faultOf(poor, act)).kind).toBe('service');
  }
});

test('a code or a shape that nobody knows blames nobody', async () => {
  const { faultOf } = await openCarrier();
  for (const body of [errors('77777'), {}, [], 'no JSON', { detail: 'Bad' }, { errors: [] }, { errors: [null] }]) {
    for (const act of [text, order, file]) expect((await faultOf({ status: 400, body }, act)).kind).toBe('service');
  }
});

test('what may have been done is not known, and is asked for once', async () => {
  const { faultOf, asked } = await openCarrier();
  const cut = (response: ServerResponse) => response.destroy();
  const half = { status: 200, body: '{"data": {"id": "' };
  const hollow = { status: 200, body: {} };
  for (const reply of [{ status: 500 }, { status: 503 }, { status: 408 }, { status: 409 }, cut, half, hollow]) {
    for (const act of [text, order, file]) {
      asked.length = 0;
      expect((await faultOf(reply, act)).kind).toBe('unknown');
      expect(asked).toHaveLength(1);
    }
  }
  // A question leaves nothing open.
  for (const reply of [{ status: 500 }, cut, half]) expect((await faultOf(reply, read)).kind).toBe('service');
});

test('nothing was done where nobody answers the door', async () => {
  const nobody = createTelnyxCarrier({
    baseUrl: `http://127.0.0.1:${await freePort()}/v2`,
    apiKey: 'K',
    connectionId: '1',
    name: 'telnyx',
  });
  for (const act of [text, order, file]) await expect(act(nobody)).rejects.toMatchObject({ kind: 'service' });
});

test('a text that carried no tag is never said not to have been sent', async () => {
  const { carrier } = await openCarrier();
  const asked = { from: '+19705550150', to: '+12025550101', tag: 't', since: 0 };
  await expect(carrier.texts.findSent(asked)).rejects.toMatchObject({ kind: 'unknown' });
});

test('too many requests say when to come again', async () => {
  const { faultOf, asked } = await openCarrier();
  const fault = await faultOf({ status: 429, body: errors('10011'), headers: { 'retry-after': '7' } }, text);
  expect([fault.kind, fault.retryAfter, asked.length]).toEqual(['service', 7, 1]);
});

test('fields at fault are named in each of the shapes', async () => {
  const { faultOf } = await openCarrier();
  const fastApi = { detail: [{ loc: ['body', 'ein'], msg: 'must have 9 digits', type: 'value_error' }] };
  const first = await faultOf({ status: 422, body: fastApi }, file);
  expect([first.kind, first.fields, first.message]).toEqual(['details', ['ein'], 'ein: must have 9 digits']);
  const pointed = { errors: [{ code: '10015', title: 'Bad', detail: 'Wrong.', source: { pointer: '/postalCode' } }] };
  const second = await faultOf({ status: 400, body: pointed }, file);
  expect([second.kind, second.fields]).toEqual(['details', ['postalCode']]);
  expect((await faultOf({ status: 400, body: { detail: 'No such use case' } }, campaign)).kind).toBe('details');
});

test('an EIN, a pin or an account that the carrier repeats is in no message', async () => {
  const { faultOf } = await openCarrier();
  const said = 'EIN 12-3456789 (123456789, 12 3456789) of +12025550123 is not of Acme.';
  const fault = await faultOf({ status: 400, body: errors('10015', 'Bad', said) }, file);
  expect(fault.message).toBe('EIN … (…, …) of +12025550123 is not of Acme.');
  expect(JSON.stringify([fault, fault.stack, fault.cause])).not.toMatch(/12.?3456789/);
  const pin = await faultOf({ status: 400, body: errors('10015', 'Bad', 'The pin 482913 is wrong.') }, ({ registry }) =>
    registry.checkCode('b', '482913'),
  );
  expect([pin.kind, pin.message]).toEqual(['wrong_pin', 'The pin … is wrong.']);
  const port = await faultOf(
    { status: 422, body: { detail: [{ loc: ['body', 'pin_passcode'], msg: 'not 99-A17' }] } },
    ({ ports }) =>
      ports.update('o', { details: { pin: '99A17' }, profileId: 'p', webhookUrl: 'https://gantry.example' }),
  );
  expect([port.kind, port.message]).toEqual(['details', 'pin_passcode: not …']);
  const unread = await faultOf({ status: 400, body: { note: 'EIN 12-3456789' } }, file);
  expect(unread.message).toBe('The carrier answered 400.');
});

test('40300 is an opt-out only where it speaks of one', () => {
  const of = (detail: string) => kindOfTextError({ code: '40300', title: 'Blocked', detail });
  expect(of('Messages cannot be sent due to a STOP message.')).toBe('opted_out');
  expect(of('Blocked by an existing block rule.')).toBe('opted_out');
  expect(of('Recipient has opted out.')).toBe('opted_out');
  expect(of('Destination unreachable.')).toBe('destination');
  expect(of('The carrier stopped answering.')).toBe('destination');
});

test('a call that has ended is gone, and hanging up on it is no fault', async () => {
  const { faultOf, carrier } = await openCarrier();
  const ended = { status: 422, body: errors('90018', 'Call has already ended') };
  expect((await faultOf(ended, hangUp)).kind).toBe('gone');
  await carrier.calls.hangup('leg', 'k');
  expect((await faultOf({ status: 404, body: errors('10005') }, hangUp)).kind).toBe('gone');
  expect(await carrier.calls.isAlive('leg')).toBe(false);
});

test('the relay address of a number is not repeated, whoever of the carrier’s quotes it', async () => {
  const it = await openCarrier();
  const secret = '5ec7'.repeat(16);
  const webhookUrl = `https://gantry.example/channels/in/${secret}`;
  const reply = {
    status: 422,
    body: {
      errors: [{ code: '10015', title: 'Bad', detail: `webhook_url '${webhookUrl}' cannot be reached, ${secret}` }],
    },
  };
  const profile: Act = ({ numbers }) => numbers.createProfile({ name: 'n', webhookUrl, destinations: ['US'] });
  const port: Act = ({ ports }) => ports.update('order', { details: {}, profileId: 'p', webhookUrl });
  for (const act of [profile, port]) {
    const fault = await it.faultOf(reply, act);
    expect(fault.message).toContain('cannot be reached');
    expect(fault.message).not.toContain(secret);
  }
});
