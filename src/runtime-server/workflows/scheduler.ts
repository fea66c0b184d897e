/**
 * Drives runs: every event becomes one operation on one run (`mutate`), the rules decide its consequences, and nodes that wait for a slot or a bot
 * begin in order. Runs that have not ended are held in memory; a refused write forgets them, and they are read again. Must not know HTTP.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Agent } from '../../contracts/factory/agent.ts';
import type { Delivery } from '../../contracts/factory/delivery.ts';
import type { NodeLease } from '../../contracts/factory/node-lease.ts';
import type { Blobs } from '../../kit/blobs/blobs.ts';
import type { Tx } from '../../kit/store/store.ts';
import { type Actor, engineActor } from '../base/actor.ts';
import type { GoOn } from '../usage/deps.ts';
import { createBotRuns } from './bot-runs.ts';
import { createBotTurns } from './bot-turns.ts';
import { type Budgets, createBudgets } from './budgets/index.ts';
import { type CommandTurns, createCommandTurns } from './command-turns.ts';
import type { WorkflowDeps } from './deps.ts';
import { createGates } from './gates.ts';
import { isCommand, isEnded, proofLines, type Run, type RunNode, worksNow } from './model.ts';
import { createQueues } from './queues.ts';
import { recover } from './recovery.ts';
import { fail, holdAtDeadline, openGate, wake } from './rules.ts';
import type { Shell } from './shell.ts';
import { createSilence, type LeaseFigures } from './silence.ts';
import { handedNodes, loadRun, openRuns } from './store/runs.ts';
import { createWork, type Work } from './work.ts';
import type { WorkerSteps } from './worker-steps/index.ts';

/** An agent's work, as it shows it. */
export type AgentWork = Pick<Agent, 'currentNode' | 'proof'>;

export interface Scheduler {
  /** Takes up what an earlier run of this program left. */
  start(): Promise<void>;
  /** One operation on a run, in one transaction. What `change` throws rolls it back. */
  mutate<T>(dagId: string, by: Actor, change: (work: Work) => T): Promise<T>;
  /** As {@link mutate}, inside an operation that is under way: for a run that has just been inserted. */
  begin(tx: Tx, run: Run, by: Actor, change: (work: Work) => void): void;
  /** The result of a send that hands a node over. */
  delivered(delivery: Delivery): void;
  /** The node that a bot holds now, by its address. */
  workOf(address: string): AgentWork;
  /** A usage limit cut this bot off. */
  limited(address: string, why: string, waits: boolean): void;
  /** It may continue. Returns whether a node of it waited for that. */
  goOn(address: string, how?: GoOn): Promise<boolean>;
  /** Asks what executes a node to end: its processes, or its bot by a message. */
  end(work: Work, node: RunNode, reason: 'cancelled' | 'timed_out'): void;
  leftovers: CommandTurns['leftovers'];
  readonly budgets: Pick<Budgets, 'begin' | 'ofCampaign' | 'list' | 'set' | 'mayAsk'>;
  /** Of a step under way, by its id. */
  leaseOf(nodeId: string): NodeLease | null;
  leaseFigures(): LeaseFigures;
  /** Whether what a bot uses now counts for a budget. */
  isCounted(address: string): boolean;
  /** Called with the id of each run and node that has moved, after the commit. Returns a function that unsubscribes. */
  onMoved(listener: (id: string) => void): () => void;
  close(): void;
}

/** How often an operation is tried again while the disk refuses. */
const refusedPauseMs = 1000;
/** Timers hold at most 2^31 ms; longer waits are armed again. */
const maxTimerMs = 24 * 3600 * 1000;

