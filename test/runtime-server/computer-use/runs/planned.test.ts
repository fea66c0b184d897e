/** `intent` and `assist`: what a planner may do and see, what it costs, and which limits end it. */
import { afterEach, expect, test } from 'vitest';
import type { Run } from '../../../../src/contracts/computer-use/run.ts';
import type {
  CallAnswer,
  Planner,
  PlannerHooks,
} from '../../../../src/runtime-server/computer-use/runs/planner-port.ts';
import { createMemoryGate, failedCall, type MemoryGate } from './memory-gate.ts';
import { type RunServer, startRunServer } from './server.ts';

let server: RunServer;
afterEach(() => server.close());

const usage = { input: 100, cachedInput: 10, cacheWrite: 0, output: 20 };
const say = (hooks: PlannerHooks, text: string, calls = 1) =>
  hooks.answered({ wire: 'anthropic', model: 'claude-test', text, calls, usage });
const click = (x: number) => ({
  toolset: 'browser' as const,
  member: 'left_click',
  input: { target: { type: 'coordinate', x, y: 1 } },
});

async function start(run: Planner['run'], price?: number | null): Promise<MemoryGate> {
  const gate = createMemoryGate();
  const planner: Planner = { find: (model) => ({ model: model ?? 'claude-test', priced: price !== null }), run };
  server = await startRunServer({ gate, planner, price });
  return gate;
}

