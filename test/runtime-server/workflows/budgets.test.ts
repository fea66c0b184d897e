/** Budgets of runs, steps and campaigns; what bots use is written by the test. */
import { expect, test } from 'vitest';
import { createTestClock } from '../../support/test-clock.ts';
import { playedApprovals } from './played-approvals.ts';
import {
  bot,
  openWorld,
  owner,
  person,
  type Sent,
  statuses,
  type World,
  type WorldOptions,
  worker,
  workforceOf,
} from './support.ts';

const coder = bot('coder@red');
const coderId = 'agent_coder_red';
const minute = 60_000;

function red() {
  const bots = [worker('coder', 'red', { role: 'coder' }), worker('writer', 'red', { role: 'writer' })];
  return workforceOf({ name: 'red', bots, edges: [] });
}

async function begun(
  template: Record<string, unknown>,
  more: Partial<WorldOptions> & { request?: Record<string, unknown> } = {},
) {
  const { request, ...options } = more;
  const clock = options.clock ?? createTestClock();
  const inbox = playedApprovals();
  const ended: { address: string; why: string }[] = [];
  const world = await openWorld({
    clock,
    workforce: red(),
    approvals: inbox.approvals,
    counts: true,
    endTurn: async (address, _node, why) => {
      ended.push({ address, why });
      return true;
    },
    ...options,
  });
  world.template('t', { steps: [{ id: 'a', title: 'Do a', executor: 'role:coder' }], ...template });
  const { dagId, nodes } = await world.run('t', request);
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  const step = { dagId, nodeId: nodes[0]?.nodeId ?? '' };
  return { world, clock, inbox, ended, dagId, step };
}

const until = (world: World, dagId: string, step: string, status: string, cause: string) =>
  world.until(dagId, (flow) =>
    flow.nodes.some((one) => one.stepId === step && one.status === status && one.cause === cause),
  );
const holdOf = async (world: World, dagId: string) => {
  await until(world, dagId, 'a', 'needs_you', 'over_budget');
  return world.node(dagId, 'a');
};

test('a run that has used its dollars ends the turn of its bot, and asks once; yes adds the same amount again', async () => {
  const { world, inbox, ended, dagId, step } = await begun({ budget: { usd: 2 } });
  await world.spend(step, coderId, { usd: 1.5 });
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
  await world.spend(step, coderId, { usd: 0.75 });
  expect(await holdOf(world, dagId)).toMatchObject({ detail: 'It used $2.25 of $2.00.', attempt: 1 });
  expect(ended).toEqual([{ address: 'coder@red', why: 'It used $2.25 of $2.00.' }]);
  await expect.poll(() => inbox.holds.length).toBe(1);
  expect(inbox.holds[0]?.ask).toMatchObject({
    source: 'workflow',
    kind: 'budget',
    title: 't has used its budget',
    summary: expect.stringContaining('Approve: the same amount again ($2.00). Reject: what waits for it fails.'),
    dagId,
  });
  await inbox.answer(world, 'approve');
  await until(world, dagId, 'a', 'working', 'resumed');
  await expect
    .poll(() => world.sent.at(-1)?.text)
    .toContain('The budget that stopped you was raised. Continue the step');
  expect((await world.budgets.list({ run: dagId }))[0]).toMatchObject({
    subject: `run:${dagId}`,
    portions: 2,
    used: { usd: 2.25, tokens: 0, unpriced: 0 },
    reached: null,
  });
  await world.spend(step, coderId, { usd: 2 });
  expect(await holdOf(world, dagId)).toMatchObject({ detail: 'It used $4.25 of $4.00.' });
  await expect.poll(() => inbox.holds.length).toBe(2);
});

test('no fails the step with that cause, and the run with it; nothing else begins', async () => {
  const { world, inbox, dagId, step } = await begun({
    budget: { tokens: 1000 },
    steps: [
      { id: 'a', title: 'Do a', executor: 'role:coder' },
      { id: 'b', title: 'b', executor: 'role:coder' },
    ],
  });
  await world.spend(step, coderId, { tokens: 1000 });
  await expect.poll(() => inbox.holds.length).toBe(1);
  await holdOf(world, dagId);
  await inbox.answer(world, 'reject', 'too dear');
  const flow = await world.until(dagId, (one) => one.status === 'failed');
  expect(flow.nodes[0]).toMatchObject({ status: 'failed', cause: 'over_budget', detail: 'too dear' });
  expect(statuses(flow).b).toBe('blocked');
  expect(inbox.holds).toHaveLength(1);
});

