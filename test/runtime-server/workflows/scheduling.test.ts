import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTestClock } from '../../support/test-clock.ts';
import { openWorld, owner, person, statuses, steps, type World } from './support.ts';

const file = (world: World, name: string) => join(world.folder, 'workspace', name);

test('steps run in the order of what they wait for, and give their output to those that come after', async () => {
  const world = await openWorld();
  world.template('chain', {
    params: [{ name: 'who', default: 'world' }],
    ...steps({
      a: { command: 'echo hello {{ params.who }}' },
      b: { command: 'echo "[{{ step.a.output }}]" > seen', blocked_by: ['a'] },
    }),
  });
  const { dagId } = await world.run('chain', { params: { who: '$(touch pwned); x' } });
  const flow = await world.settled(dagId);
  expect(statuses(flow)).toEqual({ a: 'done', b: 'done' });
  expect(flow.status).toBe('done');
  expect(readFileSync(file(world, 'seen'), 'utf8')).toBe('[hello $(touch pwned); x]\n');
  const page = await world.pages.node(dagId, 'a');
  expect(page.output).toBe('hello $(touch pwned); x');
  expect(page.proofs).toMatchObject([{ line: 'The command ends with status 0', outcome: 'proven' }]);
  expect(readFileSync(file(world, page.proofs[0]?.path ?? ''), 'utf8')).toBe('hello $(touch pwned); x\n');
});

test('a failed step with stop lets running siblings finish and starts nothing new, and the board says so', async () => {
  const world = await openWorld();
  world.template(
    't',
    steps({
      bad: { command: 'while ! test -e go; do sleep 0.02; done; echo broken; exit 3' },
      sibling: { command: 'touch go; while ! test -e end; do sleep 0.02; done' },
      after: { blocked_by: ['sibling'] },
      below: { blocked_by: ['bad'] },
      gated: { wait_gate: { kind: 'manual' } },
    }),
  );
  const { dagId, campaignId } = await world.run('t');
  await world.until(dagId, (flow) => statuses(flow).bad === 'failed');
  expect((await world.pages.board(campaignId)).summary.now.map((one) => one.title)).toEqual(['sibling']);
  writeFileSync(file(world, 'end'), '');
  const flow = await world.settled(dagId);
  expect(statuses(flow)).toEqual({
    bad: 'failed',
    sibling: 'done',
    after: 'blocked',
    below: 'blocked',
    gated: 'blocked',
  });
  expect(flow.status).toBe('failed');
  expect(await world.node(dagId, 'below')).toMatchObject({ cause: 'parent_failed', detail: 'bad failed.' });
  expect(await world.node(dagId, 'after')).toMatchObject({ cause: 'run_stopped', detail: 'bad failed.' });
  expect(await world.node(dagId, 'bad')).toMatchObject({
    cause: 'exit_status',
    detail: 'It ended with status 3. broken',
  });
});

test('a failed step with continue lets its children run, and the run reads degraded', async () => {
  const world = await openWorld();
  world.template('t', steps({ a: { command: 'false', on_fail: 'continue' }, b: { blocked_by: ['a'] } }));
  const flow = await world.settled((await world.run('t')).dagId);
  expect([statuses(flow), flow.status]).toEqual([{ a: 'failed', b: 'done' }, 'degraded']);
});

test('a failed step with ask waits for a person, who retries, skips or gives it up', async () => {
  for (const [verb, expected] of [
    ['retry', { a: 'done', b: 'done' }],
    ['skip', { a: 'skipped', b: 'skipped' }],
    ['fail', { a: 'failed', b: 'blocked' }],
  ] as const) {
    const world = await openWorld();
    world.template('t', steps({ a: { command: 'test -e ok', on_fail: 'ask' }, b: { blocked_by: ['a'] } }));
    const { dagId } = await world.run('t');
    const asked = await world.settled(dagId);
    expect([asked.status, statuses(asked)]).toEqual(['needs_you', { a: 'needs_you', b: 'new' }]);
    writeFileSync(file(world, 'ok'), '');
    const node = { dagId, nodeId: 'a' };
    if (verb === 'retry') await world.verbs.retry(node, person);
    else if (verb === 'skip') await world.verbs.skip(node, person, 'not needed');
    else await world.verbs.fail(node, person, 'hopeless');
    const flow = await world.until(dagId, (one) => one.status !== 'running' && one.status !== 'needs_you');
    expect(statuses(flow), verb).toEqual(expected);
    expect(flow.status, verb).toBe({ retry: 'done', skip: 'degraded', fail: 'failed' }[verb]);
  }
});

