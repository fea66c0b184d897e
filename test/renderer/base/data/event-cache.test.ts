import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Approval } from '../../../../src/contracts/approvals/approval.ts';
import type { Agent } from '../../../../src/contracts/factory/agent.ts';
import type { Delivery } from '../../../../src/contracts/factory/delivery.ts';
import { createEventCache, parseFactoryEvent } from '../../../../src/renderer/base/data/event-cache.ts';
import { keysOf } from '../../../../src/renderer/base/data/keys.ts';

const keys = keysOf(null);
const at = '2026-01-02T03:04:05.678Z';
const agent: Agent = {
  id: 'agent_1',
  slug: 'web',
  name: 'web',
  address: 'web@dev',
  team: 'dev',
  role: null,
  binding: { type: 'terminal', harness: 'shell' },
  state: 'needs_you',
  stateReason: 'run `npm publish`?',
  stale: false,
  currentNode: null,
  proof: { proven: 0, total: 0 },
  pane: { id: 'pane_1', attachable: true },
  machine: 'computer_1',
  runner: 'local',
  queueDepth: 0,
  since: '2026-01-02T03:00:00.000Z',
};
const delivery: Delivery = { id: 'delivery_1', to: 'web@dev', via: 'pane', state: 'queued', evidence: null, at };

const approval: Approval = {
  id: 'apr_00000001',
  kind: 'wait_gate',
  state: 'pending',
  decision: null,
  title: 'Publish',
  summary: 'npm publish',
  risk: 'high',
  source: 'gate',
  agentId: null,
  dagId: 'dag_1',
  nodeId: 'node_1',
  requestedAt: at,
  expiresAt: at,
  resolvedAt: null,
  resolvedBy: null,
  appliedAt: null,
  note: null,
};

let client: QueryClient;
let voided: unknown[];
let readTeam: (team: string) => Promise<{ agents: Agent[]; engine: { running: boolean; error: string | null } }>;
beforeEach(() => {
  vi.useFakeTimers();
  client = new QueryClient();
  voided = [];
  readTeam = async () => {
    throw new Error('No team is read alone here.');
  };
  vi.spyOn(client, 'invalidateQueries').mockImplementation(async (filters) => {
    voided.push(filters?.queryKey ?? 'all');
  });
  client.setQueryData(keys.agents, { agents: [agent], engine: { running: true, error: null } });
  client.setQueryData(keys.teams, { teams: [{ name: 'dev', agents: [agent] }], invalid: [] });
  client.setQueryData(keys.approvals, { approvals: [approval] });
  client.setQueryData(keys.deliveriesOf('agent_1'), { deliveries: [delivery], nextCursor: null });
});
afterEach(() => vi.useRealTimers());

function event(type: string, data: unknown) {
  const parsed = parseFactoryEvent({ type, at, data });
  if (parsed === null) throw new Error(`${type} was not understood`);
  return parsed;
}

test('a new state shows at once in both lists, without the reason of the former one', () => {
  createEventCache(client, keys, readTeam).apply(
    event('agent.state', { agentId: 'agent_1', state: 'working', pane: agent.pane }),
  );
  const lists = [
    client.getQueryData<{ agents: Agent[] }>(keys.agents)?.agents[0],
    client.getQueryData<{ teams: { agents: Agent[] }[] }>(keys.teams)?.teams[0]?.agents[0],
  ];
  for (const shown of lists) expect(shown).toMatchObject({ state: 'working', stateReason: null, since: at });
});

test('a state changes its own bot and team; all others stay the same objects', () => {
  const other = { ...agent, id: 'agent_2', team: 'ops' };
  client.setQueryData(keys.agents, { agents: [agent, other], engine: { running: true, error: null } });
  const ops = { name: 'ops', agents: [other] };
  client.setQueryData(keys.teams, { teams: [{ name: 'dev', agents: [agent] }, ops], invalid: [] });
  createEventCache(client, keys, readTeam).apply(
    event('agent.state', { agentId: 'agent_1', state: 'working', pane: { id: 'pane_1', attachable: true } }),
  );
  const { agents } = client.getQueryData<{ agents: Agent[] }>(keys.agents)!;
  expect(agents[0]).toMatchObject({ state: 'working' });
  expect(agents[1]).toBe(other);
  expect(client.getQueryData<{ teams: unknown[] }>(keys.teams)!.teams[1]).toBe(ops);
});

test('a repeated state keeps its reason and its time', () => {
  createEventCache(client, keys, readTeam).apply(
    event('agent.state', { agentId: 'agent_1', state: 'needs_you', pane: agent.pane }),
  );
  expect(client.getQueryData<{ agents: Agent[] }>(keys.agents)?.agents[0]).toEqual(agent);
});

