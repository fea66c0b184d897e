/** Asks how to stop a task: through its worker, or at once. */
import { useState } from 'react';
import type { Task } from '../../../contracts/work-queue/task.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { isHeld, taskName } from './task-words.ts';
import { useQueueServices } from './use-queue-services.ts';

export function StopTaskDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const { api, queueEvents } = useQueueServices();
  // The task as it was when the dialog opened; the server's answer reports later changes.
  const [held] = useState(isHeld(task));
  const [graceful, setGraceful] = useState(held && !task.stop_requested);
  const worker = task.lease_worker_id ?? 'its worker';
  return (
    <ConfirmDialog
      title="Stop this task?"
      description={taskName(task).slice(0, 120)}
      label={graceful ? 'Ask to stop' : 'Stop now'}
      act={async () => {
        try {
          await api.queue.stopTask({ params: { id: task.id }, body: graceful ? { graceful: true } : {} });
        } finally {
          queueEvents.touch();
        }
      }}
      onClose={onClose}
    >
      {held ? (
        <fieldset className="flex flex-col gap-2">
          <legend className="sr-only">How</legend>
          <Way checked={graceful} onChoose={() => setGraceful(true)} name="Ask its worker to stop">
            {worker} learns of it at its next heartbeat, within 20 seconds, and ends the task. If the worker goes
            silent, the task ends with its lease.
          </Way>
          <Way checked={!graceful} onChoose={() => setGraceful(false)} name="Stop now">
            The task is cancelled immediately. {worker} learns of it at its next heartbeat, within 20 seconds, and ends
            the command. Work done until then is not undone.
          </Way>
        </fieldset>
      ) : (
        <p className="text-muted">
          No worker holds this task. It is cancelled immediately; Retry puts it back in the queue.
        </p>
      )}
    </ConfirmDialog>
  );
}

function Way({
  checked,
  onChoose,
  name,
  children,
}: {
  checked: boolean;
  onChoose: () => void;
  name: string;
  children: React.ReactNode;
}) {
  return (
    <label className="flex cursor-pointer gap-2 pointer-coarse:min-h-10">
      <input
        type="radio"
        name="how-to-stop"
        checked={checked}
        onChange={onChoose}
        className="mt-0.5 size-4 shrink-0 accent-accent"
      />
      <span className="min-w-0">
        <span className="block font-medium">{name}</span>
        <span className="block break-words text-muted">{children}</span>
      </span>
    </label>
  );
}
