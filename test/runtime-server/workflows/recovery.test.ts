import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bot, delivery, openWorld, person, type Sent, statuses, steps, worker, workforceOf } from './support.ts';

const workforce = workforceOf({ name: 'red', bots: [worker('coder', 'red', { role: 'coder' })], edges: [] });
const coder = bot('coder@red');

test('what worked when Gantry ended is shown as interrupted and not done again by itself', async () => {
  const first = await openWorld();
  first.template(
    't',
    steps({ a: { command: 'echo x >> count; touch on; sleep 60' }, b: { blocked_by: ['a'] }, c: {} }),
  );
  const { dagId } = await first.run('t');
  const on = join(first.folder, 'workspace', 'on');
  await first.until(dagId, (flow) => statuses(flow).c === 'done' && existsSync(on));
  await first.crash();

  const second = await openWorld({ folder: first.folder });
  const flow = await second.pages.flow(dagId);
  expect([flow.status, statuses(flow)]).toEqual(['needs_you', { a: 'needs_you', b: 'new', c: 'done' }]);
  expect(flow.nodes[0]).toMatchObject({ cause: 'interrupted', attempt: 1 });
  // Time in which it would begin again by itself.
  await new Promise((resolve) => setTimeout(resolve, 100));
  const count = () => readFileSync(join(first.folder, 'workspace', 'count'), 'utf8');
  expect(count()).toBe('x\n');
  writeFileSync(join(first.folder, 'workspace', 'sleep'), '#!/bin/sh\n', { mode: 0o755 });
  await second.verbs.retry({ dagId, nodeId: 'a' }, person);
  await second.until(dagId, (one) => statuses(one).a === 'working');
  expect((await second.node(dagId, 'a')).attempt).toBe(2);
  while (count() !== 'x\nx\n') await new Promise((resolve) => setTimeout(resolve, 10));
});

test('a command that outlived Gantry is ended before a person’s retry begins its successor', async () => {
  const first = await openWorld();
  first.template('t', steps({ a: { command: 'echo $$ >> pids; sleep 30' } }));
  const { dagId } = await first.run('t');
  const pids = () => {
    const file = join(first.folder, 'workspace', 'pids');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : [];
  };
  await first.until(dagId, () => pids().length === 1);
  await first.crash({ leaveProcesses: true });
  const second = await openWorld({ folder: first.folder });
  const alive = (pid: number) =>
    existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2] !== 'Z';
  expect(alive(pids()[0] as number)).toBe(true);
  await second.verbs.retry({ dagId, nodeId: 'a' }, person);
  await second.until(dagId, () => pids().length === 2);
  expect(alive(pids()[0] as number)).toBe(false);
  expect(alive(pids()[1] as number)).toBe(true);
});

test('what was assigned and perhaps not sent is sent with the same key; what was sent is not', async () => {
  const keys: string[] = [];
  let answering = false;
  const options = {
    workforce,
    rawDispatch: (to: string, text: string, dispatch: Omit<Sent, 'to' | 'text'>) => {
      keys.push(dispatch.idempotencyKey);
      return answering ? Promise.resolve(delivery({ to, text, ...dispatch })) : new Promise<never>(() => {});
    },
  };
  const first = await openWorld(options);
  first.template('t', { steps: [{ id: 'a', title: 'A', executor: 'role:coder' }] });
  const { dagId } = await first.run('t');
  await first.until(dagId, () => keys.length === 1);
  await first.crash();
  answering = true;
  const second = await openWorld({ ...options, folder: first.folder });
  await second.until(dagId, (flow) => statuses(flow).a === 'working');
  expect(keys).toEqual([keys[0], keys[0]]);
  expect((await second.node(dagId, 'a')).attempt).toBe(1);
  await second.crash();
  const third = await openWorld({ ...options, folder: first.folder });
  expect(await third.node(dagId, 'a')).toMatchObject({ status: 'needs_you', cause: 'interrupted' });
  // Time in which it would be sent again.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(keys).toHaveLength(2);
  // The bot went on in its pane: its word ends it.
  expect(await third.verbs.done({ dagId, nodeId: 'a' }, coder, {})).toMatchObject({ status: 'done' });
});

