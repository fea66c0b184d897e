/**
 * Starts runs and saves them as templates. A dry run is the same code, stopped before the first write. Must not
 * know HTTP.
 */
import { AppError } from '../../contracts/common/errors.ts';
import {
  type RunPlan,
  type RunRequest,
  type RunStarted,
  type SavedTemplate,
  type Template,
  TemplateId,
} from '../../contracts/factory/workflow.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Actor } from '../base/actor.ts';
import { type Campaigns, createCampaigns } from './campaigns.ts';
import type { WorkflowDeps } from './deps.ts';
import { type Resolved, resolveExecutors } from './executors.ts';
import { isClosed, type Run, type RunNode } from './model.ts';
import { begin } from './rules.ts';
import { type Scheduler, unknownRun } from './scheduler.ts';
import { cardsOfRun, hasCampaign } from './store/campaigns.ts';
import { assembleRun, insertRun, loadOf, loadRun } from './store/runs.ts';
import type { TemplateFolder } from './template/folder.ts';
import { depthsOf } from './template/order.ts';
import { fillIn } from './template/references.ts';
import type { WorkerSteps } from './worker-steps/index.ts';

export interface Runs extends Pick<Campaigns, 'createCampaign' | 'putProject'> {
  /**
   * `given`: the template itself if it is not on disk; otherwise the request names one. `also` runs in the transaction of the start; if it throws,
   * nothing starts.
   */
  start(
    request: RunRequest,
    by: Actor,
    given?: Template,
    also?: (tx: Tx, dagId: string) => void,
  ): Promise<RunStarted | RunPlan>;
  /** `inPerson`: the person who saved it, so that it counts at once. A template saved by a key waits for the person's yes. */
  save(
    request: { fromRun: string; id?: string; force?: boolean; dryRun?: boolean },
    by: Actor & { readonly inPerson: boolean },
  ): Promise<{ saved: SavedTemplate } | { dryRun: true; plan: SavedTemplate }>;
}

type Deps = WorkflowDeps & {
  readonly scheduler: Scheduler;
  readonly templates: TemplateFolder;
  readonly workers: Pick<WorkerSteps, 'problem'>;
};

export function createRuns(deps: Deps): Runs {
  const { store, workspace, scheduler, templates } = deps;
  const campaigns = createCampaigns({ ...deps, budgets: scheduler.budgets });

  async function start(
    request: RunRequest,
    by: Actor,
    given?: Template,
    also?: (tx: Tx, dagId: string) => void,
  ): Promise<RunStarted | RunPlan> {
    if (request.campaignId === undefined && request.projectId === undefined) {
      throw new AppError(
        'usage',
        'The run has neither a campaign nor a project.',
        'Name one: campaignId or projectId (--campaign, --project).',
      );
    }
    const template = given ?? templates.use(request.template);
    const params = paramsOf(template, request);
    const campaign = await campaigns.forRun(request, by);
    const { executors, load } = await resolve(template, request);
    const run = makeRun(deps.ids, template, params, request.intent ?? '', campaign.id, executors);
    const records = [...(campaign.create === null ? [] : ['campaign.created']), 'run.started', 'node.status'];
    if (request.dryRun === true) {
      const nodes = [...run.nodes.values()].map((node) => ({
        nodeId: node.nodeId,
        stepId: node.stepId,
        title: node.title,
        executor: node.assignee,
      }));
      return { dryRun: true, plan: { template: template.id, campaignId: campaign.id, nodes, records } };
    }
    return store.write((tx) => {
      const at = deps.clock.now();
      also?.(tx, run.dagId);
      if (campaign.create !== null && !hasCampaign(tx, workspace, campaign.id))
        campaigns.insert(tx, campaign.create, by);
      insertRun(tx, run, { workspace, team: request.team ?? null, preset: request.preset ?? null, at });
      deps.ledger.append(tx, {
        type: 'run.started',
        subject: `run:${run.dagId}`,
        ...by,
        body: {
          v: 1,
          dagId: run.dagId,
          campaignId: run.campaignId,
          title: run.title,
          template: template.id,
          nodes: assignments(run, executors, load),
        },
      });
      scheduler.budgets.begin(tx, run, request.budget);
      scheduler.begin(tx, run, by, (work) => begin(work));
      return { dagId: run.dagId, campaignId: run.campaignId, nodes: cardsOfRun(tx, run.dagId) };
    });
  }

  async function resolve(template: Template, request: RunRequest) {
    const load = new Map<string, number>();
    return store.read((tx) => {
      const loadOfBot = (address: string) => {
        const known = load.get(address) ?? loadOf(tx, address);
        load.set(address, known);
        return known;
      };
      const choice = {
        workforce: deps.workforce,
        team: request.team ?? null,
        preset: request.preset ?? null,
        queueProblem: deps.workers.problem(),
        loadOf: loadOfBot,
      };
      return { executors: resolveExecutors(template.steps, choice), load };
    });
  }

  const save: Runs['save'] = async (request, { inPerson, ...by }) => {
    const run = await store.read((tx) => loadRun(tx, workspace, request.fromRun));
    if (run === null) throw unknownRun(request.fromRun);
    const id = request.id ?? idFrom(run.title);
    if (!TemplateId.safeParse(id).success) {
      throw new AppError(
        'usage',
        `The run's title ${JSON.stringify(run.title)} cannot be made into a template id.`,
        'Give an id.',
      );
    }
    const replaces = templates.has(id);
    if (replaces && request.force !== true) {
      throw new AppError(
        'refused',
        `The workspace already has a template "${id}".`,
        'Give another id, or set force to replace it.',
      );
    }
    const finished = [...run.nodes.values()].every((node) => isClosed(node.status));
    const saved = { id, name: run.title, steps: run.template.steps.length, replaces, fromRun: { finished } };
    if (request.dryRun === true) return { dryRun: true as const, plan: saved };
    await templates.save({ ...run.template, id, name: run.title }, inPerson ? by : null);
    await store.write((tx) =>
      deps.ledger.append(tx, {
        type: 'template.saved',
        subject: `template:${id}`,
        ...by,
        body: { v: 1, ...saved, dagId: run.dagId },
      }),
    );
    return { saved };
  };

  return { start, save, createCampaign: campaigns.createCampaign, putProject: campaigns.putProject };
}

