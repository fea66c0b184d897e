/**
 * The scheduling rules: the consequences of an event at one node. Changes a {@link Run} through `move` and asks for effects; must not know SQL,
 * processes, messages or clocks.
 */
import type { NodeCause, NodeStatus } from '../../contracts/factory/node.ts';
import { isBeingChecked, isCommand, isSilent, missingLines, type Run, type RunNode } from './model.ts';
import { ancestorsOf } from './template/order.ts';
import type { ValueFor } from './template/references.ts';
import { holds, parseCondition } from './template/when.ts';

/** The part of the current operation that the rules need. */
export interface Play {
  readonly run: Run;
  readonly now: number;
  /** Moves a node; refuses a move outside the table. */
  move(node: RunNode, to: NodeStatus, cause: NodeCause, detail?: string | null): void;
  /** Notes that something other than the status has changed. */
  touch(node: RunNode): void;
  /** Makes the node wait its turn for a process or its bot. */
  enqueue(node: RunNode): void;
  /** Begins the check of the executor's work. */
  check(node: RunNode, by: 'command' | 'bot'): void;
  /** Begins to ask the gate's command. */
  pollGate(node: RunNode): void;
  valueFor: ValueFor;
  /** Nodes that have ended and whose children have not looked yet: see {@link drain}. */
  readonly ended: RunNode[];
}

/** Every node whose parents have all ended takes its next step. */
export function begin(play: Play): void {
  for (const node of play.run.nodes.values()) if (node.parents.length === 0) advance(play, node);
}

/** A node without a verdict of its own yet: checks its parents, its condition and its gate. */
function advance(play: Play, node: RunNode): void {
  const { run } = play;
  if (node.status !== 'new' || run.cancelAt !== null) return;
  if (run.stopping) {
    play.move(node, 'blocked', 'run_stopped');
    return;
  }
  const verdict = judgeParents(run, node);
  if (verdict === 'wait') return;
  if (verdict !== 'go') {
    play.move(node, verdict.to, verdict.cause, verdict.detail);
    if (verdict.to === 'skipped') settled(play, node);
    return;
  }
  if (node.step.when !== undefined && node.gate === 'closed') {
    const parsed = parseCondition(node.step.when);
    if ('condition' in parsed && !holds(parsed.condition, play.valueFor)) {
      play.move(node, 'skipped', 'when_false', `${node.step.when} is false.`);
      settled(play, node);
      return;
    }
  }
  if (node.step.waitGate !== null && node.gate !== 'open') waitAtGate(play, node);
  else {
    const cause = node.step.waitGate === null ? 'parents_done' : 'gate_open';
    makeReady(play, node, cause, node.cause === 'loop' ? node.detail : null);
  }
}

type Verdict = 'go' | 'wait' | { to: 'skipped' | 'blocked'; cause: NodeCause; detail: string };

/** A skipped parent skips its child with the reason, unless the join is explicit: `needsAny`, or a `when` that asks for its status. */
function judgeParents(run: Run, node: RunNode): Verdict {
  let good = 0;
  let skipped: RunNode | null = null;
  let failed: RunNode | null = null;
  for (const id of node.parents) {
    const parent = run.nodes.get(id) as RunNode;
    if (parent.status === 'done') good += 1;
    else if (parent.status === 'failed') {
      if (parent.step.onFail === 'continue') good += 1;
      else failed ??= parent;
    } else if (parent.status === 'skipped') {
      if (!asksStatusOf(node, parent.stepId)) skipped ??= parent;
    } else return 'wait';
  }
  if (failed !== null) return { to: 'blocked', cause: 'parent_failed', detail: `${failed.stepId} failed.` };
  if (skipped === null) return 'go';
  if (node.step.needsAny && good > 0) return 'go';
  const why = skipped.cause === 'parent_skipped' ? skipped.detail : `${skipped.stepId} was skipped: ${words(skipped)}`;
  const chain = skipped.cause === 'parent_skipped' ? `${skipped.stepId} was skipped because ${why}` : why;
  return { to: 'skipped', cause: 'parent_skipped', detail: (chain ?? '').slice(0, 1000) };
}

