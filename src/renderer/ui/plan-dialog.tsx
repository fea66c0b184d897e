/**
 * A dialog that shows the server's own plan before anything is done, and then does exactly that. What the plan holds and what
 * is done is the caller's; the order of it is here.
 */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { SkeletonRows } from './list-states.tsx';
import { Problem } from './problem.tsx';
import { useFocusWhen } from './use-focus-when.ts';

export function PlanDialog<P>({
  title,
  description,
  planKey,
  readPlan,
  shown,
  label,
  act,
  onClose,
  danger = false,
  fields,
  focusAct = true,
}: {
  title: string;
  description: string;
  /** Everything the plan depends on: another value reads it anew. */
  planKey: readonly unknown[];
  readPlan: (signal: AbortSignal) => Promise<P>;
  shown: (plan: P) => ReactNode;
  /** What the button says; null while there is nothing to do. */
  label: (plan: P) => string | null;
  act: () => Promise<void>;
  onClose: () => void;
  danger?: boolean;
  /** Above the plan: what else can be said. */
  fields?: ReactNode;
  /** Gives the button the focus as soon as it can be used; not where there are fields to fill. */
  focusAct?: boolean;
}) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const plan = useQuery({
    queryKey: ['plan', ...planKey],
    queryFn: ({ signal }) => readPlan(signal),
    gcTime: 0,
    staleTime: 0,
  });
  const says = plan.data === undefined ? null : label(plan.data);
  const ready = says !== null && !busy;
  const button = useFocusWhen(focusAct && says !== null);

  async function run(): Promise<void> {
    if (!ready) return;
    setBusy(true);
    setFailure(null);
    try {
      await act();
      onClose();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  }

  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={title}
      description={description}
      onPrimary={() => void run()}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            kind={danger ? 'danger' : 'primary'}
            ref={button}
            disabled={!ready}
            aria-keyshortcuts="Control+Enter"
            onClick={() => void run()}
          >
            {says ?? 'Nothing to do'}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {fields}
        {plan.error !== null ? (
          <Problem error={plan.error} />
        ) : plan.data === undefined ? (
          <SkeletonRows count={3} />
        ) : (
          shown(plan.data)
        )}
        {failure !== null && <Problem error={failure} />}
      </div>
    </Dialog>
  );
}
