/**
 * A campaign that nobody looks at from Friday evening to Monday morning, on a moved clock: bots that work, fall silent and spend too much, a command that
 * fails, a gate, a schedule, and a kill of the runtime in the second night. Bots and inbox are played; store, ledger and commands are real.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { explain } from '../../../src/runtime-server/reading/why/index.ts';
import type { BotWatch } from '../../../src/runtime-server/workflows/deps.ts';
import { createSchedules } from '../../../src/runtime-server/workflows/schedules/index.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { playedApprovals } from './played-approvals.ts';
import { bot, delivery, openWorld, owner, type Sent, scratch, type World, worker, workforceOf } from './support.ts';

const minute = 60_000;
const hour = 60 * minute;
const friday = Date.parse('2026-06-05T17:00:00Z');

const names = ['coder', 'silent', 'spender', 'slow', 'gone'];

const weekend = {
  silence: { minutes: 60 },
  steps: [
    { id: 'plan', title: 'Plan it', executor: 'bot:coder', verify: { command: 'true' } },
    { id: 'fix', title: 'Fix it', executor: 'bot:silent', blocked_by: ['plan'] },
    { id: 'review', title: 'Review it', executor: 'bot:coder', blocked_by: ['fix'] },
    { id: 'write', title: 'Write the manual', executor: 'bot:spender', budget: { tokens: 100_000 } },
    { id: 'measure', title: 'Measure it', executor: 'bot:slow', verify: { command: 'true' } },
    { id: 'watch', title: 'Watch it', executor: 'bot:gone' },
    { id: 'lint', title: 'Lint it', command: 'echo "3 problems"; exit 1', on_fail: 'continue' },
    {
      id: 'publish',
      title: 'Publish it',
      command: 'true',
      blocked_by: ['plan'],
      wait_gate: { kind: 'manual', description: 'Read it before it goes out' },
    },
  ],
};

type Act = (request: unknown) => Promise<unknown>;

interface Open {
  readonly world: World;
  readonly close: () => Promise<void>;
}

function scene() {
  const folder = scratch();
  const clock = createTestClock(friday);
  const inbox = playedApprovals();
  const told: string[] = [];
  const heardAt = new Map<string, number>();
  let open: Open | null = null;
  const now = () => (open as Open).world;

  const watch: BotWatch = {
    of: (address) => ({
      bot: clock,
      activity: { at: heardAt.get(address) ?? null, by: 'output', sameCall: null, sameScreen: null },
      excused: false,
      atRest: true,
    }),
    begin() {},
    look: async (_address, quietMs) => ({ seen: `Nothing for ${quietMs / minute} minutes.`, active: false }),
    tokensSince: async () => 0,
    filesOf: async () => null,
    show() {},
  };

  /** Prints something each ten minutes for so long, then does the last thing. */
  function workFor(address: string, ms: number, last: () => Promise<unknown>): void {
    heardAt.set(address, clock.monotonic());
    clock.after(Math.min(ms, 10 * minute), () => {
      if (ms <= 10 * minute) void last();
      else workFor(address, ms - 10 * minute, last);
    });
  }

  /** What the bots do with what they are sent; a reminder changes nothing. */
  function play({ to, dagId, nodeId, idempotencyKey }: Sent): void {
    const step = { dagId: dagId ?? '', nodeId: nodeId ?? '' };
    const by = bot(to);
    if (idempotencyKey.includes(':nudge:')) return;
    if (to === 'coder@red') workFor(to, 2 * hour, () => now().verbs.done(step, by, { output: 'planned' }));
    // Both are at work when the runtime is killed; one of them ends meanwhile.
    if (to === 'gone@red') workFor(to, 32 * hour, async () => {});
    if (to === 'slow@red') workFor(to, 40 * hour, () => now().verbs.done(step, by, { output: '12 ms' }));
    if (to === 'spender@red') {
      workFor(to, 50 * minute, () => now().spend(step, 'agent_spender_red', { tokens: 60_000 }));
      workFor(to, 100 * minute, () => now().spend(step, 'agent_spender_red', { tokens: 60_000 }));
    }
  }

  async function start(): Promise<Open> {
    const world = await openWorld({
      folder,
      clock,
      counts: true,
      watch,
      approvals: inbox.approvals,
      workforce: workforceOf({ name: 'red', bots: names.map((name) => worker(name, 'red')), edges: [] }),
      dispatch: (sent) => {
        play(sent);
        return delivery(sent);
      },
    });
    const schedules = createSchedules({
      store: world.store,
      ledger: world.ledger,
      clock,
      timers: clock,
      ids: createIds(clock),
      log: { warn: (message) => void told.push(message) },
      workspace: join(folder, 'workspace'),
      runs: world.runs,
      mayBot: () => false,
      timezone: 'UTC',
      failed: (_tx, title, reason) => void told.push(`${title}: ${reason}`),
    });
    await schedules.start();
    if (open === null) {
      world.template('weekend', weekend);
      world.template('check', { steps: [{ id: 'check', title: 'Check it', command: 'true' }] });
      const body = { run: { template: 'check', projectId: 'p' }, cron: '0 2 * * *' };
      const principal = { kind: 'owner', userId: owner.actor, via: 'file-token' };
      const create = schedules.routes.find(({ route }) => route.op === 'createSchedule')?.handler as unknown as Act;
      await create({ params: {}, query: {}, body, principal });
    }
    return {
      world,
      async close() {
        await schedules.close();
        told.push(...world.told);
        await world.crash();
      },
    };
  }

  const nodes = async () => {
    const { store, pages } = now();
    const runs = await store.read((tx) => tx.all<{ id: string }>('SELECT dag_id AS id FROM factory_run'));
    return (await Promise.all(runs.map(({ id }) => pages.flow(id)))).flatMap((flow) => flow.nodes);
  };

  const occurrences = async () => {
    const rows = await now().store.read((tx) =>
      tx.all<{ due: number; state: string }>('SELECT due, state FROM factory_occurrence ORDER BY due'),
    );
    return rows.map(({ due, state }) => `${new Date(due).toISOString().slice(5, 16)} ${state}`);
  };

  /** Commands take real time: the clock stands until they have ended. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 30 * minute) {
      await clock.advance(Math.min(left, 30 * minute));
      await expect
        .poll(async () =>
          (await nodes()).filter(
            ({ assignee, status, cause }) =>
              (assignee === 'shell' && (status === 'working' || status === 'ready')) || cause === 'verifying',
          ),
        )
        .toEqual([]);
    }
  }

  return {
    clock,
    inbox,
    nodes,
    occurrences,
    pass,
    now,
    told: () => [...told, ...now().told],
    async begin() {
      open = await start();
    },
    async killAndStart(awayMs: number) {
      await open?.close();
      clock.jump(awayMs);
      open = await start();
    },
    why: (nodeId: string, dagId: string) => {
      const { store, ledger, leaseOf } = now();
      const deps = { store, ledger, workspace: join(folder, 'workspace'), leaseOf };
      return explain({ ...deps, findAgent: () => null, waitingFile: () => null }, nodeId, dagId);
    },
  };
}

test('after a weekend without its person each step of a campaign is proven, has failed or waits for its person, with a sentence why', async () => {
  const { clock, inbox, nodes, occurrences, pass, now, told, begin, killAndStart, why } = scene();
  await begin();
  const { dagId } = await now().run('weekend');
  await pass(32 * hour);
  await killAndStart(2 * hour);
  await pass(26 * hour);
  expect(new Date(clock.now()).toISOString()).toBe('2026-06-08T05:00:00.000Z');

  const all = await nodes();
  const ofRun = all.filter((node) => node.dagId === dagId);
  const states = ofRun.map(({ stepId, status, cause }) => [stepId, `${status}: ${cause}`]);
  expect(Object.fromEntries(states)).toEqual({
    plan: 'done: proven',
    fix: 'needs_you: stalled',
    review: 'new: created',
    write: 'needs_you: over_budget',
    measure: 'done: proven',
    watch: 'needs_you: interrupted',
    lint: 'failed: exit_status',
    publish: 'needs_you: gate',
  });
  const sentences = await Promise.all(
    ofRun.map(async ({ stepId, nodeId }) => [stepId, (await why(nodeId, dagId)).sentence]),
  );
  expect(Object.fromEntries(sentences)).toEqual({
    plan: expect.stringMatching(/is done: /),
    fix: expect.stringMatching(/waits for you: its bot has been silent.*Nothing for 60/),
    review: expect.stringMatching(/waits for .Fix it., which waits for you: its bot has been silent/),
    write: expect.stringMatching(/waits for you: its budget.*120000 of 100000 tokens/),
    measure: expect.stringMatching(/is done: /),
    watch: expect.stringMatching(/waits for you: .+/),
    lint: expect.stringMatching(/failed: .*3 problems/),
    publish: expect.stringMatching(/waits for you: .*Read it before it goes out/),
  });

  // The nights of the schedule: one of them passed while Gantry was away, and says so.
  expect(await occurrences()).toEqual(['06-06T02:00 started', '06-07T02:00 missed', '06-08T02:00 started']);
  const checks = all.filter((node) => node.dagId !== dagId);
  expect(checks.map(({ status, cause }) => `${status}: ${cause}`)).toEqual(['done: proven', 'done: proven']);

  // Each question once, also over the restart.
  expect([...new Set(inbox.holds.map(({ ask }) => ask.dedupeKey))]).toHaveLength(2);
  expect(inbox.holds.filter(({ withdrawn }) => withdrawn !== null)).toEqual([]);
  const needed = told().filter((text) => text.includes('needs a person'));
  // "Measure it" was interrupted, too, until its bot reported.
  const titles = ['Fix it', 'Measure it', 'Publish it', 'Watch it', 'Write the manual'];
  expect(needed.map((text) => text.split(' needs')[0]).sort()).toEqual(titles);
}, 300_000);
