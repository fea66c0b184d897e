/**
 * Peer routes: what a paired computer's engine serves to the engine of another computer of the same person, on its peer port and
 * on the link's `peer` stream, and the cloud's route that leads there. The other end may run another version, so bodies and
 * answers tolerate unknown fields.
 */
import { z } from 'zod';
import { FactoryError } from '../common/errors.ts';
import { defineRoute } from '../common/route.ts';
import { Time } from '../common/values.ts';
import { ProgressKey, WorkProgress } from '../common/work-progress.ts';
import {
  AgentState,
  HarnessName,
  PaneInput,
  PaneSize,
  Screen,
  Scrollback,
  TeamPlanStep,
  TranscriptChunk,
} from './agent.ts';
import { deliveryEvidences } from './delivery.ts';
import { ClosingEvent } from './events.ts';
import { area, base, errors } from './route-parts.ts';
import { BotSlug, TeamName } from './team-file.ts';

/** The limits of one team's upload. Bytes are those of the texts in UTF-8. */
export const uploadFiles = 200;
export const uploadBytes = 4 * 1024 * 1024;

const peer = `${base}/peer`;
const common = { area, errors, auth: ['peer'], scope: null, owner: 'collection' } as const;
/** A name in a path is looked up only in the caller's own workspaces; the owner of the computer has no say in it. */
const teamParam = {
  params: z.strictObject({ name: TeamName }),
  owner: { none: 'it is resolved inside the workspaces of the user of the ticket' },
} as const;

const Address = z.string().regex(/^[a-z0-9_-]{1,64}@[a-z0-9_-]{1,64}$/, 'bot@team');
const ErrorBody = FactoryError.shape.error;
const Ok = z.object({ ok: z.literal(true) });

export const PeerHello = z
  .object({
    computerId: z.string(),
    engine: z.string().meta({ description: 'Id of the engine: its ledger’s first row.' }),
    user: z.string().meta({ description: 'The user of the ticket.' }),
  })
  .meta({ id: 'PeerHello' });
export type PeerHello = z.infer<typeof PeerHello>;

export const PeerUpRequest = z
  .object({
    files: z.record(z.string(), z.string()).meta({ description: 'The team folder: relative path to text.' }),
    bots: z.array(BotSlug).max(200),
    preset: z.string().optional(),
    repo: z.object({ url: z.string().max(2000), commit: z.string().max(64) }).optional(),
    dryRun: z.boolean().optional(),
    trusted: z
      .string()
      .max(64)
      .optional()
      .meta({ description: 'SHA-256 of `files` that their person agreed to on the calling computer.' }),
  })
  .meta({ id: 'PeerUpRequest' });
export type PeerUpRequest = z.infer<typeof PeerUpRequest>;

export const PeerBotResult = z
  .object({
    agent: z.string().meta({ description: 'Address, "bot@team".' }),
    state: z.enum(['started', 'running', 'planned', 'not_started', 'failed']),
    session: z.string().nullable().meta({ description: 'Its live pane.' }),
    harness: HarnessName.optional(),
    error: ErrorBody.optional().meta({ description: 'Why it could not be started.' }),
  })
  .meta({ id: 'PeerBotResult' });
export type PeerBotResult = z.infer<typeof PeerBotResult>;

/** The same body answers 200, and 409 when a step failed: then `applied` is false and nothing new runs. */
export const PeerUpResult = z
  .object({
    plan: z.array(TeamPlanStep),
    applied: z.boolean(),
    results: z.array(PeerBotResult),
    root: z.string().meta({ description: 'The workspace of the bots on that computer.' }),
  })
  .meta({ id: 'PeerUpResult' });
export type PeerUpResult = z.infer<typeof PeerUpResult>;

export const peerHello = defineRoute({
  ...common,
  op: 'peerHello',
  summary: 'Reads which computer answers, and for which user',
  method: 'GET',
  path: `${peer}/hello`,
  answers: { 200: PeerHello },
});

export const peerTeamUp = defineRoute({
  ...common,
  ...teamParam,
  op: 'peerTeamUp',
  summary: 'Uploads a team folder and starts the named bots in the caller’s workspace here',
  method: 'POST',
  path: `${peer}/teams/:name/up`,
  body: PeerUpRequest,
  // JSON escapes may make a text several times longer than it is.
  bodyLimit: 6 * uploadBytes,
  answers: { 200: PeerUpResult, 409: z.union([PeerUpResult, FactoryError]) },
});