function words(node: RunNode): string {
  return node.detail ?? node.cause;
}

function asksStatusOf(node: RunNode, stepId: string): boolean {
  if (node.step.when === undefined || !node.step.when.includes('.status')) return false;
  const parsed = parseCondition(node.step.when);
  if ('problem' in parsed) return false;
  return parsed.condition.references.some((one) => one.kind === 'step' && one.what === 'status' && one.step === stepId);
}

function waitAtGate(play: Play, node: RunNode): void {
  const gate = node.step.waitGate;
  if (gate === null || node.gate === 'waiting') return;
  node.gate = 'waiting';
  if (gate.kind === 'manual') {
    play.move(node, 'needs_you', 'gate', gate.description ?? 'A person opens this gate.');
    return;
  }
  if (gate.kind === 'timer') {
    node.wakeAt = gate.until === undefined ? play.now + (gate.minutes ?? 0) * 60_000 : Date.parse(gate.until);
    play.move(node, 'blocked', 'gate', `until ${new Date(node.wakeAt).toISOString()}`);
    return;
  }
  node.wakeAt = null;
  play.move(node, 'blocked', 'gate', gate.description ?? 'until its command succeeds');
  play.pollGate(node);
}

export function openGate(play: Play, node: RunNode, detail: string | null): void {
  node.gate = 'open';
  node.wakeAt = null;
  makeReady(play, node, 'gate_open', detail);
}

function makeReady(play: Play, node: RunNode, cause: NodeCause, detail: string | null = null): void {
  if (play.run.stopping) {
    play.move(node, 'blocked', 'run_stopped');
    return;
  }
  node.holder = null;
  node.handed = 'no';
  node.delivery = null;
  play.move(node, 'ready', cause, detail);
  play.enqueue(node);
}

/** The executor reports that it is done, or its command ended well: the check follows. */
export function executed(play: Play, node: RunNode): void {
  node.wakeAt = null;
  node.holder = null;
  if (node.step.verify !== undefined) play.check(node, 'command');
  else if (node.checker !== null && node.assignee !== 'owner') play.check(node, 'bot');
  else if (isBots(node) && node.step.proof.some((proof) => proof.required)) {
    // Only the executor could confirm the proof: a person does instead.
    play.move(node, 'needs_you', 'proof_to_accept');
  } else prove(play, node, isBots(node) ? 'reported' : 'proven');
}

function isBots(node: RunNode): boolean {
  return !isCommand(node) && node.assignee !== 'owner';
}

/** The node is done, so nodes that wait for it continue. Required lines have been proven before. */
export function prove(play: Play, node: RunNode, cause: NodeCause, detail: string | null = null): void {
  const missing = missingLines(node);
  if (missing.length > 0)
    throw new Error(`Node ${node.nodeId} was to be done without its proof: ${missing.join('; ')}`);
  node.wakeAt = null;
  node.holder = null;
  play.move(node, 'done', cause, detail);
  settled(play, node);
}

/** An attempt failed: again after a pause, back to an earlier step, a person, or the end of it. */
export function attemptFailed(play: Play, node: RunNode, cause: NodeCause, detail: string | null): void {
  const { retry, onFail } = node.step;
  node.wakeAt = null;
  node.holder = null;
  node.handed = 'no';
  node.delivery = null;
  if (play.run.cancelAt !== null) {
    play.move(node, 'cancelled', 'cancelled', detail);
    return;
  }
  if (node.tries <= retry.max && !play.run.stopping) {
    node.wakeAt = play.now + retry.backoffSeconds * 1000 * 2 ** (node.tries - 1);
    const again = `${detail ?? cause} Attempt ${node.tries + 1} of ${retry.max + 1} at ${new Date(node.wakeAt).toISOString()}.`;
    play.move(node, 'ready', 'retry', again);
    return;
  }
  if (onFail === 'ask') {
    play.move(node, 'needs_you', 'ask', detail);
    return;
  }
  const target = play.run.byStep.get(onFail);
  if (target === undefined) {
    fail(play, node, cause, detail);
    return;
  }
  // The first pass is a round, too.
  if (node.rounds + 1 >= play.run.template.maxRounds) {
    fail(play, node, 'rounds_used_up', `${detail ?? cause} All ${play.run.template.maxRounds} rounds are used up.`);
    return;
  }
  node.rounds += 1;
  play.move(node, 'failed', cause, detail);
  loopBack(play, target, node);
}