test('nothing of a run begins while its budget is used up: no bot and no command', async () => {
  const { world, inbox, dagId, step } = await begun({
    budget: { tokens: 10 },
    steps: [
      { id: 'a', title: 'Do a', executor: 'role:coder' },
      { id: 'after', title: 'after', executor: 'role:writer', blocked_by: ['a'] },
      { id: 'build', command: 'true', blocked_by: ['a'] },
    ],
  });
  await world.spend(step, coderId, { tokens: 11 });
  await holdOf(world, dagId);
  // What is finished costs nothing more.
  await world.verbs.done(step, coder, {});
  await world.until(dagId, (flow) => statuses(flow).after === 'needs_you' && statuses(flow).build === 'needs_you');
  expect(await world.node(dagId, 'build')).toMatchObject({ cause: 'over_budget', attempt: 0 });
  expect(world.sent.map(({ to }) => to)).toEqual(['coder@red']);
  expect(inbox.holds).toHaveLength(1);
  await inbox.answer(world, 'approve');
  await world.until(dagId, (flow) => statuses(flow).after === 'working' && statuses(flow).build === 'done');
});

test('a step has a budget of its own, and other steps of the run go on', async () => {
  const { world, inbox, dagId, step } = await begun({
    steps: [
      { id: 'a', title: 'Do a', executor: 'role:coder', budget: { tokens: 100 } },
      { id: 'b', title: 'b', executor: 'role:writer' },
    ],
  });
  await world.until(dagId, (flow) => statuses(flow).b === 'working');
  await world.spend(step, coderId, { tokens: 100 });
  await holdOf(world, dagId);
  expect(await world.node(dagId, 'b')).toMatchObject({ status: 'working' });
  await expect
    .poll(() => inbox.holds[0]?.ask)
    .toMatchObject({ title: 'Do a has used its budget', nodeId: step.nodeId });
});

test('a campaign that is opened with a budget has it before its first run, and the ledger says so', async () => {
  const world = await openWorld({ counts: true });
  const campaign = { title: 'C', intent: 'i', budget: { tokens: 500 } };
  const { id } = await world.runs.createCampaign(campaign, owner);
  expect(await world.budgets.list({ campaign: id })).toMatchObject([
    { subject: `campaign:${id}`, title: 'C', budget: { tokens: 500 }, reached: null },
  ]);
  const [row] = await world.ledger.query({ subject: `budget:campaign:${id}`, order: 'descending', limit: 1 });
  expect(row).toMatchObject({ type: 'work.budget', actor: owner.actor });
});

test('each request is counted once, in every budget, however many counts there are and whichever came first', async () => {
  const { world, dagId, step } = await begun({ budget: { tokens: 1_000_000 } });
  for (let n = 0; n < 20; n += 1) await world.spend(step, coderId, { tokens: 100, usd: 0.01 });
  await world.budgets.set('campaign:project-p', { tokens: 2_100 }, owner, false);
  // A budget of the run that is changed keeps what was used.
  await world.budgets.set(`run:${dagId}`, { tokens: 3_000 }, owner, false);
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
  await world.spend(step, coderId, { tokens: 100 });
  expect(await holdOf(world, dagId)).toMatchObject({ detail: 'It used 2100 of 2100 tokens.' });
  expect(await world.budgets.list({ run: dagId })).toMatchObject([
    { used: { tokens: 2_100, usd: 0.2, unpriced: 1 } },
    { used: { tokens: 2_100, usd: 0.2, unpriced: 1 } },
  ]);
});

test('a campaign counts all of its runs', async () => {
  const { world, inbox, dagId, step } = await begun({});
  const second = await world.run('t');
  await world.budgets.set('campaign:project-p', { tokens: 1000 }, owner, false);
  await world.spend(step, coderId, { tokens: 600 });
  await world.spend({ dagId: second.dagId, nodeId: second.nodes[0]?.nodeId ?? '' }, coderId, { tokens: 600 });
  await holdOf(world, dagId);
  await expect.poll(() => inbox.holds[0]?.ask.title).toBe('Project p has used its budget');
  expect(inbox.holds[0]?.ask.dagId).toBeUndefined();
});

test('minutes count only while something is at work and nobody is waited for', async () => {
  const clock = createTestClock();
  let excused = false;
  const watch = {
    of: () => ({
      bot: clock,
      activity: { at: clock.now(), by: 'output' as const, sameCall: null, sameScreen: null },
      excused,
      atRest: false,
    }),
    begin() {},
    look: async () => ({ seen: '', active: true }),
    tokensSince: async () => 0,
    filesOf: async () => null,
    show() {},
  };
  const { world, dagId } = await begun({}, { clock, watch, request: { budget: { minutes: 10 } } });
  await clock.advance(6 * minute);
  excused = true;
  await clock.advance(60 * minute);
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
  excused = false;
  await clock.advance(5 * minute);
  expect((await holdOf(world, dagId)).detail).toMatch(/^It worked for 10(\.\d)? of 10 minutes\.$/);
});

