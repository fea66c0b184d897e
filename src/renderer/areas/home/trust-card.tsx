/** On Home, what the workspace wants to run without its person's agreement; shown only while something waits. */
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useState } from 'react';
import type { Action } from '../../base/actions.ts';
import { useAddActions, useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { later } from '../../ui/later.ts';
import { looks } from '../../ui/looks.ts';
import { Status } from '../../ui/status.tsx';

const TrustDialog = lazy(
  later(() => import('../floor/trust-dialog.tsx').then((module) => ({ default: module.TrustDialog }))),
);

export function TrustCard() {
  const { queries } = useServices();
  const trust = useQuery(queries.trust).data;
  const [open, setOpen] = useState(false);
  const unanswered = trust?.files.filter((file) => !file.refused) ?? [];
  const waits = unanswered.length > 0;
  const actions = useMemo<readonly Action[]>(
    () =>
      waits
        ? [
            {
              id: 'review-trust',
              title: 'Trust: review what may run in this workspace',
              thing: 'trust',
              group: 'This page',
              changes: false,
              run: () => setOpen(true),
            },
          ]
        : [],
    [waits],
  );
  useAddActions(actions);
  if (!waits) return null;
  const files = unanswered.length === 1 ? 'One file says' : `${unanswered.length} files say`;
  return (
    <Card title="Waiting for your yes" aside={<Status look={looks.waitsForYou} wire="waits" />}>
      <div className="flex flex-wrap items-center gap-3 p-3">
        <p className="min-w-0 flex-1 basis-64">
          {files} what may run in this workspace, and {unanswered.length === 1 ? 'has' : 'have'} no effect until you
          agree:{' '}
          {unanswered
            .slice(0, 3)
            .map((file) => file.path)
            .join(', ')}
          {unanswered.length > 3 && ` and ${unanswered.length - 3} more`}.
        </p>
        <Button onClick={() => setOpen(true)}>Review</Button>
      </div>
      {open && (
        <Suspense>
          <TrustDialog only={null} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </Card>
  );
}
