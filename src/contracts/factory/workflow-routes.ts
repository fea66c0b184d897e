/** Route table of templates, runs, campaigns, projects and nodes. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, QueryFlag } from '../common/values.ts';
import { TeamProblem } from './agent.ts';
import { Board, CampaignSummary } from './board.ts';
import { NodeCard, NodePage, NodePlan, nodeVerbs } from './node.ts';
import { area, base, errors, people, readers } from './route-parts.ts';
import {
  Flow,
  InvalidTemplate,
  Project,
  ProjectId,
  RunPlan,
  RunRequest,
  RunStarted,
  RunTimes,
  SaveTemplateAnswer,
  SaveTemplateRequest,
  Template,
  TemplateId,
  TemplateRemoval,
  TemplateSummary,
  WorkBudget,
} from './workflow.ts';

const read = { method: 'GET', auth: readers, scope: 'agents:read' } as const;
const act = { method: 'POST', auth: people, scope: 'bots:act' } as const;
const templateParam = {
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'template', list: 'gantry workflows templates' },
} as const;
const dagParam = {
  params: z.strictObject({ dagId: Id }),
  owner: { param: 'dagId', noun: 'run', list: 'gantry workspace board <campaign>' },
} as const;
const nodeParam = {
  params: z.strictObject({ dagId: Id, nodeId: Id.meta({ description: 'Id of the node, or of its step.' }) }),
  owner: { param: 'dagId', noun: 'run', list: 'gantry workspace board <campaign>' },
} as const;

export const listTemplates = defineRoute({
  op: 'listTemplates',
  area,
  errors,
  summary: 'Lists templates of the workspace and those shipped with Gantry, and files that have problems',
  ...read,
  path: `${base}/templates`,
  owner: 'collection',
  answers: { 200: z.strictObject({ templates: z.array(TemplateSummary), invalid: z.array(InvalidTemplate) }) },
});

export const getTemplate = defineRoute({
  op: 'getTemplate',
  area,
  errors,
  summary: 'Reads one template',
  ...read,
  path: `${base}/templates/:id`,
  ...templateParam,
  answers: { 200: Template },
});

export const checkTemplate = defineRoute({
  op: 'checkTemplate',
  area,
  errors,
  summary: 'Lists every problem of a template with path and line',
  ...read,
  path: `${base}/templates/:id/check`,
  ...templateParam,
  answers: { 200: z.strictObject({ id: z.string(), ok: z.boolean(), problems: z.array(TeamProblem) }) },
});

export const saveTemplate = defineRoute({
  op: 'saveTemplate',
  area,
  errors,
  summary: 'Saves a run as a template in the workspace',
  ...act,
  path: `${base}/templates`,
  owner: { none: 'the run is looked up among the caller’s own' },
  idempotent: true,
  body: SaveTemplateRequest,
  answers: { 200: SaveTemplateAnswer },
});

/** Only a person: what is removed and brought back decides what runs. */
const inPerson = { auth: ['owner', 'user', 'link'], scope: 'bots:act' } as const;

export const removeTemplate = defineRoute({
  op: 'removeTemplate',
  area,
  errors,
  summary: 'Removes a template of the workspace; its runs stay; refused for one that ships with Gantry',
  method: 'DELETE',
  ...inPerson,
  path: `${base}/templates/:id`,
  ...templateParam,
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: {
    200: z.union([
      z.strictObject({ removed: TemplateRemoval }),
      z.strictObject({ dryRun: z.literal(true), plan: TemplateRemoval }),
    ]),
  },
});

export const restoreTemplate = defineRoute({
  op: 'restoreTemplate',
  area,
  errors,
  summary: 'Brings back the template that was last removed under this id, byte for byte',
  method: 'POST',
  ...inPerson,
  path: `${base}/templates/:id/restore`,
  params: z.strictObject({ id: TemplateId }),
  owner: { none: 'looked up among what was removed from the caller’s own workspace' },
  body: z.strictObject({ dryRun: z.boolean().optional() }),
  answers: {
    200: z.strictObject({
      id: z.string(),
      files: z.array(z.string()).meta({ description: 'Relative to the workspace.' }),
      applied: z.boolean(),
    }),
  },
});

export const startRun = defineRoute({
  op: 'startRun',
  area,
  errors,
  summary: 'Starts a run of a template in a campaign or a project',
  ...act,
  path: `${base}/runs`,
  owner: { none: 'campaign and project are looked up among the caller’s own' },
  idempotent: true,
  body: RunRequest,
  answers: { 200: z.union([RunStarted, RunPlan]) },
});

