/** Why: one sentence that follows the causes to their end, over real runs; only the bots are played. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Agent } from '../../../../src/contracts/factory/agent.ts';
import { insertDelivery } from '../../../../src/runtime-server/messaging/store/deliveries.ts';
import { explain } from '../../../../src/runtime-server/reading/why/index.ts';
import {
  bot,
  delivery,
  openWorld,
  owner,
  person,
  steps,
  type World,
  worker,
  workforceOf,
} from '../../workflows/support.ts';

const web = 'web@dev';
const workforce = workforceOf({ name: 'dev', bots: [worker('web', 'dev', { role: 'coder' })], edges: [] });

function agent(more: Partial<Agent> = {}): Agent {
  return {
    id: 'agent_web',
    slug: 'web',
    name: 'web',
    address: web,
    team: 'dev',
    role: 'coder',
    binding: { type: 'terminal', harness: 'claude' },
    state: 'working',
    stateReason: null,
    stale: false,
    currentNode: null,
    proof: { proven: 0, total: 0 },
    pane: null,
    machine: 'computer_1',
    runner: 'local',
    queueDepth: 0,
    since: '2026-01-02T03:00:00.000Z',
    ...more,
  };
}

const asked = (world: World, shown: Agent = agent()) => {
  const findAgent = (name: string) => ([web, 'web', 'agent_web'].includes(name) ? shown : null);
  const { store, ledger, folder } = world;
  const deps = { store, ledger, workspace: join(folder, 'workspace'), findAgent };
  return (id: string, run?: string) => explain({ ...deps, leaseOf: world.leaseOf, waitingFile: () => null }, id, run);
};

test('a step that waits names what it waits for, who works on that, and what keeps the bot', async () => {
  const world = await openWorld({ workforce });
  world.template(
    't',
    steps({
      fix: { title: 'Fix it', executor: 'role:coder' },
      prove: { title: 'Prove it', blocked_by: ['fix'] },
      other: { title: 'Something else', executor: 'role:coder' },
    }),
  );
  const { dagId, nodes } = await world.run('t', { intent: 'Mend the shop' });
  await world.until(dagId, (flow) => flow.nodes[0]?.status === 'working');
  const why = asked(world, agent({ state: 'needs_you', stateReason: 'Run `npm test`?' }));
  const answer = await why('prove', dagId);
  expect(answer.sentence).toBe(
    '“Prove it” waits for “Fix it”, which is being worked on by web@dev, which waits for you: Run `npm test`?',
  );
  expect(answer.subject).toMatchObject({ kind: 'node', id: nodes[1]?.nodeId, dagId, title: 'Prove it' });
  expect(answer.because.map((one) => `${one.kind} ${one.title}`)).toEqual(['node Fix it', 'bot web@dev']);
  expect((await why('other', dagId)).sentence).toMatch(/^“Something else” waits until web@dev has finished “Fix it”/);
  // The ids that it names can be asked about in turn.
  const next = answer.because[0];
  expect((await why(next?.id ?? '')).sentence).toMatch(/^“Fix it” is being worked on by web@dev/);
  expect((await why('agent_web')).sentence).toBe(
    'web@dev waits for you: Run `npm test`?, while “Fix it” of the run “Mend the shop” is its step.',
  );
  expect((await asked(world)('web')).sentence).toBe('web@dev is working on “Fix it” of the run “Mend the shop”.');
  expect((await why(dagId)).sentence).toMatch(
    /^The run “Mend the shop” is running because “Fix it” is being worked on/,
  );
});

test('its receipts are rows of the ledger that say the same', async () => {
  const world = await openWorld();
  world.template('t', steps({ a: { title: 'Break', command: 'echo broken; exit 3' }, b: { blocked_by: ['a'] } }));
  const { dagId, nodes } = await world.run('t');
  await world.settled(dagId);
  const why = asked(world);
  const answer = await why('b', dagId);
  expect(answer.sentence).toBe(
    '“b” cannot begin because of “Break”, which failed: its command failed (It ended with status 3. broken).',
  );
  const rows = await world.ledger.read('0', 100);
  const told = answer.receipts.map((id) => rows.find((row) => row.id === id));
  expect(told.map((row) => `${row?.type} ${row?.subject}`)).toEqual([
    `node.status node:${nodes[1]?.nodeId}`,
    `node.status node:${nodes[0]?.nodeId}`,
  ]);
  expect(Math.abs(Date.parse(answer.since ?? '') - Date.parse(told[0]?.at ?? ''))).toBeLessThan(1000);
  expect((await why(dagId)).sentence).toBe(
    'The run “t” failed because “Break” failed: its command failed (It ended with status 3. broken).',
  );
});

test('what needs a person, what was proven, skipped, retried and cancelled says so', async () => {
  const world = await openWorld();
  world.template(
    'gate',
    steps({
      look: { title: 'Look', wait_gate: { kind: 'manual', description: 'Is it right?' } },
      on: { blocked_by: ['look'] },
    }),
  );
  const { dagId } = await world.run('gate');
  await world.until(dagId, (flow) => flow.status === 'needs_you');
  const why = asked(world);
  expect((await why(dagId)).sentence).toBe(
    'The run “gate” needs you because “Look” waits for you: waits at its gate (Is it right?).',
  );
  await world.verbs.gate({ dagId, nodeId: 'look' }, person, null);
  await world.settled(dagId);
  expect((await why('look', dagId)).sentence).toBe('“Look” is done: proven by “The command ends with status 0”.');
  expect((await why(dagId)).sentence).toBe('The run “gate” is done because 2 steps are proven.');

  world.template(
    'skips',
    steps({
      a: { command: 'echo no' },
      b: { blocked_by: ['a'], when: '{{ step.a.output }} == yes' },
      c: { blocked_by: ['b'] },
    }),
  );
  const skipped = await world.run('skips');
  await world.settled(skipped.dagId);
  expect((await why('c', skipped.dagId)).sentence).toMatch(
    /^“c” was skipped: a step that it needs was skipped \(b was skipped/,
  );
  expect((await why(skipped.dagId)).sentence).toMatch(/^The run “skips” is partly done because “b” was skipped/);

  world.template('again', steps({ a: { command: 'exit 1', retry: { max: 1, backoff_seconds: 600 } } }));
  const again = await world.run('again');
  await world.until(again.dagId, (flow) => flow.nodes[0]?.cause === 'retry');
  expect((await why('a', again.dagId)).sentence).toMatch(
    /^“a” will be retried at \d{4}-.*Z \(It ended with status 1\./,
  );
  await world.cancel(again.dagId, owner);
  expect((await why('a', again.dagId)).sentence).toBe('“a” was cancelled with its run.');
  expect((await why(again.dagId)).sentence).toBe('The run “again” was cancelled.');
});

test('a step that asks for no proof is called reported, not proven', async () => {
  const world = await openWorld({ workforce });
  world.template('t', steps({ fix: { title: 'Fix it', executor: 'role:coder' } }));
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => flow.nodes[0]?.status === 'working');
  await world.verbs.done({ dagId, nodeId: 'fix' }, bot('web@dev'), {});
  await world.settled(dagId);
  const why = asked(world);
  expect((await why('fix', dagId)).sentence).toBe('“Fix it” is done: reported done by its bot; no proof is required.');
  expect((await why(dagId)).sentence).toBe('The run “t” is done because 1 step is done.');
});

test('a delivery says what became of it, and of an idle or absent bot it says what it waits for', async () => {
  const world = await openWorld({
    workforce,
    dispatch: (sent) => ({ ...delivery(sent, 'queued'), detail: 'it is busy' }),
  });
  world.template('t', steps({ fix: { title: 'Fix it', executor: 'role:coder' } }));
  const { dagId, nodes } = await world.run('t');
  await world.until(dagId, (flow) => flow.nodes[0]?.cause === 'queued');
  const record = {
    agentId: 'agent_web',
    to: web,
    via: 'pane_queue',
    evidence: null,
    ticket: null,
    messageId: null,
    threadId: null,
    dagId,
    nodeId: nodes[0]?.nodeId ?? null,
    at: Date.now(),
    caller: 'engine',
    surface: 'engine',
    idempotencyKey: null,
    sender: null,
    firstWords: null,
  } as const;
  await world.store.write((tx) => {
    insertDelivery(tx, { ...record, id: 'delivery_1', state: 'queued', detail: null });
    insertDelivery(tx, {
      ...record,
      id: 'delivery_2',
      state: 'verified',
      evidence: 'transcript',
      detail: null,
      nodeId: null,
    });
    insertDelivery(tx, { ...record, id: 'delivery_3', state: 'failed', detail: 'The queue is full.', nodeId: null });
  });
  const why = asked(world, agent({ state: 'offline', stateReason: 'stopped', queueDepth: 2 }));
  expect((await why('delivery_1')).sentence).toBe(
    'The message that hands “Fix it” to web@dev waits in the queue, because web@dev is offline: stopped.',
  );
  expect((await why('delivery_2')).sentence).toBe('The message to web@dev arrived: it is in its transcript.');
  expect((await why('delivery_3')).sentence).toBe('The message to web@dev failed: The queue is full.');
  expect((await why('web')).sentence).toBe(
    'web@dev is offline: stopped, while “Fix it” of the run “t” is its step, and 2 messages wait for it.',
  );
  expect((await why('fix', dagId)).sentence).toBe('“Fix it” waits in the queue of web@dev, which is offline: stopped.');
  await world.verbs.claim({ dagId, nodeId: 'fix' }, bot(web));
  await world.verbs.done({ dagId, nodeId: 'fix' }, bot(web), {});
  expect((await asked(world, agent({ state: 'idle' }))('web')).sentence).toBe(
    'web@dev is idle: no step is given to it.',
  );
  await expect(why('ghost')).rejects.toMatchObject({ code: 'not_found', fact: expect.stringContaining('"ghost"') });
  await expect(why('ghost', dagId)).rejects.toMatchObject({ code: 'not_found' });
});
