/** `gantry workspace nodes|node|claim|progress|done|fail|retry|skip` and `gantry workflows gate`. */
import type { NodeCard, NodePage, NodePlan } from '../../contracts/factory/node.ts';
import { type Action, type Context, flag, type Input, optionalText, text, words } from '../command.ts';
import type { FactoryClient } from '../connect.ts';
import { facts, table } from '../table.ts';
import { ago, inCell, inset, oneLine, spoken } from '../words.ts';
import { nodeTable, why } from './show-nodes.ts';

export const list: Action = async (context, input) => {
  const { factory } = await context.connect();
  const status = flag(input, 'all') ? 'all' : undefined;
  const answer = await factory.listNodes({ query: { assignee: optionalText(input, 'assignee'), status } });
  context.output.result(answer, () => {
    if (answer.nodes.length === 0) return 'No open steps.';
    const rows = answer.nodes.map((card) => [
      card.dagId,
      card.stepId,
      spoken(card.status),
      card.assignee ?? '-',
      why(card),
    ]);
    return table(['run', 'step', 'status', 'by', 'why'], rows, context.output.width);
  });
  return undefined;
};

export const show: Action = async (context, input) => {
  const { factory } = await context.connect();
  const page = await factory.getNode({ params: paramsOf(input) });
  context.output.result(page, () => inWords(context, page));
  return undefined;
};

function inWords(context: Context, page: NodePage): string {
  const { card } = page;
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
      ['gate', card.gate === null ? null : `${card.gate.kind}, ${card.gate.state}`],
    ]),
    ...part('', page.spec),
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

function paramsOf(input: Input): { dagId: string; nodeId: string } {
  return { dagId: text(input, 'run'), nodeId: text(input, 'node') };
}

interface Asked {
  readonly params: { dagId: string; nodeId: string };
  readonly dryRun: true | undefined;
}

/** A verb of a node: asks the engine, and says what became of the node or would become of it. */
function verb(call: (factory: FactoryClient, asked: Asked, input: Input) => Promise<NodeCard | NodePlan>): Action {
  return async (context, input) => {
    const { factory } = await context.connect();
    const answer = await call(factory, { params: paramsOf(input), dryRun: flag(input, 'dryRun') || undefined }, input);
    context.output.result(answer, () => {
      if (!('dryRun' in answer)) return nodeTable(context, [answer]);
      const { from, to, nodeId } = answer.plan;
      return from === to
        ? `${nodeId} would stay ${spoken(to)}.`
        : `${nodeId} would go from ${spoken(from)} to ${spoken(to)}.`;
    });
    return undefined;
  };
}

export const claim = verb((factory, { params, dryRun }) => factory.claimNode({ params, body: { dryRun } }));
export const retry = verb((factory, { params, dryRun }) => factory.retryNode({ params, body: { dryRun } }));
export const progress = verb((factory, { params, dryRun }, input) =>
  factory.progressNode({ params, body: { text: words(input, 'text').join(' '), dryRun } }),
);
export const done = verb((factory, { params, dryRun }, input) =>
  factory.doneNode({
    params,
    body: { output: optionalText(input, 'output'), note: optionalText(input, 'note'), dryRun },
  }),
);
export const fail = verb((factory, { params, dryRun }, input) =>
  factory.failNode({ params, body: { reason: words(input, 'reason').join(' '), dryRun } }),
);
export const skip = verb((factory, { params, dryRun }, input) =>
  factory.skipNode({ params, body: { reason: optionalText(input, 'reason'), dryRun } }),
);
export const gate = verb((factory, { params, dryRun }, input) =>
  factory.gateNode({ params, body: { note: optionalText(input, 'note'), dryRun } }),
);
