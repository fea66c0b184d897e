/** Bots' spend, their daily limits, and the limits that stop them. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';
import { area, base, errors, people } from './route-parts.ts';

export const Used = z
  .strictObject({
    requests: z.number().int(),
    inputTokens: z.number().int().meta({ description: 'Including tokens from a cache.' }),
    outputTokens: z.number().int(),
    cents: z.number().meta({ description: 'Cost of requests with a known price, with fractions.' }),
    unpriced: z
      .number()
      .int()
      .meta({ description: 'Requests with an unknown price: their tokens are counted, their cost is not.' }),
  })
  .meta({ id: 'Used' });
export type Used = z.infer<typeof Used>;

/** `model`: a hosted bot whose model cannot be asked. */
export const holdKinds = ['budget', 'usage_limit', 'model'] as const;
export const BotHold = z
  .strictObject({
    agentId: z.string(),
    kind: z.enum(holdKinds),
    reason: z.string(),
    until: Time.nullable().meta({ description: 'When it continues automatically; null: a person decides.' }),
    since: Time,
  })
  .meta({ id: 'BotHold' });
export type BotHold = z.infer<typeof BotHold>;

/** `*` for all bots of the workspace, the name of a team, or the address of a bot. */
export const SpendSubject = z
  .string()
  .regex(/^(\*|[a-z0-9_-]{1,64}|[A-Za-z0-9_.-]{1,64}@[a-z0-9_-]{1,64})$/, '"*", a team, or a bot such as coder@dev');

export const SpendLimit = z
  .strictObject({
    subject: SpendSubject,
    dailyCents: z.number().int(),
    spentCents: z.number().meta({ description: 'Spent today.' }),
    reached: z.boolean(),
  })
  .meta({ id: 'SpendLimit' });
export type SpendLimit = z.infer<typeof SpendLimit>;

export const Spending = z
  .strictObject({
    day: z.iso.date().meta({ description: 'Today, UTC.' }),
    today: Used,
    month: Used.meta({ description: 'Used this month, UTC.' }),
    bots: z.array(z.strictObject({ agentId: z.string(), address: z.string(), today: Used, month: Used })),
    unpricedModels: z.array(z.string()).meta({ description: 'Models used this month whose price is unknown.' }),
    limits: z.array(SpendLimit),
    holds: z.array(BotHold),
    waitOut: z
      .boolean()
      .meta({ description: 'Whether bots wait for a reported reset and then continue automatically.' }),
  })
  .meta({ id: 'Spending' });
export type Spending = z.infer<typeof Spending>;

/** How usage by day is split. */
export const usageGroups = ['day', 'bot', 'model', 'account'] as const;
export const UsageDays = z
  .strictObject({
    from: z.iso.date().meta({ description: 'First day, UTC.' }),
    to: z.iso.date().meta({ description: 'Last day, UTC: today.' }),
    by: z.enum(usageGroups),
    rows: z.array(
      Used.extend({
        day: z.iso.date(),
        name: z.string().nullable().meta({
          description:
            'Address of the bot (its id once it is gone), name of the model, or program and account, such as claude/work; null with by=day, and for what no account used.',
        }),
      }),
    ),
  })
  .meta({ id: 'UsageDays' });
export type UsageDays = z.infer<typeof UsageDays>;

const own = { owner: { none: 'of the one workspace' }, auth: people } as const;
const dryRun = z.boolean().optional();

export const getSpending = defineRoute({
  op: 'getSpending',
  area,
  errors,
  summary:
    'Reads what the bots of the workspace used today and this month, their daily limits, and which bots are held by one',
  method: 'GET',
  path: `${base}/spending`,
  scope: 'agents:read',
  ...own,
  answers: { 200: Spending },
});

export const getUsageDays = defineRoute({
  op: 'getUsageDays',
  area,
  errors,
  summary:
    'Reads what bots used on each day (UTC), in total, by bot, by model or by account; days without usage have no row',
  method: 'GET',
  path: `${base}/usage/days`,
  scope: 'agents:read',
  ...own,
  query: z.strictObject({
    by: z.enum(usageGroups).optional().meta({ description: 'Default: day.' }),
    days: z.coerce.number().int().min(1).max(92).optional().meta({ description: 'How many, with today. Default: 30.' }),
  }),
  answers: { 200: UsageDays },
});

export const setSpendLimit = defineRoute({
  op: 'setSpendLimit',
  area,
  errors,
  summary: 'Sets how much a bot, a team or all bots may spend a day (UTC); null removes the limit. Held bots continue',
  method: 'PUT',
  path: `${base}/spending/limits`,
  scope: 'bots:act',
  ...own,
  body: z.strictObject({
    subject: SpendSubject,
    dailyCents: z.number().int().min(1).max(1e9).nullable(),
    dryRun,
  }),
  answers: {
    200: z.union([
      z.strictObject({ limits: z.array(SpendLimit) }),
      z.strictObject({
        dryRun: z.literal(true),
        plan: z.strictObject({ subject: SpendSubject, from: z.number().nullable(), to: z.number().nullable() }),
      }),
    ]),
  },
});

export const setWaitOut = defineRoute({
  op: 'setWaitOut',
  area,
  errors,
  summary: 'Sets whether bots wait for the reset of a usage limit automatically; off: each needs its person',
  method: 'PUT',
  path: `${base}/spending/wait-out`,
  scope: 'bots:act',
  ...own,
  body: z.strictObject({ on: z.boolean() }),
  answers: { 200: z.strictObject({ waitOut: z.boolean() }) },
});

export const letBotGoOn = defineRoute({
  op: 'letBotGoOn',
  area,
  errors,
  summary:
    'Lets a held bot continue: with one more message over its budget, or with a retry before its usage limit resets or its model is checked again',
  method: 'POST',
  path: `${base}/agents/:id/go-on`,
  auth: people,
  scope: 'bots:act',
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'agent', word: 'bot', list: 'gantry agents ls' },
  body: z.strictObject({ dryRun }),
  answers: {
    200: z.union([
      z.strictObject({ hold: BotHold }),
      z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ hold: BotHold }) }),
    ]),
  },
});

export const spendingRoutes = [getSpending, getUsageDays, setSpendLimit, setWaitOut, letBotGoOn] as const;
