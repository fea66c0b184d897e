/** Steering a bot: note its progress, ask for its view, or interrupt it with a note. */
import { z } from 'zod';
import { defineRoute } from '../../common/route.ts';
import { Paging, Time } from '../../common/values.ts';
import { Agent, AgentState } from '../agent.ts';
import { Delivery } from '../delivery.ts';
import { area, base, errors } from '../route-parts.ts';
import { act, dryRun, look, Party } from './parts.ts';

export const steerActions = ['checkpoint', 'consult', 'interrupt'] as const;

export const SteerRequest = z.strictObject({
  agent: z.string().min(1).max(200),
  action: z.enum(steerActions),
  note: z.string().min(1).max(20_000).optional().meta({ description: 'Required for consult: the question.' }),
  dryRun,
});
export type SteerRequest = z.infer<typeof SteerRequest>;

export const Checkpoint = z
  .strictObject({
    id: z.string(),
    agentId: z.string(),
    agent: z.string(),
    by: Party,
    at: Time,
    note: z.string().nullable(),
    state: AgentState,
    stateReason: z.string().nullable(),
    node: Agent.shape.currentNode,
    screen: z.string().meta({ description: 'The last lines of its terminal; empty without one.' }),
    git: z
      .strictObject({ head: z.string(), branch: z.string().nullable(), changed: z.number().int() })
      .nullable()
      .meta({ description: 'Of its folder, if that is a repository.' }),
  })
  .meta({ id: 'Checkpoint' });
export type Checkpoint = z.infer<typeof Checkpoint>;

export const SteerAnswer = z.union([
  z.strictObject({ action: z.literal('checkpoint'), checkpoint: Checkpoint }),
  z.strictObject({ action: z.literal('consult'), threadId: z.string(), delivery: Delivery }),
  z.strictObject({
    action: z.literal('interrupt'),
    interrupted: z.boolean().meta({
      description: 'True: its turn ended. False: it was in no turn, or its turn did not end within a few seconds.',
    }),
    keys: z
      .array(z.string())
      .meta({ description: 'Keys that were pressed for it; empty if its program has another way to stop.' }),
    delivery: Delivery.nullable(),
  }),
  z.strictObject({
    dryRun: z.literal(true),
    plan: z.strictObject({
      action: z.enum(steerActions),
      agent: z.string(),
      keys: z.array(z.string()),
      records: z.array(z.string()),
    }),
  }),
]);
export type SteerAnswer = z.infer<typeof SteerAnswer>;

export const listCheckpoints = defineRoute({
  op: 'listCheckpoints',
  area,
  errors,
  summary: 'Lists checkpoints, newest first; a bot sees its own',
  ...look,
  path: `${base}/steer`,
  owner: 'collection',
  query: z.strictObject({ agent: z.string().max(200).optional(), ...Paging }),
  answers: { 200: z.strictObject({ checkpoints: z.array(Checkpoint), nextCursor: z.string().nullable() }) },
});

export const steerAgent = defineRoute({
  op: 'steerAgent',
  area,
  errors,
  summary:
    'checkpoint: records what a bot is doing. consult: asks it in a new thread. interrupt: ends its turn, then sends the note. A bot may checkpoint itself, consult any bot, and interrupt those that its team file lets it direct',
  ...act,
  path: `${base}/steer`,
  owner: { none: 'the address is resolved among the caller’s own bots' },
  idempotent: true,
  body: SteerRequest,
  answers: { 200: SteerAnswer },
});