test('events that come together are applied in their order, and change each list once', () => {
  const changes = vi.spyOn(client, 'setQueryData');
  createEventCache(client, keys, readTeam).apply(
    event('agent.state', { agentId: 'agent_1', state: 'working', pane: agent.pane }),
    event('delivery', { ...delivery, state: 'accepted' }),
    event('agent.state', { agentId: 'agent_1', state: 'idle', pane: null }),
    event('delivery', { ...delivery, state: 'verified' }),
  );
  expect(client.getQueryData<{ agents: Agent[] }>(keys.agents)?.agents[0]).toMatchObject({ state: 'idle', pane: null });
  expect(client.getQueryData(keys.deliveriesOf('agent_1'))).toMatchObject({ deliveries: [{ state: 'verified' }] });
  expect(changes.mock.calls.map(([key]) => key)).toEqual([keys.agents, keys.teams, keys.deliveriesOf('agent_1')]);
});

test('a burst of events reads the lists again once', async () => {
  const cache = createEventCache(client, keys, readTeam);
  for (let index = 0; index < 50; index += 1) {
    cache.apply(event('agent.state', { agentId: `agent_${index}`, state: 'idle', pane: null }));
  }
  await vi.advanceTimersByTimeAsync(1000);
  expect(voided.filter((key) => key === keys.agents)).toHaveLength(1);
});

test('a list that takes long to read holds up no other', async () => {
  let finish = (): void => {};
  const slow = new Promise<void>((resolve) => {
    finish = resolve;
  });
  vi.mocked(client.invalidateQueries).mockImplementation(async (filters) => {
    voided.push(filters?.queryKey);
    if (filters?.queryKey === keys.diffs) await slow;
  });
  const cache = createEventCache(client, keys, readTeam);
  const idle = { agentId: 'agent_1', state: 'idle', pane: null };
  const count = (key: unknown): number => voided.filter((one) => one === key).length;
  cache.apply(event('agent.state', idle));
  await vi.advanceTimersByTimeAsync(1000);
  expect([count(keys.diffs), count(keys.teams)]).toEqual([1, 0]);
  cache.apply(event('team.changed', { team: 'dev', change: 'up', agents: [] }), event('agent.state', idle));
  await vi.advanceTimersByTimeAsync(1000);
  expect([count(keys.diffs), count(keys.teams), count(keys.agents)]).toEqual([1, 1, 2]);
  finish();
  await vi.advanceTimersByTimeAsync(1000);
  expect([count(keys.diffs), count(keys.teams), count(keys.agents)]).toEqual([2, 1, 2]);
});

test('runs that were started from a prompt are read again with bots, steps and teams, however long a diff takes', async () => {
  vi.mocked(client.invalidateQueries).mockImplementation((filters) => {
    voided.push(filters?.queryKey);
    return filters?.queryKey === keys.diffs ? new Promise(() => {}) : Promise.resolve();
  });
  const cache = createEventCache(client, keys, readTeam);
  const reads = () => voided.filter((key) => key === keys.quickRuns).length;
  const told = [
    event('agent.state', { agentId: 'agent_1', state: 'idle', pane: null }),
    event('node.status', { dagId: 'dag_1', nodeId: 'node_1', cause: 'reported', status: 'done' }),
    event('proof.recorded', { dagId: 'dag_1', nodeId: 'node_1', outcome: 'proven' }),
    event('team.changed', { team: 'dev', change: 'up', agents: [] }),
  ];
  for (const [index, one] of told.entries()) {
    cache.apply(one);
    await vi.advanceTimersByTimeAsync(1000);
    expect([one.type, reads()]).toEqual([one.type, index + 1]);
  }
});

