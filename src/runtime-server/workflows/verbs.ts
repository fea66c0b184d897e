/**
 * The actions of bots and people on nodes: who may, in which state, with which consequences. Where a proof is required, the bot that carried out a
 * step never checks it. Must not know HTTP.
 */
import { Readable } from 'node:stream';
import { AppError } from '../../contracts/common/errors.ts';
import type { NodeCard, NodePlan } from '../../contracts/factory/node.ts';
import { staleReport } from '../../contracts/factory/report-routes.ts';
import { largestProof } from '../../contracts/factory/workflow-routes.ts';
import type { Blobs } from '../../kit/blobs/blobs.ts';
import { iso } from '../../kit/clock/clock.ts';
import { type Actor, engineActor } from '../base/actor.ts';
import { proofPath } from './command-turns.ts';
import type { WorkflowDeps } from './deps.ts';
import {
  diffLine,
  exitLine,
  isBeingChecked,
  isCommand,
  isSilent,
  missingFromExecutor,
  missingLines,
  nodeOf,
  type RunNode,
  verifyLine,
} from './model.ts';
import { attemptFailed, executed, fail as failFinally, openGate, prove, retried, skip } from './rules.ts';
import type { Scheduler } from './scheduler.ts';
import { cardOf } from './store/campaigns.ts';
import { addProgress, isHolding, type ProofFile, saveNode } from './store/runs.ts';
import { conflict, type Work } from './work.ts';

/** The caller: a bot by its address, a person without one. */
export interface Caller extends Actor {
  readonly address: string | null;
}

export interface NodeRef {
  readonly dagId: string;
  readonly nodeId: string;
  readonly dryRun?: boolean;
}

type Answer = Promise<NodeCard | NodePlan>;

interface DoneGiven {
  readonly output?: string;
  readonly note?: string;
  /** The person took over its work before the bot reported it done, so that a step at work is closed, too. */
  readonly taken?: boolean;
}

export interface Verbs {
  claim(node: NodeRef, by: Caller): Answer;
  progress(node: NodeRef, by: Caller, text: string): Answer;
  done(node: NodeRef, by: Caller, given: DoneGiven): Answer;
  fail(node: NodeRef, by: Caller, reason: string): Answer;
  retry(node: NodeRef, by: Caller): Answer;
  skip(node: NodeRef, by: Caller, reason: string | null): Answer;
  gate(node: NodeRef, by: Caller, note: string | null): Answer;
  /** Adds a line of Gantry's own to the progress of a step; nothing if it is not there any more. */
  note(step: NodeRef, text: string): Promise<void>;
}

/** Rolls back the operation of a dry run and carries its result. */
class DryRun extends Error {
  readonly plan: NodePlan;
  constructor(plan: NodePlan) {
    super('dry run');
    this.plan = plan;
  }
}

type VerbDeps = WorkflowDeps & { readonly scheduler: Scheduler; readonly blobs: Blobs };