export const peerProgress = defineRoute({
  ...common,
  op: 'peerProgress',
  summary:
    'Reads how far a start of a team is that was sent with the header `Gantry-Progress`, such as the clone for its bots',
  method: 'GET',
  path: `${peer}/progress/:progressKey`,
  owner: { none: 'the caller chose the key, and only its own calls are found by it' },
  params: z.strictObject({ progressKey: ProgressKey }),
  answers: { 200: z.object({ progress: z.object(WorkProgress.shape).nullable() }) },
});

export const peerTeamDown = defineRoute({
  ...common,
  ...teamParam,
  op: 'peerTeamDown',
  summary: 'Stops the bots of a team in the caller’s workspace here',
  method: 'POST',
  path: `${peer}/teams/:name/down`,
  answers: { 200: z.object({ stopped: z.array(z.string()) }) },
});

export const PeerSendRequest = z
  .object({
    to: Address,
    text: z.string().min(1).max(100_000),
    queue: z.boolean().optional(),
    from: Address.optional().meta({
      description: 'The bot on the caller’s computer that sends. Default: the owner.',
    }),
  })
  .meta({ id: 'PeerSendRequest' });

/** A repeated `Idempotency-Key` returns the current result of the first send. */
export const PeerSendResult = z
  .object({
    to: z.string(),
    state: z.enum(['verified', 'queued']),
    messageId: z.string().optional().meta({ description: 'Id of the delivery on that computer.' }),
    evidence: z.enum(deliveryEvidences).nullable().optional().meta({ description: 'What confirmed it.' }),
    depth: z.number().int().optional().meta({ description: 'How many messages wait for the bot.' }),
    reason: z.string().optional(),
  })
  .meta({ id: 'PeerSendResult' });
export type PeerSendResult = z.infer<typeof PeerSendResult>;

/** Beside `error` where a send ended without proof: 504 unconfirmed or best_effort, 502 failed. Without it nothing was typed. */
export const PeerSendFailure = z.object({ state: z.enum(['unconfirmed', 'best_effort', 'failed']) });

export const peerSend = defineRoute({
  ...common,
  op: 'peerSend',
  summary: 'Sends a message to a bot of the caller here; unconfirmed answers 504, failed 502',
  method: 'POST',
  path: `${peer}/send`,
  body: PeerSendRequest,
  answers: { 200: PeerSendResult },
});

export const peerStop = defineRoute({
  ...common,
  op: 'peerStop',
  summary: 'Stops one bot of the caller here',
  method: 'POST',
  path: `${peer}/stop`,
  body: z.object({ to: Address }),
  answers: { 200: z.object({ stopped: z.array(z.string()) }) },
});

const lines = z.coerce.number().int().min(1).max(2000).optional();

export const PeerCapture = z.object({ to: z.string(), session: z.string(), lines: z.number().int(), text: z.string() });

export const peerCapture = defineRoute({
  ...common,
  op: 'peerCapture',
  summary: 'Reads the last lines of a bot’s pane as text',
  method: 'GET',
  path: `${peer}/capture`,
  query: z.strictObject({ to: Address, lines }),
  // For a closed pane, its end.
  answers: { 200: PeerCapture.extend({ at: Time.optional() }) },
});

/** The fields from `state` on may be missing; the caller's floor shows them. */
export const PeerAgent = z
  .object({
    address: z.string(),
    session: z.string().nullable(),
    harness: HarnessName.nullable(),
    live: z.boolean(),
    state: AgentState.optional(),
    stateReason: z.string().nullable().optional(),
    stale: z.boolean().optional(),
    since: Time.optional(),
    forMs: z
      .number()
      .int()
      .optional()
      .meta({ description: 'Milliseconds since `since`; use this where the clocks differ.' }),
    queueDepth: z.number().int().optional(),
  })
  .meta({ id: 'PeerAgent' });
export type PeerAgent = z.infer<typeof PeerAgent>;
export const PeerAgents = z.object({ agents: z.array(PeerAgent) });

export const peerAgents = defineRoute({
  ...common,
  op: 'peerAgents',
  summary: 'Lists the caller’s bots here',
  method: 'GET',
  path: `${peer}/agents`,
  query: z.strictObject({ team: TeamName.optional() }),
  answers: { 200: PeerAgents },
});

