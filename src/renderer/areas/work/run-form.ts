/** The fields for starting a run, from its template, and the request. Pure. */
import type { RunRequest, Template, WorkBudget } from '../../../contracts/factory/workflow.ts';
import type { FieldTexts, FormSchema } from '../../ui/schema-fields.ts';

/** The template's params as a form. A param named `intent` is left out: the run's intent fills it. */
export function schemaOf(template: Template): FormSchema {
  const params = template.params.filter((param) => param.name !== 'intent');
  return {
    properties: Object.fromEntries(
      params.map((param) => [
        param.name,
        { type: 'string' as const, description: param.description, default: param.default },
      ]),
    ),
    required: params.filter((param) => param.required && param.default === undefined).map((param) => param.name),
  };
}

/** The intent's own field: what the template says of it. */
export function intentOf(template: Template): {
  description: string;
  placeholder: string | undefined;
  required: boolean;
} {
  const param = template.params.find((one) => one.name === 'intent');
  return {
    description: param?.description ?? 'What the run is for, in your own words. Its bots read it.',
    placeholder: param?.default,
    required: param?.required === true && param.default === undefined,
  };
}

/** Whether some step is done by a role, so that it matters which team there is. */
export const usesRoles = (template: Template): boolean =>
  template.steps.some((step) => step.executor.startsWith('role:'));

interface RunChoices {
  readonly intent: string;
  readonly texts: FieldTexts;
  readonly team: string;
  readonly preset: string;
  /** Undefined: that of the template, if it has one. */
  readonly budget: WorkBudget | undefined;
}

/** Without campaign, project and dry run. Empty fields are left out: the template's defaults hold. */
export function requestOf(template: Template, choices: RunChoices): Omit<RunRequest, 'campaignId' | 'projectId'> {
  const params = Object.fromEntries(Object.entries(choices.texts).filter(([, text]) => text.trim() !== ''));
  return {
    template: template.id,
    ...(choices.intent.trim() === '' ? {} : { intent: choices.intent.trim() }),
    ...(Object.keys(params).length === 0 ? {} : { params }),
    ...(choices.team === '' ? {} : { team: choices.team }),
    ...(choices.preset === '' ? {} : { preset: choices.preset }),
    ...(choices.budget === undefined ? {} : { budget: choices.budget }),
  };
}

/** A campaign's title → the project id under which its plan can be asked for before it exists. */
export function planProject(title: string): string {
  const id = title.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, 64);
  return /[A-Za-z0-9]/.test(id) ? id : 'new';
}
