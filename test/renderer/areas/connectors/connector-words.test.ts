import { expect, test } from 'vitest';
import { jobStatuses, ruleDefaults } from '../../../../src/contracts/connectors/rule.ts';
import {
  lastingReasons,
  type TrailEvent,
  transientReasons,
} from '../../../../src/contracts/connectors/subscription.ts';
import {
  adviceOf,
  argumentWords,
  limitWords,
  mayRetry,
  runsWords,
  stepsOf,
  verbsOf,
} from '../../../../src/renderer/areas/connectors/connector-words.ts';

const failed = (reason: (typeof transientReasons | typeof lastingReasons)[number]) =>
  ({ status: 'error', error: { code: null, reason, message: 'No.' } }) as const;

test('whatever is wrong with a subscription, it is said what to do; what passes is tried by itself', () => {
  for (const reason of [...transientReasons, ...lastingReasons]) expect(adviceOf(failed(reason)), reason).toBeTruthy();
  expect(adviceOf(failed('http_5xx'))).toMatch(/^Gantry tries again/);
  expect(adviceOf(failed('not_paired'))).toMatch(/^Pair/);
  expect(adviceOf(failed('terminated'))).not.toMatch(/^Gantry tries again/);
  expect(adviceOf({ status: 'needs_reauth', error: null })).toMatch(/^Sign in/);
  expect(adviceOf({ ...failed('needs_reauth'), status: 'needs_reauth' })).toBe('The subscription then continues.');
  expect(adviceOf({ status: 'active', error: null })).toBeNull();
  expect(adviceOf({ status: 'pending', error: null })).toBeNull();
  expect(mayRetry(failed('terminated'))).toBe(true);
  expect(mayRetry(failed('invalid_arguments'))).toBe(false);
});

const event: TrailEvent = {
  eventId: 'e1',
  about: null,
  name: 'issue.opened',
  status: 'ticket',
  reason: null,
  receivedAt: '2026-11-22T06:00:00.000Z',
  relayedAt: '2026-11-22T06:00:00.100Z',
  ticketId: 'ticket_1',
  runs: [{ id: 'job_1', ruleId: 'r', status: 'running', at: '2026-11-22T06:00:01.000Z' }],
};
const words = (one: TrailEvent) => stepsOf(one).map(({ word, missing }) => (missing ? `(${word})` : word));

test('the way of an event ends where the event did', () => {
  expect(words(event)).toEqual(['Received by the cloud', 'Relayed to this computer', 'Ticket opened', 'Job']);
  expect(stepsOf(event).at(-1)?.jobId).toBe('job_1');
  expect(words({ ...event, runs: [] }).at(-1)).toBe('(No rule matched)');
  const away = { ...event, relayedAt: null, ticketId: null, runs: [] };
  expect(words({ ...away, status: 'waiting' })).toEqual(['Received by the cloud', '(Waiting for this computer)']);
  expect(words({ ...away, status: 'expired' }).at(-1)).toMatch(/Expired after waiting 24 hours/);
  expect(words({ ...event, status: 'dead', ticketId: null, runs: [] })).toEqual([
    'Received by the cloud',
    'Relayed to this computer',
    '(Refused)',
  ]);
  expect(words({ ...away, status: 'gap' })).toEqual(['The server reported missing events before this one']);
  for (const status of ['waiting', 'dead', 'expired', 'gap'] as const) {
    expect(runsWords({ ...away, status, reason: 'Why.' })).toBe('Why.');
  }
});

test('arguments, bounds and verbs are said in words', () => {
  expect(argumentWords({})).toBeNull();
  expect(argumentWords({ project: 'gantry', labels: ['a', 'b'], deep: { x: 1 }, all: true, none: null })).toBe(
    'project: gantry, labels: a, b, deep: {"x":1}, all: true, none: null',
  );
  const rule = { ...ruleDefaults, botId: 'b', instructions: 'i' };
  expect(limitWords(rule)).toBe('no batching · at most 20 a day · 5 min each');
  expect(limitWords({ ...rule, batchSeconds: 90, dailySpendThresholdUsd: 2, match: {} })).toBe(
    'batches events for 90 s · at most 20 a day · 5 min each · $2 a day · only events that match its filter',
  );
  expect(jobStatuses.map((status) => `${status}: ${verbsOf({ status }).join(' ')}`)).toEqual([
    'batching: stop',
    'awaiting_approval: approve deny',
    'queued: stop',
    'running: stop',
    'stopping: ',
    'completed: ',
    'failed: retry',
    'interrupted: retry',
    'denied: ',
    'cancelled: retry',
  ]);
});