export function createVerbs(deps: VerbDeps): Verbs {
  async function act(ref: NodeRef, by: Caller, change: (work: Work, node: RunNode) => void): Answer {
    const actor = { actor: by.actor, surface: by.surface };
    try {
      const seq = await deps.scheduler.mutate(ref.dagId, actor, (work) => {
        const node = nodeOf(work.run, ref.nodeId);
        const from = node.status;
        takeReport(work, node, by);
        change(work, node);
        if (ref.dryRun === true) {
          const { dagId, nodeId, status: to, cause } = node;
          throw new DryRun({ dryRun: true, plan: { dagId, nodeId, from, to, cause, records: [...work.records] } });
        }
        return node.seq;
      });
      return await deps.store.read((tx) => cardOf(tx, ref.dagId, seq));
    } catch (error) {
      if (error instanceof DryRun) return error.plan;
      throw error;
    }
  }

  return {
    claim: (ref, by) =>
      act(ref, by, (work, node) => {
        if (by.address !== null) {
          claim(work, node, by.address);
          return;
        }
        endTurn(work, node);
        takeOver(work, node);
      }),
    progress: (ref, by, text) =>
      act(ref, by, (work, node) => {
        if (by.address !== null) requireExecutor(node, by.address);
        if (['new', 'blocked', 'skipped', 'cancelled'].includes(node.status))
          throw conflict(node, 'progress', 'Progress can be noted only while a step is in progress.');
        if (by.address !== null) takeUp(work, node);
        work.touch(node);
        noteProgress(work, node, by.address ?? 'person', text);
      }),
    async note(ref, text) {
      try {
        await deps.scheduler.mutate(ref.dagId, engineActor, (work) =>
          noteProgress(work, nodeOf(work.run, ref.nodeId), 'Gantry', text),
        );
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'not_found')) throw error;
      }
    },
    async done(ref, by, given) {
      const diff = by.address === null ? null : await keepDiff(by.address);
      return act(ref, by, (work, node) => {
        if (by.address === null) endTurn(work, node);
        done(work, node, by, given, diff);
      });
    },
    fail: (ref, by, reason) =>
      act(ref, by, (work, node) => {
        if (by.address === null) endTurn(work, node);
        fail(work, node, by, reason);
      }),
    retry: (ref, by) =>
      act(ref, by, (work, node) => {
        requireLiveRun(work, node, 'retry');
        if (node.status !== 'failed' && !(node.status === 'needs_you' && node.gate !== 'waiting')) {
          throw conflict(node, 'retry', 'Only a step that failed or waits for a person can be retried.');
        }
        refuseQueued(node, 'retry');
        endLeftovers(work, node);
        endTurn(work, node);
        retried(work, node);
      }),
    skip: (ref, by, reason) =>
      act(ref, by, (work, node) => {
        const waiting = ['new', 'needs_you', 'blocked', 'failed'].includes(node.status);
        if (!waiting && !(node.status === 'ready' && node.handed === 'no')) {
          throw conflict(node, 'skip', 'Only a step that is not in progress can be skipped.');
        }
        refuseQueued(node, 'skip');
        endLeftovers(work, node);
        endTurn(work, node);
        skip(work, node, reason);
      }),
    gate: (ref, by, note) =>
      act(ref, by, (work, node) => {
        if (node.gate !== 'waiting') throw conflict(node, 'gate', 'It does not wait at a gate.');
        openGate(work, node, note);
      }),
  };

  function noteProgress({ tx, now, by }: Work, node: RunNode, who: string, text: string): void {
    addProgress(tx, node, `- ${iso(now)} ${who}: ${text}\n`);
    deps.ledger.append(tx, {
      type: 'node.progress',
      subject: `node:${node.nodeId}`,
      actor: by.actor,
      surface: by.surface,
      body: { v: 1, dagId: node.dagId, nodeId: node.nodeId, text },
    });
  }

  /** The bot's changes in its worktree, as a file; null when there are none, or git cannot say. */
  async function keepDiff(address: string): Promise<Omit<ProofFile, 'name'> | null> {
    try {
      const patch = await deps.places.patchOf(address);
      if (patch === null) return null;
      const blob = await (await deps.blobs.receive(Readable.from([Buffer.from(patch)]), largestProof)).keep();
      return { sha256: blob.sha256, path: proofPath(blob.path), mime: 'text/x-diff', size: blob.size };
    } catch (error) {
      deps.log.warn(`The diff of ${address} could not be kept.`, { error: String(error) });
      return null;
    }
  }

  /** A person takes a silent step away: what has it would hang on, and what comes next would wait behind it. */
  function endTurn(work: Work, node: RunNode): void {
    const { holder, dagId, nodeId } = node;
    if (!isSilent(node)) return;
    if (holder === null) {
      // As it is now: the next attempt has a process of its own.
      deps.scheduler.end(work, { ...node }, 'cancelled');
      return;
    }
    work.after(() => {
      deps.stopBot?.(holder, { dagId, nodeId }).catch((error: unknown) => {
        deps.log.warn(`The turn of ${holder} could not be ended.`, { error: String(error) });
      });
    });
  }

  /** A process left from an earlier start of this program must not run beside its successor. */
  function endLeftovers(work: Work, node: RunNode): void {
    if (node.cause !== 'interrupted' || node.assignee !== 'shell') return;
    const left = deps.scheduler.leftovers(node);
    work.after(() => {
      for (const pid of left) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has already ended.
        }
      }
    });
  }
}

