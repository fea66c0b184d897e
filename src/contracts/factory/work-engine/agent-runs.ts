/** Records of bots' runs. Written by hosted bots, workflows, messages and automation. */
import { z } from 'zod';
import { defineRoute } from '../../common/route.ts';
import { Paging, Time } from '../../common/values.ts';
import { area, base, errors } from '../route-parts.ts';
import { look, oneOf } from './parts.ts';

export const agentRunSources = ['automation', 'workflow', 'message', 'work'] as const;
export const agentRunStatuses = ['running', 'completed', 'failed', 'cancelled', 'interrupted'] as const;

export const AgentRun = z
  .strictObject({
    id: z.string(),
    botId: z.string(),
    source: z.strictObject({ kind: z.enum(agentRunSources), ref: z.string() }),
    status: z.enum(agentRunStatuses),
    startedAt: Time,
    endedAt: Time.nullable(),
    usage: z
      .record(z.string(), z.number())
      .nullable()
      .meta({ description: 'For example inputTokens, outputTokens, cents; null if not counted.' }),
    output: z.string().optional(),
    error: z.string().optional(),
  })
  .meta({ id: 'AgentRun' });
export type AgentRun = z.infer<typeof AgentRun>;

export const listAgentRuns = defineRoute({
  op: 'listAgentRuns',
  area,
  errors,
  summary: 'Lists what bots ran for, newest first, without output; a bot sees its own',
  ...look,
  path: `${base}/agent-runs`,
  owner: 'collection',
  query: z.strictObject({
    bot: z.string().max(200).optional(),
    source: z.enum(agentRunSources).optional(),
    ref: z.string().max(300).optional().meta({ description: 'Only with `source`.' }),
    status: z.enum(agentRunStatuses).optional(),
    ...Paging,
  }),
  answers: { 200: z.strictObject({ runs: z.array(AgentRun), nextCursor: z.string().nullable() }) },
});

export const getAgentRun = defineRoute({
  op: 'getAgentRun',
  area,
  errors,
  summary: 'Reads one record with its output',
  ...look,
  path: `${base}/agent-runs/:id`,
  ...oneOf('agentRun'),
  answers: { 200: AgentRun },
});
