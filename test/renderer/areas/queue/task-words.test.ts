import { expect, test } from 'vitest';
import type { Task } from '../../../../src/contracts/work-queue/task.ts';
import {
  abilityWords,
  barsOf,
  commandLines,
  commandResult,
  labelWords,
  leaseWords,
  mayRetry,
  retryWords,
  shortCount,
  taskName,
  waitsSince,
} from '../../../../src/renderer/areas/queue/task-words.ts';
import { keepPlaces } from '../../../../src/renderer/areas/queue/use-held-rows.ts';
import { taskStatus, workerStatus } from '../../../../src/renderer/ui/status.tsx';

const now = Date.parse('2026-05-01T12:00:00.000Z');
const at = (seconds: number) => new Date(now + seconds * 1000).toISOString();

/** With what words are made of. */
const task = (more: Partial<Task> = {}) =>
  ({
    id: 'task_1',
    status: 'queued',
    not_before: null,
    stop_requested: false,
    updated_at: at(-60),
    ...more,
  }) as Task;

test('labels, retries and what a worker can do are words of one line', () => {
  expect(labelWords({ gpu: 'a100', spot: '' })).toBe('gpu=a100, spot');
  expect(retryWords({ on: ['exit_*', 'timeout'] })).toBe('after exit_*, timeout; first after 10 s');
  expect(abilityWords({ labels: { gpu: 'a100' }, images: ['alpine', 'ghcr.io/acme/'] })).toBe(
    'gpu=a100 · alpine, ghcr.io/acme/',
  );
  expect(abilityWords({ labels: {}, images: ['*'] })).toBe('any image');
  expect(abilityWords({ labels: null, images: null })).toBe('');
});

test.each([
  [{ command: 'npm  test' }, 'npm  test'],
  [{ command: '\n cd a\n  make\n' }, 'cd a ⏎ make'],
  [{ command: ['echo', 'a b', 3] }, 'echo a b 3'],
  [{ command: '  ' }, '{"command":"  "}'],
  [{ command: { deep: 1 } }, '{"command":{"deep":1}}'],
  [{ kind: 'mail' }, '{"kind":"mail"}'],
  [{}, 'no payload'],
])('a task with the payload %j is called %s', (payload, name) => {
  expect(taskName({ payload })).toBe(name);
});

test('a name is one line of bounded length, whatever the payload', () => {
  expect(taskName({ payload: { command: 'x\n'.repeat(5000) } }).length).toBeLessThanOrEqual(500);
  expect(taskName({ payload: { blob: 'x'.repeat(5000) } }).length).toBeLessThanOrEqual(500);
});

test('a task waits since it was put into the line: at its time, or when it was retried', () => {
  expect(waitsSince(task())).toBe(now - 60_000);
  expect(waitsSince(task({ updated_at: at(-5) }))).toBe(now - 5_000);
  expect(waitsSince(task({ not_before: at(-30) }))).toBe(now - 30_000);
  expect(waitsSince(task({ not_before: at(30) }))).toBe(now + 30_000);
});

test('each state has its word, and one that is to come or to end has its own', () => {
  const word = (more: Partial<Task>) => taskStatus(task(more), now).word;
  expect(word({})).toBe('Queued');
  expect(word({ not_before: at(10) })).toBe('Scheduled');
  expect(word({ not_before: at(-10) })).toBe('Queued');
  expect(word({ status: 'leased' })).toBe('Leased');
  expect(word({ status: 'running', stop_requested: true })).toBe('Stopping');
  // What was asked once is over with the task.
  expect(word({ status: 'cancelled', stop_requested: true })).toBe('Cancelled');
  expect(taskStatus(task({ status: 'succeeded' }), now).tone).not.toBe('proven');
});

test('only what was given up may be put back', () => {
  const statuses = ['queued', 'leased', 'running', 'succeeded', 'failed', 'cancelled'] as const;
  expect(statuses.filter((status) => mayRetry({ status }))).toEqual(['failed', 'cancelled']);
});

test('a lease counts down, and then tells how long nobody has beaten for it', () => {
  expect(leaseWords(at(48), now)).toBe('48 s left');
  expect(leaseWords(at(0), now)).toBe('0 s left');
  expect(leaseWords(at(-75), now)).toBe('lease expired 1:15 ago');
});

test('a worker that drains is done once it holds nothing', () => {
  const worker = { worker_id: 'w', last_seen_at: at(-1), polling: false, draining: false, holding: 0 };
  expect(workerStatus({ ...worker, draining: true, holding: 2 }).word).toBe('Draining');
  expect(workerStatus({ ...worker, draining: true }).word).toBe('Drained');
  expect(workerStatus({ ...worker, polling: true, holding: 1 }).word).toBe('Working');
  expect(workerStatus({ ...worker, polling: true }).word).toBe('Polling');
  expect(workerStatus(worker).word).toBe('Silent');
});

test('ages are bars of the highest one, each named by its end', () => {
  const bars = barsOf([
    { under_seconds: 10, count: 1 },
    { under_seconds: 600, count: 4 },
    { under_seconds: 86_400, count: 0 },
    { under_seconds: null, count: 2 },
  ]);
  expect(bars.map(({ label, share }) => [label, share])).toEqual([
    ['< 10 s', 0.25],
    ['< 10 min', 1],
    ['< 1 d', 0],
    ['over 1 d', 0.5],
  ]);
  expect(barsOf([{ under_seconds: null, count: 0 }])[0]?.share).toBe(0);
});

test.each([
  [0, '0'],
  [9_999, '9999'],
  [10_000, '10k'],
  [999_999, '999k'],
  [1_000_000, '1M'],
  [1_290_000, '1.2M'],
])('%i is written %s', (count, text) => {
  expect(shortCount(count)).toBe(text);
});

test('only a result of the form of a command is shown as one', () => {
  const result = { exit_code: 0, stdout: 'a', stderr: '', truncated: true, duration_ms: 1200 };
  expect(commandResult(result)).toEqual({ exitCode: 0, stdout: 'a', stderr: '', truncated: true, durationMs: 1200 });
  for (const other of [null, undefined, 'text', 3, [], {}, { ...result, stdout: 1 }]) {
    expect(commandResult(other)).toBeNull();
  }
});

test('held rows keep their places and take what is known now', () => {
  const shown = [task({ id: 'b' }), task({ id: 'a' })];
  const rows = keepPlaces(shown, [task({ id: 'c' }), task({ id: 'b', status: 'leased' })]);
  expect(rows.map(({ id, status }) => `${id} ${status}`)).toEqual(['b leased', 'a queued']);
});

test('the lines that are shown name this server and survive a shell', () => {
  const { add, work } = commandLines('https://gantry.test');
  expect(JSON.parse(/-d '(.*)'$/.exec(add)?.[1] ?? '')).toEqual({ payload: { command: 'uname -a' } });
  expect(add).toContain('https://gantry.test/beta/work');
  expect(work).toContain('worker --url https://gantry.test --key-file key');
});
