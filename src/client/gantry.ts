/**
 * Gantry for programs of others, in browsers and in Node: one typed call for each route of the work queue, hosted computers, runs, approvals and
 * events. `scripts/client-package.ts` makes the package `@gantry/client` of it. Must not know sockets or files.
 */
import { listApprovals, resolveApproval, waitForApproval } from '../contracts/approvals/routes.ts';
import { factoryEventStream } from '../contracts/factory/orchestration-routes.ts';
import { waitRoutes } from '../contracts/factory/wait-routes.ts';
import { workflowRoutes } from '../contracts/factory/workflow-routes.ts';
import { hostedComputerRoutes } from '../contracts/hosted-computers/routes.ts';
import { workRoutes } from '../contracts/work-queue/routes.ts';
import { type Client, type ClientOptions, createClient } from './client.ts';
import { ComputerUseClient } from './computer-use.ts';

const runRoutes = [...workflowRoutes, ...waitRoutes] as const;
const approvalRoutes = [listApprovals, resolveApproval, waitForApproval] as const;
const eventRoutes = [factoryEventStream] as const;

export interface Gantry {
  /** Tasks, their workers, sessions and deployments. */
  readonly queue: Client<typeof workRoutes>;
  readonly computers: Client<typeof hostedComputerRoutes>;
  /** Workflow templates, their runs and steps. */
  readonly runs: Client<typeof runRoutes>;
  readonly approvals: Client<typeof approvalRoutes>;
  readonly events: Client<typeof eventRoutes>;
  /** Actions in a browser or on a desktop. */
  readonly computerUse: ComputerUseClient;
}

/** Every call throws {@link AppError}: `code` for programs, `fact` and `action` for people. */
export function createGantry(options: ClientOptions): Gantry {
  return {
    queue: createClient(workRoutes, options),
    computers: createClient(hostedComputerRoutes, options),
    runs: createClient(runRoutes, options),
    approvals: createClient(approvalRoutes, options),
    events: createClient(eventRoutes, options),
    computerUse: new ComputerUseClient(options),
  };
}

export { AppError } from '../contracts/common/errors.ts';
export type { Lease, NewTask, Task, TaskError } from '../contracts/work-queue/task.ts';
export type { CallOptions, ClientOptions, EventStream, StreamEvent, StreamHandlers } from './client.ts';
export { ComputerUseClient } from './computer-use.ts';