test('a person retries a failed step and what it held back goes on', async () => {
  const world = await openWorld();
  world.template('t', steps({ a: { command: 'test -e ok' }, b: { blocked_by: ['a'] }, c: { blocked_by: ['b'] } }));
  const { dagId } = await world.run('t');
  expect((await world.settled(dagId)).status).toBe('failed');
  writeFileSync(file(world, 'ok'), '');
  await world.verbs.retry({ dagId, nodeId: 'a' }, person);
  const flow = await world.until(dagId, (one) => one.status === 'done');
  expect(statuses(flow)).toEqual({ a: 'done', b: 'done', c: 'done' });
  expect((await world.node(dagId, 'a')).attempt).toBe(2);
});

test('a loop goes back to an earlier step, does what lies between once more, and ends with its rounds', async () => {
  const world = await openWorld();
  world.template('t', {
    ...steps({
      find: { command: 'echo find >> trail' },
      fix: { command: 'echo fix >> trail', blocked_by: ['find'] },
      aside: { command: 'echo aside >> aside', blocked_by: ['fix'] },
      prove: { command: 'echo prove >> trail; test $(grep -c fix trail) -ge 2', blocked_by: ['fix'], on_fail: 'fix' },
      tell: { blocked_by: ['prove', 'aside'] },
    }),
  });
  const { dagId } = await world.run('t');
  const flow = await world.until(dagId, (one) => one.status === 'done');
  expect(readFileSync(file(world, 'trail'), 'utf8').split('\n')).toEqual(['find', 'fix', 'prove', 'fix', 'prove', '']);
  // A step beside the way back had the results of the former round.
  expect(readFileSync(file(world, 'aside'), 'utf8')).toBe('aside\naside\n');
  expect(flow.edges).toContainEqual({ from: flow.nodes[3]?.nodeId, to: flow.nodes[1]?.nodeId, type: 'on_fail' });
  expect((await world.pages.node(dagId, 'fix')).history.map((one) => one.cause)).toContain('loop');

  world.template('u', {
    ...steps({ fix: { command: 'echo x >> count' }, prove: { command: 'false', blocked_by: ['fix'], on_fail: 'fix' } }),
    max_rounds: 4,
  });
  const second = await world.run('u');
  const ended = await world.until(second.dagId, (one) => one.status === 'failed');
  expect(ended.nodes[1]?.cause).toBe('rounds_used_up');
  expect(readFileSync(file(world, 'count'), 'utf8')).toBe('x\n'.repeat(4));
});

test('a loop goes back when what is at work on the former round has ended, and what is below it has results of one round alone', async () => {
  const world = await openWorld();
  world.template('t', {
    ...steps({
      fix: { command: 'echo x >> rounds; wc -l < rounds | tr -d " \\n"' },
      slow: {
        command: 'echo {{ step.fix.output }} >> slow; while [ ! -e go ]; do sleep 0.02; done',
        blocked_by: ['fix'],
      },
      below: { command: 'echo {{ step.fix.output }} >> below', blocked_by: ['slow'] },
      prove: { command: 'test {{ step.fix.output }} -ge 2', blocked_by: ['fix'], on_fail: 'fix' },
      tell: { command: 'echo {{ step.fix.output }} >> tell', blocked_by: ['prove', 'below'] },
    }),
  });
  const { dagId } = await world.run('t');
  const waiting = await world.until(dagId, (one) => statuses(one).prove === 'failed');
  expect(statuses(waiting)).toMatchObject({ fix: 'done', slow: 'working', below: 'new', tell: 'new' });
  expect(waiting.status).toBe('running');
  writeFileSync(file(world, 'go'), '');
  const flow = await world.until(dagId, (one) => one.status === 'done');
  expect(statuses(flow)).toEqual({ fix: 'done', slow: 'done', below: 'done', prove: 'done', tell: 'done' });
  const read = (name: string) => readFileSync(file(world, name), 'utf8').trim().split('\n');
  expect([read('slow'), read('below'), read('tell')]).toEqual([['1', '2'], ['2'], ['2']]);
});

