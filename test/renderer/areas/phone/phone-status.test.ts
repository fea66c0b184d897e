import { expect, test } from 'vitest';
import type { PhoneNumber, Port } from '../../../../src/contracts/phone/number.ts';
import type { Registration } from '../../../../src/contracts/phone/registration.ts';
import { portMessagingStates, portStates } from '../../../../src/contracts/phone/values.ts';
import {
  numberStatus,
  portOf,
  portStatus,
  registrationStatus,
} from '../../../../src/renderer/areas/phone/phone-status.ts';

const port: Port = { orderId: 'o', state: 'submitted', messaging: 'pending', problems: [], missing: [], readyOn: null };
const number: PhoneNumber = {
  id: 'n',
  e164: '+12025550100',
  type: 'local',
  country: 'US',
  locality: null,
  monthlyCost: null,
  carrier: 'simulator',
  smsState: 'pending_registration',
  voiceState: 'active',
  runtimeId: 'c',
  botId: 'b',
  port: null,
  problem: null,
  registered: false,
  createdAt: '2026-11-22T06:00:00.000Z',
};
const registration: Registration = {
  id: 'r',
  kind: '10dlc',
  state: 'pending',
  smsState: 'pending_registration',
  campaignId: null,
  form: {},
  nextRetryAt: null,
  steps: [],
  problems: [],
  needsPin: false,
  optInUrl: 'https://example.com/sms/n',
  correctable: [],
  correction: null,
};

test('amber is what a person has to do, and nothing that the carriers do', () => {
  expect(registrationStatus(null).tone).toBe('need');
  expect(registrationStatus(registration).tone).toBe('muted');
  expect(registrationStatus({ ...registration, needsPin: true }).tone).toBe('need');
  expect(registrationStatus({ ...registration, state: 'rejected' }).tone).toBe('need');
  expect(registrationStatus({ ...registration, rejectionReason: 'waiting: carrier outage' })).toMatchObject({
    word: 'Waiting, will retry',
    tone: 'muted',
  });
  expect(registrationStatus({ ...registration, state: 'approved', smsState: 'active' }).tone).toBe('proven');
  expect(portStatus({ ...port, missing: ['pin'] }).tone).toBe('need');
  expect(portStatus({ ...port, state: 'exception' }).tone).toBe('need');
  expect(portStatus(port).tone).toBe('muted');
});

test('a number says what stands in its way first: its port, then its registration', () => {
  expect(numberStatus({ ...number, smsState: 'active' }, null).word).toBe('Texts and calls');
  expect(numberStatus(number, undefined).tone).toBe('muted');
  expect(numberStatus(number, null).word).toBe('Needs registration');
  expect(numberStatus({ ...number, port: { ...port, state: 'exception' } }, null).word).toBe('Port needs correction');
  expect(numberStatus({ ...number, smsState: 'blocked' }, registration).word).toBe('Texts blocked');
  expect(numberStatus({ ...number, voiceState: 'pending' }, null).word).toBe('Being ordered');
});

test('a port is over only when calls and texts are here', () => {
  for (const state of portStates) {
    for (const messaging of portMessagingStates) {
      const one = { ...port, state, messaging };
      const over =
        state === 'ported' &&
        messaging !== 'pending' &&
        messaging !== 'activating' &&
        messaging !== 'exception' &&
        messaging !== 'partial_port_complete';
      expect(portOf({ port: one }), `${state} ${messaging}`).toEqual(over ? null : one);
      expect(portStatus(one).word, `${state} ${messaging}`).toBeTruthy();
    }
  }
});
