/** Triggers: addresses that turn posts into tickets of a bot. */
import { z } from 'zod';
import { defineRoute } from '../../common/route.ts';
import { QueryFlag, Time } from '../../common/values.ts';
import { area, base, errors, people } from '../route-parts.ts';
import { dryRun, oneOf, planned } from './parts.ts';

/** The largest post to a trigger, in bytes. */
export const largestTriggerBody = 256 * 1024;
/** `<computer id>~<secret>`: the first part shows the cloud which outbox to use, the computer checks the rest. */
export const triggerKey = /^([A-Za-z0-9_-]{1,100})~([A-Za-z0-9_-]{43})$/;

export const Trigger = z
  .strictObject({
    id: z.string(),
    botId: z.string(),
    title: z.string(),
    createdAt: Time,
    lastUsedAt: Time.nullable(),
    tickets: z.number().int(),
  })
  .meta({ id: 'Trigger' });
export type Trigger = z.infer<typeof Trigger>;

const act = { auth: people, scope: 'bots:act' } as const;

export const listTriggers = defineRoute({
  op: 'listTriggers',
  area,
  errors,
  summary: 'Lists triggers; their keys are not shown again',
  method: 'GET',
  auth: people,
  scope: 'agents:read',
  path: `${base}/triggers`,
  owner: 'collection',
  answers: { 200: z.strictObject({ triggers: z.array(Trigger) }) },
});

export const createTrigger = defineRoute({
  op: 'createTrigger',
  area,
  errors,
  summary: 'Creates a trigger: anybody who knows its address can give the bot tickets',
  method: 'POST',
  ...act,
  path: `${base}/triggers`,
  owner: { none: 'the bot is looked up among the caller’s own' },
  idempotent: true,
  body: z.strictObject({ botId: z.string().min(1).max(200), title: z.string().min(1).max(200), dryRun }),
  answers: {
    201: z.strictObject({ id: z.string(), key: z.string(), url: z.string(), trigger: Trigger }),
    200: planned({ botId: z.string(), title: z.string() }),
  },
});

export const removeTrigger = defineRoute({
  op: 'removeTrigger',
  area,
  errors,
  summary: 'Ends a trigger; its tickets stay',
  method: 'DELETE',
  ...act,
  path: `${base}/triggers/:id`,
  ...oneOf('trigger'),
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: { 200: z.union([z.strictObject({ removed: Trigger }), planned({ id: z.string() })]) },
});
