import { expect, test } from 'vitest';
import type { Port } from '../../../../src/contracts/phone/number.ts';
import { PortDetails } from '../../../../src/contracts/phone/number.ts';
import type { Conversation } from '../../../../src/contracts/phone/texts.ts';
import { portMessagingStates, portStates } from '../../../../src/contracts/phone/values.ts';
import {
  callWords,
  costWords,
  kindWords,
  numberWords,
  plainWord,
  portFields,
  portWords,
  readNumber,
  refusesText,
} from '../../../../src/renderer/areas/phone/phone-words.ts';

test('numbers are read as people write them, and shown in groups', () => {
  for (const typed of ['+12025550123', '202 555 0123', '(202) 555-0123', '1-202-555-0123', ' +1 202.555.0123 '])
    expect(readNumber(typed), typed).toBe('+12025550123');
  for (const typed of ['', '555 0123', '+0123456789', 'tel:+12025550123', '+12025550123;ext=5', '2025550123 x5'])
    expect(readNumber(typed), typed).toBeNull();
  expect(readNumber('+44 20 7946 0000')).toBe('+442079460000');
  expect(numberWords('+12025550123')).toBe('+1 202 555 0123');
  expect(numberWords('+442079460000')).toBe('+442079460000');
  expect(numberWords('48822')).toBe('48822');
});

const conversation: Conversation = {
  with: '+12025550123',
  name: null,
  botId: 'b',
  last: {
    id: 't',
    numberId: 'n',
    direction: 'in',
    from: '+12025550123',
    to: '+12025550100',
    text: 'hi',
    media: [],
    parts: 1,
    status: 'received',
    reason: null,
    by: null,
    botId: 'b',
    at: '2026-11-22T06:00:00.000Z',
  },
  optedOut: false,
  mayText: true,
  mayCall: true,
};

test('why nothing can be written is said before it is tried; STOP is said before all else', () => {
  expect(refusesText({ smsState: 'active' }, conversation)).toBeNull();
  expect(refusesText({ smsState: 'active' }, { ...conversation, mayText: false })).toMatch(/after they text you/);
  for (const smsState of ['pending_registration', 'rejected', 'blocked'] as const) {
    expect(refusesText({ smsState }, conversation), smsState).toBeTruthy();
    expect(refusesText({ smsState }, { ...conversation, optedOut: true }), smsState).toMatch(/said STOP/);
  }
});

const port: Port = { orderId: 'o', state: 'draft', messaging: 'pending', problems: [], missing: [], readyOn: null };

test('each state of a port is a sentence, and what is missing is named', () => {
  for (const state of portStates)
    for (const messaging of portMessagingStates)
      expect(portWords({ ...port, state, messaging }), `${state} ${messaging}`).toMatch(/^[A-Z].*[.:]$/);
  expect(portWords({ ...port, missing: ['pin', 'invoice'] })).toBe('The other carrier still needs: PIN, last bill.');
  expect(portWords({ ...port, state: 'ported', messaging: 'ported' })).toBe('The number is here.');
});

test('every detail of a port has a field', () => {
  expect(portFields.map(({ name }) => name).toSorted()).toEqual(Object.keys(PortDetails.shape).toSorted());
});

test('kinds, costs and wire words read as words', () => {
  expect(kindWords({ type: 'local', locality: 'Denver' })).toBe('Local, Denver');
  expect(kindWords({ type: 'toll_free', locality: null })).toBe('Toll-free');
  expect(costWords('1.00 USD')).toBe('1.00 USD a month');
  expect(plainWord('ACCOUNT_NOTIFICATION')).toBe('Account notification');
  expect(plainWord('2FA')).toBe('Sign-in codes');
  expect(plainWord('NGO')).toBe('Non-profit or charity');
  expect(callWords({ direction: 'in', missed: true })).toBe('Missed call');
});
