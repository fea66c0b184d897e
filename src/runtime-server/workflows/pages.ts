/** Read models: flows, boards, node pages. Reads rows; changes nothing. */
import { AppError } from '../../contracts/common/errors.ts';
import { type Board, maxInSummary } from '../../contracts/factory/board.ts';
import type { NodeCard, NodePage } from '../../contracts/factory/node.ts';
import type { NodeLease } from '../../contracts/factory/node-lease.ts';
import type { Flow, RunTimes } from '../../contracts/factory/workflow.ts';
import type { WorkflowDeps } from './deps.ts';
import { proofOf, specOf } from './instruction.ts';
import { isEnded, nodeOf, proofLines, type Run } from './model.ts';
import { unknownRun } from './scheduler.ts';
import { stepTimes } from './step-times.ts';
import { cardOf, cardsOfRun, readCampaign, runsOf } from './store/campaigns.ts';
import { readMoves, readMovesOfRun, readProofs, readTexts } from './store/pages.ts';
import { loadRun, outputOf } from './store/runs.ts';
import type { Reference } from './template/references.ts';

export interface Pages {
  flow(dagId: string): Promise<Flow>;
  times(dagId: string): Promise<RunTimes>;
  board(campaignId: string): Promise<Board>;
  node(dagId: string, nodeId: string): Promise<NodePage>;
  /** A run with what each of its nodes gave. */
  results(dagId: string): Promise<RunResults>;
}

interface RunResults extends Pick<Flow, 'dagId' | 'title' | 'campaignId' | 'status'> {
  readonly results: readonly (Pick<NodeCard, 'nodeId' | 'title' | 'status'> & {
    readonly stepId: string;
    readonly output: string;
  })[];
  /** Outputs beyond the size of one read are empty. */
  readonly truncated: boolean;
}

/** Outputs of one run that are read at once, characters. */
const maxOutput = 1_000_000;

export function createPages(deps: WorkflowDeps & { leaseOf(nodeId: string): NodeLease | null }): Pages {
  const { store, workspace, clock } = deps;
  return {
    flow: (dagId) =>
      store.read((tx) => {
        const run = loadRun(tx, workspace, dagId);
        if (run === null) throw unknownRun(dagId);
        return {
          dagId,
          title: run.title,
          campaignId: run.campaignId,
          status: run.status,
          nodes: cardsOfRun(tx, dagId),
          edges: edgesOf(run),
        };
      }),

    times: (dagId) =>
      store.read((tx) => {
        const run = loadRun(tx, workspace, dagId);
        if (run === null) throw unknownRun(dagId);
        const moves = Map.groupBy(readMovesOfRun(tx, dagId), ({ seq }) => seq);
        const now = clock.now();
        const steps = [...run.nodes.values()].map(({ nodeId, title, seq }) => ({
          nodeId,
          title,
          ...stepTimes(moves.get(seq) ?? [], now),
        }));
        return { dagId, title: run.title, steps };
      }),

    board: (campaignId) =>
      store.read((tx) => {
        const found = readCampaign(tx, workspace, campaignId);
        if (found === null) {
          throw new AppError(
            'not_found',
            `There is no campaign ${JSON.stringify(campaignId)}.`,
            'List them with `gantry workspace campaigns`.',
          );
        }
        const runs = runsOf(tx, workspace, campaignId);
        const waves: NodeCard[][] = [];
        const needsYou: NodeCard[] = [];
        const now: NodeCard[] = [];
        const next: NodeCard[] = [];
        let proven = 0;
        let total = 0;
        for (const run of runs) {
          for (const card of cardsOfRun(tx, run.dagId)) {
            const wave = waves[card.depth];
            if (wave === undefined) waves[card.depth] = [card];
            else wave.push(card);
            total += 1;
            if (card.status === 'done') proven += 1;
            else if (card.status === 'needs_you') needsYou.push(card);
            else if (card.status === 'working' || card.status === 'checking') now.push(card);
            else if (card.status === 'ready') next.push(card);
          }
        }
        const open = runs.some((run) => !isEnded(run.status));
        const status = runs.length > 0 && !open ? ('finished' as const) : ('active' as const);
        return {
          campaign: { ...found, status, proven, total, needsYou: needsYou.length },
          summary: {
            proven: { k: proven, n: total },
            needsYou: needsYou.map(toRef),
            now: now.slice(0, maxInSummary).map(toRef),
            next: next.slice(0, maxInSummary).map(toRef),
          },
          runs,
          waves: waves.flatMap((nodes, depth) => (nodes === undefined ? [] : [{ depth, nodes }])),
        };
      }),

    results: (dagId) =>
      store.read((tx) => {
        const run = loadRun(tx, workspace, dagId);
        if (run === null) throw unknownRun(dagId);
        let left = maxOutput;
        const results = [...run.nodes.values()].map(({ nodeId, stepId, seq, title, status }) => {
          const output = left <= 0 ? '' : outputOf(tx, dagId, seq);
          left -= output.length;
          return { nodeId, stepId, title, status, output };
        });
        const { title, campaignId, status } = run;
        return { dagId, title, campaignId, status, results, truncated: left <= 0 };
      }),

    async node(dagId, idOrStep) {
      const page = await store.read((tx) => {
        const run = loadRun(tx, workspace, dagId);
        if (run === null) throw unknownRun(dagId);
        const node = nodeOf(run, idOrStep);
        const valueFor = (reference: Reference) => {
          if (reference.kind === 'intent') return run.intent;
          if (reference.kind === 'param') return run.params[reference.name] ?? '';
          const step = run.byStep.get(reference.step);
          if (step === undefined) return '';
          return reference.what === 'status' ? step.status : outputOf(tx, dagId, step.seq);
        };
        const { output, progress } = readTexts(tx, dagId, node.seq);
        return {
          card: cardOf(tx, dagId, node.seq),
          spec: specOf(run, node, valueFor),
          progressMd: progress,
          proofMd: proofOf(node, proofLines(node.step)),
          ...readProofs(tx, dagId, node.seq),
          history: readMoves(tx, dagId, node.seq),
          output,
        };
      });
      const { nodeId: id } = page.card;
      const [approval, deliveries] = await Promise.all([
        deps.approvals?.ofNode(dagId, id) ?? null,
        deps.deliveriesOf(id),
      ]);
      return { ...page, approval, deliveries, lease: deps.leaseOf(id) };
    },
  };
}

function toRef(card: NodeCard): { dagId: string; nodeId: string; title: string } {
  return { dagId: card.dagId, nodeId: card.nodeId, title: card.title };
}

function edgesOf(run: Run): Flow['edges'] {
  const edges: Flow['edges'] = [];
  for (const node of run.nodes.values()) {
    for (const parent of node.parents) edges.push({ from: parent, to: node.nodeId, type: 'blocked_by' });
    const target = run.byStep.get(node.step.onFail);
    if (target !== undefined) edges.push({ from: node.nodeId, to: target.nodeId, type: 'on_fail' });
  }
  return edges;
}
