/** Automation rules, and the jobs that they make of events. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging, QueryFlag, Time } from '../common/values.ts';
import { connectorMounts, connectorOwner, connectorRoute } from './mount.ts';

const base = `${connectorMounts[0]}/:id/events/subscriptions/:sid`;

/** How a rule's jobs may act. None bypasses permissions. */
export const ruleModes = ['REQUIRE_APPROVAL', 'PLAN_ONLY', 'ACCEPT_EDITS'] as const;
export const RuleMode = z.enum(ruleModes);
export type RuleMode = z.infer<typeof RuleMode>;

/** UTF-8 bytes. */
const bytes = (max: number) => (text: string) => new TextEncoder().encode(text).length <= max;
export const maxInstructionsLength = 16_000;
export const maxExpectedOutputLength = 4_000;
export const maxRules = 50;

const fields = {
  botId: z.string().min(1).max(200),
  instructions: z
    .string()
    .min(1)
    .refine(bytes(maxInstructionsLength), `at most ${maxInstructionsLength} bytes of UTF-8`),
  expectedOutput: z
    .string()
    .refine(bytes(maxExpectedOutputLength), `at most ${maxExpectedOutputLength} bytes of UTF-8`),
  executionMode: RuleMode,
  paused: z.boolean(),
  batchSeconds: z.number().int().min(0).max(3600),
  maxRunsPerDay: z.number().int().min(1).max(1000),
  timeoutSeconds: z.number().int().min(30).max(1800),
  dailySpendThresholdUsd: z.number().positive().max(1_000_000).nullable(),
  match: z.record(z.string(), z.unknown()).nullable().meta({
    description: 'JSON Schema 2020-12 for the data of an event; events that do not match only create a ticket.',
  }),
};

/** The settings that a job keeps: the rule at its creation, plus a mode that became stricter since. */
export const RuleConfig = z.strictObject(fields);
export type RuleConfig = z.infer<typeof RuleConfig>;

export const Rule = RuleConfig.extend({
  id: z.string(),
  subscriptionId: z.string(),
  version: z.number().int().meta({ description: 'Counts edits, from 1.' }),
  createdAt: Time,
  updatedAt: Time,
}).meta({ id: 'AutomationRule' });
export type Rule = z.infer<typeof Rule>;

/** Everything except the instructions has a default. */
export const ruleDefaults = {
  expectedOutput: '',
  executionMode: 'REQUIRE_APPROVAL',
  paused: false,
  batchSeconds: 0,
  maxRunsPerDay: 20,
  timeoutSeconds: 300,
  dailySpendThresholdUsd: null,
  match: null,
} as const satisfies Omit<RuleConfig, 'botId' | 'instructions'>;

const optional = {
  expectedOutput: fields.expectedOutput.optional(),
  executionMode: fields.executionMode.optional(),
  paused: fields.paused.optional(),
  batchSeconds: fields.batchSeconds.optional(),
  maxRunsPerDay: fields.maxRunsPerDay.optional(),
  timeoutSeconds: fields.timeoutSeconds.optional(),
  dailySpendThresholdUsd: fields.dailySpendThresholdUsd.optional(),
  match: fields.match.optional(),
};
/** `automation` of a subscription: `botId` and `executionMode` are the subscription's where they are not given. */
export const Automation = z.strictObject({
  ...optional,
  botId: fields.botId.optional(),
  instructions: fields.instructions,
});
export type Automation = z.infer<typeof Automation>;

const dryRun = z.boolean().optional();
export const CreateRule = Automation.extend({ dryRun });
export type CreateRule = z.infer<typeof CreateRule>;
export const ChangeRule = z.strictObject({
  ...optional,
  botId: fields.botId.optional(),
  instructions: fields.instructions.optional(),
  dryRun,
});
export type ChangeRule = z.infer<typeof ChangeRule>;

/** About the event beside it; the computer derives it on request from the ticket's data. */
export const About = z.string().nullable().meta({
  description: 'The event’s own description, at most 120 characters on one line; null if it has none.',
});

