/**
 * Commands of nodes: started in order while slots are free, or given to a worker of the queue at once; their ends become operations. The attempt is
 * durable before its process starts, so that no attempt is ever started twice. Knows processes; must not know bots.
 */
import { basename, join } from 'node:path';
import type { Blob, Blobs } from '../../kit/blobs/blobs.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { PlaceCommand, WorkPlaces } from './deps.ts';
import { diffLine, executorLines, isCommand, isSilent, type RunNode, verifyLine } from './model.ts';
import type { Queues, Turn } from './queues.ts';
import { attemptFailed, executed, openGate, prove } from './rules.ts';
import { maxPrinted, type Shell, type ShellEnd, type StopReason } from './shell.ts';
import { type ProofFile, saveOutput } from './store/runs.ts';
import { toShell } from './template/shell-text.ts';
import type { Work } from './work.ts';
import type { WorkerEnd, WorkerState, WorkerSteps } from './worker-steps/index.ts';

export interface CommandTurns {
  add(node: RunNode, turn: Turn): void;
  /** Puts the node's verify command in the queue. */
  verify(work: Work, node: RunNode): void;
  pollGate(work: Work, node: RunNode): void;
  /** Takes up a command again that a worker has, or that none has yet: Gantry was away. */
  resume(work: Work, node: RunNode): void;
  /** Ends tasks of workers that none of these nodes asks for. */
  endOthers(wanted: readonly RunNode[]): Promise<void>;
  /** Begins the first commands in the queue as long as they are of this run and slots are free. */
  startDue(work: Work): void;
  /** Gives other runs the free slots, and steps that have just become ready to workers. */
  pump(): void;
  /** Returns the slots of commands that did not begin. */
  forget(dagId: string): void;
  stop(node: RunNode, reason: StopReason): void;
  /** Bytes that the node's command printed; null while it does not run. */
  printed(node: Pick<RunNode, 'nodeId' | 'attempt'>): number | null;
  /** Processes that an earlier run of this program left of this node. */
  leftovers(node: RunNode): number[];
  close(): void;
}

type CommandEnd = ShellEnd | WorkerEnd;
type Ended = Extract<CommandEnd, { kind: 'ended' }>;

/** Seconds between two runs of a gate's command, unless its template sets another value. */
const gatePollSeconds = 30;

