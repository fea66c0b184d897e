/** Pausing, resuming, taking over, asking a person, stopping, running out of time: what a person does to a run while it acts. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Run } from '../../../../src/contracts/computer-use/run.ts';
import { isLiving } from '../../../../src/runtime-server/computer-use/runs/index.ts';
import { createTestClock, type TestClock } from '../../../support/test-clock.ts';
import { createMemoryGate, done, type MemoryGate, untilStopped } from './memory-gate.ts';
import { type RunServer, startRunServer } from './server.ts';

let gate: MemoryGate;
let server: RunServer;
let time: TestClock;
beforeEach(async () => {
  gate = createMemoryGate();
  time = createTestClock();
  server = await startRunServer({ gate, clock: time, timers: time });
});
afterEach(() => server.close());

const wait = (duration: number) => ({ toolset: 'browser', member: 'wait', input: { duration } });
const click = (x: number) => ({
  toolset: 'browser',
  member: 'left_click',
  input: { target: { type: 'coordinate', x, y: 1 } },
});
const person = { kind: 'person', id: 'user_local' } as const;
const is = (status: string) => (run: Run) => run.status === status;
const post = (path: string, body?: object) => server.call<Run & { error: string }>('POST', path, body);
const typesOf = async (runId: string) => (await server.events(runId)).map(({ event_type }) => event_type);

/** Holds every call of this member until it is let go. */
function hold(member: string) {
  const gone = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  gate.answer = async (call) => {
    if (call.member !== member) return null;
    reached.resolve();
    await gone.promise;
    return done(`did ${member}`);
  };
  return { reached: reached.promise, go: gone.resolve };
}

test('a pause takes effect between two actions, and resuming goes on with the next', async () => {
  const held = hold('wait');
  const { run_id: id } = await server.run({ mode: 'direct', actions: [wait(1), click(1)] });
  await held.reached;
  const pausing = post(`/runs/${id}/pause`, { comment: 'one moment' });
  await server.until(id, ({ pause }) => pause !== null);
  expect((await server.until(id, () => true)).status).toBe('running');
  held.go();
  expect((await pausing).body).toMatchObject({ status: 'paused', pause: { reason: 'person' } });
  expect(gate.acted()).toEqual(['wait']);
  expect(gate.control.now().holder).toBeNull();
  expect((await post(`/computer-use/runs/${id}/pause`)).status).toBe(200);
  expect((await post(`/runs/${id}/resume`)).body.status).toBe('running');
  await server.until(id, is('completed'));
  expect(gate.acted()).toEqual(['wait', 'left_click']);
  const types = await typesOf(id);
  expect(types.filter((type) => type === 'run.paused' || type === 'run.resumed')).toEqual([
    'run.paused',
    'run.resumed',
  ]);
  expect(types.indexOf('action.completed')).toBeLessThan(types.indexOf('run.paused'));
  expect(await post(`/runs/${id}/resume`)).toMatchObject({
    status: 409,
    body: { error: 'invalid_transition', from: 'completed', requested: 'running' },
  });
});

test('a pause that was taken back before it took effect never was', async () => {
  const held = hold('wait');
  const { run_id: id } = await server.run({ mode: 'direct', actions: [wait(1), click(1)] });
  await held.reached;
  const pausing = post(`/runs/${id}/pause`);
  await server.until(id, ({ pause }) => pause !== null);
  expect((await post(`/runs/${id}/resume`)).body).toMatchObject({ status: 'running', pause: null });
  held.go();
  await pausing;
  await server.until(id, is('completed'));
  expect(await typesOf(id)).not.toContain('run.paused');
});

test('whoever takes control pauses the run at once; what was cut off is not done again', async () => {
  gate.answer = ({ member }) => (member === 'wait' ? untilStopped(gate) : null);
  const { run_id: id } = await server.run({ mode: 'direct', actions: [wait(1), click(1)] });
  await server.until(id, ({ usage }) => usage.actions === 1);
  await expect.poll(() => gate.acted()).toEqual(['wait']);
  gate.takeAs(person);
  const paused = await server.until(id, is('paused'));
  expect(paused.pause).toMatchObject({ reason: 'takeover' });
  expect(gate.stops).toBeGreaterThan(0);
  expect(await post(`/runs/${id}/resume`)).toMatchObject({ status: 423, body: { error: 'take_control_first' } });
  gate.releaseAs(person);
  await expect.poll(() => typesOf(id)).toContain('control.released');
  expect((await server.until(id, () => true)).status).toBe('paused');
  await post(`/runs/${id}/resume`);
  await server.until(id, is('completed'));
  expect(gate.acted()).toEqual(['wait', 'left_click']);
  const types = await typesOf(id);
  expect(types.filter((type) => /^(control|run)\./.test(type))).toEqual([
    'run.started',
    'control.taken',
    'run.paused',
    'control.released',
    'run.resumed',
    'run.completed',
    'run.ended',
  ]);
});

