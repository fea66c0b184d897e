/** States of calls and legs are data: each move is open from where the table says, and from nowhere else, in the database too. */
import { describe, expect, test } from 'vitest';
import { phoneCallMigrations } from '../../../../src/cloud-api/phone/calls/index.ts';
import {
  type CallMove,
  callMoves,
  durationOf,
  type LegMove,
  legMoves,
  openIn,
  outcomeOf,
} from '../../../../src/cloud-api/phone/calls/model.ts';
import { addCall, addLeg, findCall, findLeg, moveCall, moveLeg } from '../../../../src/cloud-api/phone/calls/store.ts';
import { comeBack, greeting, question } from '../../../../src/cloud-api/phone/calls/words.ts';
import { callStatuses, controlActions } from '../../../../src/contracts/phone/calls.ts';
import { engines } from '../../../support/engines.ts';

const about = {
  numberId: 'n',
  userId: 'u',
  ours: '+14165550150',
  peer: '+12025550199',
  botId: 'b',
  direction: 'out',
  botName: null,
  basis: null,
  purpose: null,
  sessionId: null,
  attestation: null,
  startedAt: 1,
  lookAt: 1,
  ref: null,
} as const;
const legStates = ['ringing', 'talking', 'held', 'ended'] as const;

describe.each(engines)('the tables on $name', ({ place }) => {
  test('every move of a call, from every status', async () => {
    const store = await (await place()).open(phoneCallMigrations);
    for (const status of callStatuses) {
      for (const move of Object.keys(callMoves) as CallMove[]) {
        const id = `${status} ${move}`;
        const moved = await store.write(function* (tx) {
          yield* addCall(tx, { ...about, id });
          yield* tx.run(
            'UPDATE phone_call SET status = ?, ended_at = ? WHERE id = ?',
            status,
            status === 'ended' ? 2 : null,
            id,
          );
          return yield* moveCall(tx, id, move, move === 'end' ? { endedAt: 3, endedBecause: 'x' } : {});
        });
        const { from, to } = callMoves[move];
        const isOpen = (from as readonly string[]).includes(status);
        expect([id, moved]).toEqual([id, isOpen]);
        expect((await store.read((tx) => findCall(tx, id)))?.status).toBe(isOpen ? to : status);
      }
    }
  });

  test('every move of a leg, from every state', async () => {
    const store = await (await place()).open(phoneCallMigrations);
    for (const state of legStates) {
      for (const move of Object.keys(legMoves) as LegMove[]) {
        const id = `${state} ${move}`;
        const moved = await store.write(function* (tx) {
          yield* addLeg(tx, { id, callId: 'c', role: 'person', e164: about.peer, carrierLeg: null, at: 1 });
          yield* tx.run('UPDATE phone_call_leg SET state = ? WHERE id = ?', state, id);
          return yield* moveLeg(tx, id, move);
        });
        const { from, to } = legMoves[move];
        const isOpen = (from as readonly string[]).includes(state);
        expect([id, moved]).toEqual([id, isOpen]);
        expect((await store.read((tx) => findLeg(tx, id)))?.state).toBe(isOpen ? to : state);
      }
    }
  });
});

test('nothing can be done to a call that has ended, and hanging up always before', () => {
  for (const action of controlActions) expect(openIn[action]).not.toContain('ended');
  expect(openIn.hangup).toEqual(callMoves.end.from);
});

test('what the end of a leg says of a transfer', () => {
  const outcomes = [
    ['user_busy', false, 'busy'],
    ['call_rejected', false, 'declined'],
    ['timeout', false, 'no_answer'],
    ['normal_clearing', true, 'declined'],
    ['normal_clearing', false, 'failed'],
    ['not_found', false, 'failed'],
  ] as const;
  for (const [cause, answered, outcome] of outcomes) {
    expect([cause, outcomeOf(cause, answered)]).toEqual([cause, outcome]);
    expect(comeBack[outcomeOf(cause, answered)]).toMatch(/^Thank you for waiting\./);
  }
});

test('durations are whole seconds, and never below none', () => {
  expect([durationOf(null, 5_000), durationOf(1_000, 62_400), durationOf(9_000, 1_000)]).toEqual([0, 61, 0]);
});

test('each first word says that a machine speaks, also where nothing is known of it', () => {
  const nobody = { botName: null, brand: null };
  for (const direction of ['in', 'out'] as const) {
    const words = greeting({ direction, purpose: null, ours: about.ours }, nobody);
    expect(words).toContain('automated assistant');
    expect(words).not.toMatch(/null|undefined|about:/);
  }
  const words = question({ peer: 'ACME', purpose: null }, nobody);
  expect(words).toMatch(/automated assistant.*Press 1/);
});
