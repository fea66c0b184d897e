import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { leaseWords, type NodeLease } from '../../../src/contracts/factory/node-lease.ts';
import type { Activity } from '../../../src/runtime-server/harness/activity.ts';
import type { BotWatch } from '../../../src/runtime-server/workflows/deps.ts';
import { createTestClock, type TestClock } from '../../support/test-clock.ts';
import { bot, openWorld, person, statuses, type World, type WorldOptions, worker, workforceOf } from './support.ts';

const minute = 60_000;
const coder = bot('coder@red');
const judge = bot('judge@red');

type Mutable = { -readonly [K in keyof Activity]: Activity[K] };

/** Bots as a test has them, by address. */
function watched(clock: Pick<TestClock, 'monotonic'>) {
  const looks = { count: 0 };
  const shown = new Map<string, string>();
  const bots = new Map<
    string,
    { at: number | null; excused: boolean; atRest: boolean; who: object } & Partial<Mutable>
  >();
  const of = (address: string) => {
    const known = bots.get(address) ?? { at: null, excused: false, atRest: true, who: {} };
    bots.set(address, known);
    return known;
  };
  let files = 'as they were';
  let tokens = 0;
  let wrote = false;
  const watch: BotWatch = {
    of(address) {
      looks.count += 1;
      const { at, excused, atRest, who, by = 'output', sameCall = null, sameScreen = null } = of(address);
      return { bot: who, activity: { at, by, sameCall, sameScreen }, excused, atRest };
    },
    begin() {},
    look: async (_address, quietMs) => ({ seen: `Nothing for ${quietMs / minute} minutes.`, active: wrote }),
    tokensSince: async () => tokens,
    filesOf: async () => files,
    show(address, seen) {
      if (seen === null) shown.delete(address);
      else shown.set(address, seen);
    },
  };
  return {
    watch,
    looks,
    shown,
    of,
    /** Something is heard of it. */
    act: (address = 'coder@red') => {
      of(address).at = clock.monotonic();
    },
    uses(amount: number) {
      tokens = amount;
    },
    changes(state: string) {
      files = state;
    },
    transcriptGrows(yes: boolean) {
      wrote = yes;
    },
  };
}

async function begun(step: Record<string, unknown> = {}, more: Partial<WorldOptions> & { edges?: boolean } = {}) {
  const clock = more.clock ?? createTestClock();
  const bots = watched(clock);
  const { edges = false, ...options } = more;
  const workforce = workforceOf({
    name: 'red',
    bots: [worker('coder', 'red', { role: 'coder' }), worker('judge', 'red', { role: 'judge' })],
    edges: edges ? [{ kind: 'checks', from: 'judge', to: 'coder' }] : [],
  });
  const world = await openWorld({ clock, workforce, watch: bots.watch, ...options });
  world.template('t', { steps: [{ id: 'a', title: 'Do a', executor: 'role:coder', ...step }] });
  const { dagId, nodes } = await world.run('t');
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  return { world, clock, bots, dagId, nodeId: nodes[0]?.nodeId ?? '' };
}

/** The node once it has this cause. */
async function until(world: World, dagId: string, cause: string) {
  await world.until(dagId, (flow) => flow.nodes[0]?.cause === cause);
  return world.node(dagId, 'a');
}

test('a bot that stays silent is asked once at half of its time, and then its step needs a person, with what was seen', async () => {
  const { world, clock, bots, dagId, nodeId } = await begun();
  await clock.advance(9 * minute);
  expect(world.sent).toHaveLength(1);
  await clock.advance(2 * minute);
  await expect.poll(() => world.sent.length).toBe(2);
  expect(world.sent[1]).toMatchObject({ to: 'coder@red', idempotencyKey: `${dagId}:${nodeId}:1:nudge:coder@red` });
  expect(world.sent[1]?.text).toContain('Nothing has been heard of the step "Do a"');
  await clock.advance(8 * minute);
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
  await clock.advance(2 * minute);
  const node = await until(world, dagId, 'stalled');
  expect(node).toMatchObject({ status: 'needs_you', attempt: 1, assignee: 'coder@red' });
  expect(node.detail).toMatch(/^Nothing for 20(\.\d+)? minutes\.$/);
  expect(bots.shown.get('coder@red')).toBe(node.detail);
  expect(world.told).toEqual([`Do a needs a person: ${node.detail}`]);
  expect(world.sent).toHaveLength(2);
});

