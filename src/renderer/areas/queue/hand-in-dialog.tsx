/** Puts a task into the queue by hand: a command as `gantry worker` runs it. Everything else is for programs. */
import { useRef, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/problem.tsx';
import { AreaField, TextField } from '../../ui/text-field.tsx';
import type { TaskFilter } from './queries.ts';
import { useQueueServices } from './use-queue-services.ts';

const defaultAttempts = 5;

export function HandInDialog({
  of,
  onClose,
  onDone,
}: {
  /** What it belongs to. */
  of: Pick<TaskFilter, 'session_id' | 'deployment_id'>;
  onClose: () => void;
  onDone: (id: string) => void;
}) {
  const { api, queueEvents } = useQueueServices();
  const [command, setCommand] = useState('');
  const [attempts, setAttempts] = useState(String(defaultAttempts));
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  /** One key for one wish: pressed again after a cut, it is the same task. */
  const wish = useRef({ text: '', key: '' });
  const count = Number(attempts);
  const countProblem =
    Number.isInteger(count) && count >= 1 && count <= 100 ? undefined : 'Enter a whole number from 1 to 100.';
  const ready = command.trim() !== '' && countProblem === undefined && !busy;

  async function handIn(): Promise<void> {
    if (!ready) return;
    setBusy(true);
    setFailure(null);
    const body = { ...of, payload: { command: command.trim() }, max_attempts: count };
    const text = JSON.stringify(body);
    if (wish.current.text !== text) wish.current = { text, key: crypto.randomUUID() };
    try {
      const { id } = await api.queue.createTask({ body }, { idempotencyKey: wish.current.key });
      queueEvents.touch();
      onDone(id);
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  }

  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Add task"
      description="One of your workers runs it in its own folder."
      onPrimary={() => void handIn()}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" disabled={!ready} aria-keyshortcuts="Control+Enter" onClick={() => void handIn()}>
            Add task
          </Button>
        </>
      }
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          void handIn();
        }}
      >
        <AreaField
          label="Command"
          required
          description="Runs in /bin/sh on the worker’s computer."
          value={command}
          rows={4}
          spellCheck={false}
          onChange={setCommand}
          className="py-1.5 font-mono text-code"
        />
        <TextField
          label="Maximum attempts"
          problem={countProblem}
          description="How many times it may start if workers go silent. A command that fails is not retried."
          value={attempts}
          inputMode="numeric"
          onChange={setAttempts}
          className="max-w-24"
        />
        {failure !== null && <Problem error={failure} />}
      </form>
    </Dialog>
  );
}
