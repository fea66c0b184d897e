import { expect, test } from 'vitest';
import type { Board } from '../../../../src/contracts/factory/board.ts';
import { type NodeCard, type NodeStatus, nodeStatuses } from '../../../../src/contracts/factory/node.ts';
import {
  cardSentence,
  causeWords,
  filterGroups,
  groupsByNeed,
  groupsByWave,
  isQuestionOf,
  questionsOf,
} from '../../../../src/renderer/areas/work/board-groups.ts';
import { verbsFor } from '../../../../src/renderer/areas/work/node-verbs.tsx';

function card(id: string, status: NodeStatus, more: Partial<NodeCard> = {}): NodeCard {
  return {
    dagId: 'dag_1',
    nodeId: `node_${id}`,
    stepId: id,
    title: `Title ${id}`,
    status,
    cause: null,
    detail: null,
    assignee: 'shell',
    bindingType: null,
    proof: { proven: 0, total: 1 },
    blockedBy: [],
    needsYou: status === 'needs_you',
    depth: 0,
    gate: null,
    attempt: 0,
    ...more,
  };
}

function board(...nodes: NodeCard[]): Board {
  const waves = new Map<number, NodeCard[]>();
  for (const node of nodes) waves.set(node.depth, [...(waves.get(node.depth) ?? []), node]);
  return {
    campaign: {
      id: 'c',
      projectId: null,
      title: 'C',
      intent: '',
      status: 'active',
      proven: 0,
      total: nodes.length,
      needsYou: 0,
    },
    summary: { proven: { k: 0, n: nodes.length }, needsYou: [], now: [], next: [] },
    runs: [],
    waves: [...waves].map(([depth, wave]) => ({ depth, nodes: wave })),
  };
}

const show = (groups: ReturnType<typeof groupsByNeed>) =>
  Object.fromEntries(groups.map((group) => [group.key, group.nodes.map((node) => node.stepId)]));

test('a step whose bot waits for an answer needs you, and one that has ended meanwhile does not', () => {
  const groups = groupsByNeed(
    board(card('asks', 'working'), card('works', 'working'), card('ended', 'done')),
    new Set(['node_asks', 'node_ended']),
  );
  expect(show(groups)).toMatchObject({ need: ['asks'], now: ['works'], done: ['ended'] });
});

test('the note of a rejected gate and the state of a busy bot are said in words', () => {
  const node = card('publish', 'failed', { cause: 'gate_rejected', detail: 'no, not twice' });
  expect(causeWords(node)).toBe('a person rejected it at its gate: no, not twice');
  const queued = card('fix', 'ready', { cause: 'queued', detail: 'needs_you: asks: Run npm test' });
  expect(causeWords(queued)).toBe('its bot needs you: asks: Run npm test');
});

test('every status has exactly one column, and what ended without being done is never under Done', () => {
  const groups = groupsByNeed(board(...nodeStatuses.map((status) => card(status, status))));
  expect(show(groups)).toEqual({
    need: ['needs_you'],
    now: ['working', 'checking'],
    next: ['ready', 'blocked', 'new'],
    done: ['done'],
    ended: ['failed', 'skipped', 'cancelled'],
  });
});

test('without anything that failed or was skipped there are the four columns, empty ones too', () => {
  expect(show(groupsByNeed(board()))).toEqual({ need: [], now: [], next: [], done: [] });
});

test('waves say how much of each is done', () => {
  const groups = groupsByWave(board(card('a', 'done'), card('b', 'failed'), card('c', 'new', { depth: 1 })));
  expect(groups.map((group) => group.title)).toEqual(['Wave 1 · 1 of 2 done', 'Wave 2 · 0 of 1 done']);
});

test('a filter is every word of it, in title, step, assignee or state', () => {
  const groups = groupsByNeed(board(card('build', 'done'), card('review', 'working', { assignee: 'scribe@demo' })));
  expect(show(filterGroups(groups, 'scribe work'))).toMatchObject({ now: ['review'], done: [] });
  expect(show(filterGroups(groups, ''))).toMatchObject({ now: ['review'], done: ['build'] });
});

test('a card says what it waits for by name, else why it is as it is', () => {
  const titleOf = (id: string): string | undefined => (id === 'node_a' ? 'Build' : undefined);
  expect(cardSentence(card('x', 'new', { blockedBy: ['node_a', 'node_b'] }), titleOf)).toBe('after: Build, node_b');
  expect(cardSentence(card('x', 'blocked', { cause: 'gate' }), titleOf)).toBe('waits at its gate');
  expect(cardSentence(card('x', 'failed', { cause: 'exit_status', detail: 'exit 2' }), titleOf)).toBe('exit 2');
});

test('a waiting gate is opened, never tried again; nothing is offered for what has ended well', () => {
  const gate = { kind: 'manual', description: '', state: 'waiting', until: null } as const;
  expect(verbsFor(card('x', 'needs_you', { gate, cause: 'gate' }))).toEqual(['gate', 'skip']);
  expect(verbsFor(card('x', 'needs_you', { cause: 'proof_to_accept' }))[0]).toBe('done');
  expect(verbsFor(card('x', 'needs_you', { cause: 'interrupted' }))[0]).toBe('retry');
  for (const status of ['done', 'skipped', 'cancelled'] as const) expect(verbsFor(card('x', status))).toEqual([]);
});

test('a question stands on the step that it names, else on the step that its bot is at work on', () => {
  const addressOf = (id: string) => (id === 'agt_1' ? 'scribe@demo' : undefined);
  const gate = { dagId: 'dag_1', nodeId: 'node_a', agentId: null };
  expect(isQuestionOf(card('a', 'needs_you'), gate, addressOf)).toBe(true);
  expect(isQuestionOf(card('b', 'needs_you'), gate, addressOf)).toBe(false);
  expect(isQuestionOf(card('a', 'needs_you', { dagId: 'dag_2' }), gate, addressOf)).toBe(false);
  const asked = { agentId: 'agt_1' };
  const mine = { assignee: 'scribe@demo' };
  expect(isQuestionOf(card('a', 'working', mine), asked, addressOf)).toBe(true);
  expect(isQuestionOf(card('a', 'working', { assignee: 'other@demo' }), asked, addressOf)).toBe(false);
  for (const status of ['ready', 'done', 'failed'] as const) {
    expect([status, isQuestionOf(card('a', status, mine), asked, addressOf)]).toEqual([status, false]);
  }
  expect(isQuestionOf(card('a', 'working', { assignee: null }), { agentId: 'agt_2' }, addressOf)).toBe(false);
});

test('a step stands with its questions, the one that has waited longest first, and a question without a step with none', () => {
  const mine = card('a', 'working', { assignee: 'scribe@demo' });
  const gate = card('b', 'needs_you');
  const ask = (id: string, more: object) =>
    ({ id, agentId: null, ...more }) as Parameters<typeof questionsOf>[1][number];
  const found = questionsOf(
    [mine, gate, card('c', 'working')],
    [
      ask('first', { agentId: 'agt_1' }),
      ask('second', { agentId: 'agt_1' }),
      ask('gate', { dagId: 'dag_1', nodeId: 'node_b' }),
      ask('other', { agentId: 'agt_2' }),
      ask('nobody', {}),
    ],
    [{ id: 'agt_1', address: 'scribe@demo' }],
  );
  expect([...found].map(([node, own]) => [node.stepId, ...own.map(({ id }) => id)])).toEqual([
    ['a', 'first', 'second'],
    ['b', 'gate'],
  ]);
});
