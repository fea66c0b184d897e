/** Saves the bots of a run as a team of the workspace: the file that would be written first. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import type { QuickRun } from '../../../contracts/factory/quick-run-routes.ts';
import { useServices } from '../../base/services.tsx';
import { PlanDialog } from '../../ui/plan-dialog.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { TextView } from '../../ui/text-view.tsx';

/** A name that fits: the first words of the title, as a folder writes them. */
const nameFrom = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 24)
    .replace(/-+$/, '') || 'team';

export function SaveTeamDialog({ run, onClose }: { run: QuickRun; onClose: () => void }) {
  const { api, computer, keys } = useServices();
  const client = useQueryClient();
  const [name, setName] = useState(() => nameFrom(run.title));
  const params = { id: run.id };
  return (
    <PlanDialog
      title="Save as a team"
      description="The team starts these bots again, without the prompt. Nothing is written yet."
      planKey={[computer, 'save-run', run.id, name]}
      readPlan={(signal) => api.factory.saveQuickRun({ params, body: { team: name.trim(), dryRun: true } }, { signal })}
      label={() => 'Save team'}
      idle="Save team"
      busyLabel="Saving"
      focusAct={false}
      act={async () => {
        const { team, file } = await api.factory.saveQuickRun({ params, body: { team: name.trim() } });
        for (const queryKey of [keys.quickRuns, keys.teams, keys.trust]) void client.invalidateQueries({ queryKey });
        toast(`Saved the team ${team}`, { description: file });
      }}
      onClose={onClose}
      fields={<TextField label="Name" required spellCheck={false} value={name} onChange={setName} />}
      shown={({ file, text }) => (
        <section aria-label={file} className="flex min-w-0 flex-col gap-1">
          <h3 className="font-mono text-code break-all">{file}</h3>
          <TextView text={text} label={`Contents of ${file}`} />
        </section>
      )}
    />
  );
}
