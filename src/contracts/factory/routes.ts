/** Route table of the factory engine, as far as it is built (interface.md C). Served under `/api/factory`. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging, QueryFlag, Time } from '../common/values.ts';
import {
  Agent,
  Engine,
  InvalidTeam,
  PaneInput,
  PaneSize,
  Screen,
  Team,
  TeamPlanStep,
  TranscriptChunk,
} from './agent.ts';
import { Delivery, Message, SendPlan, SendRequest, Thread } from './delivery.ts';
import { ClosingEvent, EventEnvelope, ResetEvent } from './events.ts';
import { TeamName } from './team-file.ts';

const base = '/api/factory';
const area = 'factory';
const errors = 'factory' as const;
/** Who reads: the person (also through the cloud's link), keys with the scope, and bots. */
const readers = ['owner', 'link', 'key', 'bot'] as const;
/** Who steers: as readers, without bots. */
const people = ['owner', 'link', 'key'] as const;
const agentParam = { params: z.strictObject({ id: Id }), owner: { param: 'id', noun: 'agent' } } as const;
const Ok = z.strictObject({ ok: z.literal(true) });

export const health = defineRoute({
  op: 'factoryHealth',
  area,
  errors,
  summary: 'Whether the engine answers; with ?c= it proves that it knows the token',
  method: 'GET',
  path: `${base}/health`,
  auth: ['public'],
  scope: null,
  owner: { none: 'says nothing about anybody' },
  query: z.strictObject({
    c: z
      .string()
      .regex(/^[A-Za-z0-9_-]{16,128}$/)
      .optional(),
  }),
  answers: {
    200: z.strictObject({
      ok: z.boolean(),
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
  summary: 'All agents, or those of a team, and whether the pane engine can be read',
  method: 'GET',
  path: `${base}/agents`,
  auth: readers,
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({ team: z.string().max(64).optional() }),
  answers: { 200: z.strictObject({ agents: z.array(Agent), engine: Engine }) },
});

export const getAgent = defineRoute({
  op: 'getAgent',
  area,
  errors,
  summary: 'One agent',
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
  summary: 'The last lines of the pane as text; of a closed pane from its journal',
  method: 'GET',
  path: `${base}/agents/:id/capture`,
  auth: readers,
  scope: 'agents:read',
  ...agentParam,
  query: z.strictObject({ lines: z.coerce.number().int().min(1).max(2000).optional() }),
  answers: { 200: z.strictObject({ text: z.string(), at: Time }) },
});

export const agentTranscript = defineRoute({
  op: 'agentTranscript',
  area,
  errors,
  summary: 'What the pane printed, as plain text in pieces; next is null once it is gone and all is read',
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
  summary: 'The screen now; not_found without a live pane',
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
  summary: 'screen events, the first at once, then on each change; then one gone event and the end',
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
  summary: 'Lines above the screen, newest last; before is an absolute line number',
  method: 'GET',
  path: `${base}/agents/:id/scrollback`,
  auth: people,
  scope: 'agents:read',
  ...agentParam,
  query: z.strictObject({
    before: z.coerce.number().int().min(0).optional(),
    lines: z.coerce.number().int().min(1).max(2000).optional(),
  }),
  answers: {
    200: z.strictObject({
      ansi: z.string(),
      first: z.number().int().meta({ description: 'Absolute number of the first line given.' }),
      lines: z.number().int(),
      total: z.number().int(),
    }),
  },
});

export const agentInput = defineRoute({
  op: 'agentInput',
  area,
  errors,
  summary: 'Keystrokes into the pane: text first, then keys; no delivery, no ledger record',
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
  summary: 'Sets the size of the pane; who typed last owns it',
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
  rule: z.string().meta({ description: 'Id of the rule that judged it.' }),
  claim: z.string(),
  evidence: z.string().meta({ description: 'What was seen, shortened.' }),
  decided: z.boolean().meta({ description: 'Whether it changed the state.' }),
});

export const explainAgent = defineRoute({
  op: 'explainAgent',
  area,
  errors,
  summary: 'Why the agent is in its state: the rules of its harness and the evidence they judged',
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
    }),
  },
});

