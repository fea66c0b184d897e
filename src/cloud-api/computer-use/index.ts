/**
 * The cloud's half of computer use: a proxy without a table in front of the caller's computers, and the route that answers a run's approvals. Owns
 * its composition; must not know a member or a state of a run.
 */
import type { BoundRoute } from '../../kit/http/types.ts';
import { type ApproveDeps, createApproveRoute } from './approve.ts';
import { type CallersComputersDeps, createCallersComputers } from './computers.ts';
import { createDeviceRoutes } from './device-routes.ts';
import type { HostedDevices } from './hosted-port.ts';
import { createRunProxy } from './run-proxy.ts';

export function createComputerUse(
  deps: CallersComputersDeps &
    Omit<ApproveDeps, 'computers' | 'hosted'> & {
      /** Null where hosted computers are not offered. */
      readonly hosted: HostedDevices | null;
    },
): { readonly routes: readonly BoundRoute[] } {
  const computers = createCallersComputers(deps);
  return {
    routes: [
      ...createRunProxy(computers).routes,
      createApproveRoute({ ...deps, computers }),
      ...createDeviceRoutes(computers, deps.hosted).routes,
    ],
  };
}
