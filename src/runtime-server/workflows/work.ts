/**
 * One operation on one run: the rules' changes are written, with their ledger rows, in the transaction of that operation, and outside effects follow
 * once that is durable. Must not know processes or messages: they come in as effects.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { NodeCause, NodeStatus } from '../../contracts/factory/node.ts';
import type { RunStatus } from '../../contracts/factory/workflow.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Actor } from '../base/actor.ts';
import type { BotRuns } from './bot-runs.ts';
import type { WorkEvents } from './deps.ts';
import { isEnded, nodeMoves, proofLines, type Run, type RunNode, runMoves, statusOf } from './model.ts';
import { drain, type Play } from './rules.ts';
import { insertMove, insertProof, outputOf, type ProofFile, saveNode, saveOutput, saveRun } from './store/runs.ts';
import type { Reference } from './template/references.ts';

export interface Work extends Play {
  readonly tx: Tx;
  readonly by: Actor;
  /** Happens once everything is durable; never when it was rolled back. */
  after(effect: () => void): void;
  /** Records the verdict on a line of the node, with its file where there is one. Returns the receipt. */
  proof(node: RunNode, line: string, outcome: 'proven' | 'rejected', file: ProofFile | null): string;
  /** Stores the result of the node's executor. */
  output(node: RunNode, text: string): void;
  /** The checker of the node has been asked. */
  asked(node: RunNode): void;
  /** Moves made, in order, for callers of a dry run. */
  readonly moves: readonly { readonly node: RunNode; readonly from: NodeStatus }[];
  readonly records: readonly string[];
  /** Nodes that were changed. */
  readonly touched: ReadonlySet<RunNode>;
  /** Writes the changes. */
  finish(): void;
}

export function createWork(
  deps: {
    readonly ledger: Ledger;
    readonly botRuns: BotRuns;
    readonly events: WorkEvents;
    enqueue(node: RunNode): void;
    check(work: Work, node: RunNode, by: 'command' | 'bot'): void;
    pollGate(work: Work, node: RunNode): void;
  },
  tx: Tx,
  run: Run,
  now: number,
  by: Actor,
): Work {
  const touched = new Set<RunNode>();
  const moves: { node: RunNode; from: NodeStatus }[] = [];
  const records: string[] = [];
  const outputs = new Map<RunNode, string>();
  const wasStopping = run.stopping;
  const wasCancelAt = run.cancelAt;

  const touch = (node: RunNode) => {
    touched.add(node);
  };
  const append = (type: string, subject: string, body: Record<string, unknown>) => {
    records.push(type);
    return deps.ledger.append(tx, { type, subject, ...by, body: { v: 1, ...body } });
  };
  const valueFor = (reference: Reference): string => {
    if (reference.kind === 'intent') return run.intent;
    if (reference.kind === 'param') return run.params[reference.name] ?? '';
    const node = run.byStep.get(reference.step);
    if (node === undefined) return '';
    return reference.what === 'status' ? node.status : outputOf(tx, run.dagId, node.seq);
  };

  const work: Work = {
    tx,
    run,
    now,
    by,
    ended: [],
    moves,
    records,
    touched,
    valueFor,
    touch,
    move(node, to, cause, detail = null) {
      const from = node.status;
      if (!nodeMoves[from].includes(to))
        throw new Error(`Node ${node.nodeId} cannot go from ${from} to ${to} (${cause}).`);
      touch(node);
      node.status = to;
      node.cause = cause;
      node.detail = detail === null ? null : withEnd(detail, maxDetail);
      moves.push({ node, from });
      const { id } = append('node.status', `node:${node.nodeId}`, {
        dagId: node.dagId,
        nodeId: node.nodeId,
        title: node.title,
        cause,
        status: to,
        attempt: node.attempt,
        ...(node.detail === null ? {} : { detail: node.detail }),
      });
      insertMove(tx, node, { receipt: id, at: now, actor: by.actor });
      if (to === 'needs_you' && from !== to) deps.events.needsUser(tx, run, node, `${node.nodeId}:${id}`);
      deps.botRuns.moved(tx, node, from, { at: now, actor: by.actor, output: outputs.get(node) ?? null });
    },
    output(node, text) {
      saveOutput(tx, node, text);
      outputs.set(node, text);
    },
    asked(node) {
      if (deps.botRuns.asked(tx, node, now)) touch(node);
    },
    proof(node, line, outcome, file) {
      touch(node);
      const proven = new Set(node.proven);
      // Other lines are recorded, and count for nothing.
      const counts = proofLines(node.step).some((one) => one.line === line);
      if (outcome === 'proven' && counts) proven.add(line);
      else proven.delete(line);
      node.proven = proven;
      const { id } = append('proof.recorded', `node:${node.nodeId}`, {
        dagId: node.dagId,
        nodeId: node.nodeId,
        title: node.title,
        outcome,
        line,
        attempt: node.attempt,
        ...(file === null
          ? {}
          : { sha256: file.sha256, size: file.size, mime: file.mime, name: file.name, path: file.path }),
      });
      insertProof(tx, node, { receipt: id, line, outcome, at: now, actor: by.actor, file });
      return id;
    },
    enqueue: deps.enqueue,
    check: (node, how) => deps.check(work, node, how),
    pollGate: (node) => deps.pollGate(work, node),
    after: (effect) => tx.afterCommit(effect),
    finish() {
      drain(work);
      for (const node of touched) saveNode(tx, node);
      const status = statusOf(run);
      if (status !== run.status) changeStatus(status);
      else if (run.stopping !== wasStopping || run.cancelAt !== wasCancelAt) saveRun(tx, run);
    },
  };

  function changeStatus(status: RunStatus): void {
    if (!runMoves[run.status].includes(status))
      throw new Error(`Run ${run.dagId} cannot go from ${run.status} to ${status}.`);
    run.status = status;
    const { success, degraded, failed } = run.template.closure;
    const words =
      status === 'done' ? success : status === 'degraded' ? degraded : status === 'failed' ? failed : undefined;
    const { id } = append('run.status', `run:${run.dagId}`, {
      dagId: run.dagId,
      status,
      ...(isEnded(status) && words !== undefined ? { closure: words } : {}),
    });
    saveRun(tx, run);
    const bad = status === 'failed' || status === 'degraded';
    const culprit = bad ? [...run.byStep.values()].find((node) => node.status === 'failed') : undefined;
    if (isEnded(status)) deps.events.ended(tx, run, culprit ?? null, `${run.dagId}:${id}`);
  }

  return work;
}

/** Characters. */
const maxDetail = 4000;

/** Cut in its middle where it is too long: a reason begins with what failed, and an output ends with the error. */
export function withEnd(text: string, max: number): string {
  if (text.length <= max) return text;
  const begin = Math.floor(max / 5);
  return `${text.slice(0, begin)} … ${text.slice(text.length - (max - begin - 3))}`;
}

/** Refuses a verb that the state of the node does not allow. */
export function conflict(node: RunNode, verb: string, action: string): AppError {
  const cause: NodeCause = node.cause;
  return new AppError(
    'refused',
    `${node.title} is ${node.status.replace('_', ' ')} (${cause.replaceAll('_', ' ')}): ${verb} is not possible.`,
    action,
    { status: 409 },
  );
}
