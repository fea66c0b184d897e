/** Puts a task into the queue by hand: a command as `gantry worker` runs it, and what few tasks ask for. The rest is for programs. */
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { AreaField, TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useAttempt } from '../../ui/use-attempt.ts';
import {
  emptyHandIn,
  furtherFields,
  type HandInDraft,
  type HandInField,
  type HandInProblems,
  problemsOfHandIn,
  refusedHandIn,
  taskOf,
} from './hand-in-form.ts';
import type { TaskFilter } from './queries.ts';
import { useQueueServices } from './use-queue-services.ts';

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
  const [draft, setDraft] = useState<HandInDraft>(emptyHandIn);
  /** By field, until the field changes. */
  const [refused, setRefused] = useState<HandInProblems>({});
  const { tried, form, begin, toFirstProblem } = useAttempt();
  /** One key for one wish: pressed again after a cut, it is the same task. */
  const wish = useRef({ text: '', key: '' });
  const problems = problemsOfHandIn(draft);
  const adding = useAct(async () => {
    begin();
    if (Object.keys(problems).length > 0) return toFirstProblem();
    const body = { ...of, ...taskOf(draft) };
    const text = JSON.stringify(body);
    if (wish.current.text !== text) wish.current = { text, key: crypto.randomUUID() };
    try {
      const { id } = await api.queue.createTask({ body }, { idempotencyKey: wish.current.key });
      queueEvents.touch();
      onDone(id);
    } catch (error) {
      const byField = refusedHandIn(error);
      if (Object.keys(byField).length === 0) throw error;
      flushSync(() => setRefused(byField));
      toFirstProblem();
    }
  });
  return (
    <ActDialog
      title="Add task"
      description="One of your workers runs it in its own folder."
      label="Add task"
      busyLabel="Adding"
      act={adding}
      ready={draft.command.trim() !== ''}
      onClose={onClose}
    >
      <ActForm form={form} act={adding}>
        <Fields
          draft={draft}
          problems={{ ...(tried ? problems : {}), ...refused }}
          onChange={(field, text) => {
            setDraft((old) => ({ ...old, [field]: text }));
            setRefused(({ [field]: _mended, ...others }) => others);
          }}
        />
      </ActForm>
    </ActDialog>
  );
}

function Fields({
  draft,
  problems,
  onChange,
}: {
  draft: HandInDraft;
  problems: HandInProblems;
  onChange: (field: HandInField, text: string) => void;
}) {
  const [open, setOpen] = useState(false);
  const text = (field: HandInField) => ({
    value: draft[field],
    problem: problems[field],
    onChange: (typed: string) => onChange(field, typed),
  });
  const number = { inputMode: 'numeric' } as const;
  const code = { spellCheck: false, autoCapitalize: 'none', className: 'font-mono text-code' } as const;
  return (
    <>
      <AreaField
        label="Command"
        required
        description="Runs in /bin/sh on the worker’s computer."
        {...text('command')}
        rows={4}
        spellCheck={false}
        className="py-1.5 font-mono text-code"
      />
      <TextField
        label="Maximum attempts"
        description="How often it may start: again if its worker goes silent, or after a failure that is retried."
        {...text('attempts')}
        {...number}
        className="max-w-24"
      />
      <details
        // Opened by a problem it stays open: the field that is mended must not vanish under the hands.
        open={open || furtherFields.some((field) => problems[field] !== undefined)}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary className="w-fit rounded-control font-medium pointer-coarse:py-2">
          More <span className="font-normal text-meta text-muted">image, labels, retries and keys</span>
        </summary>
        <div className="mt-2 flex flex-col gap-3 border-l border-line-strong pl-3">
          <TextField
            label="Image"
            description="Runs in this container image. Only workers that run it get the task."
            placeholder="alpine:3"
            {...text('image')}
            {...code}
          />
          <TextField
            label="Worker labels"
            description="Only workers with all of these labels get the task. Empty: any worker."
            placeholder="gpu=a100, zone=eu"
            {...text('labels')}
            {...code}
          />
          <Pair>
            <TextField
              label="Retry after"
              description="Error codes; * stands for any rest. Empty: every failure is final."
              placeholder="exit_*, timeout"
              {...text('retryOn')}
              {...code}
            />
            <TextField
              label="First wait (seconds)"
              description="Doubled after each failure, at most a day. Empty: 10."
              {...text('firstWait')}
              {...number}
            />
          </Pair>
          <Pair>
            <TextField
              label="Concurrency key"
              description="Limits how many tasks with the same key run at once."
              {...text('concurrencyKey')}
            />
            <TextField
              label="Tasks at once"
              description="With this concurrency key. Empty: 1."
              {...text('atOnce')}
              {...number}
            />
          </Pair>
          <Pair>
            <TextField
              label="Rate key"
              description="Tasks with the same key start one after the other, evenly spaced."
              {...text('rateKey')}
            />
            <TextField label="Starts per minute" description="With this rate key." {...text('perMinute')} {...number} />
          </Pair>
          <TextField
            label="Fairness key"
            description="Tasks with different keys take turns, however many each key has."
            {...text('fairnessKey')}
          />
        </div>
      </details>
    </>
  );
}

function Pair({ children }: { children: React.ReactNode }) {
  return <div className="grid gap-3 sm:grid-cols-2">{children}</div>;
}