test('a bot that is active now and then keeps its step, however long it takes', async () => {
  const { world, clock, bots, dagId } = await begun();
  for (let hour = 0; hour < 8; hour += 1) {
    await clock.advance(9 * minute);
    bots.act();
    await clock.advance(9 * minute);
    bots.act();
  }
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working', cause: 'delivered' });
  expect(world.sent).toHaveLength(1);
});

test('the template says when, with which words, and whether at all', async () => {
  const { world, clock, dagId } = await begun({
    silence: { minutes: 5, nudge_minutes: 1, nudge: 'Still there?' },
  });
  await clock.advance(90_000);
  await expect.poll(() => world.sent[1]?.text).toContain('Still there?');
  await clock.advance(4 * minute);
  await until(world, dagId, 'stalled');

  const quiet = await begun({ silence: { minutes: 5, nudge: false } });
  await quiet.clock.advance(6 * minute);
  await until(quiet.world, quiet.dagId, 'stalled');
  expect(quiet.world.sent).toHaveLength(1);

  const never = await begun({ silence: { minutes: 0 } });
  await never.clock.advance(24 * 60 * minute);
  expect(await never.world.node(never.dagId, 'a')).toMatchObject({ status: 'working' });
  expect(never.world.sent).toHaveLength(1);
});

test('a bot in a turn is not asked: a message would only lie behind its turn', async () => {
  const { world, clock, bots, dagId } = await begun();
  bots.of('coder@red').atRest = false;
  await clock.advance(21 * minute);
  await until(world, dagId, 'stalled');
  expect(world.sent).toHaveLength(1);
});

describe('a stalled step', () => {
  const stalled = async (...given: Parameters<typeof begun>) => {
    const at = await begun({ silence: { nudge: false }, ...given[0] }, given[1]);
    await at.clock.advance(21 * minute);
    await until(at.world, at.dagId, 'stalled');
    return at;
  };

  test('continues by itself when something is heard of its bot again', async () => {
    const { world, clock, bots, dagId } = await stalled();
    bots.act();
    await clock.advance(20_000);
    expect(await until(world, dagId, 'resumed')).toMatchObject({ status: 'working', attempt: 1 });
    expect(bots.shown.size).toBe(0);
    await clock.advance(21 * minute);
    await until(world, dagId, 'stalled');
  });

  test('takes the report of its bot', async () => {
    const { world, dagId, nodeId, bots } = await stalled();
    await world.verbs.done({ dagId, nodeId }, coder, {});
    expect(statuses(await world.pages.flow(dagId))).toEqual({ a: 'done' });
    expect(bots.shown.size).toBe(0);
  });

  test('is ended by its own time limit, as the template says', async () => {
    const { world, clock, dagId } = await stalled({ timeout_minutes: 60 });
    await clock.advance(40 * minute);
    expect(await until(world, dagId, 'timed_out')).toMatchObject({ status: 'failed' });
  });

  test('ends the turn of its bot when a person takes it away', async () => {
    const stops: string[] = [];
    const stopBot = async (address: string) => {
      stops.push(address);
      return false;
    };
    const { world, dagId, nodeId } = await stalled({}, { stopBot });
    expect(await world.verbs.retry({ dagId, nodeId }, person)).toMatchObject({ attempt: 2 });
    expect(stops).toEqual(['coder@red']);
    await world.until(dagId, (flow) => statuses(flow).a === 'working');
  });

  test('is still stalled after a restart, and says so', async () => {
    const { world, clock, dagId } = await stalled();
    await world.stop();
    const bots = watched(clock);
    const again = await openWorld({ folder: world.folder, clock, watch: bots.watch });
    const node = await again.node(dagId, 'a');
    expect(node).toMatchObject({ status: 'needs_you', cause: 'stalled' });
    expect(bots.shown.get('coder@red')).toBe(node.detail);
    await clock.advance(5 * minute);
    bots.act();
    await clock.advance(20_000);
    await until(again, dagId, 'resumed');
  });

  test('that is cancelled with its run still gets its 15 seconds', async () => {
    const { world, clock, dagId } = await stalled();
    await world.cancel(dagId, { actor: 'user_local', surface: 'cli' });
    await expect.poll(() => world.sent.at(-1)?.idempotencyKey).toMatch(/:1:cancel$/);
    await clock.advance(16_000);
    await until(world, dagId, 'cancel_deadline');
  });
});