/** Ends a node as finally failed. With `stop`, working nodes may finish and nothing new starts. */
export function fail(play: Play, node: RunNode, cause: NodeCause, detail: string | null): void {
  node.wakeAt = null;
  node.holder = null;
  play.move(node, 'failed', cause, detail);
  if (node.step.onFail === 'continue') {
    settled(play, node);
    return;
  }
  play.run.stopping = true;
  for (const other of play.run.nodes.values()) {
    if (other.status === 'new') {
      const below = other.parents.includes(node.nodeId);
      play.move(other, 'blocked', below ? 'parent_failed' : 'run_stopped', `${node.stepId} failed.`);
    } else if (other.status === 'ready' && other.handed === 'no') {
      other.wakeAt = null;
      play.move(other, 'blocked', 'run_stopped', `${node.stepId} failed.`);
    } else if (other.gate === 'waiting') {
      other.wakeAt = null;
      other.gate = 'closed';
      play.move(other, 'blocked', 'run_stopped', `${node.stepId} failed.`);
    }
  }
}

/** The nodes that a loop repeats: the target and everything below it that has begun, since it used the results of this round. */
function roundOf(run: Run, target: RunNode, failed: RunNode): RunNode[] {
  const steps = new Map(run.template.steps.map((step) => [step.id, step]));
  return [...run.nodes.values()].filter(
    (node) =>
      node.status !== 'new' &&
      (node === target || node === failed || ancestorsOf(node.stepId, steps).has(target.stepId)),
  );
}

/** It will end with a result of this round, and could not be told to start over in the middle. */
function isAtWork(node: RunNode): boolean {
  return node.status === 'working' || node.status === 'checking' || (node.status === 'ready' && node.handed !== 'no');
}

/** Goes back at once, or when nodes at work on this round have ended: their results would count for the next round. */
function loopBack(play: Play, target: RunNode, failed: RunNode): void {
  const again = roundOf(play.run, target, failed);
  // The next executor learns the reason.
  const why = `${failed.stepId} failed, round ${failed.rounds + 1} of ${play.run.template.maxRounds}. ${failed.detail ?? ''}`;
  const waits = again.some(isAtWork);
  for (const node of again) {
    const held = node.status === 'ready' || node.status === 'needs_you' || node.status === 'blocked';
    if (waits && (isAtWork(node) || !held)) continue;
    reset(node);
    play.move(node, 'new', 'loop', why.trim());
  }
  if (!waits) advance(play, target);
}

/** Failures that go back once nodes at work have ended. Failures that went back, were final or were handled do not count. */
function loopsThatWait(run: Run): { readonly target: RunNode; readonly failed: RunNode }[] {
  if (run.stopping || run.cancelAt !== null) return [];
  return [...run.nodes.values()].flatMap((failed) => {
    const target = failed.status === 'failed' ? run.byStep.get(failed.step.onFail) : undefined;
    return target === undefined ? [] : [{ target, failed }];
  });
}

function reset(node: RunNode): void {
  node.proven = new Set();
  node.holder = null;
  node.handed = 'no';
  node.delivery = null;
  node.tries = 0;
  node.wakeAt = null;
  node.gate = 'closed';
}

/** A node has ended: its children check their parents again. */
function settled(play: Play, node: RunNode): void {
  play.ended.push(node);
}

/** Lets the children of ended nodes continue. A list, not a recursion: thousands of steps may be skipped in a row. */
export function drain(play: Play): void {
  const mayBegin = goBack(play);
  for (let node = play.ended.pop(); node !== undefined; node = play.ended.pop()) {
    for (const child of play.run.children.get(node.nodeId) ?? []) if (mayBegin(child)) advance(play, child);
  }
}

