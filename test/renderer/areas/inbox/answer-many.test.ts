import { expect, test } from 'vitest';
import type { Approval } from '../../../../src/contracts/approvals/approval.ts';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import { answerMany } from '../../../../src/renderer/areas/inbox/answer-many.ts';

const approval = (id: string): Approval => ({
  id,
  kind: 'tool_call',
  state: 'pending',
  decision: null,
  title: id,
  summary: 'true',
  risk: 'low',
  source: 'gate',
  agentId: null,
  requestedAt: '2026-11-24T10:00:00.000Z',
  expiresAt: '2026-11-24T11:00:00.000Z',
  resolvedAt: null,
  resolvedBy: null,
  appliedAt: null,
  note: null,
});

test('each question is answered for itself: one that was answered elsewhere, or that fails, stops no other', async () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(approval) as [Approval, Approval, Approval, Approval];
  const faster: Approval = {
    ...b,
    state: 'resolved',
    decision: 'reject',
    resolvedBy: { user: 'ann', surface: 'push' },
  };
  const asked: string[] = [];
  const steps: number[] = [];
  const outcomes = await answerMany(
    [a, b, c, d],
    async ({ id }) => {
      asked.push(id);
      if (id === 'b') throw new AppError('refused', 'Answered.', '', { status: 409, extra: { approval: faster } });
      if (id === 'c') throw new AppError('transport', 'Nobody answers.', '');
    },
    (done) => steps.push(done),
  );
  expect(asked).toEqual(['a', 'b', 'c', 'd']);
  expect(steps).toEqual([1, 2, 3, 4]);
  expect(outcomes).toEqual([
    { approval: a, was: 'won' },
    { approval: b, was: 'other', now: faster },
    { approval: c, was: 'failed', why: 'Nobody answers.' },
    { approval: d, was: 'won' },
  ]);
});
