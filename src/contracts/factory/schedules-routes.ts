/** Schedules: a template that runs at given times, each time at most once. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging, QueryFlag, Time } from '../common/values.ts';
import { area, base, errors, people, readers } from './route-parts.ts';
import { RunRequest, RunStarted } from './workflow.ts';

export const occurrenceStates = ['started', 'missed', 'skipped', 'failed'] as const;
export const Occurrence = z
  .strictObject({
    due: Time,
    state: z.enum(occurrenceStates).meta({
      description:
        'missed: Gantry was not running; skipped: the previous run had not ended; failed: the run could not be started.',
    }),
    dagId: z.string().nullable(),
    reason: z.string().nullable(),
    at: Time.meta({ description: 'When this was decided.' }),
  })
  .meta({ id: 'Occurrence' });
export type Occurrence = z.infer<typeof Occurrence>;

export const ScheduledRun = RunRequest.omit({ dryRun: true });
export type ScheduledRun = z.infer<typeof ScheduledRun>;

const title = z.string().trim().min(1).max(200);
const cron = z.string().trim().min(1).max(200).meta({ description: 'Five fields: minute, hour, day, month, weekday.' });
const timezone = z.string().min(1).max(100).meta({ description: 'For example Europe/Berlin.' });

export const Schedule = z
  .strictObject({
    id: z.string(),
    title: z.string(),
    run: ScheduledRun,
    cron: z.string().nullable(),
    at: Time.nullable().meta({ description: 'Runs once, at this time; then there is no cron.' }),
    timezone: z.string(),
    paused: z.boolean(),
    runMissed: z.boolean().meta({ description: 'After Gantry was not running, one run makes up for missed times.' }),
    next: z.array(Time).meta({ description: 'The next times, at most five; empty while it is paused.' }),
    last: Occurrence.nullable(),
    missed: z.number().int().meta({ description: 'Missed times that were not run since.' }),
    createdAt: Time,
  })
  .meta({ id: 'Schedule' });
export type Schedule = z.infer<typeof Schedule>;

export const ScheduleRequest = z
  .strictObject({
    title: title.optional().meta({ description: 'Default: the template.' }),
    run: ScheduledRun,
    cron: cron.optional(),
    at: z.iso.datetime({ offset: true }).optional(),
    timezone: timezone.optional().meta({ description: 'Default: the computer’s.' }),
    runMissed: z.boolean().optional(),
    paused: z.boolean().optional(),
    dryRun: z.boolean().optional(),
  })
  .refine((body) => (body.cron === undefined) !== (body.at === undefined), 'give either cron or at');
export type ScheduleRequest = z.infer<typeof ScheduleRequest>;

export const ScheduleChange = z
  .strictObject({
    title: title.optional(),
    run: ScheduledRun.optional(),
    cron: cron.optional(),
    at: z.iso.datetime({ offset: true }).optional(),
    timezone: timezone.optional(),
    runMissed: z.boolean().optional(),
    paused: z.boolean().optional(),
    dryRun: z.boolean().optional(),
  })
  .refine((body) => body.cron === undefined || body.at === undefined, 'give either cron or at');
export type ScheduleChange = z.infer<typeof ScheduleChange>;

export const SchedulePlan = z.strictObject({
  dryRun: z.literal(true),
  plan: z.strictObject({
    title: z.string(),
    timezone: z.string(),
    next: z.array(Time),
    nodes: z.array(z.strictObject({ title: z.string(), executor: z.string() })),
  }),
});

const one = {
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'schedule', list: 'gantry workflows schedules' },
} as const;
const read = { method: 'GET', auth: readers, scope: 'agents:read' } as const;
const act = { auth: people, scope: 'bots:act' } as const;

export const listSchedules = defineRoute({
  op: 'listSchedules',
  area,
  errors,
  summary: 'Lists schedules with their next times, soonest first',
  ...read,
  path: `${base}/schedules`,
  owner: 'collection',
  answers: { 200: z.strictObject({ schedules: z.array(Schedule) }) },
});

export const createSchedule = defineRoute({
  op: 'createSchedule',
  area,
  errors,
  summary:
    'Creates a schedule that runs a template at given times; a dry run shows the next five. A bot needs a policy rule that allows it',
  method: 'POST',
  auth: readers,
  scope: 'bots:act',
  path: `${base}/schedules`,
  owner: 'collection',
  idempotent: true,
  body: ScheduleRequest,
  answers: { 201: Schedule, 200: SchedulePlan },
});

export const changeSchedule = defineRoute({
  op: 'changeSchedule',
  area,
  errors,
  summary: 'Changes, pauses or resumes a schedule; fields left out stay the same',
  method: 'PATCH',
  ...act,
  path: `${base}/schedules/:id`,
  ...one,
  body: ScheduleChange,
  answers: { 200: z.union([Schedule, SchedulePlan]) },
});

export const removeSchedule = defineRoute({
  op: 'removeSchedule',
  area,
  errors,
  summary: 'Deletes a schedule; its runs stay',
  method: 'DELETE',
  ...act,
  path: `${base}/schedules/:id`,
  ...one,
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: {
    200: z.union([
      z.strictObject({ removed: Schedule }),
      z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ removes: Schedule }) }),
    ]),
  },
});

export const listOccurrences = defineRoute({
  op: 'listOccurrences',
  area,
  errors,
  summary: 'Lists what happened at each time of a schedule, newest first',
  ...read,
  path: `${base}/schedules/:id/runs`,
  ...one,
  query: z.strictObject(Paging),
  answers: { 200: z.strictObject({ occurrences: z.array(Occurrence), nextCursor: z.string().nullable() }) },
});

export const runSchedule = defineRoute({
  op: 'runSchedule',
  area,
  errors,
  summary: 'Starts its run now, or for a time that was missed, skipped or failed',
  method: 'POST',
  ...act,
  path: `${base}/schedules/:id/run`,
  ...one,
  idempotent: true,
  body: z.strictObject({ due: Time.optional() }),
  answers: { 200: RunStarted },
});

export const scheduleRoutes = [
  listSchedules,
  createSchedule,
  changeSchedule,
  removeSchedule,
  listOccurrences,
  runSchedule,
] as const;
