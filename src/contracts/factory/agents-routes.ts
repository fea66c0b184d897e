/** Routes of agents and their panes. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';
import { Agent, Engine, PaneInput, PaneSize, Screen, Scrollback, TranscriptChunk } from './agent.ts';
import { ClosingEvent } from './events.ts';
import { area, base, errors, people, readers } from './route-parts.ts';

const agentParam = {
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'agent', list: 'gantry agents ls' },
} as const;
const Ok = z.strictObject({ ok: z.literal(true) });

export const health = defineRoute({
  op: 'factoryHealth',
  area,
  errors,
  summary: 'Reads whether the engine works; with ?c= it proves that it knows the token',
  method: 'GET',
  path: `${base}/health`,
  // A cloud of many must know whose computer is meant.
  auth: ['public', ...readers],
  scope: 'agents:read',
  owner: { none: 'says nothing about anybody' },
  query: z.strictObject({
    c: z
      .string()
      .regex(/^[A-Za-z0-9_-]{16,128}$/, 'letters, digits, "_" and "-", 16 to 128')
      .optional(),
  }),
  answers: {
    200: z.strictObject({
      ok: z.boolean().meta({ description: 'False while nothing can be written to disk; `gantry doctor` says why.' }),
      service: z.string(),
      panes: z.boolean(),
      proof: z.string().optional().meta({ description: 'hex HMAC-SHA256(token, c), only when c was given.' }),
    }),
  },
});

export const listAgents = defineRoute({
  op: 'listAgents',
  area,
  errors,
  summary: 'Lists all agents, or those of a team, and says whether the pane engine can be read',
  method: 'GET',
  path: `${base}/agents`,
  auth: readers,
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({ team: z.string().max(64).optional().meta({ description: 'Only the bots of this team.' }) }),
  answers: { 200: z.strictObject({ agents: z.array(Agent), engine: Engine }) },
});

export const getAgent = defineRoute({
  op: 'getAgent',
  area,
  errors,
  summary: 'Reads one agent',
  method: 'GET',
  path: `${base}/agents/:id`,
  auth: readers,
  scope: 'agents:read',
  ...agentParam,
  answers: { 200: Agent },
});

export const captureAgent = defineRoute({
  op: 'captureAgent',
  area,
  errors,
  summary:
    'Reads the last lines of the pane as text; for a closed pane from its journal, for an ACP agent from its conversation',
  method: 'GET',
  path: `${base}/agents/:id/capture`,
  auth: readers,
  scope: 'agents:read',
  ...agentParam,
  query: z.strictObject({
    lines: z.coerce
      .number()
      .int()
      .min(1)
      .max(2000)
      .optional()
      .meta({ description: 'How many lines, 1 to 2000 (default 80).' }),
  }),
  answers: { 200: z.strictObject({ text: z.string(), at: Time }) },
});

export const agentTranscript = defineRoute({
  op: 'agentTranscript',
  area,
  errors,
  summary:
    'Reads what the pane printed, or a bot without one said and did, as plain text in pieces; next is null once it is gone and all is read',
  method: 'GET',
  path: `${base}/agents/:id/transcript`,
  auth: readers,
  scope: 'agents:read',
  ...agentParam,
  query: z.strictObject({ cursor: z.string().max(200).optional() }),
  answers: { 200: z.strictObject({ chunks: z.array(TranscriptChunk), next: z.string().nullable() }) },
});

export const agentScreen = defineRoute({
  op: 'agentScreen',
  area,
  errors,
  summary: 'Reads the current screen; not_found without a live pane',
  method: 'GET',
  path: `${base}/agents/:id/screen`,
  auth: readers,
  scope: 'agents:read',
  ...agentParam,
  answers: { 200: Screen },
});

export const agentStream = defineRoute({
  op: 'agentStream',
  area,
  errors,
  summary: 'Streams screen events, the first at once, then one for each change; then one gone event and the end',
  method: 'GET',
  path: `${base}/agents/:id/stream`,
  auth: people,
  scope: 'agents:read',
  ...agentParam,
  kind: 'sse',
  events: { screen: Screen, gone: z.strictObject({ reason: z.string() }), closing: ClosingEvent },
  answers: { 200: z.unknown() },
});

export const agentScrollback = defineRoute({
  op: 'agentScrollback',
  area,
  errors,
  summary: 'Reads lines above the screen, newest last; before is an absolute line number',
  method: 'GET',
  path: `${base}/agents/:id/scrollback`,
  auth: people,
  scope: 'agents:read',
  ...agentParam,
  query: z.strictObject({
    before: z.coerce.number().int().min(0).optional(),
    lines: z.coerce.number().int().min(1).max(2000).optional(),
  }),
  answers: { 200: Scrollback },
});

export const agentInput = defineRoute({
  op: 'agentInput',
  area,
  errors,
  summary: 'Sends keystrokes to the pane: text first, then keys; no delivery, no ledger record',
  method: 'POST',
  path: `${base}/agents/:id/input`,
  auth: people,
  scope: 'bots:act',
  ...agentParam,
  body: PaneInput,
  bodyLimit: 2 * 1024 * 1024,
  answers: { 200: Ok },
});

export const agentSize = defineRoute({
  op: 'agentSize',
  area,
  errors,
  summary: 'Sets the size of the pane; the last to type owns it',
  method: 'POST',
  path: `${base}/agents/:id/size`,
  auth: people,
  scope: 'bots:act',
  ...agentParam,
  body: PaneSize,
  answers: { 200: z.strictObject({ ok: z.literal(true), cols: z.number().int(), rows: z.number().int() }) },
});

export const ExplainStep = z.strictObject({
  at: Time,
  source: z.string().meta({ description: 'hook, osc, title, screen, process or person' }),
  rule: z.string().meta({ description: 'Id of the rule that decided.' }),
  claim: z.string(),
  evidence: z.string().meta({ description: 'What the rule saw, shortened.' }),
  decided: z.boolean().meta({ description: 'Whether it changed the state.' }),
});

export const explainAgent = defineRoute({
  op: 'explainAgent',
  area,
  errors,
  summary: 'Explains the agent’s state: the rules of its harness and the evidence they judged',
  method: 'GET',
  path: `${base}/agents/:id/explain`,
  auth: readers,
  scope: 'agents:read',
  ...agentParam,
  answers: {
    200: z.strictObject({
      agent: z.string(),
      harness: z.string(),
      ruleset: z
        .string()
        .meta({ description: 'Name and version of the rules, and whether the installed version is covered.' }),
      state: z.string(),
      stateReason: z.string().nullable(),
      steps: z.array(ExplainStep),
      bottom: z.array(z.string()).meta({ description: 'The bottom rows that the screen rules see.' }),
      approvals: z.array(z.string()).meta({
        description: 'Ids of approvals for questions of its program that wait for a person.',
      }),
    }),
  },
});

export const agentHook = defineRoute({
  op: 'agentHook',
  area,
  errors,
  summary: 'Lets a harness report one of its events; the payload is the harness’s own',
  method: 'POST',
  path: `${base}/hooks/:event`,
  auth: ['bot'],
  scope: null,
  owner: { none: 'the bot token names the bot' },
  params: z.strictObject({ event: z.string().regex(/^[A-Za-z]{1,64}$/, 'letters, at most 64') }),
  body: z.record(z.string(), z.unknown()),
  bodyLimit: 4 * 1024 * 1024,
  answers: { 200: z.record(z.string(), z.unknown()) },
});
