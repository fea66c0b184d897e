/** Adds the demo: explains it, lists the files it writes, and then shows its team. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useServices } from '../../base/services.tsx';
import { PlanDialog } from '../../ui/plan-dialog.tsx';

const label = 'Add the demo team';

export function DemoDialog({ onClose, onAdded }: { onClose: () => void; onAdded: (team: string) => void }) {
  const { api, computer, keys, queries } = useServices();
  const client = useQueryClient();
  const workspace = useQuery(queries.workspace);
  return (
    <PlanDialog
      title="Add the demo team"
      description="Three shell bots work in a sample project. They run real commands there and need no account."
      planKey={[computer, 'demo']}
      readPlan={(signal) => api.factory.addDemo({ body: { dryRun: true } }, { signal })}
      label={() => label}
      idle={label}
      busyLabel="Adding"
      act={async () => {
        const answer = await api.factory.addDemo({ body: {} });
        await client.invalidateQueries({ queryKey: keys.teams });
        void client.invalidateQueries({ queryKey: keys.agents });
        onAdded(answer.team);
      }}
      onClose={onClose}
      shown={({ written }) => (
        <>
          <p className="text-muted">
            {written.length === 0
              ? 'All files are already there. Nothing will be written.'
              : `These ${written.length} files will be written to ${workspace.data?.path ?? 'the workspace'}:`}
          </p>
          <ul className="font-mono text-code">
            {written.map((file) => (
              <li key={file} className="break-all">
                {file}
              </li>
            ))}
          </ul>
        </>
      )}
    />
  );
}
