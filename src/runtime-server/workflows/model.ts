/** Types of a run while it is scheduled, and the moves of its nodes. Pure; must not know SQL, processes or messages. */
import { AppError } from '../../contracts/common/errors.ts';
import type { bindingTypes } from '../../contracts/factory/agent.ts';
import { closedNodeStatuses, type NodeCause, type NodeStatus } from '../../contracts/factory/node.ts';
import type { RunStatus, Template, TemplateStep } from '../../contracts/factory/workflow.ts';
import { runsCommand } from './template/checks.ts';

/** Moves of a node. `done`, `failed` and `skipped` are left only by a loop, a retry or a person's skip. */
export const nodeMoves: Readonly<Record<NodeStatus, readonly NodeStatus[]>> = {
  new: ['ready', 'needs_you', 'blocked', 'skipped', 'failed', 'cancelled'],
  ready: ['new', 'ready', 'working', 'needs_you', 'blocked', 'skipped', 'failed', 'cancelled'],
  working: ['working', 'checking', 'needs_you', 'ready', 'done', 'failed', 'cancelled'],
  checking: ['needs_you', 'ready', 'done', 'failed', 'cancelled'],
  needs_you: ['new', 'ready', 'working', 'checking', 'needs_you', 'done', 'failed', 'blocked', 'skipped', 'cancelled'],
  blocked: ['new', 'ready', 'blocked', 'skipped', 'cancelled'],
  done: ['new'],
  failed: ['new', 'ready', 'skipped'],
  skipped: ['new'],
  cancelled: [],
};

/** A run's state, from the moves of its nodes; a cancelled run stays cancelled. */
export const runMoves: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  running: ['needs_you', 'done', 'degraded', 'failed', 'cancelled'],
  needs_you: ['running', 'done', 'degraded', 'failed', 'cancelled'],
  done: [],
  degraded: ['running', 'needs_you', 'done'],
  failed: ['running', 'needs_you', 'done', 'degraded', 'cancelled'],
  cancelled: [],
};

/** Its executor is a command, here or at a worker. */
export function isCommand({ assignee }: Pick<RunNode, 'assignee'>): boolean {
  return runsCommand(assignee);
}

export function isClosed(status: NodeStatus): boolean {
  return (closedNodeStatuses as readonly NodeStatus[]).includes(status);
}

/** Whether the node was sent to a bot: no, possibly, or certainly. */
export type Handed = 'no' | 'sending' | 'sent';

export interface RunNode {
  readonly dagId: string;
  readonly nodeId: string;
  readonly stepId: string;
  readonly seq: number;
  readonly depth: number;
  readonly title: string;
  readonly step: TemplateStep;
  readonly parents: readonly string[];
  /** Address of the bot, or `shell`, or `queue` for a worker of the queue, or `owner` once a person has taken it. */
  assignee: string;
  readonly bindingType: (typeof bindingTypes)[number] | null;
  /** Address of the bot that checks the work of this one, by an edge of the team. */
  readonly checker: string | null;
  status: NodeStatus;
  cause: NodeCause;
  detail: string | null;
  /** How often it was begun. */
  attempt: number;
  /** Attempts since it was last made ready by a person or a loop: what `retry.max` counts. */
  tries: number;
  /** How often its failure led back to an earlier step. */
  rounds: number;
  /** The bot that holds it now: one bot, one node at a time. */
  holder: string | null;
  handed: Handed;
  /** Id of the delivery that handed it over. */
  delivery: string | null;
  /** Id of the record of the bot in a terminal that works on it or checks it now. */
  agentRun: string | null;
  gate: 'closed' | 'waiting' | 'open';
  /** When something is due: a retry, a gate, the end of its time. Milliseconds since the epoch. */
  wakeAt: number | null;
  /** Lines of the current attempt that are proven. */
  proven: ReadonlySet<string>;
}

export interface Run {
  readonly dagId: string;
  readonly campaignId: string;
  readonly title: string;
  readonly intent: string;
  readonly params: Readonly<Record<string, string>>;
  readonly template: Template;
  status: RunStatus;
  /** A step failed and its policy is to stop: nothing new starts. */
  stopping: boolean;
  /** Null, or when what still works is held for inspection. Milliseconds since the epoch. */
  cancelAt: number | null;
  readonly nodes: ReadonlyMap<string, RunNode>;
  readonly byStep: ReadonlyMap<string, RunNode>;
  readonly children: ReadonlyMap<string, readonly RunNode[]>;
}

