/** Spend and spending limits. Must not know who counts. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Time } from '../common/values.ts';

const area = 'usage';
const errors = 'plain' as const;

export const Month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'a month such as 2026-01');
const Cents = z.number().min(0).max(1e9);

/** One request to a model, as the computer that made it counts it. Fractions of a cent are kept. */
export const ReportedSpend = z.strictObject({
  id: z.string().min(1).max(200),
  at: Time,
  botId: z.string().max(200).nullable(),
  runId: z.string().max(200).nullable(),
  model: z.string().min(1).max(200),
  cents: Cents,
});
export type ReportedSpend = z.infer<typeof ReportedSpend>;

export const reportUsage = defineRoute({
  op: 'reportUsage',
  area: 'link',
  errors,
  summary: 'Reports what a computer’s bots spent on models; signed by its device, idempotent by the id of a line',
  method: 'POST',
  path: '/api/v1/runtime/usage',
  auth: ['device'],
  scope: null,
  owner: { none: 'the lines belong to the computer’s owner' },
  body: z.strictObject({ lines: z.array(ReportedSpend).min(1).max(500) }),
  answers: {
    200: z.strictObject({ accepted: z.number().int().meta({ description: 'How many lines were new.' }) }),
  },
});

export const UsageLine = z
  .strictObject({
    kind: z.enum([
      'model',
      'computer_minute',
      'computer_action',
      'phone_number',
      'phone_registration',
      'phone_text',
      'phone_call',
    ]),
    name: z
      .string()
      .meta({ description: 'Name of the model, of the project of the hosted computer, or the phone number.' }),
    botId: z.string().nullable(),
    computerId: z.string().nullable(),
    cents: z.number(),
    quantity: z.number().meta({ description: 'Requests, minutes (to a thousandth), actions, fees or texts.' }),
    count: z.number().int().meta({ description: 'How many reported lines this sums.' }),
  })
  .meta({ id: 'UsageLine' });
export type UsageLine = z.infer<typeof UsageLine>;

export const getUsage = defineRoute({
  op: 'getUsage',
  area,
  errors,
  summary:
    'Reads what was spent in a month (UTC; default: this month), summed by computer, bot, model and phone number',
  method: 'GET',
  path: '/api/v1/usage',
  auth: ['owner', 'user', 'key'],
  scope: 'compute',
  owner: 'collection',
  query: z.strictObject({ month: Month.optional() }),
  answers: { 200: z.strictObject({ month: Month, spentCents: z.number(), lines: z.array(UsageLine) }) },
});

export const Budget = z
  .strictObject({
    budgetCents: z.number().int().min(1).max(1e9).nullable().meta({ description: 'null: no budget.' }),
    alertPercent: z.number().int().min(1).max(100),
  })
  .meta({ id: 'Budget' });
export type Budget = z.infer<typeof Budget>;

const budgetPath = '/api/v1/usage/budget';

export const getBudget = defineRoute({
  op: 'getBudget',
  area,
  errors,
  summary: 'Reads the monthly budget and its alert threshold in percent',
  method: 'GET',
  path: budgetPath,
  auth: ['owner', 'user', 'key'],
  scope: 'compute',
  owner: 'collection',
  answers: { 200: Budget },
});

export const setBudget = defineRoute({
  op: 'setBudget',
  area,
  errors,
  summary: 'Sets the budget; fields left out stay the same',
  method: 'PUT',
  path: budgetPath,
  auth: ['owner', 'user', 'key'],
  scope: 'compute',
  owner: 'collection',
  body: Budget.partial(),
  answers: { 200: Budget },
});

export const usageRoutes = [reportUsage, getUsage, getBudget, setBudget] as const;