test('what waits goes on waiting: queued sends, ready steps, pauses and gates', async () => {
  const options = { workforce, dispatch: (sent: Sent) => delivery(sent, 'queued', 'd1') };
  const first = await openWorld({ ...options, slots: 1 });
  first.template('t', {
    steps: [
      { id: 'long', command: 'touch on; sleep 60' },
      { id: 'ready', command: 'true' },
      { id: 'queued', title: 'Q', executor: 'role:coder' },
      { id: 'gate', command: 'true', wait_gate: { kind: 'command', command: 'test -e open', every_seconds: 1 } },
      { id: 'pause', command: 'test -e open', retry: { max: 9, backoff_seconds: 0 }, wait_gate: { kind: 'manual' } },
    ],
  });
  const { dagId } = await first.run('t');
  await first.until(
    dagId,
    (flow) => flow.nodes[2]?.cause === 'queued' && existsSync(join(first.folder, 'workspace', 'on')),
  );
  await first.crash();
  const second = await openWorld({ ...options, folder: first.folder, slots: 1 });
  await second.until(dagId, (flow) => statuses(flow).ready === 'done');
  expect(statuses(await second.pages.flow(dagId))).toMatchObject({
    long: 'needs_you',
    queued: 'ready',
    gate: 'blocked',
    pause: 'needs_you',
  });
  expect(second.sent).toEqual([]);
  second.delivered(delivery({ ...(first.sent[0] as Sent) }, 'verified', 'd1'));
  writeFileSync(join(first.folder, 'workspace', 'open'), '');
  await second.until(dagId, (flow) => statuses(flow).queued === 'working' && statuses(flow).gate === 'done');
});

test('a step hears at the next start of a delivery that ended just before Gantry did', async () => {
  const roles = ['takes', 'doubts', 'waits'];
  const bots = roles.map((role) => worker(role, 'red', { role }));
  const options = {
    workforce: workforceOf({ name: 'red', bots, edges: [] }),
    dispatch: (sent: Sent) => delivery(sent, 'queued', sent.nodeId),
  };
  const first = await openWorld(options);
  first.template('t', { steps: roles.map((role) => ({ id: role, title: role, executor: `role:${role}` })) });
  const { dagId } = await first.run('t');
  const before = await first.until(dagId, (flow) => flow.nodes.every(({ cause }) => cause === 'queued'));
  await first.crash();
  const ends = { takes: 'verified', doubts: 'unconfirmed', waits: 'queued' } as const;
  const deliveries = before.nodes.map(({ nodeId, title }) =>
    delivery({ ...first.sent[0]!, nodeId }, ends[title as keyof typeof ends], nodeId),
  );
  const deliveriesOf = async (nodeId: string) => deliveries.filter((one) => one.nodeId === nodeId);
  const second = await openWorld({ ...options, folder: first.folder, deliveriesOf });
  const causes = (await second.pages.flow(dagId)).nodes.map(({ status, cause }) => [status, cause]);
  expect(causes).toEqual([
    ['needs_you', 'interrupted'],
    ['needs_you', 'unconfirmed'],
    ['ready', 'queued'],
  ]);
  expect(second.sent).toEqual([]);
});