test('somebody at mouse or keyboard pauses the run', async () => {
  const held = hold('wait');
  const { run_id: id } = await server.run({ mode: 'direct', actions: [wait(1), click(1)] });
  await held.reached;
  gate.elsewhere();
  expect((await server.until(id, is('paused'))).pause).toMatchObject({ reason: 'control_elsewhere' });
  held.go();
  await post(`/runs/${id}/resume`);
  await server.until(id, is('completed'));
});

test('what asks waits for a person, and is done once they said yes', async () => {
  gate.asks.add('left_click');
  const { run_id: id } = await server.run({ mode: 'direct', actions: [click(1), wait(1)] });
  const waiting = await server.until(id, is('awaiting_approval'));
  // Its name is its own meanwhile, and free of use before and after.
  expect(await server.store.read((tx) => [isLiving(tx, id), isLiving(tx, 'nobody')])).toEqual([true, false]);
  expect(waiting.approval).toMatchObject({ member: 'left_click', words: 'May it left_click?' });
  const asked = await server.call('GET', `/computer-use/runs/${id}/approval`);
  expect(asked.body).toEqual({ approval: waiting.approval });
  expect(gate.acted()).toEqual([]);
  expect(await post(`/runs/${id}/resume`)).toMatchObject({ status: 409, body: { from: 'awaiting_approval' } });
  gate.resolve(waiting.approval!.id, 'approved');
  const ended = await server.until(id, is('completed'));
  expect(await server.store.read((tx) => isLiving(tx, id))).toBe(false);
  expect(ended.approval).toBeNull();
  expect(gate.acted()).toEqual(['left_click', 'wait']);
  expect(gate.calls[0]!.call).toMatchObject({ approval_grant: waiting.approval!.id, call_index: 0 });
  const events = await server.events(id);
  expect(events.find(({ event_type }) => event_type === 'approval.resolved')!.data).toEqual({
    decision: 'approved',
    by: 'user_local',
  });
});

test('a no ends a direct run, and so does nobody’s answer', async () => {
  gate.asks.add('left_click');
  for (const state of ['denied', 'expired'] as const) {
    const { run_id: id } = await server.run({ mode: 'direct', actions: [click(1), wait(1)] });
    const { approval } = await server.until(id, is('awaiting_approval'));
    gate.resolve(approval!.id, state);
    expect(await server.until(id, is('failed'))).toMatchObject({
      result: { stop_reason: 'denied' },
      error: { code: 'denied' },
      approval: null,
    });
    expect(await typesOf(id)).toContain('action.denied');
  }
  expect(gate.acted()).toEqual([]);
});

test('an answer that comes while the run is paused is kept for its resumption', async () => {
  gate.asks.add('left_click');
  const { run_id: id } = await server.run({ mode: 'direct', actions: [click(1)] });
  const { approval } = await server.until(id, is('awaiting_approval'));
  expect((await post(`/runs/${id}/pause`)).body.status).toBe('paused');
  expect((await post(`/runs/${id}/resume`)).body.status).toBe('awaiting_approval');
  await post(`/runs/${id}/pause`);
  gate.resolve(approval!.id, 'approved');
  await expect.poll(() => typesOf(id)).toContain('approval.resolved');
  expect(await server.until(id, () => true)).toMatchObject({ status: 'paused', approval: null });
  expect(gate.acted()).toEqual([]);
  await post(`/runs/${id}/resume`);
  await server.until(id, is('completed'));
  expect(gate.acted()).toEqual(['left_click']);
});

test('a cancelled run stops what is under way and begins nothing more', async () => {
  gate.answer = ({ member }) => (member === 'wait' ? untilStopped(gate) : null);
  const { run_id: id } = await server.run({ mode: 'direct', actions: [wait(1), click(1)] });
  await expect.poll(() => gate.acted()).toEqual(['wait']);
  expect(['cancelling', 'cancelled']).toContain((await post(`/runs/${id}/cancel`)).body.status);
  expect(await server.until(id, is('cancelled'))).toMatchObject({ result: { stop_reason: 'cancelled' } });
  expect((await post(`/runs/${id}/cancel`)).status).toBe(200);
  expect(gate.acted()).toEqual(['wait']);
  expect((await typesOf(id)).slice(-2)).toEqual(['run.cancelled', 'run.ended']);
});

