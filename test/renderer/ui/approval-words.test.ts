import { expect, test } from 'vitest';
import type { Approval } from '../../../src/contracts/approvals/approval.ts';
import { splitApprovals } from '../../../src/renderer/base/approvals.ts';
import { answeredWords, askerWords, isPending, saysAsker, showsDiff } from '../../../src/renderer/ui/approval-words.ts';

const at = (minute: number): string => `2026-01-02T03:${String(minute).padStart(2, '0')}:00.000Z`;
const now = Date.parse(at(10));

function approval(more: Partial<Approval> = {}): Approval {
  return {
    id: 'apr_1',
    kind: 'tool_call',
    state: 'pending',
    decision: null,
    title: 'Publish',
    summary: 'npm publish',
    risk: 'high',
    source: 'gate',
    agentId: null,
    requestedAt: at(0),
    expiresAt: at(20),
    resolvedAt: null,
    resolvedBy: null,
    appliedAt: null,
    note: null,
    ...more,
  };
}
const by = (user: string, surface: string) => ({ user, surface });

test.each([
  [approval(), null],
  [approval({ expiresAt: at(9) }), 'Expired without an answer'],
  [
    approval({ state: 'resolved', decision: 'approve', resolvedBy: by('me', 'browser') }),
    'Approved by you in the browser',
  ],
  [
    approval({ state: 'resolved', decision: 'reject', resolvedBy: by('ada', 'push') }),
    'Rejected by ada from a notification',
  ],
  [approval({ state: 'resolved', decision: 'reject', resolvedBy: by('ada', 'watch') }), 'Rejected by ada via watch'],
  [approval({ state: 'resolved', resolvedBy: by('me', 'pane') }), 'Answered in its pane'],
  [approval({ state: 'resolved' }), 'Withdrawn'],
])('%#: what became of it is said in words', (one, words) => {
  expect(answeredWords(one, 'me', now)).toBe(words);
});

test.each([
  [approval({ source: 'executor', resolvedAt: at(0) }), '; it runs when the program asks'],
  [approval({ source: 'executor', resolvedAt: at(1) }), '; it runs once if the program asks again within 10 minutes'],
  [approval({ source: 'executor', resolvedAt: at(1), agentId: 'agent_1' }), '; it runs when the bot asks'],
  [approval({ source: 'executor', resolvedAt: at(1), runId: 'run_1' }), ''],
  [approval({ source: 'executor', resolvedAt: at(0), dagId: 'dag_1', nodeId: 'look' }), ''],
  [approval({ source: 'gate', resolvedAt: at(1) }), ''],
])('%#: a yes to a tool call never reads as if it had run', (one, words) => {
  const yes = { ...one, state: 'resolved', decision: 'approve', resolvedBy: by('me', 'browser') } as const;
  expect(answeredWords(yes, 'me', now)).toBe(`Approved by you in the browser${words}`);
  expect(answeredWords({ ...yes, decision: 'reject' }, 'me', now)).toBe('Rejected by you in the browser');
});

test('a program that calls a tool is no step of a run', () => {
  const call = approval({ source: 'executor' });
  expect([askerWords(call), saysAsker(call)]).toEqual(['A tool call', true]);
  const step = approval({ source: 'executor', runId: 'run_1' });
  expect([askerWords(step), saysAsker(step)]).toEqual(['A step of a run', false]);
  expect(askerWords({ ...call, kind: 'input' })).toBe('An attached server');
});

test('what waits comes longest first, what ended latest first; time alone ends one', () => {
  const list = [
    approval({ id: 'apr_new', requestedAt: at(5) }),
    approval({ id: 'apr_old', requestedAt: at(1) }),
    approval({ id: 'apr_gone', expiresAt: at(4) }),
    approval({ id: 'apr_done', state: 'resolved', resolvedAt: at(8) }),
  ];
  const { pending, ended } = splitApprovals(list, now);
  expect(pending.map((one) => one.id)).toEqual(['apr_old', 'apr_new']);
  expect(ended.map((one) => one.id)).toEqual(['apr_done', 'apr_gone']);
  expect(list.filter((one) => isPending(one, Date.parse(at(30))))).toEqual([]);
});

test('a diff is drawn as one only where the asker says that it is one: a command may be worded like it', () => {
  const summary = '--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y';
  expect(showsDiff({ kind: 'file_change', summary })).toBe(true);
  expect(showsDiff({ kind: 'tool_call', summary })).toBe(false);
  expect(showsDiff({ kind: 'file_change', summary: 'a.png: 12 bytes that are no text' })).toBe(false);
});