test('rounds of a loop that had ended before Gantry did count after a retry', async () => {
  const first = await openWorld();
  const inWorkspace = (name: string) => join(first.folder, 'workspace', name);
  first.template('t', {
    ...steps({
      fix: { command: 'echo x >> fixes' },
      prove: {
        command: 'echo x >> proofs; [ $(wc -l < proofs) -ne 2 ] || { touch on; sleep 60; }; false',
        blocked_by: ['fix'],
        on_fail: 'fix',
      },
    }),
    max_rounds: 3,
  });
  const { dagId } = await first.run('t');
  await first.until(dagId, () => existsSync(inWorkspace('on')));
  await first.crash();
  const second = await openWorld({ folder: first.folder });
  expect(await second.node(dagId, 'prove')).toMatchObject({ status: 'needs_you', cause: 'interrupted' });
  await second.verbs.retry({ dagId, nodeId: 'prove' }, person);
  const ended = await second.until(dagId, (flow) => flow.status === 'failed');
  expect(ended.nodes[1]?.cause).toBe('rounds_used_up');
  expect(readFileSync(inWorkspace('fixes'), 'utf8')).toBe('x\n'.repeat(3));
});

test('a loop that waited when Gantry ended goes back before anything below it begins', async () => {
  const first = await openWorld({ slots: 2 });
  const inWorkspace = (name: string) => join(first.folder, 'workspace', name);
  first.template(
    't',
    steps({
      fix: { command: 'echo x >> rounds; wc -l < rounds | tr -d " \\n"' },
      slow: { command: '[ {{ step.fix.output }} -ge 2 ] || { touch on; sleep 60; }', blocked_by: ['fix'] },
      prove: {
        command: 'while [ ! -e on ]; do sleep 0.02; done; test {{ step.fix.output }} -ge 2',
        blocked_by: ['fix'],
        on_fail: 'fix',
      },
      below: { command: 'echo {{ step.fix.output }} >> below', blocked_by: ['fix'] },
    }),
  );
  const { dagId } = await first.run('t');
  // Both slots are taken: "below" was ready, and is taken back with the round.
  await first.until(dagId, (flow) => statuses(flow).prove === 'failed' && statuses(flow).below === 'new');
  await first.crash();
  const second = await openWorld({ folder: first.folder, slots: 2 });
  await second.until(dagId, (flow) => flow.status === 'done');
  expect(readFileSync(inWorkspace('below'), 'utf8')).toBe('2\n');
});

test('a clean end interrupts commands too, and says so at the next start', async () => {
  const first = await openWorld();
  first.template('t', steps({ a: { command: 'touch on; sleep 60' } }));
  const { dagId } = await first.run('t');
  await first.until(dagId, () => existsSync(join(first.folder, 'workspace', 'on')));
  await first.stop();
  const second = await openWorld({ folder: first.folder });
  expect(await second.node(dagId, 'a')).toMatchObject({ status: 'needs_you', cause: 'interrupted' });
  expect(await second.verbs.done({ dagId, nodeId: 'a' }, person, {})).toMatchObject({
    status: 'done',
    cause: 'accepted',
  });
});

test('a replay of the ledger gives the statuses that the tables have', async () => {
  const world = await openWorld();
  world.template('t', {
    ...steps({
      a: {},
      b: { command: 'test $GANTRY_ATTEMPT -ge 2', blocked_by: ['a'], on_fail: 'a' },
      c: { when: 'no', blocked_by: ['b'] },
      d: { command: 'false', blocked_by: ['b'] },
      e: { blocked_by: ['d'] },
    }),
  });
  const { dagId } = await world.run('t');
  const flow = await world.settled(dagId);
  const replayed: Record<string, unknown> = {};
  let run = '';
  for (const row of await world.ledger.read('0', 1000, ['run.started', 'node.status', 'run.status'])) {
    if (row.type === 'run.started')
      for (const node of row.body.nodes as { nodeId: string }[]) replayed[node.nodeId] = 'new created';
    if (row.type === 'node.status') replayed[String(row.body.nodeId)] = `${row.body.status} ${row.body.cause}`;
    if (row.type === 'run.status') run = String(row.body.status);
  }
  expect(replayed).toEqual(Object.fromEntries(flow.nodes.map((node) => [node.nodeId, `${node.status} ${node.cause}`])));
  expect(run).toBe(flow.status);
  expect((await world.ledger.verify()).ok).toBe(true);
});