const execute = async (request: object): Promise<Run> => {
  const { status, body } = await server.call<Run>('POST', '/computer-use/execute?wait=true', {
    mode: 'intent',
    task: 'Order it.',
    ...request,
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body;
};

test('a model’s steps, words and cost are kept with its actions, and it sees what came of them', async () => {
  const answers: CallAnswer[] = [];
  const gate = await start(async (order, hooks) => {
    expect(order).toMatchObject({
      mode: 'intent',
      task: 'Order it.',
      context: 'Size 42.',
      targetScope: 'browser',
      model: 'claude-test',
    });
    await hooks.step();
    await say(hooks, 'I click.');
    answers.push(await hooks.call(click(1)));
    answers.push(await hooks.call({ toolset: 'browser', member: 'get_page_text', input: {} }));
    await hooks.step();
    await say(hooks, 'Done.', 0);
    return { how: 'done', text: 'It is ordered.', error: null };
  });
  const run = await execute({ context: 'Size 42.', target_scope: 'browser' });
  expect(run).toMatchObject({
    status: 'completed',
    steps: 2,
    result: { text: 'It is ordered.', stop_reason: 'done' },
    usage: { model: 'claude-test', input_tokens: 220, output_tokens: 40, cost_usd: 0.002, actions: 2 },
  });
  expect(answers.map((answer) => answer.kind === 'done' && answer.after !== null)).toEqual([true, false]);
  expect(gate.calls[0]!.caller).toMatchObject({ byModel: true, task: 'Order it.' });
  const spent = await server.store.read((tx) => tx.all('SELECT run_id, model, micro_usd FROM model_spend'));
  expect(spent).toEqual([
    { run_id: run.run_id, model: 'claude-test', micro_usd: 1000 },
    { run_id: run.run_id, model: 'claude-test', micro_usd: 1000 },
  ]);
  expect((await server.events(run.run_id)).filter(({ event_type }) => event_type === 'model.response')).toHaveLength(2);
});

test('what fails or is refused is told to the model, which goes on in another turn', async () => {
  const told: CallAnswer[] = [];
  const gate = await start(async (_order, hooks) => {
    await hooks.step();
    for (const x of [1, 2, 3]) told.push(await hooks.call(click(x)));
    told.push(await hooks.call({ toolset: 'computer', member: 'screenshot', input: {} }));
    return { how: 'done', text: '', error: null };
  });
  gate.answer = ({ input }) => ((input.target as { x?: number })?.x === 1 ? failedCall('element_covered') : null);
  gate.asks.add('left_click');
  const running = execute({ target_scope: 'browser' });
  for (const [index, state] of (['approved', 'denied', 'approved'] as const).entries()) {
    await expect.poll(() => gate.approvalState(`apr_${index + 1}`)).toBe('pending');
    await expect
      .poll(async () => (await server.call<{ runs: Run[] }>('GET', '/computer-use/runs')).body.runs[0]?.approval?.id)
      .toBe(`apr_${index + 1}`);
    gate.resolve(`apr_${index + 1}`, state);
  }
  const run = await running;
  expect(run).toMatchObject({ status: 'completed', result: { text: null } });
  expect(told.map((answer) => (answer.kind === 'done' ? (answer.result.error?.code ?? 'done') : answer.kind))).toEqual([
    'element_covered',
    'denied',
    'done',
    'denied',
  ]);
  const turns = gate.calls.map(({ call }) => call.turn_id).filter((turn) => turn !== undefined);
  expect(turns).toEqual([`${run.run_id}.0`, `${run.run_id}.2`]);
});

test('steps and money end a run, and it is warned before the money does', async () => {
  const asked: number[] = [];
  await start(async (_order, hooks) => {
    while (await hooks.step()) {
      asked.push(1);
      await say(hooks, 'On.', 0);
    }
    return { how: 'limit', text: 'Not yet.', error: null };
  });
  const steps = await execute({ options: { max_steps: 3 } });
  expect(steps).toMatchObject({ status: 'failed', steps: 3, result: { stop_reason: 'max_steps', text: 'Not yet.' } });
  const money = await execute({ options: { max_cost_usd: 0.005, max_steps: 100 } });
  expect(money).toMatchObject({
    status: 'failed',
    steps: 5,
    result: { stop_reason: 'max_cost' },
    error: { code: 'max_cost' },
  });
  const types = (await server.events(money.run_id)).map(({ event_type }) => event_type);
  expect(types.filter((type) => type === 'budget.warning')).toHaveLength(1);
});

test('a limit of money is refused where nobody knows the price, and the cost is unknown then', async () => {
  await start(async (_order, hooks) => {
    await hooks.step();
    await say(hooks, 'Free?', 0);
    return { how: 'done', text: '', error: null };
  }, null);
  const refused = await server.call('POST', '/computer-use/execute', {
    mode: 'intent',
    task: 'x',
    options: { max_cost_usd: 1 },
  });
  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect((await execute({})).usage.cost_usd).toBeNull();
});

test('a model that declines or cannot be had ends the run with its reason', async () => {
  await start(async (order) =>
    order.task === 'refuse'
      ? { how: 'refused', text: 'No.', error: null }
      : { how: 'fault', text: '', error: { code: 'model_unreachable', message: 'Nobody answers.' } },
  );
  expect(await execute({ task: 'refuse' })).toMatchObject({
    status: 'failed',
    error: { code: 'model_refused' },
    result: { stop_reason: 'refused', text: 'No.' },
  });
  expect(await execute({ task: 'fail' })).toMatchObject({ status: 'failed', error: { code: 'model_unreachable' } });
});

test('assist asks before each action, whatever its risk', async () => {
  const gate = await start(async (_order, hooks) => {
    await hooks.step();
    await hooks.call(click(1));
    return { how: 'done', text: '', error: null };
  });
  await execute({ mode: 'assist' });
  expect(gate.calls[0]!.caller.approvals).toBe('always');
});

test('cancelling ends the request to the model at once', async () => {
  await start(async ({ signal }, hooks) => {
    await hooks.step();
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    return { how: 'done', text: '', error: null };
  });
  const { run_id: id } = await server.run({ mode: 'intent', task: 'x' });
  await server.until(id, ({ steps }) => steps === 1);
  await server.call('POST', `/runs/${id}/cancel`);
  await server.until(id, ({ status }) => status === 'cancelled');
});
