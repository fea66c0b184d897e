/** Campaigns and projects: makes them, and finds the one that a run belongs to. Must not know HTTP, or how a run goes. */
import { AppError } from '../../contracts/common/errors.ts';
import type { CampaignSummary } from '../../contracts/factory/board.ts';
import type { Project, RunRequest, WorkBudget } from '../../contracts/factory/workflow.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Actor } from '../base/actor.ts';
import type { Base } from '../base/base.ts';
import type { Budgets } from './budgets/index.ts';
import { hasCampaign, insertCampaign, putProject, readCampaigns, readProject } from './store/campaigns.ts';

export interface Campaigns {
  createCampaign(
    campaign: { title: string; intent: string; budget?: WorkBudget | undefined },
    by: Actor,
  ): Promise<CampaignSummary>;
  /** Creates or changes a project; omitted fields stay. */
  putProject(given: ProjectRequest, by: Actor): Promise<ProjectAnswer>;
  /** The campaign of a run: the one that it names, or that of its project. `create`: it has to be inserted. */
  forRun(request: RunRequest, by: Actor): Promise<{ readonly id: string; readonly create: NewCampaign | null }>;
  insert(tx: Tx, campaign: NewCampaign, by: Actor): void;
}

type NewCampaign = Parameters<typeof insertCampaign>[2];

interface ProjectRequest {
  readonly id: string;
  readonly name?: string;
  readonly workerBot?: string | null;
  readonly dryRun?: boolean;
}
type ProjectAnswer =
  | { readonly project: Project; readonly dryRun: false }
  | { readonly dryRun: true; readonly plan: { readonly project: Project; readonly replaces: boolean } };

export function createCampaigns(
  deps: Pick<Base, 'store' | 'ledger' | 'clock' | 'ids'> & {
    readonly workspace: string;
    readonly budgets: Pick<Budgets, 'ofCampaign'>;
  },
): Campaigns {
  const { store, workspace } = deps;

  function insert(tx: Tx, campaign: NewCampaign, by: Actor): void {
    const { id, projectId, title, intent } = campaign;
    insertCampaign(tx, workspace, campaign, deps.clock.now());
    deps.ledger.append(tx, {
      type: 'campaign.created',
      subject: `campaign:${id}`,
      ...by,
      body: { v: 1, id, projectId, title, intent },
    });
  }

  async function forRun(request: RunRequest, by: Actor) {
    if (request.campaignId !== undefined) {
      const id = request.campaignId;
      if (await store.read((tx) => hasCampaign(tx, workspace, id))) return { id, create: null };
      throw new AppError(
        'not_found',
        `There is no campaign ${JSON.stringify(id)}.`,
        'List them with `gantry workspace campaigns`, or name a project.',
      );
    }
    const projectId = request.projectId ?? '';
    const id = `project-${projectId}`;
    return store.read((tx) => {
      if (hasCampaign(tx, workspace, id)) return { id, create: null };
      const project = readProject(tx, workspace, projectId);
      const objective = request.intent ?? `Project ${projectId}`;
      const create = {
        id,
        projectId,
        title: project?.name ?? `Project ${projectId}`,
        intent: objective,
        owner: by.actor,
        executor: project?.workerBot ?? `bot:project-worker-${projectId}`,
      };
      return { id, create };
    });
  }

  return {
    insert,
    forRun,
    async createCampaign({ title, intent, budget }, by) {
      const id = deps.ids.next('campaign');
      return store.write((tx) => {
        insert(tx, { id, projectId: null, title, intent, owner: by.actor, executor: null }, by);
        if (budget !== undefined) deps.budgets.ofCampaign(tx, id, budget, by);
        return readCampaigns(tx, workspace, id)[0] as CampaignSummary;
      });
    },
    async putProject(given, by) {
      const before = await store.read((tx) => readProject(tx, workspace, given.id));
      const project: Project = {
        id: given.id,
        name: given.name ?? before?.name ?? given.id,
        workerBot: given.workerBot === undefined ? (before?.workerBot ?? null) : given.workerBot,
      };
      if (given.dryRun === true) return { dryRun: true, plan: { project, replaces: before !== null } };
      await store.write((tx) => {
        putProject(tx, workspace, project, deps.clock.now());
        const type = before === null ? 'project.created' : 'project.changed';
        deps.ledger.append(tx, { type, subject: `project:${project.id}`, ...by, body: { v: 1, ...project } });
      });
      return { project, dryRun: false };
    },
  };
}
