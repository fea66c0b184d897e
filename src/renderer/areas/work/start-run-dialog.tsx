/** Starting a run: a template, its params as a form, where it belongs; then the server's plan; then the start. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import type { RunPlan as PlanAnswer, RunStarted, Template } from '../../../contracts/factory/workflow.ts';
import { useServices } from '../../app/services.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { firstTexts, problemsOf } from '../../ui/schema-fields.ts';
import { Field, SchemaFields } from '../../ui/schema-form.tsx';
import { useAct } from '../../ui/use-act.ts';
import { intentOf, planProject, requestOf, schemaOf, usesRoles } from './run-form.ts';
import { RunPlan } from './run-plan.tsx';

export interface StartRunDialogProps {
  /** Chosen before; else the first there is. */
  readonly template: string | null;
  readonly campaignId: string | null;
  readonly onClose: () => void;
  readonly onStarted: (run: RunStarted) => void;
}

export function StartRunDialog(props: StartRunDialogProps) {
  const { queries } = useServices();
  const templates = useQuery({ ...queries.templates, staleTime: 0 });
  const [chosen, setChosen] = useState(props.template);
  const known = templates.data?.templates ?? [];
  const id = known.find((one) => one.id === chosen)?.id ?? known[0]?.id ?? null;
  const template = useQuery({ ...queries.template(id ?? ''), enabled: id !== null, staleTime: 0 });
  const picker = (
    <ListStates
      source={templates}
      skeleton={<SkeletonRows count={1} />}
      isEmpty={(data) => data.templates.length === 0}
      empty={
        <Empty>
          No template can be used. Write one to <code>.gantry/templates/</code>.
        </Empty>
      }
    >
      {(data) => (
        <Field
          label="Template"
          description={
            data.invalid.length === 0
              ? known.find((one) => one.id === id)?.description
              : `Cannot be used: ${data.invalid.map((one) => `${one.id} (${one.problems[0]?.message ?? 'problems'})`).join(', ')}`
          }
        >
          {(ids) => (
            <select
              {...ids}
              value={id ?? ''}
              onChange={(event) => setChosen(event.target.value)}
              className={`${ids.className} h-7 pointer-coarse:h-10`}
            >
              {known.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
    </ListStates>
  );
  if (template.data === undefined || template.data.id !== id) {
    return (
      <Dialog open onOpenChange={(open) => !open && props.onClose()} title="Start a run" description={about}>
        {picker}
        {template.error !== null && <Problem error={template.error} />}
      </Dialog>
    );
  }
  return <RunForm key={template.data.id} {...props} template={template.data} picker={picker} />;
}

const about = 'From a template. Its plan is shown before anything starts.';

function RunForm({
  template,
  picker,
  campaignId,
  onClose,
  onStarted,
}: Omit<StartRunDialogProps, 'template'> & { template: Template; picker: React.ReactNode }) {
  const { api, keys, queries } = useServices();
  const client = useQueryClient();
  const campaigns = useQuery(queries.campaigns).data?.campaigns ?? [];
  const teams = useQuery(queries.teams).data?.teams ?? [];
  const schema = useMemo(() => schemaOf(template), [template]);
  const [texts, setTexts] = useState<Record<string, string>>(() => firstTexts(schema));
  const [intent, setIntent] = useState('');
  const [where, setWhere] = useState(campaignId ?? '');
  const [title, setTitle] = useState('');
  const [team, setTeam] = useState('');
  const [preset, setPreset] = useState('');
  const [tried, setTried] = useState(false);
  const [plan, setPlan] = useState<PlanAnswer['plan'] | null>(null);
  /** One key a start: repeated after a cut it gives the first run, not a second one. */
  const attempt = useRef<{ readonly key: string; campaignId: string | null }>({
    key: crypto.randomUUID(),
    campaignId: null,
  });
  const goal = intentOf(template);
  const problems: Record<string, string> = problemsOf(schema, texts);
  if (goal.required && intent.trim() === '') problems.intent = 'Is needed.';
  if (where === '' && title.trim() === '') problems['new campaign'] = 'Is needed.';
  const shown = tried ? problems : {};
  const presets = teams.find((one) => one.name === team)?.presets ?? [];

  /** A plan holds for the values it was made of. */
  function change<T>(set: (value: T) => void): (value: T) => void {
    return (value) => {
      set(value);
      setPlan(null);
      attempt.current = { key: crypto.randomUUID(), campaignId: null };
    };
  }

  const go = useAct(async () => {
    setTried(true);
    if (Object.keys(problems).length > 0) return;
    const request = requestOf(template, { intent, texts, team, preset });
    if (plan === null) {
      const place = where === '' ? { projectId: planProject(title) } : { campaignId: where };
      const answer = await api.factory.startRun({ body: { ...request, ...place, dryRun: true } });
      if ('dryRun' in answer) setPlan(answer.plan);
      return;
    }
    const current = attempt.current;
    current.campaignId ??= where === '' ? await openCampaign() : where;
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

  async function openCampaign(): Promise<string> {
    const answer = await api.factory.createCampaign(
      { body: { title: title.trim(), intent: intent.trim() || template.name } },
      { idempotencyKey: `${attempt.current.key}-campaign` },
    );
    if ('dryRun' in answer) throw new Error('The server took a start for a dry run.');
    return answer.id;
  }

  const steps = plan?.nodes.length ?? 0;
  return (
    <ActDialog
      title="Start a run"
      description={about}
      label={plan === null ? 'Show the plan' : `Start ${steps} ${steps === 1 ? 'step' : 'steps'}`}
      act={go}
      focusAct={plan !== null}
      onClose={onClose}
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          go.run();
        }}
      >
        {picker}
        <SchemaFields
          schema={schema}
          texts={texts}
          problems={shown}
          onChange={(name, text) => change(setTexts)({ ...texts, [name]: text })}
        />
        <Field label="Intent" required={goal.required} description={goal.description} problem={shown.intent}>
          {(ids) => (
            <textarea
              {...ids}
              value={intent}
              rows={2}
              placeholder={goal.placeholder}
              onChange={(event) => change(setIntent)(event.target.value)}
              className={`${ids.className} resize-y py-1.5`}
            />
          )}
        </Field>
        <div className="grid gap-3 sm:grid-cols-2">
          <Field label="Campaign" description="Where it belongs, with its board.">
            {(ids) => (
              <select
                {...ids}
                value={where}
                onChange={(event) => change(setWhere)(event.target.value)}
                className={`${ids.className} h-7 pointer-coarse:h-10`}
              >
                <option value="">A new one</option>
                {campaigns.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.title}
                  </option>
                ))}
              </select>
            )}
          </Field>
          {where === '' && (
            <Field label="Its title" required problem={shown['new campaign']}>
              {(ids) => (
                <input
                  {...ids}
                  value={title}
                  maxLength={200}
                  onChange={(event) => change(setTitle)(event.target.value)}
                  className={`${ids.className} h-7 pointer-coarse:h-10`}
                />
              )}
            </Field>
          )}
          {usesRoles(template) && teams.length > 0 && (
            <Field label="Team" description="Its bots take the steps that name a role.">
              {(ids) => (
                <select
                  {...ids}
                  value={team}
                  onChange={(event) => {
                    setPreset('');
                    change(setTeam)(event.target.value);
                  }}
                  className={`${ids.className} h-7 pointer-coarse:h-10`}
                >
                  <option value="">{teams.length === 1 ? `The only one: ${teams[0]?.name}` : 'Choose a team'}</option>
                  {teams.map((one) => (
                    <option key={one.name} value={one.name}>
                      {one.name}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          )}
          {presets.length > 0 && (
            <Field label="Preset">
              {(ids) => (
                <select
                  {...ids}
                  value={preset}
                  onChange={(event) => change(setPreset)(event.target.value)}
                  className={`${ids.className} h-7 pointer-coarse:h-10`}
                >
                  <option value="">as the team has it</option>
                  {presets.map((one) => (
                    <option key={one} value={one}>
                      {one}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          )}
        </div>
        {plan !== null && <RunPlan plan={plan} opens={where === '' ? title.trim() : null} />}
        <button type="submit" hidden aria-hidden="true" tabIndex={-1} />
      </form>
    </ActDialog>
  );
}