export function createCommandTurns(deps: {
  readonly shell: Shell;
  readonly workers: WorkerSteps;
  readonly workspace: string;
  readonly blobs: Blobs;
  readonly places: Pick<WorkPlaces, 'folderOf'>;
  readonly queues: Queues;
  readonly timers: Timers;
  readonly slots: number;
  readonly place?: PlaceCommand | undefined;
  /** A budget is used up: then it is held, and does not begin. */
  holdBack(work: Work, node: RunNode): boolean;
  persist(dagId: string, change: (work: Work) => void): void;
}): CommandTurns {
  const { queues, shell, workers } = deps;
  /** Jobs that hold a slot; false until the process has really been asked for. */
  const slots = new Map<string, { readonly dagId: string; begun: boolean }>();
  const polls = new Set<string>();
  /** By their runs. They take no slot: their commands run elsewhere. */
  const forWorkers = new Map<string, RunNode[]>();
  let closed = false;

  const keyOf = (node: Pick<RunNode, 'nodeId' | 'attempt'>, turn: Turn | 'gate') =>
    `${node.nodeId}-${node.attempt}-${turn}`;

  function startDue(work: Work): void {
    for (const { nodeId } of forWorkers.get(work.run.dagId) ?? []) {
      const node = work.run.nodes.get(nodeId);
      if (node !== undefined) startCommand(work, node);
    }
    forWorkers.delete(work.run.dagId);
    while (slots.size < deps.slots && queues.firstCommand()?.dagId === work.run.dagId) {
      const waiting = queues.takeCommand();
      const node = waiting === undefined ? undefined : work.run.nodes.get(waiting.nodeId);
      if (node === undefined) continue;
      if (waiting?.turn === 'verify') startVerify(work, node);
      else startCommand(work, node);
    }
  }

  function startCommand(work: Work, node: RunNode): void {
    if (node.status !== 'ready' || node.wakeAt !== null || !isCommand(node)) return;
    const { timeoutMinutes } = node.step;
    if (deps.holdBack(work, node)) return;
    node.attempt += 1;
    node.tries += 1;
    node.proven = new Set();
    node.wakeAt = timeoutMinutes === undefined ? null : work.now + timeoutMinutes * 60_000;
    if (node.assignee === 'queue') {
      work.move(node, 'working', 'awaits_worker');
      giveToWorker(work, node);
      return;
    }
    work.move(node, 'working', 'started');
    launch(work, node, 'run', commandOf(node), (end) => onCommandEnd(node, end));
  }

  function commandOf({ stepId, step }: RunNode): string {
    if (step.command === undefined) throw new Error(`Step ${stepId} has no command.`);
    return step.command;
  }

  function giveToWorker(work: Work, node: RunNode): void {
    const { dagId, nodeId, attempt, title, step } = node;
    const own = folderFor(work, node);
    const job = {
      ...{ key: keyOf(node, 'run'), dagId, nodeId, attempt, title, ...shellOf(work, node, commandOf(node)) },
      cwd: own ?? deps.workspace,
      labels: step.labels ?? {},
      timeoutMinutes: step.timeoutMinutes,
      // What a bot has made is part of its work; in the person's own checkout it may be anything.
      trackedOnly: own === null,
    };
    work.after(() =>
      workers.start(job, {
        tell: (state) => onWorkerState(node, attempt, state),
        end: (end) => onCommandEnd({ ...node, attempt }, end),
      }),
    );
  }

  function onWorkerState({ dagId, nodeId }: RunNode, attempt: number, { cause, detail }: WorkerState): void {
    if (closed) return;
    deps.persist(dagId, (work) => {
      const now = work.run.nodes.get(nodeId);
      if (now === undefined || now.attempt !== attempt || now.status !== 'working' || now.cause === 'cancelling')
        return;
      if (now.cause !== cause || now.detail !== detail) work.move(now, 'working', cause, detail);
    });
  }

  function startVerify(work: Work, node: RunNode): void {
    const { verify, timeoutMinutes } = node.step;
    if (node.status !== 'checking' || node.cause !== 'verifying' || verify === undefined) return;
    if (slots.has(keyOf(node, 'verify'))) return;
    node.wakeAt = timeoutMinutes === undefined ? null : work.now + timeoutMinutes * 60_000;
    work.touch(node);
    launch(work, node, 'verify', verify.command, (end) => onVerifyEnd(node, end));
  }

  function launch(work: Work, node: RunNode, turn: Turn, command: string, onEnd: (end: ShellEnd) => void): void {
    const key = keyOf(node, turn);
    const slot = { dagId: node.dagId, begun: false };
    const place = deps.place?.(work.run) ?? undefined;
    const job = { key, cwd: folderFor(work, node), ...shellOf(work, node, command), place };
    slots.set(key, slot);
    work.after(() => {
      slot.begun = true;
      shell.start(job, (end) => {
        slots.delete(key);
        if (!closed) onEnd(end);
      });
    });
  }

  /** A check of a bot's work runs in the bot's folder, and so does a step that names whose work it is about. */
  function folderFor(work: Work, node: RunNode): string | null {
    const about = node.step.in === undefined ? node : work.run.byStep.get(node.step.in);
    return about === undefined || !about.assignee.includes('@') ? null : deps.places.folderOf(about.assignee);
  }

  function shellOf(work: Work, node: RunNode, command: string) {
    const { text, env } = toShell(command, work.valueFor);
    const facts = {
      GANTRY_DAG: node.dagId,
      GANTRY_NODE: node.nodeId,
      GANTRY_STEP: node.stepId,
      GANTRY_ATTEMPT: String(node.attempt),
    };
    return { text, env: { ...env, ...facts } };
  }

  /** The file of a job's output, kept under its hash; null when the disk refuses: the end counts all the same. */
  async function keepLog(node: RunNode, turn: Turn, end: Ended): Promise<ProofFile | null> {
    try {
      const blob = await deps.blobs.adopt(end.log.file, end.log.handle);
      const name = `${node.stepId}-${node.attempt}${turn === 'verify' ? '-verify' : ''}.log`;
      return { sha256: blob.sha256, path: proofPath(blob.path), name, mime: 'text/plain', size: blob.size };
    } catch {
      return null;
    }
  }

  function onCommandEnd(node: RunNode, end: CommandEnd): void {
    const { attempt } = node;
    const diff = 'patch' in end && end.patch !== null ? diffOf(node, end.patch) : null;
    const settle = (log: ProofFile | null) =>
      deps.persist(node.dagId, (work) => {
        if (node.assignee === 'queue') work.after(() => workers.forget(keyOf(node, 'run')));
        const now = work.run.nodes.get(node.nodeId);
        if (now === undefined || now.attempt !== attempt || (now.status !== 'working' && !isSilent(now))) return;
        if (now.cause === 'cancelling') work.move(now, 'cancelled', 'cancelled', failureOf(end).detail);
        else if (end.kind === 'ended' && end.code === 0 && end.stopped === null) {
          if (end.output !== '') saveOutput(work.tx, now, end.output);
          for (const { line } of executorLines(now.step)) work.proof(now, line, 'proven', log);
          if (diff !== null) work.proof(now, diffLine, 'proven', diff);
          executed(work, now);
        } else {
          const failure = failureOf(end);
          if (end.kind === 'ended' && end.output !== '') saveOutput(work.tx, now, end.output);
          for (const { line } of executorLines(now.step)) work.proof(now, line, 'rejected', log);
          if (diff !== null) work.proof(now, diffLine, 'rejected', diff);
          attemptFailed(work, now, failure.cause, failure.detail);
        }
      });
    if (end.kind === 'ended') void keepLog(node, 'run', end).then(settle);
    else settle(null);
  }

  function onVerifyEnd(node: RunNode, end: ShellEnd): void {
    const { attempt } = node;
    const settle = (log: ProofFile | null) =>
      deps.persist(node.dagId, (work) => {
        const now = work.run.nodes.get(node.nodeId);
        if (now === undefined || now.attempt !== attempt || now.status !== 'checking') return;
        const line = verifyLine(now.step.verify?.command ?? '');
        const good = end.kind === 'ended' && end.code === 0 && end.stopped === null;
        if (now.cause === 'cancelling') work.move(now, 'cancelled', 'cancelled');
        else if (good) {
          work.proof(now, line, 'proven', log);
          prove(work, now, 'proven');
        } else {
          work.proof(now, line, 'rejected', log);
          attemptFailed(work, now, 'verify_failed', `The check failed. ${failureOf(end).detail}`);
        }
      });
    if (end.kind === 'ended') void keepLog(node, 'verify', end).then(settle);
    else settle(null);
  }

  function pollGate(work: Work, node: RunNode): void {
    const command = node.step.waitGate?.command;
    const key = keyOf(node, 'gate');
    if (command === undefined || polls.has(key)) return;
    const job = { key, cwd: null, ...shellOf(work, node, command) };
    polls.add(key);
    work.after(() =>
      shell.start(job, (end) => {
        polls.delete(key);
        if (end.kind === 'ended') void deps.blobs.adopt(end.log.file, end.log.handle).catch(() => {});
        if (!closed) onPollEnd(node, end);
      }),
    );
  }

  function onPollEnd(node: RunNode, end: ShellEnd): void {
    deps.persist(node.dagId, (work) => {
      const now = work.run.nodes.get(node.nodeId);
      if (now === undefined || now.status !== 'blocked' || now.gate !== 'waiting') return;
      if (end.kind === 'ended' && end.code === 0) {
        openGate(work, now, null);
        return;
      }
      now.wakeAt = work.now + (now.step.waitGate?.everySeconds ?? gatePollSeconds) * 1000;
      work.touch(now);
    });
  }

  return {
    add(node, turn) {
      const { dagId, nodeId } = node;
      if (turn === 'run' && node.assignee === 'queue') forWorkers.set(dagId, [...(forWorkers.get(dagId) ?? []), node]);
      else queues.addCommand({ dagId, nodeId, turn });
    },
    verify(work, node) {
      work.move(node, 'checking', 'verifying');
      queues.addCommand({ dagId: node.dagId, nodeId: node.nodeId, turn: 'verify' });
    },
    pollGate,
    resume(work, node) {
      giveToWorker(work, node);
      if (node.cause === 'cancelling') work.after(() => workers.stop(keyOf(node, 'run'), 'cancelled'));
    },
    endOthers: (wanted) => workers.endOthers(new Set(wanted.map((node) => keyOf(node, 'run')))),
    startDue,
    pump() {
      for (const dagId of forWorkers.keys()) deps.persist(dagId, () => {});
      const first = queues.firstCommand();
      if (first !== undefined && slots.size < deps.slots) deps.persist(first.dagId, () => {});
    },
    forget(dagId) {
      for (const [key, slot] of slots) if (slot.dagId === dagId && !slot.begun) slots.delete(key);
      forWorkers.delete(dagId);
    },
    stop(node, reason) {
      if (node.assignee === 'queue' && reason !== 'output_too_large' && reason !== 'closing') {
        workers.stop(keyOf(node, 'run'), reason);
      }
      shell.stop(keyOf(node, 'run'), reason);
      shell.stop(keyOf(node, 'verify'), reason);
    },
    printed: (node) => shell.printed(keyOf(node, 'run')),
    leftovers: (node) => shell.leftovers([keyOf(node, 'run'), keyOf(node, 'verify')]),
    close() {
      closed = true;
    },
  };
}