/** The jobs that the rule would have made of the subscription's last events. */
export const RulePlan = z.strictObject({
  dryRun: z.literal(true),
  plan: z.strictObject({
    rule: RuleConfig,
    looked: z.number().int().meta({ description: 'How many past events were checked: at most the newest 50.' }),
    matches: z.array(
      z.strictObject({ eventId: z.string(), about: About, ticketId: z.string().nullable(), receivedAt: Time }),
    ),
    runs: z.number().int().meta({ description: 'How many runs they would have made, batched.' }),
    pending: z.array(z.string()).meta({ description: 'Waiting jobs that would get a stricter mode.' }),
  }),
});

export type RulePlan = z.infer<typeof RulePlan>;

export const jobStatuses = [
  'batching',
  'awaiting_approval',
  'queued',
  'running',
  'stopping',
  'completed',
  'failed',
  'interrupted',
  'denied',
  'cancelled',
] as const;
export const JobStatus = z.enum(jobStatuses);
export type JobStatus = z.infer<typeof JobStatus>;

export const JobAttempt = z.strictObject({
  number: z.number().int(),
  runId: z.string().meta({ description: 'Id of the agent run, which list_runs, get_run and get_run_result read.' }),
  status: z.enum(['running', 'completed', 'failed', 'cancelled', 'interrupted']),
  startedAt: Time,
  endedAt: Time.nullable(),
  usage: z.record(z.string(), z.number()).nullable(),
  error: z.string().nullable(),
});

export type JobAttempt = z.infer<typeof JobAttempt>;

export const Job = z
  .strictObject({
    id: Id,
    ruleId: z.string(),
    status: JobStatus,
    reason: z.string().nullable().meta({ description: 'Why it waits or how it ended, in one sentence.' }),
    eventIds: z.array(z.string()),
    about: About.meta({ description: 'Description of its first event, as in the trail.' }),
    ticketId: z.string().nullable().meta({ description: 'Ticket of its first event.' }),
    threadId: z.string().nullable(),
    sessionId: z.string().nullable(),
    output: z.string().nullable(),
    error: z.string().nullable(),
    createdAt: Time,
    config: RuleConfig,
    attempts: z.array(JobAttempt),
  })
  .meta({ id: 'AutomationJob' });
export type Job = z.infer<typeof Job>;

export const JobEvent = z
  .strictObject({
    index: z.number().int(),
    at: Time,
    status: JobStatus.meta({ description: 'Its new status.' }),
    reason: z.string().nullable(),
    actor: z.string().meta({ description: '`engine`, or who answered.' }),
  })
  .meta({ id: 'AutomationJobEvent' });
export type JobEvent = z.infer<typeof JobEvent>;

/** A bot of this computer, and whether a rule may run it. */
export const AutomationBot = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    reason: z.string().nullable().meta({
      description: 'Why Gantry cannot enforce its permissions, in one sentence; null: it can, and rules may run it.',
    }),
  })
  .meta({ id: 'AutomationBot' });
export type AutomationBot = z.infer<typeof AutomationBot>;

const shared = { ...connectorRoute, owner: connectorOwner } as const;
const ofSubscription = { ...shared, params: z.strictObject({ id: Id, sid: Id }) } as const;
const ofRule = { ...shared, params: z.strictObject({ id: Id, sid: Id, rid: Id }) } as const;
const ofJob = { ...shared, params: z.strictObject({ id: Id, sid: Id, jid: Id }) } as const;

