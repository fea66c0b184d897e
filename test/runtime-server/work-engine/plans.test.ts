import { expect, test } from 'vitest';
import type { Plan, PlanSummary } from '../../../src/contracts/factory/work-engine/plans.ts';
import type { Flow, RunStarted } from '../../../src/contracts/factory/workflow.ts';
import { maxDrafts } from '../../../src/runtime-server/work-engine/plans.ts';
import { waitFor } from '../engine.ts';
import { type Bot, twoBots } from './two-bots.ts';

const bots = twoBots();
const template = (...commands: string[]) => ({
  name: 'Say it',
  steps: commands.map((command, at) => ({
    id: `s${at}`,
    command,
    ...(at === 0 ? {} : { blocked_by: [`s${at - 1}`] }),
  })),
});
const draft = (body: unknown, bot?: Bot) => bots.call<Plan & { error?: { fact: string } }>('POST', '/plans', body, bot);
const on = <T>(plan: Plan, verb: string, body: unknown, bot?: Bot) =>
  bots.call<T>('POST', `/plans/${plan.id}/${verb}`, body, bot);

test('a bot drafts, its person refines, and the run carries out what was refined', async () => {
  const { a } = bots;
  const drafted = await draft({ title: 'Greet', intent: 'say hello', template: template('echo one') }, a);
  expect(drafted.status).toBe(201);
  const plan = drafted.body;
  expect(plan).toMatchObject({ state: 'draft', revision: 1, by: a.address, steps: 1, dagId: null });
  const body = { revision: 1, template: template('echo one', 'echo two'), note: 'and answer' };
  const dry = await on(plan, 'refine', { ...body, dryRun: true });
  expect(dry.body).toEqual({ dryRun: true, plan: { id: plan.id, revision: 2, steps: 2, records: ['plan.refined'] } });
  const refined = (await on<Plan>(plan, 'refine', body)).body;
  expect(refined.history).toMatchObject([
    { revision: 1, by: a.address, note: null },
    { revision: 2, by: 'owner', note: 'and answer' },
  ]);
  expect((await on(plan, 'refine', body, a)).status).toBe(409);
  expect((await on(plan, 'run', { projectId: 'p' }, a)).status).toBe(403);
  const shown = await on<{ plan: { nodes: unknown[] } }>(plan, 'run', { projectId: 'p', dryRun: true });
  expect(shown.body.plan.nodes).toHaveLength(2);
  const [first, second] = await Promise.all([
    on<RunStarted>(plan, 'run', { projectId: 'p' }),
    on<RunStarted>(plan, 'run', { projectId: 'p' }),
  ]);
  expect([first.status, second.status].sort()).toEqual([200, 409]);
  const { dagId } = (first.status === 200 ? first : second).body;
  await waitFor(
    () => bots.call<Flow>('GET', `/dags/${dagId}`),
    (flow) => flow.body.status === 'done',
  );
  expect((await bots.call<Plan>('GET', `/plans/${plan.id}`)).body).toMatchObject({ state: 'started', dagId });
  expect((await on(plan, 'refine', { ...body, revision: 2 })).status).toBe(409);
  expect((await on(plan, 'discard', {})).status).toBe(409);
});

test('a bot sees and discards its own plans alone', async () => {
  const { a, b } = bots;
  const plan = (await draft({ title: 'Mine', template: template('true') }, a)).body;
  const list = async (bot?: Bot) =>
    (await bots.call<{ plans: PlanSummary[] }>('GET', '/plans?state=draft', undefined, bot)).body.plans.map(
      (one) => one.id,
    );
  expect(await list(a)).toContain(plan.id);
  expect(await list()).toContain(plan.id);
  expect(await list(b)).not.toContain(plan.id);
  expect((await bots.call('GET', `/plans/${plan.id}`, undefined, b)).status).toBe(404);
  expect((await on(plan, 'discard', {}, b)).status).toBe(404);
  expect((await on(plan, 'discard', { dryRun: true }, a)).body).toMatchObject({ dryRun: true });
  expect((await on<Plan>(plan, 'discard', {}, a)).body.state).toBe('discarded');
  expect((await on(plan, 'run', { projectId: 'p' })).status).toBe(409);
});

test('a plan and its run are one: whoever does not hear that it was started does not start it twice', async () => {
  const { store } = bots.engine;
  const plan = (await draft({ title: 'Once', template: template('true') })).body;
  const { write } = store;
  // What follows the durable start of a run does not happen, as after a kill.
  Object.assign(store, {
    write: async (operation: Parameters<typeof write>[0]) => {
      const done = await write.call(store, operation);
      if (typeof done === 'object' && done !== null && 'nodes' in done) throw new Error('Killed.');
      return done;
    },
  });
  expect((await on(plan, 'run', { projectId: 'p' })).status).toBe(500);
  Object.assign(store, { write });
  const { body: now } = await bots.call<Plan>('GET', `/plans/${plan.id}`);
  expect(now.state).toBe('started');
  expect((await bots.call<Flow>('GET', `/dags/${now.dagId}`)).status).toBe(200);
  expect((await on(plan, 'run', { projectId: 'p' })).status).toBe(409);
});

test('a bot in a loop drafts only so much; its person is not hindered', async () => {
  const { b } = bots;
  const row = `INSERT INTO engine_plan (id, workspace, title, intent, state, revision, author, template, steps, history, dag_id, created_at, updated_at)
    VALUES (?, ?, 'x', NULL, 'draft', 1, ?, '{}', 0, '[]', NULL, 0, 0)`;
  await bots.engine.store.write((tx) => {
    for (let n = 0; n < maxDrafts; n += 1) tx.run(row, `plan_b${n}`, bots.engine.workspace, b.id);
  });
  const refused = await draft({ title: 'More', template: template('true') }, b);
  expect([refused.status, refused.body.error?.fact]).toEqual([409, `${b.address} has ${maxDrafts} drafts.`]);
  expect((await on({ id: 'plan_b0' } as Plan, 'discard', {}, b)).status).toBe(200);
  expect((await draft({ title: 'More', template: template('true') }, b)).status).toBe(201);
  expect((await draft({ title: 'Mine', template: template('true') })).status).toBe(201);
});

test.each([
  ['no steps', { name: 'x', steps: [] }, 'steps'],
  [
    'a circle',
    {
      steps: [
        { id: 'a', command: 'true', blocked_by: ['b'] },
        { id: 'b', command: 'true', blocked_by: ['a'] },
      ],
    },
    'a',
  ],
  ['an unknown field', { ...template('true'), bogus: 1 }, 'bogus'],
])('a template with %s is refused with its problem, and nothing is kept', async (_name, given, named) => {
  const refused = await draft({ title: 't', template: given });
  expect(refused.status).toBe(400);
  expect(refused.body.error?.fact).toContain(named);
});

test('a run that cannot start leaves the plan a draft', async () => {
  const plan = (
    await draft({ title: 'Nobody', template: { steps: [{ id: 'a', title: 'Do it', executor: 'role:none' }] } })
  ).body;
  expect((await on(plan, 'run', { projectId: 'p' })).status).toBeGreaterThanOrEqual(400);
  expect((await on(plan, 'run', {})).status).toBe(400);
  expect((await bots.call<Plan>('GET', `/plans/${plan.id}`)).body.state).toBe('draft');
});
