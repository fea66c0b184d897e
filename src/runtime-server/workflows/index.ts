/** Workflows: templates, runs, campaigns, boards, nodes and their proofs. Composed by the factory, served by the host. */
import { join } from 'node:path';
import type { Delivery } from '../../contracts/factory/delivery.ts';
import { createBlobs } from '../../kit/blobs/blobs.ts';
import { ownFolder, toldAside, writeWithin } from '../../kit/files/within.ts';
import type { BoundRoute, OwnerLookups } from '../../kit/http/types.ts';
import type { Actor } from '../base/actor.ts';
import { type CancelPlan, cancelRun } from './cancel.ts';
import { logsFolder } from './command-turns.ts';
import type { WorkflowDeps } from './deps.ts';
import { createPages, type Pages } from './pages.ts';
import { createProofs, type Proofs } from './proofs.ts';
import { bindWorkflowRoutes, workflowOwners } from './routes.ts';
import { createRuns, type Runs } from './runs.ts';
import { type AgentWork, createScheduler, type Scheduler } from './scheduler.ts';
import { createShell } from './shell.ts';
import { createTemplateFolder, type TemplateFolder } from './template/folder.ts';
import { createTemplateRemovals } from './template/removal.ts';
import { createVerbs, type Verbs } from './verbs.ts';
import type { WorkQueue } from './worker-steps/calls.ts';
import { createWorkerSteps } from './worker-steps/index.ts';

export interface Workflows {
  /** The services behind the routes. */
  readonly runs: Runs;
  readonly pages: Pages;
  readonly verbs: Verbs;
  readonly proofs: Proofs;
  readonly templates: TemplateFolder;
  /** Cancels a run; see `cancel.ts`. */
  cancel(dagId: string, by: Actor, dryRun?: boolean): Promise<CancelPlan | null>;
  /** An agent's work, by its address. */
  workOf(address: string): AgentWork;
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  readonly onMoved: Scheduler['onMoved'];
  /** Takes up what an earlier run of this program left; until then nothing begins. */
  start(): Promise<void>;
  /** A usage limit cut the bot of a node off; it may continue. */
  readonly limits: Pick<Scheduler, 'limited' | 'goOn' | 'isCounted'>;
  /** What is expected of bots and commands at work, and whether something is heard of them. */
  readonly leases: Pick<Scheduler, 'leaseOf' | 'leaseFigures'>;
  /** How much runs, steps and campaigns may use in all. */
  readonly budgets: Scheduler['budgets'];
  /** The result of a send that hands a node over. */
  delivered(delivery: Delivery): void;
  /** Ends the commands that run, within `graceMs`; they are shown as interrupted at the next start. */
  close(graceMs?: number): Promise<void>;
}

export function createWorkflows(deps: WorkflowDeps): Workflows {
  const ledgerFolder = join(deps.workspace, '.gantry', 'ledger');
  const onAside = toldAside(deps.log);
  for (const part of ['proofs/.incoming', 'running']) {
    ownFolder(deps.workspace, join('.gantry', 'ledger', part), onAside);
  }
  // Proofs are the workspace's, not its repository's.
  writeWithin(deps.workspace, join('.gantry', 'ledger', '.gitignore'), '*\n', onAside);
  const blobs = createBlobs(join(ledgerFolder, 'proofs'));
  const shell = createShell({
    workspace: deps.workspace,
    folder: logsFolder(deps.workspace),
    env: deps.env,
    timers: deps.timers,
  });
  const templates = createTemplateFolder({
    workspace: deps.workspace,
    shipped: deps.shippedTemplates,
    trust: deps.trust,
  });
  const workers = createWorkerSteps({
    ...deps,
    folder: logsFolder(deps.workspace),
    blobs,
    queue: deps.queue ?? noQueue,
  });
  const scheduler = createScheduler({ ...deps, shell, workers, blobs });
  const parts = {
    ...deps,
    templates,
    removals: createTemplateRemovals({ ...deps, templates }),
    scheduler,
    runs: createRuns({ ...deps, scheduler, templates, workers }),
    pages: createPages({ ...deps, leaseOf: scheduler.leaseOf }),
    verbs: createVerbs({ ...deps, scheduler, blobs }),
    proofs: createProofs({ ...deps, scheduler, blobs }),
  };
  return {
    runs: parts.runs,
    pages: parts.pages,
    verbs: parts.verbs,
    proofs: parts.proofs,
    templates,
    cancel: (dagId, by, dryRun = false) => cancelRun(scheduler, dagId, by, dryRun),
    workOf: scheduler.workOf,
    routes: bindWorkflowRoutes(parts),
    owners: workflowOwners(parts),
    start: scheduler.start,
    limits: scheduler,
    leases: scheduler,
    budgets: scheduler.budgets,
    onMoved: scheduler.onMoved,
    delivered: scheduler.delivered,
    async close(graceMs = 2000) {
      scheduler.close();
      workers.close();
      await shell.close(graceMs);
    },
  };
}

const noQueue: WorkQueue = {
  problem: () => 'This computer has no work queue.',
  call: () => Promise.reject(new Error('This computer has no work queue.')),
};