test('a skipped step skips what needs it, with the chain of causes, and the run does not read as success', async () => {
  const world = await openWorld();
  world.template('t', {
    params: [{ name: 'deploy', default: 'no' }],
    ...steps({
      a: { when: '{{ params.deploy }} == yes' },
      b: { blocked_by: ['a'] },
      c: { blocked_by: ['b'] },
      other: {},
    }),
  });
  const { dagId } = await world.run('t');
  const flow = await world.settled(dagId);
  expect(statuses(flow)).toEqual({ a: 'skipped', b: 'skipped', c: 'skipped', other: 'done' });
  expect(flow.status).toBe('degraded');
  expect((await world.node(dagId, 'a')).cause).toBe('when_false');
  expect((await world.node(dagId, 'c')).detail).toBe(
    'b was skipped because a was skipped: {{ params.deploy }} == yes is false.',
  );
});

test('a step that its own condition leaves out, and that nothing needs, leaves the run a success', async () => {
  const world = await openWorld();
  world.template('t', steps({ a: {}, b: { when: '{{ step.a.output }} contains x', blocked_by: ['a'] } }));
  const flow = await world.settled((await world.run('t')).dagId);
  expect([statuses(flow), flow.status]).toEqual([{ a: 'done', b: 'skipped' }, 'done']);
});

test('a join after a branch is explicit: needs_any, or a condition that asks for the status', async () => {
  const world = await openWorld();
  world.template('t', {
    ...steps({
      pick: { command: 'echo left' },
      left: { when: '{{ step.pick.output }} == left', blocked_by: ['pick'] },
      right: { when: '{{ step.pick.output }} == right', blocked_by: ['pick'] },
      any: { needs_any: true, blocked_by: ['left', 'right'] },
      asks: { when: '{{ step.right.status }} == skipped', blocked_by: ['left', 'right'] },
      implied: { blocked_by: ['left', 'right'] },
    }),
  });
  const flow = await world.settled((await world.run('t')).dagId);
  expect(statuses(flow)).toEqual({
    pick: 'done',
    left: 'done',
    right: 'skipped',
    any: 'done',
    asks: 'done',
    implied: 'skipped',
  });
});

test('thousands of steps skipped in a row are no recursion', async () => {
  const world = await openWorld();
  const chain = Array.from({ length: 4000 }, (_, at) => [
    `s${at}`,
    at === 0 ? { when: 'no' } : { blocked_by: [`s${at - 1}`] },
  ]);
  world.template('t', steps(Object.fromEntries(chain)));
  const flow = await world.settled((await world.run('t')).dagId);
  expect(flow.nodes.every((node) => node.status === 'skipped')).toBe(true);
});

test('retries back off, double their pause, count attempts, and end in the step’s policy', async () => {
  const clock = createTestClock();
  const world = await openWorld({ clock });
  world.template('t', steps({ a: { command: 'echo x >> tries; false', retry: { max: 2, backoff_seconds: 10 } } }));
  const { dagId } = await world.run('t');
  const tries = () => readFileSync(file(world, 'tries'), 'utf8').length / 2;
  const waits = (attempt: number) =>
    world.until(dagId, (flow) => flow.nodes[0]?.cause === 'retry' && flow.nodes[0].attempt === attempt);
  expect((await waits(1)).status).toBe('running');
  await clock.advance(9_900);
  expect(tries()).toBe(1);
  await clock.advance(200);
  expect((await waits(2)).nodes[0]?.detail).toMatch(/Attempt 3 of 3 at 2026-01-02T03:04:3/);
  await clock.advance(19_800);
  expect(tries()).toBe(2);
  await clock.advance(400);
  const flow = await world.until(dagId, (one) => one.status === 'failed');
  expect(flow.nodes[0]).toMatchObject({ attempt: 3, cause: 'exit_status' });
  expect(tries()).toBe(3);
});