test('a new limit lets it go on and takes the question back; one below what was used asks at once', async () => {
  const { world, inbox, dagId, step } = await begun({ budget: { tokens: 100 } });
  await world.spend(step, coderId, { tokens: 150 });
  await holdOf(world, dagId);
  await expect.poll(() => inbox.holds.length).toBe(1);
  await world.budgets.set(`run:${dagId}`, { tokens: 1000 }, owner, false);
  await until(world, dagId, 'a', 'working', 'resumed');
  await expect.poll(() => inbox.holds[0]?.withdrawn).toBe('engine');
  await world.budgets.set(`run:${dagId}`, { tokens: 120 }, owner, false);
  expect(await holdOf(world, dagId)).toMatchObject({ detail: 'It used 150 of 120 tokens.' });
  await expect.poll(() => inbox.holds.length).toBe(2);
  await world.budgets.set(`run:${dagId}`, null, owner, false);
  await until(world, dagId, 'a', 'working', 'resumed');
  expect(await world.budgets.list({ run: dagId })).toEqual([]);
});

test('a restart asks with the same key, and an answer meanwhile counts', async () => {
  const { world, clock, inbox, dagId, step } = await begun({ budget: { tokens: 100 } });
  await world.spend(step, coderId, { tokens: 150 });
  await holdOf(world, dagId);
  await expect.poll(() => inbox.holds.length).toBe(1);
  await world.stop();
  const again = playedApprovals();
  const next = await openWorld({
    folder: world.folder,
    clock,
    workforce: red(),
    approvals: again.approvals,
    counts: true,
  });
  await expect.poll(() => again.holds[0]?.ask.dedupeKey).toBe(inbox.holds[0]?.ask.dedupeKey);
  expect(await next.node(dagId, 'a')).toMatchObject({ status: 'needs_you', cause: 'over_budget' });
  await again.answer(next, 'approve');
  await until(next, dagId, 'a', 'working', 'resumed');
});

test('a turn that cannot be ended is named', async () => {
  const { world, dagId, step } = await begun({ budget: { tokens: 100 } }, { endTurn: async () => false });
  await world.spend(step, coderId, { tokens: 150 });
  await world.until(
    dagId,
    (flow) => flow.nodes[0]?.detail?.endsWith('Its turn could not be ended: look at its bot.') === true,
  );
});

test('requests without a known price count as tokens, and are named beside the dollars', async () => {
  const { world, dagId, step } = await begun({ budget: { usd: 1, tokens: 500 } });
  await world.spend(step, coderId, { tokens: 400 });
  expect((await world.budgets.list({ run: dagId }))[0]).toMatchObject({ used: { usd: 0, tokens: 400, unpriced: 1 } });
  await world.spend(step, coderId, { tokens: 100 });
  expect(await holdOf(world, dagId)).toMatchObject({ detail: 'It used 500 of 500 tokens.' });
});

test('a message that was handed over before the budget was used up is stopped when its bot takes it', async () => {
  const queued: Sent[] = [];
  const { world, ended, dagId, step } = await begun(
    {
      budget: { tokens: 100 },
      steps: [
        { id: 'a', title: 'Do a', executor: 'role:coder' },
        { id: 'b', title: 'b', executor: 'role:writer' },
      ],
    },
    {
      dispatch: (sent) => {
        const state = sent.to === 'writer@red' ? ('queued' as const) : ('verified' as const);
        if (state === 'queued') queued.push(sent);
        return {
          id: `d_${sent.to}`,
          to: sent.to,
          via: 'pane',
          state,
          evidence: null,
          ...idsOf(sent),
          at: new Date(0).toISOString(),
        };
      },
    },
  );
  await expect.poll(() => queued.length).toBe(1);
  await until(world, dagId, 'b', 'ready', 'queued');
  await world.spend(step, coderId, { tokens: 100 });
  await holdOf(world, dagId);
  const [sent] = queued;
  if (sent === undefined) throw new Error('Nothing was queued.');
  world.delivered({
    id: 'd_writer@red',
    to: sent.to,
    via: 'pane',
    state: 'verified',
    evidence: 'hook',
    ...idsOf(sent),
    at: new Date(0).toISOString(),
  });
  await until(world, dagId, 'b', 'needs_you', 'over_budget');
  await expect.poll(() => ended.map(({ address }) => address)).toEqual(['coder@red', 'writer@red']);
});