export const listAutomationBots = defineRoute({
  ...shared,
  op: 'listAutomationBots',
  summary: 'Lists bots that a subscription may name, and why rules cannot run some of them',
  method: 'GET',
  path: `${connectorMounts[0]}/:id/events/bots`,
  params: z.strictObject({ id: Id }),
  answers: { 200: z.strictObject({ bots: z.array(AutomationBot) }) },
});
export const listRules = defineRoute({
  ...ofSubscription,
  op: 'listAutomationRules',
  summary: 'Lists the rules of a subscription, oldest first',
  method: 'GET',
  path: `${base}/rules`,
  answers: { 200: z.strictObject({ rules: z.array(Rule) }) },
});
export const createRule = defineRoute({
  ...ofSubscription,
  op: 'createAutomationRule',
  summary: 'Adds a rule; a bot that cannot enforce permissions is refused (409 bot_not_enforceable)',
  method: 'POST',
  path: `${base}/rules`,
  idempotent: true,
  body: CreateRule,
  answers: { 201: Rule, 200: RulePlan },
});
export const changeRule = defineRoute({
  ...ofRule,
  op: 'changeAutomationRule',
  summary: 'Changes the given fields; a stricter mode also applies to pending work, which keeps its instructions',
  method: 'PATCH',
  path: `${base}/rules/:rid`,
  body: ChangeRule,
  answers: { 200: z.union([Rule, RulePlan]) },
});
export const removeRule = defineRoute({
  ...ofRule,
  op: 'removeAutomationRule',
  summary: 'Removes a rule; its pending jobs are cancelled, running ones continue',
  method: 'DELETE',
  path: `${base}/rules/:rid`,
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: {
    204: z.undefined(),
    200: z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ cancels: z.array(z.string()) }) }),
  },
});
export const listJobs = defineRoute({
  ...ofSubscription,
  op: 'listAutomationRuns',
  summary: 'Lists the jobs of rules, newest first, without output',
  method: 'GET',
  path: `${base}/runs`,
  query: z.strictObject({ ...Paging, status: JobStatus.optional(), rule: z.string().max(200).optional() }),
  answers: { 200: z.strictObject({ runs: z.array(Job), nextCursor: z.string().nullable() }) },
});
export const readJob = defineRoute({
  ...ofJob,
  op: 'readAutomationRun',
  summary: 'Reads one job with its output',
  method: 'GET',
  path: `${base}/runs/:jid`,
  answers: { 200: Job },
});
export const listJobEvents = defineRoute({
  ...ofJob,
  op: 'listAutomationRunEvents',
  summary: 'Lists the status changes of a job, oldest first',
  method: 'GET',
  path: `${base}/runs/:jid/events`,
  answers: { 200: z.strictObject({ events: z.array(JobEvent) }) },
});
/** An approval names only its job. */
export const findJob = defineRoute({
  ...shared,
  op: 'findAutomationRun',
  summary: 'Finds the subscription of a job by its id, such as the `runId` of an approval',
  method: 'GET',
  path: `${connectorMounts[0]}/runs/:jid`,
  params: z.strictObject({ jid: Id }),
  answers: { 200: z.strictObject({ connectorId: z.string(), subscriptionId: z.string() }) },
});
const verb = <const Op extends string>(op: Op, name: string, summary: string) =>
  ({ ...ofJob, op, summary, method: 'POST', path: `${base}/runs/:jid/${name}`, answers: { 200: Job } }) as const;
export const approveJob = defineRoute(
  verb('approveAutomationRun', 'approve', 'awaiting_approval → queued; from another state 409'),
);
export const denyJob = defineRoute(
  verb('denyAutomationRun', 'deny', 'awaiting_approval → denied; from another state 409'),
);
export const retryJob = defineRoute(
  verb('retryAutomationRun', 'retry', 'failed, cancelled or interrupted → awaiting_approval; from another state 409'),
);
export const stopJob = defineRoute(
  verb(
    'stopAutomationRun',
    'stop',
    'running → stopping → cancelled, or interrupted after 15 s; waiting ones → cancelled',
  ),
);

export const ruleRoutes = [
  listAutomationBots,
  listRules,
  createRule,
  changeRule,
  removeRule,
  listJobs,
  findJob,
  readJob,
  listJobEvents,
  approveJob,
  denyJob,
  retryJob,
  stopJob,
] as const;