function diffOf({ stepId, attempt }: RunNode, { sha256, size, path }: Blob): ProofFile {
  return { sha256, size, path: proofPath(path), name: `${stepId}-${attempt}.diff`, mime: 'text/x-diff' };
}

/** Where a kept file lies in the workspace. */
export function proofPath(blobPath: string): string {
  return `.gantry/ledger/proofs/${blobPath}`;
}

/** A name for a file that came from outside: no path, nothing hidden. */
export function plainName(name: string): string {
  const last = basename(name.replaceAll('\\', '/')).replace(/\p{Cc}/gu, '');
  return last.replace(/^\.+/, '').slice(0, 200) || 'file';
}

export function logsFolder(workspace: string): string {
  return join(workspace, '.gantry', 'ledger', 'running');
}

interface Failure {
  readonly cause:
    | Extract<WorkerEnd, { kind: 'given_up' }>['cause']
    | 'cannot_start'
    | 'timed_out'
    | 'output_too_large'
    | 'exit_status';
  readonly detail: string;
}

/** Characters at the end of an output that a failure shows. */
const shownOutput = 1500;

function failureOf(end: CommandEnd): Failure {
  if (end.kind === 'given_up') return end;
  if (end.kind === 'cannot_start') return { cause: 'cannot_start', detail: end.why };
  if (end.stopped === 'timed_out') return { cause: 'timed_out', detail: 'It timed out; its processes were ended.' };
  if (end.stopped === 'output_too_large') {
    return { cause: 'output_too_large', detail: `It printed more than ${maxPrinted} bytes and was ended.` };
  }
  const how = end.code === null ? `It was ended by ${end.signal}.` : `It ended with status ${end.code}.`;
  const tail = end.output.slice(-shownOutput).trim();
  return { cause: 'exit_status', detail: tail === '' ? how : `${how} ${tail}` };
}
