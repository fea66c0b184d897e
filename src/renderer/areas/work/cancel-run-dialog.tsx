/** Cancels a run: shows which steps will never begin and which end now; then cancels. */
import type { Flow } from '../../../contracts/factory/workflow.ts';
import { useServices } from '../../base/services.tsx';
import { PlanDialog } from '../../ui/plan-dialog.tsx';

export function CancelRunDialog({ flow, onClose }: { flow: Flow; onClose: () => void }) {
  const { api } = useServices();
  const params = { dagId: flow.dagId };
  const titleOf = (id: string): string => flow.nodes.find((node) => node.nodeId === id)?.title ?? id;
  return (
    <PlanDialog
      title={`Cancel “${flow.title}”`}
      description="No new steps start, and running steps end within 15 seconds. Nothing has happened yet."
      planKey={['cancel', flow.dagId]}
      readPlan={async (signal) => {
        const answer = await api.factory.cancelRun({ params, body: { dryRun: true } }, { signal });
        if (!('dryRun' in answer)) throw new Error('The server acted on a dry run.');
        return answer.plan;
      }}
      danger
      label={(plan) => (plan.cancels.length + plan.ends.length === 0 ? null : 'Cancel run')}
      act={async () => {
        await api.factory.cancelRun({ params, body: {} });
      }}
      onClose={onClose}
      shown={(plan) => (
        <div className="flex flex-col gap-2">
          <Steps title="Ends now" titles={plan.ends.map(titleOf)} />
          <Steps title="Never starts" titles={plan.cancels.map(titleOf)} />
        </div>
      )}
    />
  );
}

function Steps({ title, titles }: { title: string; titles: readonly string[] }) {
  return (
    <p>
      <span className="font-medium">{title}: </span>
      <span className="text-muted">{titles.length === 0 ? 'none' : titles.join(', ')}</span>
    </p>
  );
}
