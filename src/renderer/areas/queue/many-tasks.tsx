/** Stopping the ticked tasks, or putting back those that were given up. What was put back by mistake is stopped again. */
import { useState } from 'react';
import type { Task } from '../../../contracts/work-queue/task.ts';
import { forEach } from '../../base/for-each.ts';
import { type Selection, SelectionBar } from '../../base/selection.tsx';
import { useOfferUndo } from '../../base/undo.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { countWords } from '../../ui/count-words.ts';
import { useAct } from '../../ui/use-act.ts';
import { isHeld, isOver, mayRetry, taskName } from './task-words.ts';
import { useQueueServices } from './use-queue-services.ts';

export function ManyTasks({ selection, tasks }: { selection: Selection; tasks: readonly Task[] }) {
  const { api, queueEvents } = useQueueServices();
  const offerUndo = useOfferUndo();
  /** Those that can be stopped when the dialog opens. */
  const [stopping, setStopping] = useState<readonly Task[] | null>(null);
  const running = tasks.filter((one) => !isOver(one));
  const over = tasks.filter(mayRetry);
  const stop = ({ id }: Task) => api.queue.stopTask({ params: { id }, body: {} });
  const retry = ({ id }: Task) => api.queue.retryTask({ params: { id } });
  async function each(list: readonly Task[], act: (task: Task) => Promise<unknown>): Promise<readonly Task[]> {
    try {
      return await forEach(list, taskName, act);
    } finally {
      queueEvents.touch();
    }
  }
  const retrying = useAct(async () => {
    const done = await each(over, retry);
    selection.clear();
    if (done.length === 0) return;
    offerUndo(`Put back ${countWords(done.length, 'task')}`, () => each(done, stop));
  });
  return (
    <>
      <SelectionBar selection={selection} label="Selected tasks">
        <Button disabled={over.length === 0 || retrying.busy} onClick={() => retrying.run()}>
          Retry {over.length}
        </Button>
        <Button disabled={running.length === 0} onClick={() => setStopping(running)}>
          Stop {running.length}…
        </Button>
      </SelectionBar>
      {stopping !== null && (
        <ConfirmDialog
          title={`Stop ${countWords(stopping.length, 'task')} now?`}
          description="They are cancelled immediately. Work done until then is not undone; Retry puts a task back in the queue."
          label={`Stop ${stopping.length}`}
          act={async () => {
            await each(stopping, stop);
            selection.clear();
          }}
          onClose={() => setStopping(null)}
        >
          <ul className="flex flex-col gap-0.5">
            {stopping.map((task) => (
              <li key={task.id} className="flex min-w-0 gap-2">
                <span className="min-w-0 flex-1 truncate font-mono text-code">{taskName(task)}</span>
                {isHeld(task) && <span className="shrink-0 text-muted">{task.lease_worker_id}</span>}
              </li>
            ))}
          </ul>
        </ConfirmDialog>
      )}
    </>
  );
}
