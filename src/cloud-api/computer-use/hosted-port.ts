/**
 * What this area needs of hosted computers, whose area implements it: their device routes, and who may answer the
 * approvals of a caller's project. Must not know drivers, projects or settings.
 */
import type { Route } from '../../contracts/common/route.ts';
import type { Context, Principal } from '../../kit/http/types.ts';

/** Ids of hosted computers begin with this; those of a person's computers never do. */
export const hostedIdStart = 'cmp_';

export interface HostedDevices {
  /**
   * Passes a device route on to the executor of a hosted computer, and its answer back, both unread. `path` is the computer's own path:
   * `/api/v1/computers/this-device/…` with the query; the request's body must still be unread. Throws 404 `computer_not_found` unless the caller owns
   * the computer's project.
   */
  pass(computerId: string, path: string, context: Context<Route>): Promise<void>;
  /** Whether a key may answer approvals of calls in its own project. */
  approvalMode(principal: Principal): Promise<'owner' | 'api_key'>;
}
