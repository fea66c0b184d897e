/** Starts a run: its template, a form for its params, its campaign; then the server's plan; then the start. */
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type {
  RunPlan as Answer,
  RunPlan as PlanAnswer,
  RunStarted,
  Template,
  TemplateSummary,
} from '../../../contracts/factory/workflow.ts';
import { useServices } from '../../base/services.tsx';
import { useOfferUndo } from '../../base/undo.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { PlanDialog } from '../../ui/plan-dialog.tsx';
import { useAct } from '../../ui/use-act.ts';
import { assigneeWords } from './node-card.tsx';
import { RunFields, useRunForm, WithTemplate } from './run-fields.tsx';

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

/** The server's plan of a run: its steps in order and who does each. */
function RunPlan({ plan, opens }: { plan: Answer['plan']; opens: string | null }) {
  const shown = useRef<HTMLElement>(null);
  // It comes below a form that may be longer than the dialog.
  useEffect(() => {
    shown.current?.scrollIntoView({ block: 'start' });
  }, []);
  return (
    <section ref={shown} aria-label="Plan" className="border-t border-line pt-3">
      <h3 className="pb-1 font-semibold">This is what will happen</h3>
      {opens !== null && <p className="text-muted">Creates the campaign “{opens}”.</p>}
      <ol className="flex flex-col gap-1 pt-1">
        {plan.nodes.map((node, index) => (
          <li key={node.nodeId} data-plan={node.stepId} className="grid grid-cols-[24px_1fr_auto] gap-2">
            <span className="text-right text-faint tabular-nums">{index + 1}</span>
            <span className="min-w-0 break-words">{node.title}</span>
            <span className="text-muted">{assigneeWords(node.executor)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Deletes a template of the workspace: the server's plan first; afterwards it can be brought back. */
function DeleteTemplateDialog({
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
