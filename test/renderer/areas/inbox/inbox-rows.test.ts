import { expect, test } from 'vitest';
import type { Approval } from '../../../../src/contracts/approvals/approval.ts';
import { groupQuestions, matchesText } from '../../../../src/renderer/areas/inbox/inbox-rows.ts';

const approval = (id: string, more: Partial<Approval> = {}): Approval => ({
  id,
  kind: 'tool_call',
  state: 'pending',
  decision: null,
  title: `Run ${id}`,
  summary: 'npm publish --tag latest',
  risk: 'low',
  source: 'gate',
  agentId: 'a1',
  requestedAt: '2026-11-24T10:00:00.000Z',
  expiresAt: '2026-11-24T11:00:00.000Z',
  resolvedAt: null,
  resolvedBy: null,
  appliedAt: null,
  note: null,
  ...more,
});
const askerOf = (id: string | null) =>
  id === 'a1'
    ? { address: 'tester@red', team: 'red' }
    : id === 'a2'
      ? { address: 'coder@blue', team: 'blue' }
      : undefined;

test('a question is found by words of who asks, its command and its details, in any order and case', () => {
  const one = approval('x', { details: [{ name: 'Folder', text: '/srv/shop' }] });
  for (const text of ['', 'PUBLISH tester', 'shop latest', 'run x']) expect(matchesText(one, text, askerOf)).toBe(true);
  for (const text of ['publish coder', 'unpublished']) expect(matchesText(one, text, askerOf)).toBe(false);
});

test('questions stand by bot, by team or by kind, and keep their order within', () => {
  const list = [
    approval('1'),
    approval('2', { agentId: 'a2' }),
    approval('3', { source: 'workflow', agentId: null }),
    approval('4'),
  ];
  const names = (grouping: Parameters<typeof groupQuestions>[1]) =>
    groupQuestions(list, grouping, askerOf).map(({ name, rows }) => [name, rows.map(({ id }) => id).join('')]);
  expect(names('none')).toEqual([['', '1234']]);
  expect(names('bot')).toEqual([
    ['coder@blue', '2'],
    ['Not asked by a bot', '3'],
    ['tester@red', '14'],
  ]);
  expect(names('team')).toEqual([
    ['blue', '2'],
    ['Not asked by a bot', '3'],
    ['red', '14'],
  ]);
  expect(names('kind')).toEqual([
    ['Asked before acting', '124'],
    ['Gates of runs', '3'],
  ]);
});