test('a manual gate waits for a person; a timer and a command open by themselves, or earlier by a person', async () => {
  const clock = createTestClock();
  const world = await openWorld({ clock });
  world.template(
    't',
    steps({
      manual: { wait_gate: { kind: 'manual', description: 'Look at it' } },
      timer: { wait_gate: { kind: 'timer', minutes: 5 } },
      until: { wait_gate: { kind: 'timer', until: '2026-01-02T05:00:00+01:00' } },
      command: { wait_gate: { kind: 'command', command: 'test -e open', every_seconds: 60 } },
      early: { wait_gate: { kind: 'timer', minutes: 6000 } },
    }),
  );
  const { dagId } = await world.run('t');
  expect(await world.node(dagId, 'manual')).toMatchObject({
    status: 'needs_you',
    needsYou: true,
    gate: { kind: 'manual', description: 'Look at it', state: 'waiting', until: null },
  });
  expect((await world.node(dagId, 'timer')).gate).toMatchObject({ until: '2026-01-02T03:09:05.000Z' });
  await world.verbs.gate({ dagId, nodeId: 'manual' }, person, 'fine');
  await world.verbs.gate({ dagId, nodeId: 'early' }, person, null);
  await world.until(dagId, (flow) => statuses(flow).manual === 'done' && statuses(flow).early === 'done');
  await clock.advance(4 * 60_000);
  expect(statuses(await world.pages.flow(dagId))).toMatchObject({ timer: 'blocked', command: 'blocked' });
  await clock.advance(61_000);
  await world.until(dagId, (flow) => statuses(flow).timer === 'done');
  expect((await world.pages.flow(dagId)).status).toBe('running');
  writeFileSync(file(world, 'open'), '');
  const opened = world.until(dagId, (flow) => statuses(flow).command === 'done');
  for (let minute = 0; minute < 3; minute += 1) {
    // Time for the command that is asked each minute: it runs in real time, the clock does not.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await clock.advance(61_000);
  }
  await opened;
  await clock.advance(3600_000);
  expect((await world.until(dagId, (flow) => flow.status === 'done')).status).toBe('done');
});

test('a command that takes too long is ended with all its processes and has failed', async () => {
  const clock = createTestClock();
  const world = await openWorld({ clock });
  // The one in the background takes its time to save what it has, while its shell is gone at once.
  const saves = 'trap "" TERM; for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done; echo saved > kept; exit';
  const slow = `sh -c 'trap "$SAVES" TERM; echo $$ > pid; while :; do sleep 0.05; done' & wait`;
  const command = `export SAVES='${saves}'; ${slow}`;
  world.template('t', steps({ a: { command, timeout_minutes: 2 } }));
  const { dagId } = await world.run('t');
  const pid = await new Promise<number>((resolve) => {
    const look = () => {
      try {
        const text = readFileSync(file(world, 'pid'), 'utf8').trim();
        if (text !== '') return resolve(Number(text));
      } catch {
        // Not yet there.
      }
      setTimeout(look, 10);
    };
    look();
  });
  await clock.advance(119_000);
  expect((await world.node(dagId, 'a')).status).toBe('working');
  await clock.advance(2_000);
  const flow = await world.until(dagId, (one) => one.status === 'failed');
  expect(flow.nodes[0]?.cause).toBe('timed_out');
  expect(readFileSync(file(world, 'kept'), 'utf8')).toBe('saved\n');
  // A process that has ended may wait for its parent to notice.
  const state = existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2] : 'gone';
  expect(['Z', 'X', 'gone']).toContain(state);
});

