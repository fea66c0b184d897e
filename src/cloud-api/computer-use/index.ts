/**
 * The cloud's half of computer use: a proxy without a table in front of the caller's computers, and the route that answers a run's approvals. Owns
 * its composition; must not know a member or a state of a run.
 */

import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { deviceRoutes } from '../../contracts/computer-use/device-routes.ts';
import { defaultBodyLimit } from '../../kit/http/body.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import { deliver } from '../link/deliver.ts';
import { type ApproveDeps, createApproveRoute } from './approve.ts';
import { type CallersComputers, type CallersComputersDeps, createCallersComputers } from './computers.ts';
import { type HostedDevices, hostedIdStart } from './hosted-port.ts';
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

/** A computer's name for itself. */
const itself = 'this-device';

/**
 * `this-device` is the computer that the call names, an id is one of the caller's computers, and hosted computers go to their own area. Must not know
 * members, leases or frames.
 */
export function createDeviceRoutes(
  computers: CallersComputers,
  hosted: Pick<HostedDevices, 'pass'> | null,
): { readonly routes: readonly BoundRoute[] } {
  async function pass(context: Context<Route>, route: Route): Promise<void> {
    const { id = itself } = context.params as { id?: string };
    const limit = route.bodyLimit ?? defaultBodyLimit;
    const target = id === itself ? await computers.targetOf(context) : null;
    if (target !== null) {
      await deliver(await computers.ask({ context, ...target, limit }), context);
      return;
    }
    // Decoded as the route has it: clients may percent-encode the path, and the hosted half matches on it.
    const query = /\?.*$/.exec(context.request.url ?? '')?.[0] ?? '';
    const path = `${route.path.replace(':id', itself)}${query}`;
    if (id.startsWith(hostedIdStart)) {
      if (hosted === null) throw unknown(id);
      await hosted.pass(id, path, context);
      return;
    }
    const computerId = await computers.named(context.principal.userId, id);
    await deliver(await computers.ask({ context, computerId, path, limit }), context);
  }

  return { routes: deviceRoutes.map((route) => bindPassThrough(route, (context) => pass(context, route))) };
}

function unknown(id: string): AppError {
  const fact = `There is no computer ${JSON.stringify(id.slice(0, 200))}.`;
  return new AppError('not_found', fact, 'List them: GET /api/v1/computers', { wireCode: 'computer_not_found' });
}
