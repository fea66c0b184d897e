/**
 * Routes of computer-use runs. Served by the cloud API, run by the computer: both tables have them, except the answer to an
 * approval, which only the cloud takes. Must not know how a run runs.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging, QueryFlag } from '../common/values.ts';
import { ApproveBody, ControlBody, CreateSession, ExecuteRequest, Run, RunEvent, RunStatus, Session } from './run.ts';

const shared = { area: 'computer-use', errors: 'plain', scope: 'compute' } as const;
const callers = ['owner', 'user', 'link', 'key'] as const;
const base = '/computer-use';
/** The code for every body that its schema refuses. */
const bodyCodes = { '*': 'invalid_request' } as const;
const runParams = z.strictObject({ runId: Id });
const runOwner = { param: 'runId', noun: 'computer-use-run', word: 'run', list: 'GET /computer-use/runs' } as const;
const sessionParams = z.strictObject({ sessionId: Id });
const sessionOwner = {
  param: 'sessionId',
  noun: 'computer-use-session',
  word: 'session',
  list: 'GET /computer-use/sessions',
} as const;

export const executeRun = defineRoute({
  ...shared,
  op: 'executeRun',
  summary: 'Starts a run: 202 at once, 200 when it has ended with ?wait=true',
  method: 'POST',
  path: `${base}/execute`,
  auth: callers,
  owner: 'collection',
  query: z.strictObject({ wait: QueryFlag }),
  idempotent: true,
  bodyLimit: 4 * 1024 * 1024,
  body: ExecuteRequest,
  bodyCodes,
  answers: { 202: Run, 200: Run },
});

export const listRuns = defineRoute({
  ...shared,
  op: 'listComputerUseRuns',
  summary: 'Lists runs, newest first',
  method: 'GET',
  path: `${base}/runs`,
  auth: callers,
  owner: 'collection',
  query: z.strictObject({ ...Paging, session_id: Id.optional(), status: RunStatus.optional() }),
  answers: { 200: z.strictObject({ runs: z.array(Run), next_cursor: z.string().nullable() }) },
});

export const getRun = defineRoute({
  ...shared,
  op: 'getComputerUseRun',
  summary: 'Reads one run',
  method: 'GET',
  path: `${base}/runs/:runId`,
  auth: callers,
  owner: runOwner,
  params: runParams,
  answers: { 200: Run },
});

const eventsOf = <const Op extends string>(op: Op, path: string) =>
  ({
    ...shared,
    op,
    summary: 'Lists the events of a run after an index, oldest first',
    method: 'GET',
    path,
    auth: callers,
    owner: runOwner,
    params: runParams,
    query: z.strictObject({ ...Paging, after_index: z.coerce.number().int().min(-1).optional() }),
    answers: { 200: z.strictObject({ events: z.array(RunEvent), next_cursor: z.string().nullable() }) },
  }) as const;
export const listRunEvents = defineRoute(eventsOf('listComputerUseEvents', `${base}/runs/:runId/events`));
export const listRunEventsShort = defineRoute(eventsOf('listComputerUseEventsShort', '/runs/:runId/events'));

const streamOf = <const Op extends string>(op: Op, path: string) =>
  ({
    ...shared,
    op,
    summary:
      'Streams the events of a run: past ones after Last-Event-ID or after_index, then new ones; ends with the run',
    method: 'GET',
    path,
    auth: callers,
    owner: runOwner,
    params: runParams,
    query: z.strictObject({ after_index: z.coerce.number().int().min(-1).optional() }),
    kind: 'sse',
    answers: { 200: z.unknown() },
    events: { message: RunEvent },
  }) as const;
export const streamRun = defineRoute(streamOf('streamComputerUseRun', `${base}/runs/:runId/stream`));
export const streamRunShort = defineRoute(streamOf('streamComputerUseRunShort', '/stream/:runId'));

type Verb = 'cancel' | 'pause' | 'resume';
const controlOf = <const Op extends string>(op: Op, verb: Verb, path: string) =>
  ({
    ...shared,
    op,
    summary: `${verb} a run; 200 if it already has that state`,
    method: 'POST',
    path,
    auth: callers,
    owner: runOwner,
    params: runParams,
    body: ControlBody.optional(),
    bodyCodes,
    answers: { 200: Run },
  }) as const;
