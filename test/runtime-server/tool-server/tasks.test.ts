/**
 * Calls that need a person as tasks, over the wire of both revisions of MCP that have them. Real approvals, a real database and the real dispatcher; the
 * test moves the clock, and restarts everything around the database.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { botId, inboxUrl } from '../../support/mcp/task-server.ts';
import { createTestClock, type TestClock } from '../../support/test-clock.ts';
import { type Desk, declared, openDesk, opted } from './task-desk.ts';

let root: string;
let clock: TestClock;
let desk: Desk;
const minutes = (count: number) => clock.advance(count * 60_000);

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'gantry-tasks-'));
  clock = createTestClock();
  desk = await openDesk(root, clock);
  onTestFinished(async () => {
    await desk.close();
    rmSync(root, { recursive: true, force: true });
  });
});

const line = (word: string) => ({
  name: 'shell.exec',
  arguments: { command: `echo ${word} >> done.txt`, shell: true },
});
const runs = () =>
  existsSync(join(root, 'done.txt')) ? readFileSync(join(root, 'done.txt'), 'utf8').trim().split('\n') : [];

interface Shown {
  readonly taskId: string;
  readonly status: string;
  readonly [key: string]: unknown;
}
const create = async (word = 'ran') => (await desk.ask('tools/call', line(word), declared)).result as Shown;
const get = async (taskId: string) => (await desk.ask('tasks/get', { taskId }, declared)).result as Shown;
const ended = (taskId: string) =>
  expect
    .poll(async () => (await get(taskId)).status)
    .not.toBe('working')
    .then(() => get(taskId));
const question = async () => (await desk.approvals.live())[0]!;

test('in 2026-07-28 a call that needs a person is a task for a client that takes tasks, and runs once on a yes', async () => {
  const made = await create();
  expect(made).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 8 * 24 * 3600_000, pollIntervalMs: 2000 });
  expect(made.statusMessage).toContain((await question()).id);
  expect(runs()).toEqual([]);
  await desk.answer((await question()).id, 'approve');
  expect(await ended(made.taskId)).toMatchObject({
    resultType: 'complete',
    status: 'completed',
    result: { resultType: 'complete', isError: false },
  });
  expect(runs()).toEqual(['ran']);
});

test('a call that needs nobody is answered at once, and no task is made', async () => {
  const { result } = await desk.ask('tools/call', { name: 'time.now', arguments: {} }, declared);
  expect(result).toMatchObject({ resultType: 'complete', isError: false });
});

test('a client that takes no tasks waits 50 seconds and gets what it got before there were tasks', async () => {
  const asked = desk.ask('tools/call', line('ran'));
  await expect.poll(() => desk.approvals.live()).toHaveLength(1);
  await clock.advance(51_000);
  expect((await asked).result).toMatchObject({
    isError: true,
    structuredContent: { error: 'approval_required', retryable: true },
  });
});

test('in 2025-11-25 the client asks for a task, and fetches its result when it has ended', async () => {
  const { result } = await desk.ask('tools/call', { ...line('ran'), task: { ttl: 3600_000 } }, opted);
  const { task } = result as { task: Shown };
  expect(task).toMatchObject({ status: 'working', ttl: 3600_000, pollInterval: 2000 });
  await expect.poll(() => desk.approvals.live()).toHaveLength(1);
  const held = desk.ask('tasks/result', { taskId: task.taskId }, opted);
  await clock.advance(30_001);
  expect((await held).error).toMatchObject({ data: { code: 'timeout', retryable: true } });
  const waits = desk.ask('tasks/result', { taskId: task.taskId }, opted);
  await desk.answer((await question()).id, 'approve');
  expect((await waits).result).toMatchObject({
    isError: false,
    _meta: { 'io.modelcontextprotocol/related-task': { taskId: task.taskId } },
  });
  const { tasks } = (await desk.ask('tasks/list', {}, opted)).result as { tasks: Shown[] };
  expect(tasks).toMatchObject([{ taskId: task.taskId, status: 'completed' }]);
  expect(runs()).toEqual(['ran']);
});

test('in 2025-11-25 only tools that may act take tasks, and only that version lists which', async () => {
  const listed = async (version?: typeof opted) => {
    const { tools } = (await desk.ask('tools/list', {}, version)).result as { tools: Record<string, unknown>[] };
    return tools.filter(({ execution }) => execution !== undefined).map(({ name }) => name);
  };
  expect(await listed(opted)).toContain('shell.exec');
  expect(await listed(opted)).not.toContain('file.read');
  expect(await listed({ version: '2025-06-18' })).toEqual([]);
  expect(await listed(declared)).toEqual([]);
  const refused = await desk.ask('tools/call', { name: 'time.now', arguments: {}, task: {} }, opted);
  expect(refused.error).toMatchObject({ code: -32601 });
});

test('a task waits for days and over restarts, and the answer of then lets it run once', async () => {
  const { taskId } = await create();
  const { id } = await question();
  for (let day = 0; day < 3; day += 1) {
    await clock.advance(24 * 3600_000);
    await desk.restart();
    await minutes(2);
    expect((await desk.approvals.live()).map((live) => live.id)).toEqual([id]);
  }
  await desk.answer(id, 'approve');
  expect(await ended(taskId)).toMatchObject({ status: 'completed', result: { isError: false } });
  await desk.restart();
  expect(await get(taskId)).toMatchObject({ status: 'completed' });
  expect(runs()).toEqual(['ran']);
});

test('an answer that comes before the restarted process asks again is used by it', async () => {
  const { taskId } = await create();
  const { id } = await question();
  await desk.restart(async () => {
    await desk.answer(id, 'approve');
  });
  expect(await ended(taskId)).toMatchObject({ status: 'completed', result: { isError: false } });
  expect(runs()).toEqual(['ran']);
});

test('a no is the task’s result with its note, and is not asked again after a restart', async () => {
  const { taskId } = await create();
  await desk.answer((await question()).id, 'reject', 'not today');
  const done = await ended(taskId);
  expect(done).toMatchObject({ status: 'completed', result: { isError: true } });
  expect(JSON.stringify(done.result)).toContain('A person said no: not today.');
  await desk.restart();
  expect(await desk.approvals.live()).toEqual([]);
  expect(runs()).toEqual([]);
});

test('a task that nobody answers says so after seven days, is kept an eighth day, and is unknown afterwards', async () => {
  const { taskId } = await create();
  await clock.advance(7 * 24 * 3600_000 + 1000);
  expect(JSON.stringify((await ended(taskId)).result)).toContain('Nobody answered in time.');
  await clock.advance(24 * 3600_000);
  expect((await desk.ask('tasks/get', { taskId }, declared)).error).toMatchObject({ code: -32602 });
});

test('cancelling takes the question back; what ended before stays as it is', async () => {
  const { taskId } = await create();
  const { id } = await question();
  expect((await desk.ask('tasks/cancel', { taskId }, declared)).result).not.toHaveProperty('status');
  expect(await get(taskId)).toMatchObject({ status: 'cancelled', statusMessage: 'Cancelled. Nothing ran.' });
  await expect.poll(() => desk.approvals.live()).toEqual([]);
  expect(await desk.answer(id, 'approve')).toBe('gone');
  const again = await desk.ask('tasks/cancel', { taskId }, declared);
  expect(again.result).toBeDefined();
  expect(runs()).toEqual([]);
});

test('the task of another client of the same person is as unknown as a made-up one, in the same words', async () => {
  const { taskId } = await create();
  const known = Object.fromEntries(
    await Promise.all(
      ['tasks/get', 'tasks/cancel', 'tasks/update'].map(async (method) => {
        const answers = [taskId, 'mtask_made_up'].map(async (id) => {
          const params = { taskId: id, inputResponses: {} };
          const { error } = await desk.ask(method, params, { ...declared, token: 'other' });
          return JSON.stringify(error).replace(id, '');
        });
        const [theirs, madeUp] = await Promise.all(answers);
        return [method, theirs === madeUp && theirs?.includes('Unknown task')];
      }),
    ),
  );
  expect(known).toEqual({ 'tasks/get': true, 'tasks/cancel': true, 'tasks/update': true });
  expect(await get(taskId)).toMatchObject({ status: 'working' });
});

test('a client that can show an address is told where the person answers, and its word decides nothing', async () => {
  const { taskId } = await create();
  const able = { ...declared, can: { ...declared.can, elicitation: { url: {} } } };
  const shown = (await desk.ask('tasks/get', { taskId }, able)).result as Shown;
  expect(shown).toMatchObject({
    status: 'input_required',
    inputRequests: { approval: { method: 'elicitation/create', params: { mode: 'url', url: inboxUrl } } },
  });
  expect(await get(taskId)).toMatchObject({ status: 'working' });
  const inputResponses = { approval: { action: 'accept' } };
  await desk.ask('tasks/update', { taskId, inputResponses }, able);
  expect((await desk.ask('tasks/get', { taskId }, able)).result).toMatchObject({ status: 'working' });
  expect(await desk.approvals.live()).toHaveLength(1);
  expect(runs()).toEqual([]);
});

test('a bot that can show an address is told none: a dialog in its terminal would hold it after its person has answered', async () => {
  const can = { ...declared.can, elicitation: { form: {}, url: {} } };
  const bot = { ...declared, can, token: botId };
  const { taskId } = (await desk.ask('tools/call', line('ran'), bot)).result as Shown;
  const shown = (await desk.ask('tasks/get', { taskId }, bot)).result as Shown;
  expect([shown.status, shown.inputRequests]).toEqual(['working', undefined]);
  await desk.answer((await question()).id, 'approve');
  await expect.poll(async () => (await desk.ask('tasks/get', { taskId }, bot)).result?.status).toBe('completed');
});

test('two answers from two surfaces: one wins, and the call runs once or not at all', async () => {
  const { taskId } = await create();
  const { id } = await question();
  const said = await Promise.all([desk.answer(id, 'approve', null, 'browser'), desk.answer(id, 'reject', null, 'cli')]);
  expect(said).toEqual(['applied', 'gone']);
  expect(await ended(taskId)).toMatchObject({ status: 'completed' });
  expect(runs()).toEqual(['ran']);
});

test('a program asks the person in its own words, and the decision is a result, also when it is a no', async () => {
  const asking = { name: 'request_approval', arguments: { title: 'Deploy?', summary: 'deploy 1.2', reason: 'tested' } };
  const made = (await desk.ask('tools/call', asking, declared)).result as Shown;
  expect(await question()).toMatchObject({
    kind: 'request',
    title: 'A program of yours (key): Deploy?',
    summary: 'deploy 1.2',
    reason: 'tested',
  });
  await desk.answer((await question()).id, 'reject', 'on Monday');
  expect(await ended(made.taskId)).toMatchObject({
    status: 'completed',
    result: {
      isError: false,
      structuredContent: {
        decision: 'reject',
        note: 'on Monday',
        by: { user: 'user_local', surface: 'browser' },
      },
    },
  });
  const waits = desk.ask('tools/call', asking);
  await expect.poll(() => desk.approvals.live()).toHaveLength(1);
  await desk.answer((await question()).id, 'approve');
  expect((await waits).result).toMatchObject({ isError: false, structuredContent: { decision: 'approve' } });
});

test('methods of tasks exist only where a revision has them, and only for clients that declare the extension', async () => {
  expect((await desk.ask('tasks/get', { taskId: 'x' })).error).toMatchObject({ code: -32021 });
  expect((await desk.ask('tasks/list', {}, declared)).error).toMatchObject({ code: -32601 });
  expect((await desk.ask('tasks/result', { taskId: 'x' }, declared)).error).toMatchObject({ code: -32601 });
  expect((await desk.ask('tasks/update', { taskId: 'x', inputResponses: {} }, opted)).error).toMatchObject({
    code: -32601,
  });
  expect((await desk.ask('tasks/get', { taskId: 'x' }, { version: '2025-06-18' })).error).toMatchObject({
    code: -32601,
  });
});