export const getFlow = defineRoute({
  op: 'getFlow',
  area,
  errors,
  summary: 'Reads a run: its nodes and edges',
  ...read,
  path: `${base}/dags/:dagId`,
  ...dagParam,
  answers: { 200: Flow },
});

export const getRunTimes = defineRoute({
  op: 'getRunTimes',
  area,
  errors,
  summary: 'Reads how long each step of a run was worked on, was checked, and waited',
  ...read,
  path: `${base}/dags/:dagId/times`,
  ...dagParam,
  answers: { 200: RunTimes },
});

export const getRunReport = defineRoute({
  op: 'getRunReport',
  area,
  errors,
  summary: 'Reads a run as one HTML page to keep or send: intent, steps, proofs, costs and decisions; without scripts',
  method: 'GET',
  auth: people,
  scope: 'agents:read',
  path: `${base}/dags/:dagId/report`,
  ...dagParam,
  kind: 'raw',
  media: ['text/html'],
  answers: { 200: z.string() },
});

export const cancelRun = defineRoute({
  op: 'cancelRun',
  area,
  errors,
  summary: 'Cancels a run: nothing new starts; steps in progress end within 15 seconds or are held for inspection',
  ...act,
  path: `${base}/dags/:dagId/cancel`,
  ...dagParam,
  body: z.strictObject({ dryRun: z.boolean().optional() }),
  answers: {
    200: z.union([
      Flow,
      z.strictObject({
        dryRun: z.literal(true),
        plan: z.strictObject({ dagId: z.string(), cancels: z.array(z.string()), ends: z.array(z.string()) }),
      }),
    ]),
  },
});

export const listCampaigns = defineRoute({
  op: 'listCampaigns',
  area,
  errors,
  summary: 'Lists campaigns, newest first',
  ...read,
  path: `${base}/campaigns`,
  owner: 'collection',
  answers: { 200: z.strictObject({ campaigns: z.array(CampaignSummary) }) },
});

export const createCampaign = defineRoute({
  op: 'createCampaign',
  area,
  errors,
  summary: 'Opens a campaign',
  ...act,
  path: `${base}/campaigns`,
  owner: 'collection',
  idempotent: true,
  body: z.strictObject({
    title: z.string().min(1).max(200),
    intent: z.string().min(1).max(20_000),
    budget: WorkBudget.optional().meta({ description: 'Of all its runs together.' }),
    dryRun: z.boolean().optional(),
  }),
  answers: {
    201: CampaignSummary,
    200: z.strictObject({
      dryRun: z.literal(true),
      plan: z.strictObject({
        title: z.string(),
        intent: z.string(),
        budget: WorkBudget.optional(),
        records: z.array(z.string()),
      }),
    }),
  },
});

export const getBoard = defineRoute({
  op: 'getBoard',
  area,
  errors,
  summary:
    'Reads the board of a campaign: what is done, what needs you, what is in progress and next, and all nodes by depth',
  ...read,
  path: `${base}/campaigns/:id/board`,
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'campaign', list: 'gantry workspace campaigns' },
  answers: { 200: Board },
});

export const listProjects = defineRoute({
  op: 'listProjects',
  area,
  errors,
  summary: 'Projects',
  ...read,
  path: `${base}/projects`,
  owner: 'collection',
  answers: { 200: z.strictObject({ projects: z.array(Project) }) },
});

export const createProject = defineRoute({
  op: 'createProject',
  area,
  errors,
  summary: 'Creates a project, or changes its name and worker bot',
  ...act,
  path: `${base}/projects`,
  owner: 'collection',
  idempotent: true,
  body: z.strictObject({
    id: ProjectId,
    name: z.string().min(1).max(200).optional(),
    workerBot: z.string().min(1).max(200).nullable().optional(),
    dryRun: z.boolean().optional(),
  }),
  answers: {
    201: Project,
    200: z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ project: Project, replaces: z.boolean() }) }),
  },
});

export const listNodes = defineRoute({
  op: 'listNodes',
  area,
  errors,
  summary: 'Lists nodes across campaigns, by default open ones; a bot that gives no assignee sees its own',
  ...read,
  path: `${base}/nodes`,
  owner: 'collection',
  query: z.strictObject({ assignee: z.string().max(300).optional(), status: z.enum(['open', 'all']).optional() }),
  answers: { 200: z.strictObject({ nodes: z.array(NodeCard) }) },
});

