/** Manual gates as approvals: the desk is played, its promises are those of the real one. */
import { expect, test } from 'vitest';
import { playedApprovals } from './played-approvals.ts';
import { openWorld, owner, person, statuses, steps, type World } from './support.ts';

const gated = steps({
  a: { wait_gate: { kind: 'manual', description: 'Look at the picture first' } },
  b: { blocked_by: ['a'] },
});
const atGate = (world: World, dagId: string) => world.until(dagId, (flow) => flow.status === 'needs_you');

test('a person is asked once at a manual gate, and the approval opens it in the transaction that takes the answer', async () => {
  const { approvals, holds, answer } = playedApprovals();
  const world = await openWorld({ approvals });
  world.template('t', gated);
  const { dagId, nodes } = await world.run('t');
  await atGate(world, dagId);
  expect(holds).toHaveLength(1);
  expect(holds[0]?.ask).toMatchObject({
    source: 'workflow',
    kind: 'wait_gate',
    title: 'a waits at its gate',
    summary: expect.stringContaining('Look at the picture first'),
    dagId,
    nodeId: nodes[0]?.nodeId,
  });
  expect((await world.pages.node(dagId, 'a')).approval).toMatchObject({ id: 'apr_1' });
  await answer(world, 'approve', 'looks right');
  const flow = await world.settled(dagId);
  expect(statuses(flow)).toEqual({ a: 'done', b: 'done' });
  const { history } = await world.pages.node(dagId, 'a');
  expect(history.find((one) => one.cause === 'gate_open')).toMatchObject({
    actor: 'user_local',
    detail: 'looks right',
  });
  expect(holds).toHaveLength(1);
});

test('a rejected gate fails its step by its policy, and says who said so', async () => {
  const { approvals, answer } = playedApprovals();
  const world = await openWorld({ approvals });
  world.template('t', gated);
  const { dagId } = await world.run('t');
  await atGate(world, dagId);
  await answer(world, 'reject', 'not like this');
  const flow = await world.settled(dagId);
  expect(flow.status).toBe('failed');
  expect(flow.nodes[0]).toMatchObject({ status: 'failed', cause: 'gate_rejected', detail: 'not like this' });
  expect(flow.nodes[1]).toMatchObject({ status: 'blocked', cause: 'parent_failed' });
});

test.each([
  [
    'opened by its verb',
    (world: World, dagId: string) => world.verbs.gate({ dagId, nodeId: 'a' }, person, null),
    'cli',
  ],
  ['skipped', (world: World, dagId: string) => world.verbs.skip({ dagId, nodeId: 'a' }, person, null), 'cli'],
  ['cancelled with its run', (world: World, dagId: string) => world.cancel(dagId, owner), 'cli'],
] as const)('the question ends when the node is %s, and names the door', async (_, move, surface) => {
  const { approvals, holds, answer } = playedApprovals();
  const world = await openWorld({ approvals });
  world.template('t', gated);
  const { dagId } = await world.run('t');
  await atGate(world, dagId);
  await move(world, dagId);
  const flow = await world.until(dagId, (one) => one.status !== 'running' && one.status !== 'needs_you');
  await expect.poll(() => holds[0]?.withdrawn).toBe(surface);
  // An answer that was under way changes nothing any more.
  await answer(world, 'reject');
  expect(await world.pages.flow(dagId)).toEqual(flow);
});

test('a question that ran out is asked again; one that was open when Gantry ended is asked again under its key', async () => {
  const { approvals, holds, answer } = playedApprovals();
  const world = await openWorld({ approvals });
  world.template('t', gated);
  const { dagId } = await world.run('t');
  await atGate(world, dagId);
  holds[0]?.end({ kind: 'expired' });
  await expect.poll(() => holds.length).toBe(2);
  await world.stop();
  expect(holds[1]).toMatchObject({ left: true, withdrawn: null });
  const again = await openWorld({ approvals, folder: world.folder });
  await expect.poll(() => holds.length).toBe(3);
  expect(holds[2]?.ask.dedupeKey).toBe(holds[1]?.ask.dedupeKey);
  expect(holds[2]?.ask.actionHash).toBe(holds[1]?.ask.actionHash);
  await answer(again, 'approve');
  expect((await again.settled(dagId)).status).toBe('done');
});

test('each round of a loop is a question of its own', async () => {
  const { approvals, holds, answer } = playedApprovals();
  const world = await openWorld({ approvals });
  world.template(
    'loop',
    steps({
      a: { wait_gate: { kind: 'manual' } },
      b: { blocked_by: ['a'], command: 'test -e again || { touch again; false; }', on_fail: 'a' },
    }),
  );
  const { dagId } = await world.run('loop');
  await atGate(world, dagId);
  await answer(world, 'approve');
  await expect.poll(() => holds.length).toBe(2);
  expect(holds[1]?.ask.dedupeKey).not.toBe(holds[0]?.ask.dedupeKey);
  await answer(world, 'approve');
  expect((await world.settled(dagId)).status).toBe('done');
});
