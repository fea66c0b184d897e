/** Deletes a template of the workspace: the server's plan first; afterwards it can be brought back. */
import { useQueryClient } from '@tanstack/react-query';
import type { Template } from '../../../contracts/factory/workflow.ts';
import { useServices } from '../../base/services.tsx';
import { useOfferUndo } from '../../base/undo.ts';
import { PlanDialog } from '../../ui/plan-dialog.tsx';

export function DeleteTemplateDialog({
  template: { id, name },
  onClose,
}: {
  template: Pick<Template, 'id' | 'name'>;
  onClose: () => void;
}) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const offerUndo = useOfferUndo();
  const params = { id };
  const changed = () =>
    Promise.all([keys.templates, keys.template(id)].map((queryKey) => client.invalidateQueries({ queryKey })));
  return (
    <PlanDialog
      title={`Delete the template “${name}”`}
      description="Its runs stay. Nothing has changed yet."
      planKey={['delete-template', id]}
      readPlan={async (signal) => {
        const answer = await api.factory.removeTemplate({ params, query: { dryRun: 'true' } }, { signal });
        if (!('dryRun' in answer)) throw new Error('The server acted on a dry run.');
        return answer.plan;
      }}
      label={() => 'Delete template'}
      busyLabel="Deleting"
      danger
      act={async () => {
        await api.factory.removeTemplate({ params, query: {} });
        offerUndo(`Template “${name}” deleted`, async () => {
          await api.factory.restoreTemplate({ params, body: {} });
          await changed();
        });
        await changed();
      }}
      onClose={onClose}
      shown={({ files, shipped, schedules }) => (
        <ul aria-label="Plan" className="list-disc pl-5">
          {files.map((file) => (
            <li key={file}>
              delete <code className="break-all">{file}</code>
            </li>
          ))}
          {shipped && <li>use the template with this id that ships with Gantry again</li>}
          {schedules.length > 0 && <li>leave without a template: the schedules {schedules.join(', ')}</li>}
        </ul>
      )}
    />
  );
}
