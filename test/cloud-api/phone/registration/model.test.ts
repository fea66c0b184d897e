/** The stages of a registration, walked as data. Pure. */
import { describe, expect, test } from 'vitest';
import {
  einGone,
  moves,
  reasonOf,
  stageSays,
  stages,
  stateOf,
  underReview,
} from '../../../../src/cloud-api/phone/registration/model.ts';
import { RegistrationState, SmsState } from '../../../../src/contracts/phone/values.ts';

describe('the stages of a registration', () => {
  test('each can be reached from where a registration begins, and each but the approved ones can be left', () => {
    const begun = new Set(['filed', 'brand']);
    for (let grown = 0; grown !== begun.size; ) {
      grown = begun.size;
      for (const { from, to } of Object.values(moves)) {
        if (from.some((stage) => begun.has(stage))) begun.add(to);
      }
    }
    expect([...begun].sort()).toEqual([...stages].sort());
    const left = new Set<string>(Object.values(moves).flatMap(({ from }) => [...from]));
    // A business that was refused files anew.
    expect(stages.filter((stage) => !left.has(stage))).toEqual(['brand_rejected']);
  });

  test('each has the state that people are shown', () => {
    for (const stage of stages) {
      const { state, smsState } = stageSays[stage];
      expect(state === 'kept' || RegistrationState.safeParse(state).success, stage).toBe(true);
      expect(SmsState.safeParse(smsState).success, stage).toBe(true);
      // Only what was approved texts.
      expect(smsState === 'active', stage).toBe(state === 'approved');
      expect(smsState === 'rejected', stage).toBe(state === 'rejected');
    }
  });

  test('a blocked one is what it was before', () => {
    expect(stateOf({ stage: 'blocked', approvedAt: 1 })).toBe('approved');
    expect(stateOf({ stage: 'blocked', approvedAt: null })).toBe('pending');
  });

  test('nobody keeps a full EIN once its registry has decided', () => {
    for (const { to } of Object.values(moves)) {
      const decided = ['campaign', 'review', 'approved'].includes(to) || to.endsWith('rejected');
      if (decided) expect(einGone.has(to), to).toBe(true);
    }
    for (const stage of ['filed', 'brand', 'code', 'verification'] as const) expect(einGone.has(stage)).toBe(false);
  });

  test('reasons are worded by whose they are', () => {
    const row = { stage: 'campaign_rejected', reason: 'The samples do not fit.', waiting: null } as const;
    expect(reasonOf(row)).toBe('campaign: The samples do not fit.');
    expect(reasonOf({ ...row, stage: 'brand_rejected' })).toBe('The samples do not fit.');
    expect(reasonOf({ stage: 'filed', reason: null, waiting: 'no money' })).toBe('waiting: no money');
    expect(reasonOf({ stage: 'filed', reason: null, waiting: null })).toBe(undefined);
  });

  test('what is under review is pending', () => {
    for (const stage of underReview) expect(stageSays[stage].state).toBe('pending');
  });
});