test('cancel ends what works within its deadline, cancels what waits and starts nothing', async () => {
  const world = await openWorld();
  world.template(
    't',
    steps({ a: { command: 'touch on; sleep 60' }, b: { blocked_by: ['a'] }, c: { wait_gate: { kind: 'manual' } } }),
  );
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  const plan = await world.cancel(dagId, owner, true);
  expect([plan?.plan.cancels.length, plan?.plan.ends.length]).toEqual([2, 1]);
  expect((await world.pages.flow(dagId)).nodes[0]?.status).toBe('working');
  await world.cancel(dagId, owner);
  await world.cancel(dagId, owner);
  const flow = await world.until(dagId, (one) => one.status === 'cancelled');
  expect(statuses(flow)).toEqual({ a: 'cancelled', b: 'cancelled', c: 'cancelled' });
  await expect(world.cancel(dagId, owner)).resolves.toBeNull();
  await expect(world.verbs.retry({ dagId, nodeId: 'a' }, person)).rejects.toMatchObject({
    code: 'refused',
    status: 409,
  });
});

test('what ignores a cancel is killed before the deadline; a run that has ended cannot be cancelled', async () => {
  const clock = createTestClock();
  const world = await openWorld({ clock });
  world.template('t', steps({ a: { command: "trap '' TERM; touch on; while true; do sleep 0.05; done" } }));
  const { dagId } = await world.run('t');
  while (!existsSync(file(world, 'on'))) await new Promise((resolve) => setTimeout(resolve, 10));
  await world.cancel(dagId, owner);
  await clock.advance(9_000);
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working', cause: 'cancelling' });
  await clock.advance(1_500);
  await world.until(dagId, (flow) => flow.status === 'cancelled');
  world.template('u', steps({ a: {} }));
  const second = await world.run('u');
  await world.until(second.dagId, (flow) => flow.status === 'done');
  await expect(world.cancel(second.dagId, owner)).rejects.toMatchObject({ code: 'refused', status: 409 });
});

test('what cannot be started and what prints without end have failed, and say so', async () => {
  const clock = createTestClock();
  const world = await openWorld({ clock });
  world.template('t', steps({ loud: { command: 'yes | head -c 60000000; sleep 60', on_fail: 'continue' } }));
  const { dagId } = await world.run('t');
  const failed = world.until(dagId, (flow) => flow.nodes[0]?.status === 'failed');
  for (let tick = 0; tick < 20; tick += 1) {
    // Time for what it prints: that comes in real time, the end of a program that does not listen by the clock.
    await new Promise((resolve) => setTimeout(resolve, 50));
    await clock.advance(1000);
  }
  expect((await failed).nodes[0]?.cause).toBe('output_too_large');
});

test('a verify command decides, and its verdict is recorded with what it printed', async () => {
  const world = await openWorld();
  world.template(
    't',
    steps({
      good: { command: 'echo 1 > made', verify: { command: 'echo seen; test -e made' } },
      bad: { command: 'true', verify: { command: 'echo nothing; false' }, blocked_by: ['good'] },
    }),
  );
  const { dagId } = await world.run('t');
  const flow = await world.settled(dagId);
  expect(statuses(flow)).toEqual({ good: 'done', bad: 'failed' });
  expect(flow.nodes[0]?.proof).toEqual({ proven: 2, total: 2 });
  expect(flow.nodes[1]).toMatchObject({
    cause: 'verify_failed',
    detail: 'The check failed. It ended with status 1. nothing',
    proof: { proven: 1, total: 2 },
  });
  const page = await world.pages.node(dagId, 'bad');
  expect(page.proofs.at(-1)).toMatchObject({ line: 'Verified by: echo nothing; false', outcome: 'rejected' });
});

test('no more commands run at once than there are slots, and runs take turns', async () => {
  const world = await openWorld({ slots: 2 });
  const many = (name: string) =>
    steps(
      Object.fromEntries(
        Array.from({ length: 6 }, (_, at) => [
          `s${at}`,
          {
            command: `echo ${name} >> order; ls running | wc -l >> counts; touch running/$$; sleep 0.05; rm running/$$`,
          },
        ]),
      ),
    );
  mkdirSync(file(world, 'running'));
  world.template('a', many('a'));
  world.template('b', many('b'));
  const [a, b] = await Promise.all([world.run('a'), world.run('b')]);
  await world.settled(a.dagId);
  await world.settled(b.dagId);
  const counts = readFileSync(file(world, 'counts'), 'utf8').trim().split('\n').map(Number);
  expect(counts).toHaveLength(12);
  expect(Math.max(...counts)).toBeLessThan(2);
});