test('a transcript that grows is activity, although nothing is seen on the screen', async () => {
  const { world, clock, bots, dagId } = await begun({ silence: { nudge: false } });
  bots.transcriptGrows(true);
  await clock.advance(65 * minute);
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working', cause: 'delivered' });
  bots.transcriptGrows(false);
  await clock.advance(21 * minute);
  await until(world, dagId, 'stalled');
});

test('while a bot asks, waits for a limit or cannot be read, its silence means nothing', async () => {
  const { world, clock, bots, dagId } = await begun({ silence: { nudge: false } });
  bots.of('coder@red').excused = true;
  await clock.advance(10 * 60 * minute);
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
  bots.of('coder@red').excused = false;
  await clock.advance(19 * minute);
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
  await clock.advance(2 * minute);
  await until(world, dagId, 'stalled');
});

test('the time of a bot begins anew with its restart', async () => {
  const { world, clock, bots, dagId } = await begun({ silence: { nudge: false } });
  await clock.advance(18 * minute);
  bots.of('coder@red').who = {};
  await clock.advance(18 * minute);
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
  await clock.advance(3 * minute);
  await until(world, dagId, 'stalled');
});

test('a night in which the computer sleeps stalls nothing, also where its steady clock runs on', async () => {
  const hands = createTestClock();
  let slept = 0;
  const clock = { ...hands, monotonic: () => hands.monotonic() + slept };
  const { world, bots, dagId } = await begun({ silence: { nudge: false } }, { clock });
  await hands.advance(15 * minute);
  slept = 9 * 60 * minute;
  hands.jump(9 * 60 * minute);
  await hands.advance(minute);
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
  expect(bots.shown.size).toBe(0);
  await hands.advance(5 * minute);
  await until(world, dagId, 'stalled');
});

describe('no progress', () => {
  test('the same tool call again and again needs a person at once; activity alone does not continue it, a report does', async () => {
    const { world, clock, bots, dagId, nodeId } = await begun({ silence: { repeats: 5 } });
    const one = bots.of('coder@red');
    one.sameCall = { what: 'The same call of shell.exec', times: 4 };
    bots.act();
    await clock.advance(20_000);
    expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
    one.sameCall = { what: 'The same call of shell.exec', times: 5 };
    bots.act();
    await clock.advance(20_000);
    expect(await until(world, dagId, 'no_progress')).toMatchObject({
      status: 'needs_you',
      detail: 'The same call of shell.exec came 5 times, with nothing new in between.',
    });
    bots.act();
    await clock.advance(20_000);
    expect(await world.node(dagId, 'a')).toMatchObject({ cause: 'no_progress' });
    await world.verbs.progress({ dagId, nodeId }, coder, 'another way');
    expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working', cause: 'resumed' });
  });

  test('the same screens in turn count only when nothing else was heard for the whole time', async () => {
    const { world, clock, bots, dagId } = await begun({ silence: { nudge: false } });
    bots.of('coder@red').sameScreen = { what: 'The same screen', times: 900 };
    await clock.advance(19 * minute);
    expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
    await clock.advance(2 * minute);
    await until(world, dagId, 'no_progress');
  });

  test('tokens without a change of files need a person; with a change they count anew', async () => {
    const { world, clock, bots, dagId } = await begun({ silence: { tokens: 1000, nudge: false } });
    const pass = async (minutes: number) => {
      for (let n = 0; n < minutes; n += 1) {
        bots.act();
        await clock.advance(minute);
      }
    };
    await pass(3);
    bots.uses(2000);
    bots.changes('one file more');
    await pass(1);
    expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
    await pass(2);
    expect(await until(world, dagId, 'no_progress')).toMatchObject({
      detail: 'It used more than 1000 tokens without changing a file.',
    });
  });
});