export function createScheduler(
  deps: WorkflowDeps & {
    readonly shell: Shell;
    readonly workers: WorkerSteps;
    readonly blobs: Blobs;
  },
): Scheduler {
  const live = new Map<string, Run>();
  const { arm, closeAlarms } = createAlarms(deps);
  const holdings = createHoldings();
  const queues = createQueues();
  const moved = new Set<(id: string) => void>();
  let closed = false;

  const budgets = createBudgets({ ...deps, persist, inside });
  const { holdBack } = budgets;
  const commands = createCommandTurns({ ...deps, queues, holdBack, persist });
  const bots = createBotTurns({ ...deps, queues, holdBack, persist });
  const silence =
    deps.watch === undefined ? null : createSilence({ ...deps, watch: deps.watch, printed: commands.printed, persist });

  const ways = {
    ledger: deps.ledger,
    botRuns: createBotRuns(deps),
    events: deps.events,
    enqueue(node: RunNode) {
      if (isCommand(node)) commands.add(node, 'run');
      else if (node.assignee !== 'owner') bots.add(node, 'run');
    },
    check(work: Work, node: RunNode, by: 'command' | 'bot') {
      if (by === 'command') commands.verify(work, node);
      else bots.review(work, node);
    },
    pollGate: commands.pollGate,
  };

  const gates =
    deps.approvals === null
      ? null
      : createGates({
          approvals: deps.approvals,
          log: deps.log,
          answered(tx, { dagId, nodeId, verdict, by }) {
            inside(tx, dagId, by, (work) => {
              const node = work.run.nodes.get(nodeId);
              if (node === undefined || node.status !== 'needs_you' || node.gate !== 'waiting') return;
              if (verdict.kind === 'approve') openGate(work, node, verdict.note);
              else {
                node.gate = 'closed';
                fail(work, node, 'gate_rejected', verdict.note);
              }
            });
          },
        });

  /** Gantry may have ended after a delivery did, but before its step was told; nobody else would tell it. */
  async function deliveriesOfHanded(dagId: string): Promise<Delivery[]> {
    const handed = await deps.store.read((tx) => handedNodes(tx, dagId));
    const found = await Promise.all(
      handed.map(async ({ nodeId, delivery }) => (await deps.deliveriesOf(nodeId)).find(({ id }) => id === delivery)),
    );
    return found.filter((one) => one !== undefined);
  }

  /** One operation in a caller's transaction. Whether it commits is unknown here, so nothing of it stays in memory. */
  function inside(tx: Tx, dagId: string, by: Actor, change: (work: Work) => void): void {
    live.delete(dagId);
    const run = loadRun(tx, deps.workspace, dagId);
    if (run !== null) operate(createWork(ways, tx, run, deps.clock.now(), by), change);
  }

  function mutate<T>(dagId: string, by: Actor, change: (work: Work) => T): Promise<T> {
    let ours: Work | null = null;
    const done = deps.store.write((tx) => {
      const run = live.get(dagId) ?? loadRun(tx, deps.workspace, dagId);
      if (run === null) throw unknownRun(dagId);
      live.set(dagId, run);
      ours = createWork(ways, tx, run, deps.clock.now(), by);
      try {
        return operate(ours, change);
      } catch (error) {
        forget(dagId, ours);
        throw error;
      }
    });
    done.catch(() => {
      if (ours !== null) forget(dagId, ours);
    });
    return done;
  }

  function operate<T>(work: Work, change: (work: Work) => T): T {
    const result = change(work);
    commands.startDue(work);
    bots.startDue(work);
    work.finish();
    work.after(() => settle(work));
    return result;
  }

  /** After the commit: timers, and turns of other runs that can be taken now. */
  function settle(work: Work): void {
    const { run } = work;
    for (const node of work.touched) {
      gates?.through(node.nodeId, work.by.surface);
      settleNode(node, run);
    }
    // Only while something works: a deadline that has passed must not come again.
    const ends = isEnded(run.status) || run.cancelAt === null || !worksNow(run) ? null : run.cancelAt;
    arm(run.dagId, ends, () => persist(run.dagId, (again) => holdAtDeadline(again)));
    if (isEnded(run.status)) live.delete(run.dagId);
    if (work.touched.size > 0) {
      const ids = [run.dagId, ...[...work.touched].map((node) => node.nodeId)];
      for (const listener of moved) for (const id of ids) listener(id);
    }
    commands.pump();
    bots.pump();
  }

  function settleNode(node: RunNode, run: Run): void {
    gates?.sync(node, run.title);
    silence?.follow(node);
    budgets.follow(node, run);
    arm(`${node.dagId} ${node.nodeId}`, node.wakeAt, () => wakeNode(node.dagId, node.nodeId));
    const before = holdings.follow(node);
    if (node.holder !== null) deps.handed?.(node.holder, node);
    if (before !== undefined && before !== node.holder) bots.freed(before);
  }

  /** The changes in memory were not stored: the run is read again, and its pending starts happen then. */
  function forget(dagId: string, work: Work): void {
    if (work.touched.size === 0) return;
    live.delete(dagId);
    commands.forget(dagId);
    persist(dagId, (again) => requeue(again.run));
  }

  function requeue(run: Run): void {
    for (const node of run.nodes.values()) {
      if (node.status === 'ready' && node.handed === 'no' && node.wakeAt === null) ways.enqueue(node);
      else if (node.status === 'checking' && node.cause === 'verifying') commands.add(node, 'verify');
      else if (node.status === 'checking' && node.handed === 'no') bots.add(node, 'review');
    }
  }

  /** An operation of the engine's own: tried until the disk takes it. */
  function persist(dagId: string, change: (work: Work) => void): void {
    if (closed) return;
    mutate(dagId, engineActor, change).catch((error: unknown) => {
      if (closed) return;
      if (error instanceof AppError && error.code === 'transport') {
        deps.timers.after(refusedPauseMs, () => persist(dagId, change));
        return;
      }
      // A send may name an unknown run.
      if (error instanceof AppError && error.code === 'not_found') return;
      deps.log.warn(`Run ${dagId} could not be moved.`, {
        error: error instanceof Error ? (error.stack ?? '') : String(error),
      });
    });
  }

  function wakeNode(dagId: string, nodeId: string): void {
    persist(dagId, (work) => {
      const node = work.run.nodes.get(nodeId);
      if (node === undefined || node.wakeAt === null) return;
      if (node.wakeAt > work.now) {
        // The wall clock was set back: it decides what is due, not the timer.
        const at = node.wakeAt;
        work.after(() => arm(`${dagId} ${nodeId}`, at, () => wakeNode(dagId, nodeId)));
        return;
      }
      node.wakeAt = null;
      work.touch(node);
      wake(work, node, () => end(work, node, 'timed_out'));
    });
  }

  function end(work: Work, node: RunNode, reason: 'cancelled' | 'timed_out'): void {
    if (isCommand(node) || node.status === 'checking') work.after(() => commands.stop(node, reason));
    if (reason === 'cancelled' && node.holder !== null) bots.tellCancelled(work, node);
  }

  return {
    mutate,
    end,
    workOf: (address) => holdings.of(address),
    limited(address, why, waits) {
      const at = holdings.of(address).currentNode;
      if (at === null) return;
      persist(at.dagId, (work) => {
        const node = work.run.nodes.get(at.nodeId);
        if (node?.assignee === address && node.holder === address) bots.limited(work, node, why, waits);
      });
    },
    async goOn(address, how = { over: 'The usage limit that stopped you is over.', afresh: false }) {
      const at = holdings.of(address).currentNode;
      if (at === null) return false;
      return mutate(at.dagId, engineActor, (work) => {
        const node = work.run.nodes.get(at.nodeId);
        return node?.assignee === address && node.holder === address && bots.goOn(work, node, how);
      });
    },
    leftovers: commands.leftovers,
    budgets,
    leaseOf: (nodeId) => silence?.of(nodeId) ?? null,
    leaseFigures: () => silence?.figures() ?? { states: { running: 0, paused: 0, run_out: 0 }, quietestMs: 0 },
    isCounted: budgets.isCounted,
    onMoved(listener) {
      moved.add(listener);
      return () => moved.delete(listener);
    },
    begin(tx, run, by, change) {
      live.set(run.dagId, run);
      const work = createWork(ways, tx, run, deps.clock.now(), by);
      try {
        operate(work, change);
      } catch (error) {
        live.delete(run.dagId);
        throw error;
      }
    },
    delivered: bots.delivered,
    async start() {
      const open = await deps.store.read((tx) => openRuns(tx, deps.workspace));
      const atWorkers: RunNode[] = [];
      await budgets.load(open);
      await Promise.all(
        open.map(async (dagId) => {
          const landed = await deliveriesOfHanded(dagId);
          await mutate(dagId, engineActor, (work) => {
            for (const delivery of landed) bots.landed(work, delivery);
            recover(work, {
              again: bots.again,
              resume(again, node) {
                atWorkers.push(node);
                commands.resume(again, node);
              },
              requeue,
            });
            work.after(() => {
              for (const node of work.run.nodes.values()) settleNode(node, work.run);
            });
          });
        }),
      );
      await commands.endOthers(atWorkers);
      budgets.start(open);
    },
    close() {
      closed = true;
      budgets.close();
      gates?.close();
      silence?.close();
      closeAlarms();
      bots.close();
      commands.close();
    },
  };
}

