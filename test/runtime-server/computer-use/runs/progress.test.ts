/** A run that does the same thing on a screen that never changes is stopped, and says so; one that gets anywhere is not. */
import { afterEach, expect, test } from 'vitest';
import type { Run } from '../../../../src/contracts/computer-use/run.ts';
import type { PlannedCall, Planner } from '../../../../src/runtime-server/computer-use/runs/planner-port.ts';
import { createMemoryGate, done, failedCall } from './memory-gate.ts';
import { type RunServer, startRunServer } from './server.ts';

let server: RunServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const click = {
  toolset: 'browser',
  member: 'left_click',
  input: { target: { type: 'coordinate', x: 1, y: 1 } },
} as const;
const wait = { toolset: 'browser', member: 'wait', input: { duration: 0 } } as const;
const screenshot = { toolset: 'browser', member: 'screenshot', input: {} } as const;
const read = { toolset: 'browser', member: 'get_page_text', input: {} } as const;

async function start(run?: Planner['run']) {
  const gate = createMemoryGate();
  const planner: Planner | undefined = run && { find: (model) => ({ model: model ?? 'test', priced: true }), run };
  server = await startRunServer({ gate, ...(planner !== undefined && { planner }) });
  return gate;
}
/** Every picture is the same. */
const still = ({ member }: { member: string }) => (member === 'screenshot' ? done('', 'the same') : null);
async function execute(request: object): Promise<Run> {
  const { status, body } = await server!.call<Run>('POST', '/computer-use/execute?wait=true', request);
  expect(status).toBe(200);
  return body;
}
const direct = (actions: readonly object[]) => execute({ mode: 'direct', target_scope: 'browser', actions });
const repeat = (times: number, ...all: PlannedCall[]): PlannedCall[] => Array.from({ length: times }, () => all).flat();
/** A model that asks for these calls, whatever comes of them. */
const planner =
  (calls: readonly PlannedCall[]): Planner['run'] =>
  async (_order, hooks) => {
    await hooks.step();
    for (const call of calls) await hooks.call(call);
    return { how: 'done', text: 'Done.', error: null };
  };
const intent = () => execute({ mode: 'intent', task: 'Do it.', target_scope: 'browser' });

test('the fortieth time of the same action on the same screen is the last one', async () => {
  const gate = await start();
  gate.answer = still;
  const run = await direct(repeat(60, click));
  expect(run).toMatchObject({ status: 'failed', steps: 40, error: { code: 'no_progress' } });
  expect(run.error?.message).toContain('browser left_click) 40 times, and the screen did not change');
  expect(gate.acted()).toHaveLength(40);
  const events = await server!.events(run.run_id);
  expect(events.find(({ event_type }) => event_type === 'run.failed')).toMatchObject({
    data: { error: { code: 'no_progress' } },
  });
});

test('a screen that changes on the way, and 39 times on one that does not, stop nothing', async () => {
  const gate = await start();
  let clicks = 0;
  gate.answer = ({ member }) => {
    if (member === 'left_click') clicks += 1;
    return member === 'screenshot' ? done('', clicks < 39 ? 'first' : `then ${Math.floor(clicks / 30)}`) : null;
  };
  expect(await direct(repeat(60, click))).toMatchObject({ status: 'completed', steps: 60 });
});

test('a list that waits or looks as often as its writer wanted is done whole', async () => {
  const gate = await start();
  gate.answer = still;
  expect(await direct(repeat(50, wait, screenshot))).toMatchObject({ status: 'completed', steps: 100 });
});

test('a model that goes round in a circle is stopped, also where it looks or fails in between', async () => {
  const gate = await start(planner(repeat(100, click, screenshot, read)));
  gate.answer = ({ member }) => (member === 'get_page_text' ? failedCall('dialog_open') : still({ member }));
  const run = await intent();
  expect(run).toMatchObject({ status: 'failed', error: { code: 'no_progress' } });
  expect(gate.acted().filter((member) => member === 'left_click')).toHaveLength(40);
});

test('a model that reads until the text is another one is not stopped', async () => {
  let reads = 0;
  const gate = await start(planner(repeat(100, read, wait)));
  gate.answer = ({ member }) => {
    if (member !== 'get_page_text') return still({ member });
    reads += 1;
    return done(`row ${Math.floor(reads / 30)}`);
  };
  expect(await intent()).toMatchObject({ status: 'completed' });
});