/** A harness's own process reports here (hook), with the bot's token. */
export const agentHook = defineRoute({
  op: 'agentHook',
  area,
  errors,
  summary: 'A harness reports an event of its own; the payload is the harness’s',
  method: 'POST',
  path: `${base}/hooks/:event`,
  auth: ['bot'],
  scope: null,
  owner: { none: 'the bot token names the bot' },
  params: z.strictObject({ event: z.string().regex(/^[A-Za-z]{1,64}$/) }),
  body: z.record(z.string(), z.unknown()),
  bodyLimit: 4 * 1024 * 1024,
  answers: { 200: z.record(z.string(), z.unknown()) },
});

export const listTeams = defineRoute({
  op: 'listTeams',
  area,
  errors,
  summary: 'Teams of the workspace, and those whose file has problems',
  method: 'GET',
  path: `${base}/teams`,
  auth: readers,
  scope: 'agents:read',
  owner: 'collection',
  answers: { 200: z.strictObject({ teams: z.array(Team), invalid: z.array(InvalidTeam) }) },
});

const teamParam = { params: z.strictObject({ name: TeamName }), owner: { param: 'name', noun: 'team' } } as const;

export const teamUp = defineRoute({
  op: 'teamUp',
  area,
  errors,
  summary: 'Starts the bots of a team; what already runs is left alone',
  method: 'POST',
  path: `${base}/teams/:name/up`,
  auth: people,
  scope: 'bots:act',
  ...teamParam,
  body: z.strictObject({ preset: z.string().optional(), on: z.string().optional(), dryRun: z.boolean().optional() }),
  answers: { 200: z.strictObject({ plan: z.array(TeamPlanStep), applied: z.boolean() }) },
});

export const teamDown = defineRoute({
  op: 'teamDown',
  area,
  errors,
  summary: 'Stops the bots of a team',
  method: 'POST',
  path: `${base}/teams/:name/down`,
  auth: people,
  scope: 'bots:act',
  ...teamParam,
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: {
    200: z.union([
      z.strictObject({ stopped: z.array(z.string()) }),
      z.strictObject({ dryRun: z.literal(true), plan: z.array(TeamPlanStep) }),
    ]),
  },
});

/** Checks a team file without starting anything; the CLI's `teams check`. */
export const checkTeam = defineRoute({
  op: 'checkTeam',
  area,
  errors,
  summary: 'Every problem of a team file with path and line',
  method: 'GET',
  path: `${base}/teams/:name/check`,
  auth: readers,
  scope: 'agents:read',
  ...teamParam,
  answers: { 200: z.strictObject({ team: z.string(), ok: z.boolean(), problems: InvalidTeam.shape.problems }) },
});

export const sendMessage = defineRoute({
  op: 'sendMessage',
  area,
  errors,
  summary: 'Sends a message to a bot or a thread and says whether it was really received',
  method: 'POST',
  path: `${base}/send`,
  auth: readers,
  scope: 'bots:act',
  owner: { none: 'the address is resolved among the caller’s own bots' },
  body: SendRequest,
  answers: { 200: z.union([Delivery, SendPlan]) },
});

export const listDeliveries = defineRoute({
  op: 'listDeliveries',
  area,
  errors,
  summary: 'Deliveries, newest first',
  method: 'GET',
  path: `${base}/deliveries`,
  auth: readers,
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({
    agent: z.string().optional(),
    thread: z.string().optional(),
    node: z.string().optional(),
    ...Paging,
  }),
  answers: { 200: z.strictObject({ deliveries: z.array(Delivery), nextCursor: z.string().nullable() }) },
});

export const drainQueue = defineRoute({
  op: 'drainQueue',
  area,
  errors,
  summary: 'Tries the queued sends of one bot, or of all, now',
  method: 'POST',
  path: `${base}/drain`,
  auth: people,
  scope: 'bots:act',
  owner: { none: 'the address is resolved among the caller’s own bots' },
  body: z.strictObject({ agent: z.string().optional(), dryRun: z.boolean().optional() }),
  answers: {
    200: z.strictObject({ tried: z.array(z.string()), left: z.number().int(), dryRun: z.literal(true).optional() }),
  },
});

export const factoryEventStream = defineRoute({
  op: 'factoryEvents',
  area,
  errors,
  summary: 'Events; Last-Event-ID or ?after= replays from there, else the stream starts now',
  method: 'GET',
  path: `${base}/events`,
  auth: people,
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({ after: z.string().max(100).optional() }),
  kind: 'sse',
  events: { message: EventEnvelope, reset: ResetEvent, closing: ClosingEvent },
  answers: { 200: z.unknown() },
});

