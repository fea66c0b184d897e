/** Adds the demo: what it is, which files it writes, and then its team. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useServices } from '../../app/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useFocusWhen } from '../../ui/use-focus-when.ts';

export function DemoDialog({ onClose, onAdded }: { onClose: () => void; onAdded: (team: string) => void }) {
  const { api, computer, keys, queries } = useServices();
  const client = useQueryClient();
  const workspace = useQuery(queries.workspace);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const plan = useQuery({
    queryKey: ['plan', computer, 'demo'],
    queryFn: ({ signal }) => api.factory.addDemo({ body: { dryRun: true } }, { signal }),
    gcTime: 0,
    staleTime: 0,
  });

  async function add(): Promise<void> {
    if (busy || plan.data === undefined) return;
    setBusy(true);
    setFailure(null);
    try {
      const answer = await api.factory.addDemo({ body: {} });
      await client.invalidateQueries({ queryKey: keys.teams });
      void client.invalidateQueries({ queryKey: keys.agents });
      onAdded(answer.team);
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  }

  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Add the demo team"
      description="A demo: three shell bots at work in a sample project. They run real commands there and need no account."
      onPrimary={() => void add()}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            kind="primary"
            ref={useFocusWhen(plan.data !== undefined)}
            disabled={busy || plan.data === undefined}
            aria-keyshortcuts="Control+Enter"
            onClick={() => void add()}
          >
            {busy ? 'Adding' : 'Add the demo'}
          </Button>
        </>
      }
    >
      {plan.error !== null && <Problem error={plan.error} />}
      {plan.isPending && <SkeletonRows count={4} />}
      {plan.data !== undefined && (
        <>
          <p className="mb-2 text-muted">
            {plan.data.written.length === 0
              ? 'Everything is there already; nothing will be written.'
              : `These ${plan.data.written.length} files will be written to ${workspace.data?.path ?? 'the workspace'}:`}
          </p>
          <ul className="font-mono text-code">
            {plan.data.written.map((file) => (
              <li key={file} className="break-all">
                {file}
              </li>
            ))}
          </ul>
        </>
      )}
      {failure !== null && <Problem error={failure} />}
    </Dialog>
  );
}