test('what does not stop within 15 s is cut off', async () => {
  const held = hold('wait');
  const { run_id: id } = await server.run({ mode: 'direct', actions: [wait(1)] });
  await held.reached;
  expect((await post(`/runs/${id}/cancel`)).body.status).toBe('cancelling');
  await time.advance(14_900);
  expect((await server.until(id, () => true)).status).toBe('cancelling');
  await time.advance(200);
  expect(await server.until(id, is('cancelled'))).toMatchObject({ result: { stop_reason: 'forced' } });
  const before = await server.events(id);
  held.go();
  const next = await server.run({ mode: 'direct', actions: [click(1)] });
  await server.until(next.run_id, is('completed'));
  expect(await server.events(id)).toEqual(before);
});

test('a cancelled run leaves no question open, paused or not', async () => {
  gate.asks.add('left_click');
  const { run_id: id } = await server.run({ mode: 'direct', actions: [click(1)] });
  const { approval } = await server.until(id, is('awaiting_approval'));
  await post(`/runs/${id}/pause`);
  await post(`/runs/${id}/cancel`);
  expect(await server.until(id, is('cancelled'))).toMatchObject({ approval: null, pause: null });
  await expect.poll(() => gate.approvalState(approval!.id)).toBe('expired');
});

test('time that passes while it is paused or a person is asked does not count; the rest does', async () => {
  gate.asks.add('left_click');
  const held = hold('wait');
  const { run_id: id } = await server.run({
    mode: 'direct',
    actions: [click(1), wait(1)],
    options: { timeout_ms: 5000 },
  });
  const { approval } = await server.until(id, is('awaiting_approval'));
  await time.advance(60_000);
  await post(`/runs/${id}/pause`);
  await time.advance(60_000);
  await post(`/runs/${id}/resume`);
  gate.resolve(approval!.id, 'approved');
  await held.reached;
  await time.advance(4000);
  expect((await server.until(id, () => true)).status).toBe('running');
  await time.advance(1500);
  held.go();
  expect(await server.until(id, is('expired'))).toMatchObject({ result: { stop_reason: 'timeout' } });
});

test('one run acts at a time; the next begins when it has ended, and can be cancelled before', async () => {
  const held = hold('wait');
  const first = await server.run({ mode: 'direct', actions: [wait(1)] });
  await held.reached;
  const second = await server.run({ mode: 'direct', actions: [click(2)] });
  const third = await server.run({ mode: 'direct', actions: [click(3)] });
  expect((await server.until(second.run_id, () => true)).status).toBe('queued');
  expect(await post(`/runs/${second.run_id}/pause`)).toMatchObject({ status: 409, body: { from: 'queued' } });
  expect((await post(`/runs/${second.run_id}/cancel`)).body.status).toBe('cancelled');
  held.go();
  await server.until(first.run_id, is('completed'));
  await server.until(third.run_id, is('completed'));
  expect(gate.acted()).toEqual(['wait', 'left_click']);
  expect(await typesOf(second.run_id)).toEqual(['run.cancelling', 'run.cancelled', 'run.ended']);
});

test('while a person has control nothing is started', async () => {
  gate.takeAs(person);
  expect(await post('/computer-use/execute', { mode: 'direct', actions: [click(1)] })).toMatchObject({
    status: 423,
    body: { error: 'take_control_first' },
  });
  expect((await server.call<{ runs: Run[] }>('GET', '/computer-use/runs')).body.runs).toEqual([]);
});

test('a paused run leaves room for another, and waits for it before it goes on', async () => {
  const held = hold('wait');
  const first = await server.run({ mode: 'direct', actions: [wait(1), click(1)] });
  await held.reached;
  const pausing = post(`/runs/${first.run_id}/pause`);
  held.go();
  await pausing;
  const again = hold('hover');
  const second = await server.run({ mode: 'direct', actions: [{ ...click(1), member: 'hover' }] });
  await again.reached;
  expect(await post(`/runs/${first.run_id}/resume`)).toMatchObject({ status: 423 });
  again.go();
  await server.until(second.run_id, is('completed'));
  expect((await post(`/runs/${first.run_id}/resume`)).status).toBe(200);
  await server.until(first.run_id, is('completed'));
});