function makeRun(
  ids: Pick<Ids, 'next'>,
  template: Template,
  params: Record<string, string>,
  intent: string,
  campaignId: string,
  executors: readonly Resolved[],
): Run {
  const dagId = ids.next('dag');
  const depths = depthsOf(template.steps);
  const nodeIds = new Map(template.steps.map((step) => [step.id, ids.next('node')]));
  // Params are filled in once, here; results of steps are filled in when a step begins.
  const title = (text: string) =>
    fillIn(text, (one) =>
      one.kind === 'param'
        ? (params[one.name] ?? '')
        : one.kind === 'intent'
          ? intent
          : `{{ step.${one.step}.${one.what} }}`,
    );
  const nodes = template.steps.map((step, seq): RunNode => {
    const executor = executors[seq] as Resolved;
    return {
      dagId,
      nodeId: nodeIds.get(step.id) as string,
      stepId: step.id,
      seq,
      depth: depths.get(step.id) ?? 0,
      title: title(step.title).slice(0, 300),
      step,
      parents: step.blockedBy.map((parent) => nodeIds.get(parent) as string),
      assignee: executor.executor,
      bindingType: executor.bindingType,
      checker: executor.checker,
      status: 'new',
      cause: 'created',
      detail: null,
      attempt: 0,
      tries: 0,
      rounds: 0,
      holder: null,
      handed: 'no',
      delivery: null,
      agentRun: null,
      gate: 'closed',
      wakeAt: null,
      proven: new Set(),
    };
  });
  const facts = { dagId, campaignId, title: titleOf(template, intent), intent, params, template };
  return assembleRun({ ...facts, status: 'running', stopping: false, cancelAt: null }, nodes);
}

/** Values of the declared params; an undeclared or missing one is `usage`, all named at once. `intent` fills the param of that name. */
function paramsOf(template: Template, request: RunRequest): Record<string, string> {
  const given = request.params ?? {};
  const known = new Set(template.params.map((param) => param.name));
  const problems = Object.keys(given)
    .filter((name) => !known.has(name))
    .map((name) => `there is no param "${name}"`);
  const values: Record<string, string> = {};
  for (const param of template.params) {
    const value = given[param.name] ?? (param.name === 'intent' ? request.intent : undefined) ?? param.default;
    if (value !== undefined) values[param.name] = value;
    else if (param.required) problems.push(`the param "${param.name}" is missing`);
    else values[param.name] = '';
  }
  if (problems.length === 0) return values;
  const there = known.size === 0 ? 'It has no params.' : `It has: ${[...known].join(', ')}.`;
  throw new AppError('usage', `Template "${template.id}": ${problems.join('; ')}.`, there);
}

/** The executors, and for a choice between bots the reason for it. */
function assignments(run: Run, executors: readonly Resolved[], load: ReadonlyMap<string, number>) {
  return [...run.nodes.values()].map((node) => {
    const among = executors[node.seq]?.among ?? [];
    const choice =
      among.length < 2 ? {} : { among: among.map((address) => ({ address, open: load.get(address) ?? 0 })) };
    return { nodeId: node.nodeId, stepId: node.stepId, assignee: node.assignee, ...choice };
  });
}

/** The first line of the intent, else the template's name. */
function titleOf(template: Template, intent: string): string {
  const line = intent.trim().split('\n', 1)[0]?.trim() ?? '';
  return line === '' ? template.name : line.slice(0, 80);
}

/** The run's title in lowercase with hyphens. */
function idFrom(title: string): string {
  return title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^[-_]+|-+$/g, '')
    .slice(0, 64)
    .replace(/-+$/, '');
}