/** How long a cancel waits for what still works. */
export const cancelDeadlineMs = 15_000;
/** A process that ignores the request to end is killed this long after it. */
export const killAfterMs = 10_000;
/** The most characters of an output that later steps get. */
export const maxOutputLength = 16_384;

export function nodeOf(run: Run, idOrStep: string): RunNode {
  const node = run.nodes.get(idOrStep) ?? run.byStep.get(idOrStep);
  if (node !== undefined) return node;
  throw new AppError(
    'not_found',
    `The run ${run.dagId} has no step ${JSON.stringify(idOrStep)}.`,
    'See its steps: GET /api/factory/dags/:dagId.',
  );
}

/** The default line that a command proves when its template names none. */
export const exitLine = 'The command ends with status 0';

/** The line that a verify command proves. */
export function verifyLine(command: string): string {
  return `Verified by: ${command}`.slice(0, 500);
}

/** The changes of a bot with a worktree, or of a worker: recorded automatically when it reports that it is done. */
export const diffLine = 'The diff of its worktree';

interface Line {
  readonly line: string;
  readonly required: boolean;
}

/** The lines that the executor has to prove. */
export function executorLines(step: TemplateStep): readonly Line[] {
  if (step.proof.length > 0 || !runsCommand(step.executor)) return step.proof;
  return [{ line: exitLine, required: true }];
}

export function proofLines(step: TemplateStep): readonly Line[] {
  if (step.verify === undefined) return executorLines(step);
  return [...executorLines(step), { line: verifyLine(step.verify.command), required: true }];
}

function missingOf(node: RunNode, lines: readonly Line[]): string[] {
  return lines.filter((proof) => proof.required && !node.proven.has(proof.line)).map((proof) => proof.line);
}

/** Required lines that are not proven. */
export function missingLines(node: RunNode): string[] {
  return missingOf(node, proofLines(node.step));
}

/** Required lines that the executor has not proven. */
export function missingFromExecutor(node: RunNode): string[] {
  return missingOf(node, executorLines(node.step));
}

/**
 * The status of a run, computed from its nodes. A step that was left out other than by its own condition degrades the run:
 * skipped is neither success nor failure.
 */
export function statusOf(run: Run): RunStatus {
  let working = false;
  let needsYou = false;
  let failed = false;
  let degraded = false;
  for (const node of run.nodes.values()) {
    switch (node.status) {
      case 'needs_you':
        needsYou = true;
        break;
      case 'new':
      case 'ready':
      case 'working':
      case 'checking':
        working = true;
        break;
      case 'blocked':
        if (node.cause === 'gate') working = true;
        else failed = true;
        break;
      case 'failed':
        if (node.step.onFail === 'continue') degraded = true;
        else failed = true;
        break;
      case 'skipped':
        // A step that its own condition skips is as planned; any other skipped step is reported.
        if (node.cause !== 'when_false') degraded = true;
        break;
    }
  }
  if (needsYou) return 'needs_you';
  if (working) return 'running';
  if (run.cancelAt !== null) return 'cancelled';
  if (failed) return 'failed';
  return degraded ? 'degraded' : 'done';
}

export function isEnded(status: RunStatus): boolean {
  return status !== 'running' && status !== 'needs_you';
}

/** Nothing is heard of the bot or command that has it, but it still has it: its next report or activity continues the step. */
export function isSilent({ status, cause }: Pick<RunNode, 'status' | 'cause'>): boolean {
  return status === 'needs_you' && (cause === 'stalled' || cause === 'no_progress');
}

/** Its checker has it, not its executor. */
export function isBeingChecked({ holder, checker }: Pick<RunNode, 'holder' | 'checker'>): boolean {
  return holder !== null && holder === checker;
}

/** Whether anything of the run is under way at this moment. */
export function worksNow(run: Run): boolean {
  for (const node of run.nodes.values()) if (node.status === 'working' || node.status === 'checking') return true;
  return false;
}
