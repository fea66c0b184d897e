/** Starts a run: its template, a form for its params, its campaign; then the server's plan; then the start. */
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import type {
  RunPlan as PlanAnswer,
  RunStarted,
  Template,
  TemplateSummary,
} from '../../../contracts/factory/workflow.ts';
import { useServices } from '../../base/services.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { useAct } from '../../ui/use-act.ts';
import { DeleteTemplateDialog } from './delete-template-dialog.tsx';
import { RunFields, useRunForm, WithTemplate } from './run-fields.tsx';
import { RunPlan } from './run-plan.tsx';

interface StartRunDialogProps {
  /** Chosen before; else the first there is. */
  readonly template: string | null;
  readonly campaignId: string | null;
  readonly onClose: () => void;
  readonly onStarted: (run: RunStarted) => void;
}

const about = 'Runs a template. You see the plan before anything starts.';

export function StartRunDialog(props: StartRunDialogProps) {
  const [deleting, setDeleting] = useState<TemplateSummary | null>(null);
  if (deleting !== null) return <DeleteTemplateDialog template={deleting} onClose={() => setDeleting(null)} />;
  return (
    <WithTemplate
      first={props.template}
      title="Start a run"
      about={about}
      onDelete={setDeleting}
      onClose={props.onClose}
    >
      {(template, picker) => <StartForm key={template.id} {...props} template={template} picker={picker} />}
    </WithTemplate>
  );
}

function StartForm({
  template,
  picker,
  campaignId,
  onClose,
  onStarted,
}: Omit<StartRunDialogProps, 'template'> & { template: Template; picker: ReactNode }) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const [tried, setTried] = useState(false);
  const [plan, setPlan] = useState<PlanAnswer['plan'] | null>(null);
  /** One key a start: repeated after a cut it gives the first run, not a second one. */
  const attempt = useRef<{ readonly key: string; campaignId: string | null }>({
    key: crypto.randomUUID(),
    campaignId: null,
  });
  // A plan holds for the values it was made of.
  const form = useRunForm(template, campaignId, () => {
    setPlan(null);
    attempt.current = { key: crypto.randomUUID(), campaignId: null };
  });

  const go = useAct(async () => {
    setTried(true);
    if (Object.keys(form.problems).length > 0) return;
    const request = form.request();
    if (plan === null) {
      const answer = await api.factory.startRun({ body: { ...request, ...form.planPlace(), dryRun: true } });
      if ('dryRun' in answer) setPlan(answer.plan);
      return;
    }
    const current = attempt.current;
    current.campaignId ??= await form.openPlace(current.key);
    const answer = await api.factory.startRun(
      { body: { ...request, campaignId: current.campaignId } },
      { idempotencyKey: current.key },
    );
    if ('dryRun' in answer) return;
    await Promise.all([
      client.invalidateQueries({ queryKey: keys.campaigns }),
      client.invalidateQueries({ queryKey: keys.boards }),
    ]);
    onStarted(answer);
  });

  const steps = plan?.nodes.length ?? 0;
  return (
    <ActDialog
      title="Start a run"
      description={about}
      label={plan === null ? 'Show plan' : `Start ${steps} ${steps === 1 ? 'step' : 'steps'}`}
      act={go}
      focusAct={plan !== null}
      onClose={onClose}
    >
      <ActForm act={go}>
        <RunFields form={form} picker={picker} tried={tried} />
        {plan !== null && <RunPlan plan={plan} opens={form.opens} />}
      </ActForm>
    </ActDialog>
  );
}
