/** The form of a run: its template and params, its purpose and its campaign. Used to start and to schedule. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import type { RunRequest, Template, TemplateSummary } from '../../../contracts/factory/workflow.ts';
import { useServices } from '../../base/services.tsx';
import { BudgetFields } from '../../ui/budget-fields.tsx';
import { type BudgetTexts, budgetOf, budgetProblems, noBudget } from '../../ui/budget-form.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { firstTexts, problemsOf } from '../../ui/schema-fields.ts';
import { SchemaFields } from '../../ui/schema-form.tsx';
import { AreaField, SelectField, TextField } from '../../ui/text-field.tsx';
import { intentOf, planProject, requestOf, schemaOf, usesRoles } from './run-form.ts';

/** Chooses a template, then shows its form; without templates it shows a separate dialog. */
export function WithTemplate({
  first,
  title,
  about,
  onDelete,
  onClose,
  children,
}: {
  /** Chosen before; else the first there is. */
  first: string | null;
  title: string;
  about: string;
  /** Asks to delete the chosen template; undefined: not from here. */
  onDelete?: ((template: TemplateSummary) => void) | undefined;
  onClose: () => void;
  children: (template: Template, picker: ReactNode) => ReactNode;
}) {
  const { queries } = useServices();
  const templates = useQuery({ ...queries.templates, staleTime: 0 });
  const [chosen, setChosen] = useState(first);
  const known = templates.data?.templates ?? [];
  const id = known.find((one) => one.id === chosen)?.id ?? known[0]?.id ?? null;
  const own = known.find((one) => one.id === id && !one.shipped);
  const template = useQuery({ ...queries.template(id ?? ''), enabled: id !== null, staleTime: 0 });
  const picker = (
    <ListStates
      source={templates}
      skeleton={<SkeletonRows count={1} />}
      isEmpty={(data) => data.templates.length === 0}
      empty={
        <Empty>
          No usable templates. Write one to <code>.gantry/templates/</code>.
        </Empty>
      }
    >
      {(data) => (
        <>
          <SelectField
            label="Template"
            description={
              data.invalid.length === 0
                ? known.find((one) => one.id === id)?.description
                : `Invalid: ${data.invalid.map((one) => `${one.id} (${one.problems[0]?.message ?? 'problems'})`).join(', ')}`
            }
            value={id ?? ''}
            onChange={setChosen}
          >
            {known.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </SelectField>
          {own !== undefined && onDelete !== undefined && (
            <p className="flex flex-wrap items-center gap-2 text-meta text-muted">
              This template is a file of the workspace.
              <Button kind="quiet" onClick={() => onDelete(own)}>
                Delete template
              </Button>
            </p>
          )}
        </>
      )}
    </ListStates>
  );
  if (template.data === undefined || template.data.id !== id) {
    return (
      <Dialog open onOpenChange={(open) => !open && onClose()} title={title} description={about}>
        {picker}
        {template.error !== null && <Problem error={template.error} />}
      </Dialog>
    );
  }
  return children(template.data, picker);
}

interface RunForm {
  readonly template: Template;
  readonly problems: Readonly<Record<string, string>>;
  /** Without the place that it belongs to. */
  request(): Omit<RunRequest, 'campaignId' | 'projectId'>;
  /** Where it would belong, for a plan: nothing is opened for that. */
  planPlace(): Pick<RunRequest, 'campaignId' | 'projectId'>;
  /** The campaign that it belongs to; opened if it is a new one. The same key opens one. */
  openPlace(key: string): Promise<string>;
  /** Id of the campaign that would be opened; null: the run belongs to an existing one. */
  readonly opens: string | null;
  readonly fields: {
    readonly texts: Record<string, string>;
    readonly intent: string;
    readonly where: string;
    readonly title: string;
    readonly team: string;
    readonly preset: string;
    readonly budget: BudgetTexts;
    /** Of a new campaign. */
    readonly campaignBudget: BudgetTexts;
  };
  change(fields: Partial<RunForm['fields']>): void;
}

/** `onChange`: what was planned for other values holds no longer. */
export function useRunForm(template: Template, campaignId: string | null, onChange: () => void): RunForm {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const schema = useMemo(() => schemaOf(template), [template]);
  const [fields, setFields] = useState<RunForm['fields']>(() => ({
    texts: firstTexts(schema),
    intent: '',
    where: campaignId ?? '',
    title: '',
    team: '',
    preset: '',
    budget: noBudget,
    campaignBudget: noBudget,
  }));
  const { texts, intent, where, title, team, preset, budget, campaignBudget } = fields;
  const problems: Record<string, string> = problemsOf(schema, texts);
  if (intentOf(template).required && intent.trim() === '') problems.intent = 'Required.';
  if (where === '' && title.trim() === '') problems['new campaign'] = 'Required.';
  const limitsOf = (name: string, given: BudgetTexts) => {
    for (const [field, problem] of Object.entries(budgetProblems(given))) problems[`${name} ${field}`] = problem;
  };
  limitsOf('budget', budget);
  if (where === '') limitsOf('campaign budget', campaignBudget);
  return {
    template,
    problems,
    request: () => requestOf(template, { intent, texts, team, preset, budget: budgetOf(budget) }),
    planPlace: () => (where === '' ? { projectId: planProject(title) } : { campaignId: where }),
    async openPlace(key) {
      if (where !== '') return where;
      const answer = await api.factory.createCampaign(
        {
          body: {
            title: title.trim(),
            intent: intent.trim() || template.name,
            ...(budgetOf(campaignBudget) === undefined ? {} : { budget: budgetOf(campaignBudget) }),
          },
        },
        { idempotencyKey: `${key}-campaign` },
      );
      if ('dryRun' in answer) throw new Error('The server treated the start as a dry run.');
      await client.invalidateQueries({ queryKey: keys.campaigns });
      return answer.id;
    },
    opens: where === '' ? title.trim() : null,
    fields,
    change(some) {
      setFields((old) => ({ ...old, ...some }));
      onChange();
    },
  };
}

export function RunFields({ form, picker, tried }: { form: RunForm; picker: ReactNode; tried: boolean }) {
  const { queries } = useServices();
  const campaigns = useQuery(queries.campaigns).data?.campaigns ?? [];
  const teams = useQuery(queries.teams).data?.teams ?? [];
  const { template, change } = form;
  const { texts, intent, where, title, team, preset, budget, campaignBudget } = form.fields;
  const schema = useMemo(() => schemaOf(template), [template]);
  const goal = intentOf(template);
  const shown: Readonly<Record<string, string>> = tried ? form.problems : {};
  const presets = teams.find((one) => one.name === team)?.presets ?? [];
  return (
    <>
      {picker}
      <SchemaFields
        schema={schema}
        texts={texts}
        problems={shown}
        onChange={(name, text) => change({ texts: { ...texts, [name]: text } })}
      />
      <AreaField
        label="Intent"
        required={goal.required}
        description={goal.description}
        problem={shown.intent}
        value={intent}
        rows={2}
        placeholder={goal.placeholder}
        onChange={(typed) => change({ intent: typed })}
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <SelectField
          label="Campaign"
          description="The campaign, with its board, that the run belongs to."
          value={where}
          onChange={(campaign) => change({ where: campaign })}
        >
          <option value="">New campaign</option>
          {campaigns.map((one) => (
            <option key={one.id} value={one.id}>
              {one.title}
            </option>
          ))}
        </SelectField>
        {where === '' && (
          <TextField
            label="Campaign title"
            required
            problem={shown['new campaign']}
            value={title}
            maxLength={200}
            onChange={(typed) => change({ title: typed })}
          />
        )}
        {usesRoles(template) && teams.length > 0 && (
          <SelectField
            label="Team"
            description="Its bots do the steps assigned to a role."
            value={team}
            onChange={(chosen) => change({ team: chosen, preset: '' })}
          >
            <option value="">{teams.length === 1 ? `Only team: ${teams[0]?.name}` : 'Choose a team'}</option>
            {teams.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}
              </option>
            ))}
          </SelectField>
        )}
        {presets.length > 0 && (
          <SelectField label="Preset" value={preset} onChange={(chosen) => change({ preset: chosen })}>
            <option value="">team default</option>
            {presets.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </SelectField>
        )}
      </div>
      <BudgetFields
        title="Budget"
        says="What the run may use in all; then you are asked"
        texts={budget}
        problems={tried ? budgetProblems(budget) : {}}
        standing={template.budget}
        onChange={(typed) => change({ budget: typed })}
      />
      {where === '' && (
        <BudgetFields
          title="Campaign budget"
          says="For all runs of the new campaign together"
          texts={campaignBudget}
          problems={tried ? budgetProblems(campaignBudget) : {}}
          onChange={(typed) => change({ campaignBudget: typed })}
        />
      )}
    </>
  );
}