const Gone = z.object({ reason: z.string() });
/** A stream lives as long as its ticket: it ends with `gone {reason: "ticket_expired"}`, and the caller comes back with a new one. */
export const ticketExpired = 'ticket_expired';

export const peerEvents = defineRoute({
  ...common,
  op: 'peerEvents',
  summary: 'Streams agents events: the caller’s bots here, at once and whenever one changes',
  method: 'GET',
  path: `${peer}/events`,
  kind: 'sse',
  events: { agents: PeerAgents, gone: Gone, closing: ClosingEvent },
  answers: { 200: z.unknown() },
});

export const peerScreen = defineRoute({
  ...common,
  op: 'peerScreen',
  summary: 'Reads the current screen of a bot here',
  method: 'GET',
  path: `${peer}/screen`,
  query: z.strictObject({ to: Address }),
  answers: { 200: Screen },
});

export const peerStream = defineRoute({
  ...common,
  op: 'peerStream',
  summary:
    'Streams screen events of a bot here, the first at once, then one for each change; then one gone event and the end',
  method: 'GET',
  path: `${peer}/stream`,
  query: z.strictObject({ to: Address }),
  kind: 'sse',
  events: { screen: Screen, gone: Gone, closing: ClosingEvent },
  answers: { 200: z.unknown() },
});

export const peerInput = defineRoute({
  ...common,
  op: 'peerInput',
  summary: 'Sends keystrokes to the pane of a bot here: text first, then keys',
  method: 'POST',
  path: `${peer}/input`,
  body: z.object({ ...PaneInput.shape, to: Address }),
  bodyLimit: 2 * 1024 * 1024,
  answers: { 200: Ok },
});

export const peerSize = defineRoute({
  ...common,
  op: 'peerSize',
  summary: 'Sets the size of a bot’s pane here',
  method: 'POST',
  path: `${peer}/size`,
  body: z.object({ ...PaneSize.shape, to: Address }),
  answers: { 200: z.object({ ok: z.literal(true), cols: z.number().int(), rows: z.number().int() }) },
});

export const peerScrollback = defineRoute({
  ...common,
  op: 'peerScrollback',
  summary: 'Reads lines above the screen of a bot here',
  method: 'GET',
  path: `${peer}/scrollback`,
  query: z.strictObject({ to: Address, before: z.coerce.number().int().min(0).optional(), lines }),
  answers: { 200: z.object(Scrollback.shape) },
});

export const peerTranscript = defineRoute({
  ...common,
  op: 'peerTranscript',
  summary: 'Reads what a bot’s panes here printed, as plain text in pieces',
  method: 'GET',
  path: `${peer}/transcript`,
  query: z.strictObject({ to: Address, cursor: z.string().max(200).optional() }),
  answers: { 200: z.object({ chunks: z.array(TranscriptChunk), next: z.string().nullable() }) },
});

export const peerRoutes = [
  peerHello,
  peerTeamUp,
  peerProgress,
  peerTeamDown,
  peerSend,
  peerStop,
  peerCapture,
  peerAgents,
  peerEvents,
  peerScreen,
  peerStream,
  peerInput,
  peerSize,
  peerScrollback,
  peerTranscript,
] as const;

/** The cloud obtains the ticket and passes everything on unread; the answer comes back unchanged. */
const toPeer = {
  area: 'factory',
  errors: 'computers',
  path: '/api/v1/computers/:id/factory-peer/*',
  auth: ['device', 'owner', 'user', 'key'],
  owner: { param: 'id', noun: 'computer', list: 'GET /api/v1/computers' },
  params: z.strictObject({ id: z.string() }),
  kind: 'raw',
  answers: { 200: z.unknown() },
} as const;

export const readPeer = defineRoute({
  ...toPeer,
  op: 'readPeer',
  summary: 'Calls a peer route of one of the caller’s computers, by its id or its cloud id',
  method: 'GET',
  scope: 'agents:read',
});

export const actOnPeer = defineRoute({
  ...toPeer,
  op: 'actOnPeer',
  summary: 'Calls a peer route that changes something on one of the caller’s computers, by its id or its cloud id',
  method: 'POST',
  scope: 'bots:act',
});

export const factoryPeerRoutes = [readPeer, actOnPeer] as const;