/** What a bot reported about an attempt that is over, or about a step that somebody else has now, changes nothing. */
export function takeReport(work: Work, node: RunNode, { report, address }: Caller): void {
  if (report === undefined) return;
  report.take(work.tx);
  const attempt = report.attemptOf(node.dagId, node.nodeId);
  if (attempt === null || (attempt === node.attempt && [node.assignee, node.checker].includes(address))) return;
  const now = attempt === node.attempt ? `${node.assignee} has it now` : `attempt ${node.attempt} is under way`;
  throw new AppError('refused', `The report is about attempt ${attempt} of ${node.title}; ${now}.`, 'Leave it.', {
    status: 409,
    wireCode: staleReport,
  });
}

/** Causes in which a bot may still be at work although a person was asked. */
const mayGoOn: readonly string[] = ['interrupted', 'unconfirmed', 'cancel_deadline', 'usage_limit'];

/** Its message lies in the queue of its bot and would arrive all the same. */
function refuseQueued(node: RunNode, verb: string): void {
  if (node.status !== 'needs_you' || node.cause !== 'budget') return;
  throw conflict(node, verb, `Raise the limit, or let the bot continue once: gantry agents go-on ${node.assignee}`);
}

/** A bot that reports has the node, whatever we knew of it. */
function takeUp(work: Work, node: RunNode): void {
  if (node.status === 'working' || node.status === 'checking') return;
  if (node.status === 'ready' && node.handed !== 'no') work.move(node, 'working', 'claimed');
  else if (node.status !== 'needs_you') return;
  else if (mayGoOn.includes(node.cause) || (isSilent(node) && node.holder === node.assignee))
    work.move(node, 'working', 'resumed');
}

function claim(work: Work, node: RunNode, address: string): void {
  requireExecutor(node, address);
  requireLiveRun(work, node, 'claim');
  if (node.status === 'working') return;
  if (node.status === 'ready' && node.handed === 'no') {
    for (const changed of work.touched) saveNode(work.tx, changed);
    if (isHolding(work.tx, address)) {
      throw new AppError(
        'refused',
        `${address} already works on another step: a bot works on one step at a time.`,
        'Finish that one first.',
        {
          status: 409,
        },
      );
    }
    node.attempt += 1;
    node.tries += 1;
    node.proven = new Set();
    node.wakeAt = node.step.timeoutMinutes === undefined ? null : work.now + node.step.timeoutMinutes * 60_000;
    node.holder = address;
    node.handed = 'sent';
    work.move(node, 'working', 'claimed');
    return;
  }
  takeUp(work, node);
  if ((node.status as string) !== 'working') throw conflict(node, 'claim', 'It cannot be claimed now.');
}

function takeOver(work: Work, node: RunNode): void {
  requireLiveRun(work, node, 'claim');
  const free = node.status === 'ready' || (node.status === 'needs_you' && node.gate !== 'waiting');
  if (!free) throw conflict(node, 'claim', 'Only a step that is ready or waits for a person can be taken over.');
  node.assignee = 'owner';
  node.holder = null;
  node.wakeAt = null;
  if (node.status === 'ready' && node.handed === 'no') node.attempt += 1;
  node.handed = 'no';
  work.move(node, 'working', 'claimed', 'A person has taken it over.');
}

function done(work: Work, node: RunNode, by: Caller, given: DoneGiven, diff: Omit<ProofFile, 'name'> | null): void {
  const note = given.note ?? null;
  const reviewing = isReview(node);
  if (by.address !== null && by.address === node.checker && reviewing) {
    work.proof(node, checkLine(by.address), 'proven', null);
    prove(work, node, 'proven', `Checked by ${by.address}.${note === null ? '' : ` ${note}`}`);
    return;
  }
  if (by.address === null && !(node.assignee === 'owner' && node.status === 'working')) {
    acceptByPerson(work, node, note, given);
    return;
  }
  if (by.address !== null) requireExecutor(node, by.address);
  // What is finished costs nothing more.
  if (node.cause === 'over_budget' && node.holder === by.address && node.holder !== null)
    work.move(node, 'working', 'resumed');
  takeUp(work, node);
  if (node.status !== 'working') throw conflict(node, 'done', 'It is not being worked on.');
  if (given.output !== undefined) work.output(node, given.output);
  if (node.cause === 'cancelling' || work.run.cancelAt !== null) {
    node.holder = null;
    work.move(node, 'cancelled', 'cancelled', 'It was already done when it was cancelled.');
    return;
  }
  if (diff !== null) work.proof(node, diffLine, 'proven', { ...diff, name: `${node.stepId}-${node.attempt}.diff` });
  const missing = missingFromExecutor(node);
  if (missing.length > 0) throw missingProof(node, missing);
  executed(work, node);
}