export const listThreads = defineRoute({
  op: 'listThreads',
  area,
  errors,
  summary: 'Threads, newest message first',
  method: 'GET',
  path: `${base}/threads`,
  auth: readers,
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({ bot: z.string().optional(), ...Paging }),
  answers: { 200: z.strictObject({ threads: z.array(Thread), nextCursor: z.string().nullable() }) },
});

export const createThread = defineRoute({
  op: 'createThread',
  area,
  errors,
  summary: 'Opens a thread with a bot',
  method: 'POST',
  path: `${base}/threads`,
  auth: readers,
  scope: 'bots:act',
  owner: { none: 'the address is resolved among the caller’s own bots' },
  idempotent: true,
  body: z.strictObject({
    title: z.string().min(1).max(200),
    bot: z.string().optional(),
    dryRun: z.boolean().optional(),
  }),
  answers: {
    201: Thread,
    200: z.strictObject({
      dryRun: z.literal(true),
      plan: z.strictObject({ title: z.string(), botId: z.string().nullable() }),
    }),
  },
});

export const listMessages = defineRoute({
  op: 'listMessages',
  area,
  errors,
  summary: 'Messages of a thread, newest first',
  method: 'GET',
  path: `${base}/threads/:id/messages`,
  auth: readers,
  scope: 'agents:read',
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'thread' },
  query: z.strictObject({ ...Paging }),
  answers: { 200: z.strictObject({ messages: z.array(Message), nextCursor: z.string().nullable() }) },
});

/** What this computer has: harnesses with version and sign-in, model keys, ports, disk. Served to the floor and to `doctor`. */
export const doctor = defineRoute({
  op: 'doctor',
  area,
  errors,
  summary: 'What is installed and what is missing, with the command that mends it',
  method: 'GET',
  path: `${base}/doctor`,
  auth: people,
  scope: 'agents:read',
  owner: { none: 'facts of the computer, for its owner' },
  answers: {
    200: z.strictObject({
      checks: z.array(
        z.strictObject({
          name: z.string(),
          group: z.enum(['program', 'harness', 'model', 'port', 'disk', 'secret', 'workspace']),
          state: z.enum(['ok', 'missing', 'warn', 'unknown']),
          version: z.string().nullable(),
          detail: z.string(),
          fix: z.string().nullable().meta({ description: 'The command or step that mends it.' }),
        }),
      ),
    }),
  },
});

/** The workspace the engine works in, and the demo (gaps.md, "One workspace an engine"; issue: first run offers a demo). */
export const Workspace = z.strictObject({
  path: z.string(),
  computerId: z.string(),
  engineId: z.string(),
  demo: z.boolean().meta({ description: 'True when this workspace is the sample that ships with Gantry.' }),
  writable: z.boolean(),
});

export const getWorkspace = defineRoute({
  op: 'getWorkspace',
  area,
  errors,
  summary: 'The workspace this engine works in',
  method: 'GET',
  path: `${base}/workspace`,
  auth: readers,
  scope: 'agents:read',
  owner: { none: 'one workspace an engine' },
  answers: { 200: Workspace },
});

export const addDemo = defineRoute({
  op: 'addDemo',
  area,
  errors,
  summary: 'Copies the sample repository and its demo team into the workspace',
  method: 'POST',
  path: `${base}/workspace/demo`,
  auth: people,
  scope: 'bots:act',
  owner: { none: 'one workspace an engine' },
  body: z.strictObject({ dryRun: z.boolean().optional() }),
  answers: { 200: z.strictObject({ team: z.string(), written: z.array(z.string()), applied: z.boolean() }) },
});

export const factoryRoutes = [
  health,
  listAgents,
  getAgent,
  captureAgent,
  agentTranscript,
  agentScreen,
  agentStream,
  agentScrollback,
  agentInput,
  agentSize,
  explainAgent,
  agentHook,
  listTeams,
  teamUp,
  teamDown,
  checkTeam,
  sendMessage,
  listDeliveries,
  drainQueue,
  factoryEventStream,
  listThreads,
  createThread,
  listMessages,
  doctor,
  getWorkspace,
  addDemo,
] as const;