/** One timer for each key, at a time of the wall clock. */
function createAlarms({ clock, timers }: Pick<WorkflowDeps, 'clock' | 'timers'>) {
  const all = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  let closed = false;

  function arm(key: string, at: number | null, effect: () => void): void {
    const armed = all.get(key);
    if (armed?.at === at) return;
    armed?.cancel();
    all.delete(key);
    if (at === null || closed) return;
    const left = Math.max(0, at - clock.now());
    const fire = () => {
      all.delete(key);
      if (left > maxTimerMs) arm(key, at, effect);
      else effect();
    };
    all.set(key, { at, cancel: timers.after(Math.min(left, maxTimerMs), fire) });
  }

  return {
    arm,
    closeAlarms() {
      closed = true;
      for (const armed of all.values()) armed.cancel();
      all.clear();
    },
  };
}

/** Which bot holds a node, and which node a bot holds, as of the last commit. */
function createHoldings() {
  const holders = new Map<string, string>();
  const held = new Map<string, AgentWork>();
  return {
    of: (address: string): AgentWork => held.get(address) ?? idle,
    /** Returns who held the node before. */
    follow(node: RunNode): string | undefined {
      const before = holders.get(node.nodeId);
      if (before !== undefined && held.get(before)?.currentNode?.nodeId === node.nodeId) held.delete(before);
      if (node.holder === null) holders.delete(node.nodeId);
      else {
        holders.set(node.nodeId, node.holder);
        held.set(node.holder, workOn(node));
      }
      return before;
    },
  };
}

const idle: AgentWork = { currentNode: null, proof: { proven: 0, total: 0 } };

function workOn(node: RunNode): AgentWork {
  return {
    currentNode: { dagId: node.dagId, nodeId: node.nodeId, title: node.title },
    proof: { proven: node.proven.size, total: proofLines(node.step).length },
  };
}

export function unknownRun(dagId: string): AppError {
  return new AppError('not_found', `There is no run ${JSON.stringify(dagId)}.`, 'The campaign boards show the runs.');
}
