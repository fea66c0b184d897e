import { expect, test } from 'vitest';
import type { Task } from '../../../../src/contracts/work-queue/task.ts';
import { groupTasks, tasksSaying } from '../../../../src/renderer/areas/queue/task-groups.ts';

const task = (of: Partial<Task>): Task => ({
  ...{ id: 'task_1', status: 'queued', session_id: null, deployment_id: null, priority: 0 },
  ...{ not_before: null, attempts: 0, max_attempts: 5, stop_requested: false },
  ...{ lease_worker_id: null, lease_expires_at: null, last_worker_id: null, sandbox_image: null, result: null },
  ...{ labels: {}, retry: null, failures: 0, last_failure: null, concurrency_key: null, concurrency_limit: null },
  ...{ rate: null, fairness_key: null, waiting_for: null },
  ...{ payload: {}, env: {}, error: null, created_at: '2026-11-28T10:00:00Z', updated_at: '2026-11-28T10:00:00Z' },
  ...of,
});
const idsOf = (tasks: readonly Task[]) => tasks.map(({ id }) => id);

test('tasks are found by command, worker and error, and never by what their environment holds', () => {
  const tasks = [
    task({ id: 'task_a', payload: { command: 'npm test' }, env: { TOKEN: 'swordfish' } }),
    task({ id: 'task_b', payload: { command: ['make', 'dist'] }, last_worker_id: 'tower' }),
    task({ id: 'task_c', error: { code: 'exit_2', message: 'The disk is full' } }),
  ];
  expect(idsOf(tasksSaying(tasks, 'TEST npm'))).toEqual(['task_a']);
  expect(idsOf(tasksSaying(tasks, 'make tower'))).toEqual(['task_b']);
  expect(idsOf(tasksSaying(tasks, 'disk full'))).toEqual(['task_c']);
  expect(idsOf(tasksSaying(tasks, 'swordfish'))).toEqual([]);
  expect(idsOf(tasksSaying(tasks, ' '))).toEqual(['task_a', 'task_b', 'task_c']);
});

test('groups have the names of what they stand for, and what belongs to none is a group of its own', () => {
  const names = { sessions: { session_1: 'Nightly build' }, deployments: {} };
  const tasks = [
    task({ id: 'task_a', session_id: 'session_1' }),
    task({ id: 'task_b', session_id: 'session_2', status: 'failed' }),
    task({ id: 'task_c', status: 'failed' }),
  ];
  const groups = (by: 'session' | 'status' | 'none') =>
    groupTasks(tasks, by, names).map(({ name, rows }) => [name, ...idsOf(rows)]);
  expect(groups('session')).toEqual([
    ['Nightly build', 'task_a'],
    ['No session', 'task_c'],
    ['session_2', 'task_b'],
  ]);
  expect(groups('status')).toEqual([
    ['Failed', 'task_b', 'task_c'],
    ['Queued', 'task_a'],
  ]);
  expect(groups('none')).toEqual([['', 'task_a', 'task_b', 'task_c']]);
});
