/**
 * How commands reach approvals and events at this computer's home: through the server of this computer, which is the home
 * itself or passes requests on to its cloud. Must not know what is asked there.
 */
import { type Client, createClient } from '../../client/client.ts';
import { approvalRoutes, heldApprovalRoutes } from '../../contracts/approvals/routes.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { factoryEventStream } from '../../contracts/factory/routes.ts';
import type { Context } from '../command.ts';
import type { FactoryClient } from '../connect.ts';
import { findRunning, webAddress } from '../running.ts';

type ApprovalsClient = Client<typeof approvalRoutes>;

/** `refused` for a bot: the person answers, never the one who asks. */
export async function connectHome(context: Context): Promise<ApprovalsClient> {
  // The runtime proves itself first; the address stands in a private file that only its process writes while it holds the lock.
  const { as, token } = await context.connect();
  if (as === 'bot') {
    throw new AppError(
      'refused',
      'A bot cannot answer approvals.',
      'Wait: your person is asked in the inbox, and you get the answer.',
    );
  }
  const baseUrl = webAddress(context.env, context.names);
  return createClient(approvalRoutes, { baseUrl, token, ifGone: ifGone(context) });
}

/**
 * Where events are read: the home cloud's stream has those of approvals between the runtime's. A bot has no access there, and
 * where only a runtime runs, its own stream is all there is.
 */
export async function connectEvents(context: Context): Promise<Pick<FactoryClient, 'factoryEvents'>> {
  const { as, token, factory } = await context.connect();
  const baseUrl = as === 'bot' ? null : (findRunning(context.env)?.address ?? null);
  if (baseUrl === null) return factory;
  return createClient([factoryEventStream], { baseUrl, token, ifGone: ifGone(context) });
}

const ifGone = (context: Context) => `Start it with: ${context.names.start}`;

/** What waits on this computer, for when the home cloud cannot be reached. */
export async function heldHere(context: Context) {
  const { token, fetch, baseUrl, where } = await context.connect();
  const engine = createClient(heldApprovalRoutes, { baseUrl, fetch, where, token });
  return engine.listApprovals({ query: { state: 'pending' } });
}
