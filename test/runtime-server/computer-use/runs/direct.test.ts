/** `direct`: a list of actions, from the request to the last event. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Run } from '../../../../src/contracts/computer-use/run.ts';
import { createMemoryGate, failedCall, type MemoryGate } from './memory-gate.ts';
import { type RunServer, startRunServer } from './server.ts';

let gate: MemoryGate;
let server: RunServer;
beforeAll(async () => {
  gate = createMemoryGate();
  server = await startRunServer({ gate });
});
afterAll(() => server.close());

const actions = [
  { toolset: 'browser', member: 'navigate', input: { url: 'http://site.test/' } },
  { toolset: 'browser', member: 'type', input: { text: 'correct horse' } },
  { toolset: 'browser', member: 'get_page_text' },
];

test('a direct run does its actions in order, tells each of them and keeps a picture after those that act', async () => {
  const { status, body: run } = await server.call<Run>('POST', '/computer-use/execute?wait=true', {
    mode: 'direct',
    target_scope: 'browser',
    actions,
    metadata: { ticket: 7 },
  });
  expect(status).toBe(200);
  expect(run).toMatchObject({
    status: 'completed',
    steps: 3,
    max_steps: 3,
    metadata: { ticket: 7 },
    result: { stop_reason: 'done', text: 'did navigate\ndid type\ndid get_page_text' },
    usage: { actions: 3, input_tokens: 0, cost_usd: 0, model: null },
    error: null,
    approval: null,
    pause: null,
  });
  expect(run.artifacts.map(({ kind, step }) => [kind, step])).toEqual([
    ['screenshot', 1],
    ['screenshot', 2],
  ]);
  const events = await server.events(run.run_id);
  expect(events.map(({ index }) => index)).toEqual(events.map((_, index) => index));
  const step = ['step.started', 'action.started', 'action.completed', 'step.completed'];
  const acting = ['step.started', 'action.started', 'action.completed', 'artifact.created', 'step.completed'];
  expect(events.map(({ event_type }) => event_type)).toEqual([
    'run.started',
    ...acting,
    ...acting,
    ...step,
    'run.completed',
    'run.ended',
  ]);
  expect(gate.closed).toContainEqual({ session: run.session_id, wipe: true });
});

test('every action names its run and its place in it, and none comes twice', async () => {
  gate.calls.length = 0;
  const run = await server.run({ mode: 'direct', actions });
  await server.until(run.run_id, ({ status }) => status === 'completed');
  const placed = gate.calls.filter(({ call }) => call.turn_id !== undefined);
  expect(placed.map(({ call }) => [call.run_id, call.turn_id, call.call_index])).toEqual(
    [0, 1, 2].map((index) => [run.run_id, `${run.run_id}.0`, index]),
  );
  expect(placed[0]!.caller).toMatchObject({
    holder: { kind: 'run', id: run.run_id },
    startedByPerson: true,
    byModel: false,
    surface: 'cli',
  });
});

test('what is typed is in no event', async () => {
  const run = await server.run({ mode: 'direct', actions });
  await server.until(run.run_id, ({ status }) => status === 'completed');
  const told = JSON.stringify(await server.events(run.run_id));
  expect(told).toContain('•••• (13 characters)');
  expect(told).not.toContain('correct horse');
});

test('a direct run ends at the first action that fails', async () => {
  gate.answer = ({ member }) => (member === 'type' ? failedCall('not_editable') : null);
  try {
    gate.calls.length = 0;
    const { body: run } = await server.call<Run>('POST', '/computer-use/execute?wait=true', {
      mode: 'direct',
      actions,
    });
    expect(run).toMatchObject({
      status: 'failed',
      steps: 2,
      error: { code: 'not_editable' },
      result: { stop_reason: 'error', text: 'did navigate' },
    });
    expect(gate.acted()).toEqual(['navigate', 'type']);
    const types = (await server.events(run.run_id)).map(({ event_type }) => event_type);
    expect(types.slice(-4)).toEqual(['action.failed', 'step.completed', 'run.failed', 'run.ended']);
  } finally {
    gate.answer = () => null;
  }
});

test('the same run_id is the same run, however often it is asked for', async () => {
  gate.calls.length = 0;
  const request = { mode: 'direct', run_id: 'chosen-1', actions: [actions[0]] };
  const answers = await Promise.all(
    [1, 2, 3, 4].map(() => server.call<Run>('POST', '/computer-use/execute?wait=1', request)),
  );
  for (const { status, body } of answers)
    expect([status, body.run_id, body.status]).toEqual([200, 'chosen-1', 'completed']);
  expect(gate.acted()).toEqual(['navigate']);
  const later = await server.call<Run>('POST', '/computer-use/execute', request);
  expect(later).toMatchObject({ status: 202, body: { run_id: 'chosen-1', status: 'completed' } });
});

test('what cannot be is refused before anything starts, and says what', async () => {
  gate.calls.length = 0;
  const before = await server.call<{ runs: Run[] }>('GET', '/computer-use/runs?limit=200');
  const refused: [request: object, words: string][] = [
    [{ mode: 'direct' }, 'actions'],
    [{ mode: 'direct', actions: [] }, 'actions'],
    [{ mode: 'direct', actions, task: 'x' }, 'task'],
    [{ mode: 'direct', actions, options: { model: 'm' } }, 'model'],
    [{ mode: 'direct', actions: [{ toolset: 'browser', member: 'fly' }] }, 'actions.0: browser has no member "fly"'],
    [
      {
        mode: 'direct',
        actions: [
          { toolset: 'browser', member: 'left_click', input: { target: { type: 'coordinate', x: 'a', y: 1 } } },
        ],
      },
      'actions.0: left_click.target.x',
    ],
    [{ mode: 'direct', target_scope: 'desktop', actions }, 'browser is not in the target scope "desktop"'],
    [{ mode: 'intent' }, 'task'],
    [{ mode: 'assist', task: 'x', options: { approvals: 'never' } }, 'approvals'],
    [{ mode: 'dance' }, 'mode'],
    [{ mode: 'direct', actions, colour: 'red' }, 'colour'],
  ];
  for (const [request, words] of refused) {
    const answer = await server.call<{ error: string; message: string }>('POST', '/computer-use/execute', request);
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request']);
    expect(answer.body.message).toContain(words);
  }
  const model = await server.call('POST', '/computer-use/execute', { mode: 'intent', task: 'Order a ticket.' });
  expect(model).toMatchObject({ status: 503, body: { error: 'model_not_configured' } });
  expect((model.body as { message: string }).message).toContain('computerUse.model');
  const after = await server.call<{ runs: Run[] }>('GET', '/computer-use/runs?limit=200');
  expect(after.body).toEqual(before.body);
  expect(gate.calls).toEqual([]);
});
