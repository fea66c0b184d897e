/** Cancels a run: a state with a deadline; nodes that still work at the deadline are held for inspection. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Actor } from '../base/actor.ts';
import { cancelDeadlineMs, isEnded } from './model.ts';
import { cancel } from './rules.ts';
import type { Scheduler } from './scheduler.ts';

export interface CancelPlan {
  dryRun: true;
  plan: { dagId: string; cancels: string[]; ends: string[] };
}

/** The plan of a dry run, null once the cancel has begun. A second cancel changes nothing. */
export async function cancelRun(
  scheduler: Scheduler,
  dagId: string,
  by: Actor,
  dryRun: boolean,
): Promise<CancelPlan | null> {
  return scheduler.mutate(dagId, by, (work) => {
    const { run } = work;
    if (run.cancelAt !== null) return null;
    if (isEnded(run.status)) {
      throw new AppError('refused', `The run ${dagId} has ended: it is ${run.status}.`, 'There is nothing to cancel.', {
        status: 409,
      });
    }
    if (dryRun) {
      const open = [...run.nodes.values()];
      const works = (status: string) => status === 'working' || status === 'checking';
      const waits = (status: string) => ['new', 'ready', 'needs_you', 'blocked'].includes(status);
      const ends = open.filter((node) => works(node.status)).map((node) => node.nodeId);
      const cancels = open.filter((node) => waits(node.status)).map((node) => node.nodeId);
      return { dryRun: true, plan: { dagId, cancels, ends } };
    }
    for (const node of cancel(work, work.now + cancelDeadlineMs)) scheduler.end(work, node, 'cancelled');
    return null;
  });
}