test('a person may do with a held step what they may with any that needs them', async () => {
  const { world, dagId, step } = await begun({ budget: { tokens: 100 } });
  await world.spend(step, coderId, { tokens: 100 });
  await holdOf(world, dagId);
  expect(await world.verbs.skip(step, person, 'enough')).toMatchObject({ status: 'skipped' });
});

test('a bot that goes on unseen, because its step is silent or Gantry was stopped, still uses its budget', async () => {
  const clock = createTestClock();
  const sameCall = { what: 'file.read', times: 30 };
  const watch = {
    of: () => ({
      bot: clock,
      activity: { at: 1, by: 'tool' as const, sameCall, sameScreen: null },
      excused: false,
      atRest: false,
    }),
    begin() {},
    look: async () => ({ seen: '', active: true }),
    tokensSince: async () => 0,
    filesOf: async () => null,
    show() {},
  };
  const first = await begun({ budget: { tokens: 100 } }, { clock, watch });
  await clock.advance(minute);
  await until(first.world, first.dagId, 'a', 'needs_you', 'no_progress');
  await first.world.spend(first.step, coderId, { tokens: 150 });
  await holdOf(first.world, first.dagId);
  expect(first.ended.map(({ address }) => address)).toEqual(['coder@red']);

  const { world, dagId, step } = await begun({ budget: { tokens: 100 } });
  await world.stop();
  const ended: string[] = [];
  const options = { workforce: red(), approvals: playedApprovals().approvals, counts: true };
  const endTurn = async (address: string) => ended.push(address) > 0;
  const next = await openWorld({ folder: world.folder, ...options, endTurn });
  await until(next, dagId, 'a', 'needs_you', 'interrupted');
  await next.spend(step, coderId, { tokens: 150 });
  await holdOf(next, dagId);
  expect(ended).toEqual(['coder@red']);
});

test('work that waits for its checker is not done again because its budget was raised', async () => {
  const bots = [worker('coder', 'red', { role: 'coder' }), worker('writer', 'red', { role: 'writer' })];
  const workforce = workforceOf({ name: 'red', bots, edges: [{ kind: 'checks', from: 'writer', to: 'coder' }] });
  const steps = [
    { id: 'a', title: 'Do a', executor: 'role:coder' },
    { id: 'b', title: 'b', executor: 'role:writer' },
  ];
  const { world, inbox, dagId, step } = await begun({ budget: { tokens: 100 }, steps }, { workforce });
  await world.until(dagId, (flow) => statuses(flow).b === 'working');
  await world.verbs.done(step, coder, {});
  await world.until(dagId, (flow) => statuses(flow).a === 'checking');
  await world.spend(step, coderId, { tokens: 150 });
  await until(world, dagId, 'b', 'needs_you', 'over_budget');
  await inbox.answer(world, 'approve');
  await until(world, dagId, 'b', 'working', 'resumed');
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'checking', attempt: 1 });
});

test('a step that is retried after another failure is asked about again, and an ended run never', async () => {
  const { world, clock, inbox, dagId, step } = await begun({ budget: { tokens: 100 } });
  await world.spend(step, coderId, { tokens: 150 });
  await holdOf(world, dagId);
  await expect.poll(() => inbox.holds.length).toBe(1);
  await world.verbs.fail(step, person, 'not like this');
  await world.until(dagId, (flow) => flow.status === 'failed');
  await expect.poll(() => inbox.holds[0]?.withdrawn).toBe('engine');
  expect((await world.budgets.list({ run: dagId }))[0]).toMatchObject({ reached: 'It used 150 of 100 tokens.' });
  await world.verbs.retry(step, person);
  await holdOf(world, dagId);
  await expect.poll(() => inbox.holds.length).toBe(2);
  await world.verbs.fail(step, person, 'no more');
  await world.until(dagId, (flow) => flow.status === 'failed');

  const second = await world.run('t');
  const its = { dagId: second.dagId, nodeId: second.nodes[0]?.nodeId ?? '' };
  await world.until(second.dagId, (flow) => statuses(flow).a === 'working');
  await world.spend(its, coderId, { tokens: 150 });
  await holdOf(world, second.dagId);
  await world.stop();
  const again = playedApprovals();
  const options = { workforce: red(), approvals: again.approvals, counts: true };
  await openWorld({ folder: world.folder, clock, ...options });
  await expect.poll(() => again.holds.length).toBe(1);
  expect(again.holds[0]?.ask.dagId).toBe(second.dagId);
});

const idsOf = ({ dagId, nodeId }: Sent) => ({ dagId, nodeId });
