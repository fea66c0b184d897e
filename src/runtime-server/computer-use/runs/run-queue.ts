/**
 * Live runs of one computer: one acts at a time, the others wait for their turn or for control. A run whose control was taken pauses. Must not know what a
 * run does, or who may see it.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { RunStatus } from '../../../contracts/computer-use/run.ts';
import type { Course, Ending } from './course.ts';
import type { LiveRun, LiveRunDeps } from './live-run.ts';
import { hasEnded } from './states.ts';

const actingStatuses: readonly RunStatus[] = ['running', 'awaiting_approval', 'cancelling'];
/** Less than the runtime has for closing. */
const closeMs = 1_500;

export function createRunQueue({
  gate,
  artifacts,
  timers,
  onFault,
}: Pick<LiveRunDeps, 'gate' | 'artifacts' | 'timers' | 'onFault'>) {
  const live = new Map<string, LiveRun>();
  /** Until nothing of a run is left, its browser too. */
  const going = new Set<Promise<void>>();
  let queue: LiveRun[] = [];
  let closed = false;
  const faults = (what: string) => (fault: unknown) => onFault(what, fault);

  const stopControl = gate.onControl(({ control, why }) => {
    for (const { course } of live.values()) {
      // One that has ended is still there while its browser is closed.
      if (hasEnded(course.status())) continue;
      const mine = control.holder?.kind === 'run' && control.holder.id === course.holder.id;
      if (why === 'elsewhere' || (why === 'taken' && !mine)) {
        const reason = why === 'taken' ? 'takeover' : 'control_elsewhere';
        course.takenOver(reason, control.holder).catch(faults('A run could not be paused.'));
      } else if (why !== 'taken' && control.holder === null) {
        course.givenBack().catch(faults('The release of control could not be reported.'));
      }
    }
    pump();
  });
  const stopDownloads = gate.onDownload(({ session, path }) => {
    const run = [...live.values()].find(
      ({ sessionId, course }) => sessionId === session && course.status() !== 'queued',
    );
    if (run === undefined) return;
    artifacts
      .copyFile(run.course.holder.id, path, {
        kind: 'download',
        name: path.split(/[\\/]/).at(-1) ?? 'download',
        mediaType: 'application/octet-stream',
        step: run.step(),
      })
      .catch(faults('A download could not be saved.'));
  });

  /** It is acting, or about to: one that has left the queue and is not stored as running yet. */
  const acts = (run: LiveRun) => {
    const status = run.course.status();
    return status === 'queued' ? !queue.includes(run) : actingStatuses.includes(status);
  };

  /** The next one begins once no run acts and no higher-ranked holder has control. */
  function pump(): void {
    const [next, ...others] = queue;
    if (closed || next === undefined || [...live.values()].some(acts)) return;
    // Before control is taken: the listener of that change calls this again.
    queue = others;
    try {
      gate.control.take(next.course.holder);
    } catch (error) {
      queue.unshift(next);
      // Tried again when control changes.
      if (error instanceof AppError) return;
      throw error;
    }
    const runId = next.course.holder.id;
    const gone = next.go().finally(() => {
      going.delete(gone);
      live.delete(runId);
      pump();
    });
    going.add(gone);
  }

  function begin(run: LiveRun): void {
    live.set(run.course.holder.id, run);
    queue.push(run);
    void run.course.over.then(() => {
      if (!queue.includes(run)) return;
      // It never began, so nothing else would end it.
      queue = queue.filter((other) => other !== run);
      live.delete(run.course.holder.id);
    });
    pump();
  }

  return {
    begin,
    pump,
    get: (runId: string) => live.get(runId),
    /** Whether another one than this acts now. */
    anotherActs: (course: Course) => [...live.values()].some((other) => other.course !== course && acts(other)),
    /** Ends all of them. */
    async close(ending: Ending): Promise<void> {
      closed = true;
      stopControl();
      stopDownloads();
      const late = Promise.withResolvers<void>();
      const stopWaiting = timers.after(closeMs, late.resolve);
      const ends = [...live.values()].map(async ({ course }) => {
        await course.end(ending, null);
        await course.over;
      });
      await Promise.race([Promise.allSettled([...ends, ...going]), late.promise]);
      stopWaiting();
    },
  };
}