test('a silent checker needs a person; its verdict still counts, and activity lets it go on', async () => {
  const { world, clock, bots, dagId, nodeId } = await begun({ silence: { nudge: false } }, { edges: true });
  await world.verbs.done({ dagId, nodeId }, coder, {});
  await world.until(dagId, (flow) => statuses(flow).a === 'checking');
  await expect.poll(() => world.sent.at(-1)?.to).toBe('judge@red');
  await clock.advance(21 * minute);
  expect(await until(world, dagId, 'stalled')).toMatchObject({ status: 'needs_you' });
  expect([...bots.shown.keys()]).toEqual(['judge@red']);
  bots.act('judge@red');
  await clock.advance(20_000);
  expect(await until(world, dagId, 'reviewing')).toMatchObject({ status: 'checking' });
  await clock.advance(21 * minute);
  await until(world, dagId, 'stalled');
  const late = await world.verbs.done({ dagId, nodeId }, coder, {}).catch((error: unknown) => error);
  expect(late).toBeInstanceOf(AppError);
  await world.verbs.done({ dagId, nodeId }, judge, {});
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'done' });
});

describe('a command', () => {
  const command = async (step: Record<string, unknown>) => {
    const clock = createTestClock();
    const bots = watched(clock);
    const world = await openWorld({ clock, watch: bots.watch });
    world.template('t', { silence: { minutes: 1 }, steps: [{ id: 'a', title: 'A', ...step }] });
    const { dagId } = await world.run('t');
    await world.until(dagId, (flow) => statuses(flow).a === 'working');
    // The command ends on real time, whatever the test does.
    onTestFinished(async () => void (await world.cancel(dagId, { actor: 'x', surface: 'cli' }).catch(() => {})));
    const file = (name: string) => join(world.folder, 'workspace', name);
    return {
      world,
      clock,
      dagId,
      touch: (name: string) => writeFileSync(file(name), ''),
      /** The lines of a file that the command writes. */
      lines: (name: string) => (existsSync(file(name)) ? readFileSync(file(name), 'utf8').trim().split('\n') : []),
    };
  };

  test('may be silent, unless its own step says otherwise', async () => {
    const { world, clock, dagId } = await command({ command: 'sleep 20' });
    await clock.advance(60 * minute);
    expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
  });

  test('that prints keeps its step; one that does not needs a person, and its end still counts', async () => {
    const { world, clock, dagId, touch, lines } = await command({
      command:
        'until test -e print; do sleep 0.02; done; echo more; touch said; until test -e end; do sleep 0.02; done',
      silence: { minutes: 10 },
    });
    await clock.advance(9 * minute);
    touch('print');
    await expect.poll(() => lines('said')).toHaveLength(1);
    await clock.advance(9 * minute);
    expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working' });
    await clock.advance(2 * minute);
    expect(await until(world, dagId, 'stalled')).toMatchObject({
      detail: expect.stringMatching(/^It printed nothing for 10 minutes; 5 bytes so far\.$/),
    });
    touch('end');
    await world.until(dagId, (flow) => statuses(flow).a === 'done');
  });

  test('that is retried is ended first', async () => {
    const { world, clock, dagId, lines } = await command({
      command: 'echo $$ >> pids; sleep 600',
      silence: { minutes: 1 },
    });
    await clock.advance(2 * minute);
    await until(world, dagId, 'stalled');
    await world.verbs.retry({ dagId, nodeId: 'a' }, person);
    await expect.poll(() => lines('pids').length).toBe(2);
    const first = Number(lines('pids')[0]);
    await expect.poll(() => isAlive(first)).toBe(false);
  });
});

