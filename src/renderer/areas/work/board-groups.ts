/** A board's nodes, grouped by what they need from a person. Pure. */
import type { Approval } from '../../../contracts/approvals/approval.ts';
import type { Board } from '../../../contracts/factory/board.ts';
import { type NodeCard, type NodeStatus, nodeCauses } from '../../../contracts/factory/node.ts';

export interface NodeGroup {
  readonly key: string;
  readonly title: string;
  /** What it says while nothing is in it. */
  readonly empty: string;
  readonly nodes: readonly NodeCard[];
}

const groupOf: Readonly<Record<NodeStatus, 'need' | 'now' | 'next' | 'done' | 'ended'>> = {
  needs_you: 'need',
  working: 'now',
  checking: 'now',
  ready: 'next',
  blocked: 'next',
  new: 'next',
  done: 'done',
  failed: 'ended',
  skipped: 'ended',
  cancelled: 'ended',
};

/** What is nearest to its turn stands first among the next: ready, at a gate, then by depth. */
const nextOrder: Partial<Record<NodeStatus, number>> = { ready: 0, blocked: 1, new: 2 };

/**
 * Needs you, now, next, done; and what ended without being done, only where there is any. `asking`: ids of nodes whose bot waits for an
 * answer; it works on, but nothing moves before a person comes.
 */
export function groupsByNeed(board: Board, asking: ReadonlySet<string> = new Set()): readonly NodeGroup[] {
  const nodes = board.waves.flatMap((wave) => wave.nodes);
  const inGroup = (key: string): NodeCard[] =>
    nodes.filter((node) => {
      const own = groupOf[node.status];
      return (own === 'now' && asking.has(node.nodeId) ? 'need' : own) === key;
    });
  const next = inGroup('next').sort(
    (a, b) => (nextOrder[a.status] ?? 3) - (nextOrder[b.status] ?? 3) || a.depth - b.depth,
  );
  const ended = inGroup('ended').sort((a, b) => Number(b.status === 'failed') - Number(a.status === 'failed'));
  return [
    { key: 'need', title: 'Needs you', empty: 'No step needs you.', nodes: inGroup('need') },
    { key: 'now', title: 'Now', empty: 'No step is running.', nodes: inGroup('now') },
    { key: 'next', title: 'Next', empty: 'No steps left.', nodes: next },
    { key: 'done', title: 'Done', empty: 'No step is done yet.', nodes: inGroup('done') },
    ...(ended.length === 0 ? [] : [{ key: 'ended', title: 'Ended, not done', empty: '', nodes: ended }]),
  ];
}

/** By depth: what can only begin when the wave before is through. */
export function groupsByWave(board: Board): readonly NodeGroup[] {
  return board.waves.map((wave) => {
    const done = wave.nodes.filter((node) => node.status === 'done').length;
    return {
      key: `wave-${wave.depth}`,
      title: `Wave ${wave.depth + 1} · ${done} of ${wave.nodes.length} done`,
      empty: '',
      nodes: wave.nodes,
    };
  });
}

/** Whether the question is about this step: it names it, or is asked by the bot that is at work on it. */
export function isQuestionOf(
  { dagId, nodeId, assignee, status }: NodeCard,
  question: Pick<Approval, 'dagId' | 'nodeId' | 'agentId'>,
  addressOf: (agentId: string) => string | undefined,
): boolean {
  if (question.nodeId !== undefined) return question.nodeId === nodeId && question.dagId === dagId;
  if (groupOf[status] !== 'now' || question.agentId === null) return false;
  return assignee !== null && addressOf(question.agentId) === assignee;
}

/** What each step waits with. `approvals`: those that wait, longest first. A board may have thousands of steps: none is looked for among all the others. */
export function questionsOf(
  nodes: readonly NodeCard[],
  approvals: readonly Approval[],
  bots: readonly { readonly id: string; readonly address: string }[],
): ReadonlyMap<NodeCard, readonly [Approval, ...Approval[]]> {
  const addresses = new Map(bots.map(({ id, address }) => [id, address]));
  const addressOf = (id: string) => addresses.get(id);
  const byId = Map.groupBy(nodes, ({ nodeId }) => nodeId);
  const byAssignee = Map.groupBy(nodes, ({ assignee }) => assignee);
  const found = new Map<NodeCard, [Approval, ...Approval[]]>();
  for (const one of approvals) {
    const near = one.nodeId === undefined ? byAssignee.get(addressOf(one.agentId ?? '') ?? null) : byId.get(one.nodeId);
    const node = near?.find((each) => isQuestionOf(each, one, addressOf));
    if (node === undefined) continue;
    const before = found.get(node);
    if (before === undefined) found.set(node, [one]);
    else before.push(one);
  }
  return found;
}

export function filterGroups(groups: readonly NodeGroup[], filter: string): readonly NodeGroup[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return groups;
  return groups.map((group) => ({
    ...group,
    nodes: group.nodes.filter((node) => {
      const text = `${node.title} ${node.stepId} ${node.assignee ?? ''} ${node.status}`.toLowerCase();
      return words.every((word) => text.includes(word));
    }),
  }));
}

/** Why a node is as it is, in words: the values where there are any, else what the cause means. */
export function causeWords(node: Pick<NodeCard, 'cause' | 'detail'>): string | null {
  // A person's note means nothing without its cause: "no, not twice" is a rejection only beside one.
  if (node.cause === 'gate_rejected' && node.detail !== null) return `${nodeCauses.gate_rejected}: ${node.detail}`;
  // A delivery's detail begins with the state of its bot as the wire has it.
  if (node.cause === 'queued' && node.detail !== null) return node.detail.replace(/^needs_you:/, 'its bot needs you:');
  return node.detail ?? (node.cause === null ? null : nodeCauses[node.cause]);
}

/** What a card says below its title: what the node waits for, else why it is as it is. */
export function cardSentence(node: NodeCard, titleOf: (nodeId: string) => string | undefined): string | null {
  if (node.status === 'done' || node.status === 'working') return node.detail;
  if (node.status === 'new') {
    const waited = node.blockedBy.map((id) => titleOf(id) ?? id);
    if (waited.length > 0) return `after: ${waited.slice(0, 2).join(', ')}${waited.length > 2 ? ', …' : ''}`;
  }
  return causeWords(node);
}
