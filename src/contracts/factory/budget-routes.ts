/** Budgets of runs, steps and campaigns: their routes. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { area, base, errors, people } from './route-parts.ts';
import { WorkBudget } from './workflow.ts';

const BudgetSubject = z
  .string()
  .max(300)
  .regex(/^(run:[^/]+|step:[^/]+\/[^/]+|campaign:.+)$/, '"run:<run>", "step:<run>/<node>" or "campaign:<campaign>"')
  .meta({ description: '`run:<run>`, `step:<run>/<node>` or `campaign:<campaign>`.' });

export const BudgetState = z
  .strictObject({
    subject: BudgetSubject,
    title: z.string(),
    budget: WorkBudget,
    portions: z.number().int().meta({ description: 'How often the budget was granted; each approval adds one.' }),
    used: z.strictObject({
      usd: z.number().meta({ description: 'Of requests whose price is known.' }),
      tokens: z.number().int(),
      minutes: z.number(),
      unpriced: z.number().int().meta({ description: 'Requests whose price is not known.' }),
    }),
    reached: z.string().nullable().meta({ description: 'Which limit is reached, in words; null: none.' }),
  })
  .meta({ id: 'BudgetState' });
export type BudgetState = z.infer<typeof BudgetState>;

const own = { owner: { none: 'looked up among the caller’s own' }, auth: people } as const;

export const listWorkBudgets = defineRoute({
  op: 'listWorkBudgets',
  area,
  errors,
  summary: 'Reads the budgets of a run with its steps and campaign, or of a campaign, beside what was used',
  method: 'GET',
  path: `${base}/budgets`,
  scope: 'agents:read',
  ...own,
  query: z.strictObject({
    run: z.string().max(200).optional().meta({ description: 'Id of a run.' }),
    campaign: z.string().max(200).optional().meta({ description: 'Id of a campaign.' }),
  }),
  answers: { 200: z.strictObject({ budgets: z.array(BudgetState) }) },
});

export const setWorkBudget = defineRoute({
  op: 'setWorkBudget',
  area,
  errors,
  summary: 'Sets how much money, tokens and time a run, a step or a campaign may use in all; null removes the budget',
  method: 'PUT',
  path: `${base}/budgets`,
  scope: 'bots:act',
  ...own,
  body: z.strictObject({ subject: BudgetSubject, budget: WorkBudget.nullable(), dryRun: z.boolean().optional() }),
  answers: {
    200: z.union([
      z.strictObject({ budgets: z.array(BudgetState) }),
      z.strictObject({
        dryRun: z.literal(true),
        plan: z.strictObject({ subject: BudgetSubject, from: WorkBudget.nullable(), to: WorkBudget.nullable() }),
      }),
    ]),
  },
});

export const budgetRoutes = [listWorkBudgets, setWorkBudget] as const;