test('its page says what renewed the lease last, when Gantry asks the bot, and when the step needs its person', async () => {
  const { world, clock, bots, dagId } = await begun();
  const lease = async () => (await world.pages.node(dagId, 'a')).lease;
  const afterMs = (ms: number) => new Date(clock.now() + ms).toISOString();
  expect(await lease()).toEqual({
    heldBy: 'coder@red',
    state: 'running',
    renewedAt: afterMs(0),
    renewedBy: 'begun',
    nudgeAt: afterMs(10 * minute),
    nudged: false,
    runsOutAt: afterMs(20 * minute),
  });
  await clock.advance(4 * minute);
  Object.assign(bots.of('coder@red'), { at: clock.monotonic(), by: 'tool' });
  await clock.advance(2 * minute);
  expect(await lease()).toMatchObject({
    renewedAt: afterMs(-2 * minute),
    renewedBy: 'tool',
    nudgeAt: afterMs(8 * minute),
    runsOutAt: afterMs(18 * minute),
  });
  bots.of('coder@red').excused = true;
  expect(await lease()).toMatchObject({ state: 'paused', nudgeAt: null, runsOutAt: null });
  bots.of('coder@red').excused = false;
  await clock.advance(9 * minute);
  await expect.poll(() => world.sent.length).toBe(2);
  expect(await lease()).toMatchObject({ state: 'running', nudged: true, nudgeAt: null });
  await clock.advance(12 * minute);
  await until(world, dagId, 'stalled');
  expect(await lease()).toMatchObject({ state: 'run_out', renewedBy: 'tool', runsOutAt: null });
  await world.verbs.done({ dagId, nodeId: 'a' }, person, {});
  expect(await lease()).toBeNull();
});

test('a lease in words says when, what next, and nothing about a message that will not be sent', () => {
  const at = Date.UTC(2026, 0, 2, 3);
  const after = (minutes: number) => new Date(at + minutes * minute).toISOString();
  const lease: NodeLease = {
    heldBy: 'coder@red',
    state: 'running',
    renewedAt: after(-3),
    renewedBy: 'output',
    nudgeAt: after(7),
    nudged: false,
    runsOutAt: after(17),
  };
  expect(leaseWords(lease, at)).toEqual({
    last: 'Renewed 3 minutes ago: new output.',
    next: 'It runs out in 17 minutes without activity. Then Gantry looks what is there, and the step needs you. Before that, in 7 minutes, Gantry asks the bot once, if it is at its prompt.',
  });
  expect(leaseWords({ ...lease, nudgeAt: null, nudged: true }, at).next).toMatch(/^Gantry has asked the bot once/);
  expect(leaseWords({ ...lease, heldBy: 'shell', nudgeAt: null }, at).next).not.toMatch(/asks/);
  expect(leaseWords({ ...lease, state: 'paused', runsOutAt: null }, at).next).toMatch(/^Its time does not run/);
  expect(leaseWords({ ...lease, state: 'run_out', runsOutAt: null }, at).next).toMatch(/the step needs you\.$/);
  expect(leaseWords({ ...lease, nudgeAt: null, runsOutAt: null }, at).next).toMatch(/^It never runs out/);
});

test('five hundred steps under way have one timer, and are looked at four times a minute', async () => {
  const clock = createTestClock();
  const bots = watched(clock);
  const names = Array.from({ length: 500 }, (_, n) => `b${n}`);
  const workforce = workforceOf({ name: 'red', bots: names.map((name) => worker(name, 'red')), edges: [] });
  const world = await openWorld({ clock, workforce, watch: bots.watch });
  world.template('t', { steps: names.map((name) => ({ id: name, title: name, executor: `bot:${name}` })) });
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => flow.nodes.every((node) => node.status === 'working'));
  expect(clock.pending()).toBe(1);
  bots.looks.count = 0;
  await clock.advance(minute);
  expect(bots.looks.count).toBe(4 * 500);
  expect(clock.pending()).toBe(1);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