export const getNode = defineRoute({
  op: 'getNode',
  area,
  errors,
  summary: 'Reads the page of a node: task, progress, proofs, deliveries, history',
  ...read,
  path: `${base}/nodes/:dagId/:nodeId`,
  ...nodeParam,
  answers: { 200: NodePage },
});

/** Largest proof file, bytes. */
export const largestProof = 25 * 1024 * 1024;

export const uploadProof = defineRoute({
  op: 'uploadProof',
  area,
  errors,
  summary: 'Uploads a file that proves a line of the node: multipart with `line` and `file`',
  method: 'POST',
  path: `${base}/nodes/:dagId/:nodeId/proof`,
  auth: readers,
  scope: 'bots:act',
  ...nodeParam,
  query: z.strictObject({ dryRun: QueryFlag }),
  kind: 'raw',
  answers: {
    200: z.union([
      z.strictObject({ path: z.string(), receiptId: z.string() }),
      z.strictObject({
        dryRun: z.literal(true),
        plan: z.strictObject({ line: z.string(), path: z.string(), size: z.number().int() }),
      }),
    ]),
  },
});

export const readProof = defineRoute({
  op: 'readProof',
  area,
  errors,
  summary: 'Downloads the file of a proof, by its receipt',
  ...read,
  path: `${base}/nodes/:dagId/:nodeId/proofs/:receiptId`,
  params: z.strictObject({ dagId: Id, nodeId: Id, receiptId: Id }),
  owner: { param: 'dagId', noun: 'run', list: 'gantry workspace board <campaign>' },
  kind: 'raw',
  answers: { 200: z.unknown() },
});

const verb = {
  area,
  errors,
  method: 'POST',
  scope: 'bots:act',
  ...nodeParam,
  answers: { 200: z.union([NodeCard, NodePlan]) },
} as const;

export const claimNode = defineRoute({
  ...verb,
  op: 'claimNode',
  summary: 'Lets a bot start its own node, or a person take a node over',
  path: `${base}/nodes/:dagId/:nodeId/claim`,
  auth: readers,
  body: nodeVerbs.claim,
});
export const progressNode = defineRoute({
  ...verb,
  op: 'progressNode',
  summary: 'Records progress on a node',
  path: `${base}/nodes/:dagId/:nodeId/progress`,
  auth: readers,
  body: nodeVerbs.progress,
});
export const doneNode = defineRoute({
  ...verb,
  op: 'doneNode',
  summary: 'Marks a node as done by its executor, or accepts it as its checker or a person',
  path: `${base}/nodes/:dagId/:nodeId/done`,
  auth: readers,
  body: nodeVerbs.done,
});
export const failNode = defineRoute({
  ...verb,
  op: 'failNode',
  summary: 'Gives a node up as its executor, rejects it as its checker, or ends it as a person',
  path: `${base}/nodes/:dagId/:nodeId/fail`,
  auth: readers,
  body: nodeVerbs.fail,
});
export const retryNode = defineRoute({
  ...verb,
  op: 'retryNode',
  summary: 'Retries a node that failed or waits for a person',
  path: `${base}/nodes/:dagId/:nodeId/retry`,
  auth: people,
  body: nodeVerbs.retry,
});
export const skipNode = defineRoute({
  ...verb,
  op: 'skipNode',
  summary: 'Skips a node',
  path: `${base}/nodes/:dagId/:nodeId/skip`,
  auth: people,
  body: nodeVerbs.skip,
});
export const gateNode = defineRoute({
  ...verb,
  op: 'gateNode',
  summary: 'Opens the gate that a node waits at',
  path: `${base}/nodes/:dagId/:nodeId/gate`,
  auth: people,
  body: nodeVerbs.gate,
});

export const workflowRoutes = [
  listTemplates,
  getTemplate,
  checkTemplate,
  saveTemplate,
  removeTemplate,
  restoreTemplate,
  startRun,
  getFlow,
  getRunTimes,
  getRunReport,
  cancelRun,
  listCampaigns,
  createCampaign,
  getBoard,
  listProjects,
  createProject,
  listNodes,
  getNode,
  uploadProof,
  readProof,
  claimNode,
  progressNode,
  doneNode,
  failNode,
  retryNode,
  skipNode,
  gateNode,
] as const;
