/** Steps that a used-up budget stops, and how they go on once it is raised. Must not know what is used. */
import { tellToGoOn } from '../bot-turns.ts';
import type { WorkflowDeps } from '../deps.ts';
import { isBeingChecked, isCommand, isSilent, type RunNode } from '../model.ts';
import { fail } from '../rules.ts';
import { runsOfBudget } from '../store/budgets.ts';
import type { Work } from '../work.ts';
import type { Accounts, Budget, Place } from './accounts.ts';

export function createHolds(
  deps: Pick<WorkflowDeps, 'store' | 'log' | 'workspace' | 'endTurn' | 'dispatch'> & {
    readonly persist: (dagId: string, change: (work: Work) => void) => void;
    readonly reachedOf: Accounts['reachedOf'];
    /** A step waits for it. */
    readonly ask: (one: Budget) => void;
  },
) {
  const { reachedOf, persist } = deps;

  return { hold, stop, goOn, goOnIn };

  /** The turn on it is ended; a command runs to its end. */
  function hold({ dagId, nodeId, campaignId }: Place): void {
    persist(dagId, (work) => {
      const node = work.run.nodes.get(nodeId);
      const over = reachedOf({ dagId, nodeId, campaignId });
      if (node === undefined || over === null || !isTurn(node)) return;
      const { holder, attempt } = node;
      node.wakeAt = null;
      stop(work, node, over);
      if (holder === null) return;
      work.after(() => {
        const end = deps.endTurn?.(holder, { dagId, nodeId }, over.reached ?? '') ?? Promise.resolve(true);
        end.then(
          (ended) => {
            if (!ended) stillRuns(dagId, nodeId, attempt);
          },
          (error: unknown) => deps.log.warn(`The turn of ${holder} could not be ended.`, { error: String(error) }),
        );
      });
    });
  }

  function stop(work: Work, node: RunNode, over: Budget): void {
    if (over.rejected) fail(work, node, 'over_budget', over.reached);
    else {
      work.move(node, 'needs_you', 'over_budget', over.reached);
      deps.ask(over);
    }
  }

  function stillRuns(dagId: string, nodeId: string, attempt: number): void {
    persist(dagId, (work) => {
      const node = work.run.nodes.get(nodeId);
      if (node?.attempt !== attempt || node.status !== 'needs_you' || node.cause !== 'over_budget') return;
      work.move(node, 'needs_you', 'over_budget', `${node.detail} Its turn could not be ended: look at its bot.`);
    });
  }

  async function goOn(subject: string): Promise<void> {
    const runs = await deps.store.read((tx) => runsOfBudget(tx, deps.workspace, subject));
    for (const dagId of runs) persist(dagId, goOnIn);
  }

  function goOnIn(work: Work): void {
    const { dagId, campaignId, nodes } = work.run;
    for (const node of nodes.values()) {
      if (node.status !== 'needs_you' || node.cause !== 'over_budget') continue;
      const over = reachedOf({ dagId, campaignId, nodeId: node.nodeId });
      if (over === null) release(work, node);
      else if (over.rejected) fail(work, node, 'over_budget', over.reached);
    }
  }

  function release(work: Work, node: RunNode): void {
    const address = node.holder;
    if (address === null) {
      work.move(node, 'ready', 'parents_done');
      work.enqueue(node);
      return;
    }
    const { step } = node;
    const isCheck = isBeingChecked(node);
    node.wakeAt = isCheck || step.timeoutMinutes === undefined ? null : work.now + step.timeoutMinutes * 60_000;
    if (isCheck) {
      work.move(node, 'checking', 'reviewing', `${node.checker} is checking it.`);
      work.asked(node);
    } else work.move(node, 'working', 'resumed');
    tellToGoOn(deps, work, node, address, 'budget', 'The budget that stopped you was raised.');
  }
}

/** A bot works on it or checks it now, as far as is known, and is not being stopped already. */
export function isTurn(node: RunNode): boolean {
  const { status, cause, assignee, holder } = node;
  if (cause === 'cancelling' || cause === 'verifying' || isCommand(node)) return false;
  // A check that waits for its checker costs nothing yet.
  return (
    (status === 'checking' && holder !== null) || (status === 'working' && assignee !== 'owner') || goesOnUnseen(node)
  );
}

/** Its person is asked, and its bot may go on all the same: it was not ended. */
export function goesOnUnseen(node: RunNode): boolean {
  if (node.holder === null || !node.holder.includes('@')) return false;
  return isSilent(node) || (node.status === 'needs_you' && node.cause === 'interrupted');
}
