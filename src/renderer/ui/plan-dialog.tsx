/**
 * A dialog that shows the server's own plan before anything is done, and then does exactly that. What the plan holds and what
 * is done is the caller's; the order of it is here.
 */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ActDialog } from './act-dialog.tsx';
import { SkeletonRows } from './list-states.tsx';
import { Problem } from './problem.tsx';
import { useAct } from './use-act.ts';

export function PlanDialog<P>({
  planKey,
  readPlan,
  shown,
  label,
  idle,
  awaits = null,
  act,
  danger = false,
  fields,
  focusAct = true,
  mend,
  ...asked
}: {
  title: string;
  description: string;
  /** Everything the plan depends on; a new value reads the plan again. */
  planKey: readonly unknown[];
  readPlan: (signal: AbortSignal) => Promise<P>;
  shown: (plan: P) => ReactNode;
  /** What the button says; null while there is nothing to do. */
  label: (plan: P) => string | null;
  /** What it says then, and before there is a plan; else that there is nothing to do, and before that it is being looked at. */
  idle?: string;
  /** What has to be filled in before there can be a plan, or null. */
  awaits?: string | null;
  busyLabel?: string;
  act: (plan: P) => Promise<unknown>;
  onClose: () => void;
  danger?: boolean;
  /** Above the plan: what else can be said. */
  fields?: ReactNode;
  /** Gives the button the focus as soon as it can be used; not where there are fields to fill. */
  focusAct?: boolean;
  /** Below the reason why there is no plan: what can be done about it here, or null. */
  mend?: (error: unknown) => ReactNode;
}) {
  const plan = useQuery({
    queryKey: ['plan', ...planKey],
    enabled: awaits === null,
    queryFn: ({ signal }) => readPlan(signal),
    gcTime: 0,
    staleTime: 0,
  });
  const says = awaits !== null || plan.data === undefined ? null : label(plan.data);
  const doing = useAct(async () => {
    if (plan.data !== undefined) await act(plan.data);
    asked.onClose();
  });
  return (
    <ActDialog
      {...asked}
      label={says ?? idle ?? (plan.error !== null ? 'Not possible' : plan.isPending ? 'Checking' : 'Nothing to do')}
      kind={danger ? 'danger' : 'primary'}
      act={doing}
      ready={says !== null}
      focusAct={focusAct}
    >
      {fields}
      {awaits !== null ? (
        <p className="text-muted">{awaits}</p>
      ) : plan.error !== null ? (
        <>
          <Problem error={plan.error} />
          {mend?.(plan.error)}
        </>
      ) : plan.data === undefined ? (
        <SkeletonRows count={3} />
      ) : (
        shown(plan.data)
      )}
    </ActDialog>
  );
}
