/** `gantry workspace nodes|node|claim|progress|done|fail|retry|skip` and `gantry workflows gate`. */
import type { NodeCard, NodePage, NodePlan } from '../../contracts/factory/node.ts';
import { leaseWords } from '../../contracts/factory/node-lease.ts';
import { type Context, flag } from '../command.ts';
import { verb } from '../route-verb.ts';
import { facts, listed, table } from '../table.ts';
import { ago, inCell, inset, oneLine, spoken } from '../words.ts';
import { nodeTable, why } from './show-nodes.ts';

export const list = verb('listNodes', {
  fields: { status: (input) => (flag(input, 'all') ? 'all' : undefined) },
  words: (answer, context) =>
    listed(context, answer.nodes, 'No open steps.', {
      run: (card) => card.dagId,
      step: (card) => card.stepId,
      status: (card) => spoken(card.status),
      by: (card) => card.assignee ?? '-',
      why,
    }),
});

const fields = { dagId: 'run', nodeId: 'node' } as const;

export const show = verb('getNode', { fields, words: inWords });

function inWords(page: NodePage, context: Context): string {
  const { card, lease } = page;
  const part = (title: string, body: string) => (body === '' ? [] : ['', title, inset(body)]);
  const history = page.history.map((one) => [
    ago(one.at, context.now()),
    spoken(one.status),
    String(one.attempt),
    oneLine(one.detail ?? spoken(one.cause), 200),
  ]);
  return [
    facts([
      ['step', card.title],
      ['status', `${spoken(card.status)}: ${why(card)}`],
      ['by', card.assignee],
      ['lease', lease === null ? null : Object.values(leaseWords(lease, context.now())).join(' ')],
      ['gate', card.gate === null ? null : `${card.gate.kind}, ${card.gate.state}`],
    ]),
    ...(page.spec === '' ? [] : ['', inset(page.spec)]),
    ...part('PROOF', page.proofMd),
    ...page.files.map(
      (file) => `${inCell(file.path)}  ${inCell(file.name)}, ${file.size} bytes, receipt ${file.receiptId}`,
    ),
    ...part('PROGRESS', page.progressMd),
    ...part('OUTPUT', page.output ?? ''),
    '',
    table(['when', 'status', 'attempt', 'why'], history, context.output.width),
  ].join('\n');
}

/** What became of the node, or would become of it. */
function became(answer: NodeCard | NodePlan, context: Context): string {
  if (!('dryRun' in answer)) return nodeTable(context, [answer]);
  const { from, to, nodeId } = answer.plan;
  return from === to
    ? `${nodeId} would stay ${spoken(to)}.`
    : `${nodeId} would go from ${spoken(from)} to ${spoken(to)}.`;
}

export const claim = verb('claimNode', { fields, words: became });
export const retry = verb('retryNode', { fields, words: became });
export const progress = verb('progressNode', { fields, words: became });
export const done = verb('doneNode', { fields, words: became });
export const fail = verb('failNode', { fields, words: became });
export const skip = verb('skipNode', { fields, words: became });
export const gate = verb('gateNode', { fields, words: became });