/** Lines of our own making a person may vouch for; a line of the template needs its file. */
function acceptByPerson(
  work: Work,
  node: RunNode,
  note: string | null,
  { output, taken = false }: Pick<DoneGiven, 'output' | 'taken'>,
): void {
  if (taken) takeUp(work, node);
  const open =
    (node.status === 'needs_you' && node.gate !== 'waiting') ||
    isReview(node) ||
    (taken && (node.status as string) === 'working');
  if (!open)
    throw conflict(
      node,
      'done',
      'A person can accept only a step that waits for a person. Claim it to do it yourself.',
    );
  if (work.run.cancelAt !== null) {
    node.holder = null;
    work.move(node, 'cancelled', 'cancelled', note);
    return;
  }
  const own: readonly string[] = [
    exitLine,
    node.step.verify === undefined ? exitLine : verifyLine(node.step.verify.command),
  ];
  const missing = missingLines(node);
  const needFile = missing.filter((line) => !own.includes(line));
  if (needFile.length > 0) throw missingProof(node, needFile);
  for (const line of missing) work.proof(node, line, 'proven', null);
  if (output !== undefined) work.output(node, output);
  prove(work, node, 'accepted', note);
}

function missingProof(node: RunNode, lines: readonly string[]): AppError {
  return new AppError(
    'refused',
    `${node.title} has no proof of: ${lines.join('; ')}.`,
    `Upload a file for each: gantry workspace proof ${node.dagId} ${node.nodeId} --line "<line>" <file>`,
    { status: 409 },
  );
}

function fail(work: Work, node: RunNode, by: Caller, reason: string): void {
  if (by.address !== null && by.address === node.checker && isReview(node)) {
    work.proof(node, checkLine(by.address), 'rejected', null);
    attemptFailed(work, node, 'rejected', `${by.address}: ${reason}`);
    return;
  }
  if (by.address !== null) {
    requireExecutor(node, by.address);
    takeUp(work, node);
    if (node.status !== 'working') throw conflict(node, 'fail', 'It is not being worked on.');
    attemptFailed(work, node, 'gave_up', reason);
    return;
  }
  const held = node.status === 'needs_you' && node.gate !== 'waiting';
  const byBot = node.status === 'working' && !isCommand(node);
  if (!held && !byBot && !isReview(node) && node.status !== 'ready') {
    throw conflict(
      node,
      'fail',
      'Only a step that is ready, in progress with a bot or waiting for a person can be given up.',
    );
  }
  if (work.run.cancelAt !== null) {
    node.holder = null;
    work.move(node, 'cancelled', 'cancelled', reason);
  } else failFinally(work, node, 'failed_by_person', reason);
}

function isReview(node: RunNode): boolean {
  if (node.handed === 'no') return false;
  return (
    (node.status === 'checking' && node.cause === 'reviewing') ||
    (node.status === 'needs_you' && node.cause === 'proof_to_accept') ||
    ((isSilent(node) || node.cause === 'over_budget') && isBeingChecked(node))
  );
}

const checkLine = (address: string) => `Checked by ${address}`;

function requireExecutor(node: RunNode, address: string): void {
  if (node.assignee === address) return;
  throw new AppError(
    'refused',
    `${node.title} belongs to ${node.assignee}, not to ${address}.`,
    'Leave it to its assignee.',
  );
}

function requireLiveRun(work: Work, node: RunNode, verb: string): void {
  if (work.run.cancelAt !== null) throw conflict(node, verb, 'Its run was cancelled. Start a new one.');
}
