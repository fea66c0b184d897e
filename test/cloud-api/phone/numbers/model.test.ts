/** The phases of a number, each move between them in the database, and what a row looks like to others. */
import { describe, expect, test } from 'vitest';
import { phoneNumberMigrations } from '../../../../src/cloud-api/phone/numbers/migrations.ts';
import {
  limitOf,
  live,
  type Move,
  missingOf,
  moves,
  type NumberRow,
  phases,
  portProblem,
  shown,
  toPhoneNumber,
} from '../../../../src/cloud-api/phone/numbers/model.ts';
import { createNumberStore, type NewNumber } from '../../../../src/cloud-api/phone/numbers/store.ts';
import { engines } from '../../../support/engines.ts';

const number: NewNumber = {
  id: 'number_1',
  userId: 'ada',
  e164: '+19705550150',
  country: 'US',
  locality: null,
  monthlyCost: null,
  carrier: 'simulator',
  runtimeId: 'computer_a',
  botId: 'bot_1',
  botName: null,
  portDetails: 'sealed',
  addressHash: 'hash',
  address: 'sealed',
  type: 'local',
  origin: 'bought',
};

describe.each(engines)('on $name', ({ place }) => {
  test('each move is open from the phases that its table names, and from no other', async () => {
    const store = await (await place()).open(phoneNumberMigrations);
    const rows = createNumberStore(store, () => 1);
    await store.write((tx) => rows.create(tx, number, 1));
    for (const name of Object.keys(moves) as Move[]) {
      const { from, to } = moves[name];
      for (const phase of phases) {
        await store.write((tx) =>
          tx.run(`UPDATE phone_number SET phase = ?, address = 'sealed', port_details = 'x'`, phase),
        );
        const moved = await store.write((tx) => rows.move(tx, 'number_1', name));
        const open = (from as readonly string[]).includes(phase);
        expect([name, phase, moved?.phase ?? null]).toEqual([name, phase, open ? to : null]);
        // What is over keeps neither its address nor what only the other carrier had to know.
        if (open) expect([moved?.address, moved?.portDetails]).toEqual(to === 'held' ? ['sealed', 'x'] : [null, null]);
      }
    }
    expect(await store.write((tx) => rows.move(tx, 'nothing_1', 'release'))).toBeNull();
  });

  test('one number is one person’s at a time, and counts for as long as it is on its way or there', async () => {
    const store = await (await place()).open(phoneNumberMigrations);
    const rows = createNumberStore(store, () => 1);
    const create = (id: string) =>
      store.write((tx) => rows.create(tx, { ...number, id, addressHash: `hash ${id}` }, 10));
    await create('number_1');
    await expect(create('number_2')).rejects.toMatchObject({ options: { wireCode: 'number_taken' } });
    for (const phase of phases) {
      await store.write((tx) => tx.run('UPDATE phone_number SET phase = ?', phase));
      const { has } = await store.read((tx) => rows.count(tx, 'ada'));
      expect([phase, has]).toEqual([phase, (live as readonly string[]).includes(phase) ? 1 : 0]);
      expect([phase, (await rows.list('ada')).length]).toEqual([
        phase,
        (shown as readonly string[]).includes(phase) ? 1 : 0,
      ]);
    }
    expect((await create('number_2')).id).toBe('number_2');
  });
});

test('a plan that nobody knows holds nothing', () => {
  expect(['free', 'plus', 'super', 'ultra', 'gold', ''].map(limitOf)).toEqual([0, 3, 5, 10, 0, 0]);
});

test('what the carrier says is wrong with a port is told in words, with the field that mends it', () => {
  expect(portProblem({ code: 'PASSCODE_PIN_INVALID', text: 'x' })).toEqual({
    code: 'PASSCODE_PIN_INVALID',
    text: 'The PIN is wrong.',
    field: 'pin',
  });
  expect(portProblem({ code: 'OTHER', text: 'Ask them.' })).toEqual({ code: 'OTHER', text: 'Ask them.', field: null });
  expect(portProblem({ code: 'NEW_ONE', text: '' })).toEqual({ code: 'NEW_ONE', text: 'NEW_ONE', field: null });
});

test('only a draft misses something', () => {
  expect(missingOf({ portState: 'draft', portGiven: null })).toContain('pin');
  expect(missingOf({ portState: 'draft', portGiven: '["pin"]' })).not.toContain('pin');
  expect(missingOf({ portState: 'exception', portGiven: null })).toEqual([]);
});

test('a ported number is never shown as one that texts before its texts are here', () => {
  const row = {
    ...number,
    phase: 'held',
    smsState: 'active',
    voiceState: 'active',
    createdAt: 0,
  } as unknown as NumberRow;
  const state = (portMessaging: string | null) =>
    toPhoneNumber(
      {
        ...row,
        portState: portMessaging === null ? null : 'ported',
        portMessaging,
        portProblems: null,
        portReadyOn: null,
        portGiven: null,
        orderId: null,
      } as NumberRow,
      false,
    ).smsState;
  expect([null, 'ported', 'pending', 'exception', 'canceled', 'not_applicable'].map(state)).toEqual([
    ...['active', 'active', 'pending_registration', 'pending_registration', 'pending_registration'],
    'pending_registration',
  ]);
});