/** After a restart every node looks at its parents again, as their children do in {@link drain}. */
export function advanceAll(play: Play): void {
  const mayBegin = goBack(play);
  for (const node of play.run.nodes.values()) if (mayBegin(node)) advance(play, node);
}

/** Loops that waited go back if they can. Below those that still wait, no node begins with results of a finished round. */
function goBack(play: Play): (node: RunNode) => boolean {
  for (const { target, failed } of loopsThatWait(play.run)) loopBack(play, target, failed);
  const back = loopsThatWait(play.run).map(({ target }) => target.stepId);
  const steps = new Map(play.run.template.steps.map((step) => [step.id, step]));
  return ({ stepId }) => {
    const before = back.length === 0 ? null : ancestorsOf(stepId, steps);
    return !back.some((step) => before?.has(step));
  };
}

/** A person has a node tried again: with all its attempts, whatever held it. Rounds that have ended count, unless they were used up. */
export function retried(play: Play, node: RunNode): void {
  if (node.status === 'failed') node.rounds = 0;
  reset(node);
  play.move(node, 'ready', 'retried');
  play.enqueue(node);
  resume(play);
}

/** A person continues without a node. */
export function skip(play: Play, node: RunNode, reason: string | null): void {
  node.wakeAt = null;
  node.holder = null;
  node.gate = 'closed';
  play.move(node, 'skipped', 'skipped_by_person', reason);
  settled(play, node);
  resume(play);
}

/** After a person has handled a failure: nodes that it held back may continue unless another failure holds them. */
function resume(play: Play): void {
  const { run } = play;
  const stands = [...run.nodes.values()].some((node) => node.status === 'failed' && node.step.onFail !== 'continue');
  if (stands) return;
  run.stopping = false;
  const held = [...run.nodes.values()].filter((node) => node.status === 'blocked' && node.cause !== 'gate');
  for (const node of held) {
    node.gate = 'closed';
    play.move(node, 'new', 'created');
  }
  for (const node of held) advance(play, node);
}

/** Nothing new starts; waiting nodes are cancelled; working ones are asked to end. Returns the nodes that still work. */
export function cancel(play: Play, deadline: number): RunNode[] {
  play.run.cancelAt = deadline;
  const working: RunNode[] = [];
  for (const node of play.run.nodes.values()) {
    // A silent bot still has its step, and is asked to end like one at work.
    if (isSilent(node)) play.move(node, isBeingChecked(node) ? 'checking' : 'working', 'resumed');
    if (node.status === 'working' || node.status === 'checking') {
      working.push(node);
      node.wakeAt = null;
      node.cause = 'cancelling';
      play.touch(node);
    } else if (['new', 'ready', 'needs_you', 'blocked'].includes(node.status)) {
      node.wakeAt = null;
      node.holder = null;
      play.move(node, 'cancelled', 'cancelled');
    }
  }
  return working;
}

/** A node's time has come: its pause is over, its gate opens, or it has worked too long. */
export function wake(play: Play, node: RunNode, stop: () => void): void {
  if (node.status === 'ready') {
    play.touch(node);
    play.enqueue(node);
  } else if (node.status === 'blocked' && node.gate === 'waiting') {
    if (node.step.waitGate?.kind === 'timer') openGate(play, node, null);
    else play.pollGate(node);
  } else if ((node.status === 'working' || isSilent(node)) && !isCommand(node)) {
    attemptFailed(play, node, 'timed_out', `It took longer than ${node.step.timeoutMinutes} minutes.`);
  } else if (node.status === 'working' || node.status === 'checking' || isSilent(node)) stop();
}

/** Nodes that still work at the deadline of a cancel are held for inspection. */
export function holdAtDeadline(play: Play): void {
  if (play.run.cancelAt === null || play.run.cancelAt > play.now) return;
  for (const node of play.run.nodes.values()) {
    if (node.status === 'working' || node.status === 'checking') play.move(node, 'needs_you', 'cancel_deadline');
  }
}
