/** Routes of the workspace, the demo and the doctor. */

import type { DoctorCheck } from '../../../contracts/common/doctor-check.ts';
import { addDemo, doctor, getWorkspace } from '../../../contracts/factory/routes.ts';
import { surfaceOf } from '../../../kit/http/principals.ts';
import { type BoundRoute, bind } from '../../../kit/http/types.ts';
import type { Demo } from './demo.ts';
import { isWritable } from './prepare-workspace.ts';

export function workspaceRoutes(deps: {
  readonly workspace: string;
  readonly computerId: string;
  readonly engineId: string;
  readonly demo: Demo;
  readonly examine: () => Promise<DoctorCheck[]>;
}): BoundRoute[] {
  const { workspace, computerId, engineId, demo } = deps;
  return [
    bind(doctor, async () => ({ body: { checks: await deps.examine() } })),
    bind(getWorkspace, () => ({
      body: { path: workspace, computerId, engineId, demo: demo.isSample(), writable: isWritable(workspace) },
    })),
    bind(addDemo, async ({ body, principal }) => ({
      body: await demo.add(body.dryRun === true, { actor: principal.userId, surface: surfaceOf(principal) }),
    })),
  ];
}