export const cancelRun = defineRoute(controlOf('cancelComputerUseRun', 'cancel', `${base}/runs/:runId/cancel`));
export const pauseRun = defineRoute(controlOf('pauseComputerUseRun', 'pause', `${base}/runs/:runId/pause`));
export const resumeRun = defineRoute(controlOf('resumeComputerUseRun', 'resume', `${base}/runs/:runId/resume`));
export const cancelRunShort = defineRoute(controlOf('cancelComputerUseRunShort', 'cancel', '/runs/:runId/cancel'));
export const pauseRunShort = defineRoute(controlOf('pauseComputerUseRunShort', 'pause', '/runs/:runId/pause'));
export const resumeRunShort = defineRoute(controlOf('resumeComputerUseRunShort', 'resume', '/runs/:runId/resume'));

export const getRunApproval = defineRoute({
  ...shared,
  op: 'getComputerUseApproval',
  summary: 'Reads the approval that the run waits for, or null',
  method: 'GET',
  path: `${base}/runs/:runId/approval`,
  auth: callers,
  owner: runOwner,
  params: runParams,
  answers: { 200: z.strictObject({ approval: Run.shape.approval }) },
});

/** Only the cloud has it: it owns approvals, and the first answer counts on any surface. */
export const approveRun = defineRoute({
  ...shared,
  op: 'approveComputerUseRun',
  summary: 'Answers the approval that the run waits for; by key only where approval_mode is api_key',
  method: 'POST',
  path: `${base}/runs/:runId/approve`,
  auth: ['owner', 'user', 'key'],
  owner: { none: 'the computer is asked for the run as this caller; a foreign one is unknown there' },
  params: runParams,
  body: ApproveBody,
  bodyCodes,
  answers: { 200: Run },
});

export const readArtifact = defineRoute({
  ...shared,
  op: 'readComputerUseArtifact',
  summary: 'Downloads a screenshot, video, trace or download of a run',
  method: 'GET',
  path: `${base}/runs/:runId/artifacts/:artifactId`,
  auth: callers,
  owner: runOwner,
  params: runParams.extend({ artifactId: Id }),
  kind: 'raw',
  answers: { 200: z.unknown() },
});

export const createSession = defineRoute({
  ...shared,
  op: 'createComputerUseSession',
  summary: 'Opens a session: a separate browser profile that its runs share',
  method: 'POST',
  path: `${base}/sessions`,
  auth: callers,
  owner: 'collection',
  idempotent: true,
  body: CreateSession.optional(),
  bodyCodes,
  answers: { 201: Session },
});

export const listSessions = defineRoute({
  ...shared,
  op: 'listComputerUseSessions',
  summary: 'Lists sessions, newest first',
  method: 'GET',
  path: `${base}/sessions`,
  auth: callers,
  owner: 'collection',
  answers: { 200: z.strictObject({ sessions: z.array(Session) }) },
});

export const getSession = defineRoute({
  ...shared,
  op: 'getComputerUseSession',
  summary: 'Reads one session',
  method: 'GET',
  path: `${base}/sessions/:sessionId`,
  auth: callers,
  owner: sessionOwner,
  params: sessionParams,
  answers: { 200: Session },
});

export const closeSession = defineRoute({
  ...shared,
  op: 'closeComputerUseSession',
  summary: 'Closes a session; cleanup=true wipes its profile. 409 session_busy while one of its runs is open',
  method: 'DELETE',
  path: `${base}/sessions/:sessionId`,
  auth: callers,
  owner: sessionOwner,
  params: sessionParams,
  query: z.strictObject({ cleanup: QueryFlag }),
  answers: { 200: Session },
});

/** Routes of the computer, which the cloud forwards. */
export const runRoutes = [
  executeRun,
  listRuns,
  getRun,
  listRunEvents,
  listRunEventsShort,
  streamRun,
  streamRunShort,
  cancelRun,
  cancelRunShort,
  pauseRun,
  pauseRunShort,
  resumeRun,
  resumeRunShort,
  getRunApproval,
  readArtifact,
  createSession,
  listSessions,
  getSession,
  closeSession,
] as const;