test('while lists are being read, further events wait and then have them read once more', async () => {
  let finish = (): void => {};
  const reading = new Promise<void>((resolve) => {
    finish = resolve;
  });
  vi.mocked(client.invalidateQueries).mockImplementation((filters) => {
    voided.push(filters?.queryKey);
    return reading;
  });
  const cache = createEventCache(client, keys, readTeam);
  const proof = { dagId: 'dag_1', nodeId: 'node_1', outcome: 'proven' };
  cache.apply(event('proof.recorded', proof));
  await vi.advanceTimersByTimeAsync(1000);
  const boards = (): number => voided.filter((key) => key === keys.boards).length;
  for (let index = 0; index < 5; index += 1) {
    cache.apply(event('proof.recorded', proof));
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(boards()).toBe(1);
  finish();
  await vi.advanceTimersByTimeAsync(1000);
  expect(boards()).toBe(2);
});

test('a known delivery changes in place; a new one has the lists of deliveries read again', async () => {
  const cache = createEventCache(client, keys, readTeam);
  cache.apply(event('delivery', { ...delivery, state: 'verified', evidence: 'hook' }));
  const list = client.getQueryData<{ deliveries: Delivery[] }>(keys.deliveriesOf('agent_1'));
  expect(list?.deliveries).toEqual([{ ...delivery, state: 'verified', evidence: 'hook' }]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(voided).toContainEqual(keys.agents);
  expect(voided).not.toContainEqual(keys.deliveries);
  cache.apply(event('delivery', { ...delivery, id: 'delivery_2' }));
  await vi.advanceTimersByTimeAsync(1000);
  expect(voided).toContainEqual(keys.deliveries);
});

test('a node that moves has its board, its run and its page read again, and no other run', async () => {
  const move = { dagId: 'dag_1', nodeId: 'node_1', cause: 'proven', status: 'done' };
  createEventCache(client, keys, readTeam).apply(event('node.status', move));
  await vi.advanceTimersByTimeAsync(1000);
  expect(voided).toEqual(expect.arrayContaining([keys.boards, keys.flow('dag_1'), keys.node('dag_1', 'node_1')]));
  expect(voided).not.toContainEqual(keys.flow('dag_2'));
});

test('an answered approval changes in place, a new one comes first, and the list is not read for it', async () => {
  const cache = createEventCache(client, keys, readTeam);
  const answered = { ...approval, state: 'resolved', decision: 'approve', resolvedAt: at } as const;
  cache.apply(event('approval.resolved', answered));
  cache.apply(event('approval.requested', { ...approval, id: 'apr_00000002' }));
  const list = client.getQueryData<{ approvals: Approval[] }>(keys.approvals)?.approvals;
  expect(list).toEqual([{ ...approval, id: 'apr_00000002' }, answered]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(voided).not.toContainEqual(keys.approvals);
});

test('a changed team has teams and bots read again', async () => {
  createEventCache(client, keys, readTeam).apply(event('team.changed', { team: 'dev', change: 'file', agents: [] }));
  await vi.advanceTimersByTimeAsync(1000);
  expect(voided).toEqual(expect.arrayContaining([keys.agents, keys.teams]));
});

test('events of types or shapes it does not know are ignored', () => {
  expect(parseFactoryEvent({ type: 'from.the.future', at, data: {} })).toBeNull();
  expect(parseFactoryEvent({ type: 'agent.state', at, data: { agentId: 1 } })).toBeNull();
  expect(parseFactoryEvent('junk')).toBeNull();
});

test('of many bots only those of the team are read again in which something changed', async () => {
  const engine = { running: true, error: null };
  const others = Array.from({ length: 9 }, (_, at) => ({ ...agent, id: `other_${at}`, team: 'ops' }));
  client.setQueryData(keys.agents, { agents: [agent, ...others], engine });
  // Somebody looks at the list.
  const looking = { queryKey: keys.agents, staleTime: Number.POSITIVE_INFINITY, queryFn: () => new Promise(() => {}) };
  new QueryObserver(client, looking).subscribe(() => {});
  const read: string[] = [];
  let bots = [{ ...agent, queueDepth: 3 }];
  readTeam = async (team) => {
    read.push(team);
    return { agents: bots, engine };
  };
  const cache = createEventCache(client, keys, readTeam);
  const listed = () => client.getQueryData<{ agents: Agent[] }>(keys.agents)?.agents ?? [];
  cache.apply(event('delivery', delivery), event('agent.state', { agentId: 'agent_1', state: 'working', pane: null }));
  await vi.advanceTimersByTimeAsync(1000);
  expect(read).toEqual(['dev']);
  expect(voided).not.toContainEqual(keys.agents);
  expect(listed().map(({ queueDepth }) => queueDepth)).toEqual([3, ...others.map(() => 0)]);
  expect(listed()[1]).toBe(others[0]);
  // One that came, or an event that may concern any bot: the whole list.
  bots = [agent, { ...agent, id: 'agent_new' }];
  cache.apply(event('delivery', { ...delivery, state: 'verified' }));
  await vi.advanceTimersByTimeAsync(1000);
  expect(voided.filter((key) => JSON.stringify(key) === JSON.stringify(keys.agents))).toHaveLength(1);
  cache.apply(event('delivery', { ...delivery, to: 'channel:thread_1' }), event('delivery', delivery));
  await vi.advanceTimersByTimeAsync(1000);
  expect(voided.filter((key) => JSON.stringify(key) === JSON.stringify(keys.agents))).toHaveLength(2);
  expect(read).toEqual(['dev', 'dev']);
});
