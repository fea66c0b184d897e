/** Plans: templates that are still being written. Any party drafts and refines one, the person runs it. */
import { z } from 'zod';
import { defineRoute } from '../../common/route.ts';
import { Time } from '../../common/values.ts';
import { area, base, errors, people } from '../route-parts.ts';
import { ProjectId, RunPlan, RunStarted } from '../workflow.ts';
import { act, dryRun, look, oneOf, Party, planned } from './parts.ts';

export const planStates = ['draft', 'started', 'discarded'] as const;
const head = {
  id: z.string(),
  title: z.string(),
  state: z.enum(planStates),
  revision: z.number().int(),
  by: Party,
  steps: z.number().int(),
  dagId: z.string().nullable().meta({ description: 'The run that was started from it.' }),
  createdAt: Time,
  updatedAt: Time,
};
export const PlanSummary = z.strictObject(head).meta({ id: 'PlanSummary' });
export type PlanSummary = z.infer<typeof PlanSummary>;
export const Plan = z
  .strictObject({
    ...head,
    intent: z.string().nullable(),
    template: z.record(z.string(), z.unknown()).meta({ description: 'As in a template file, snake_case.' }),
    history: z.array(z.strictObject({ revision: z.number().int(), by: Party, at: Time, note: z.string().nullable() })),
  })
  .meta({ id: 'Plan' });
export type Plan = z.infer<typeof Plan>;

const template = z.record(z.string(), z.unknown());
const note = z.string().max(2000).optional();
const answer = planned({ id: z.string().nullable(), revision: z.number().int(), steps: z.number().int() });
/** A plan holds a template: as large as the general limit of a body lets it be. */
const bodyLimit = 4 * 1024 * 1024;

export const listPlans = defineRoute({
  op: 'listPlans',
  area,
  errors,
  summary: 'Lists plans, newest first; a bot sees its own',
  ...look,
  path: `${base}/plans`,
  owner: 'collection',
  query: z.strictObject({ state: z.enum(planStates).optional() }),
  answers: { 200: z.strictObject({ plans: z.array(PlanSummary) }) },
});

export const getPlan = defineRoute({
  op: 'getPlan',
  area,
  errors,
  summary: 'Reads one plan with its template and history',
  ...look,
  path: `${base}/plans/:id`,
  ...oneOf('plan'),
  answers: { 200: Plan },
});

export const draftPlan = defineRoute({
  op: 'draftPlan',
  area,
  errors,
  summary: 'Drafts a plan; its template is checked like one on disk',
  ...act,
  path: `${base}/plans`,
  owner: 'collection',
  idempotent: true,
  bodyLimit,
  body: z.strictObject({
    title: z.string().min(1).max(200),
    intent: z.string().min(1).max(20_000).optional(),
    template,
    note,
    dryRun,
  }),
  answers: { 201: Plan, 200: answer },
});

export const refinePlan = defineRoute({
  op: 'refinePlan',
  area,
  errors,
  summary: 'Replaces the template of a draft; `revision` is the one you read, any other is 409',
  ...act,
  path: `${base}/plans/:id/refine`,
  ...oneOf('plan'),
  bodyLimit,
  body: z.strictObject({ revision: z.number().int().min(1), template, note, dryRun }),
  answers: { 200: z.union([Plan, answer]) },
});

export const runPlan = defineRoute({
  op: 'runPlan',
  area,
  errors,
  summary: 'Starts a run from a draft; a dry run shows who would do what',
  method: 'POST',
  auth: people,
  scope: 'bots:act',
  path: `${base}/plans/:id/run`,
  ...oneOf('plan'),
  idempotent: true,
  body: z.strictObject({
    params: z.record(z.string().min(1).max(64), z.string().max(20_000)).optional(),
    campaignId: z.string().min(1).max(200).optional(),
    projectId: ProjectId.optional(),
    team: z.string().min(1).max(64).optional(),
    preset: z.string().min(1).max(64).optional(),
    dryRun,
  }),
  answers: { 200: z.union([RunStarted, RunPlan]) },
});

export const discardPlan = defineRoute({
  op: 'discardPlan',
  area,
  errors,
  summary: 'Discards a draft; it stays readable',
  ...act,
  path: `${base}/plans/:id/discard`,
  ...oneOf('plan'),
  body: z.strictObject({ dryRun }),
  answers: { 200: z.union([Plan, answer]) },
});
