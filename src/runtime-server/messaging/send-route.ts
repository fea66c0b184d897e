/**
 * Where a send goes: recipient, thread, and whether the bot can take it now. Everything that can be refused is refused here,
 * before anything is written. Must not write.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { DeliveryVia, SendRequest, Thread } from '../../contracts/factory/delivery.ts';
import type { ReportTaken } from '../../kit/http/types.ts';
import type { Lanes } from '../../kit/lane/lane.ts';
import type { Store, Tx } from '../../kit/store/store.ts';
import type { Member } from '../agents/registry.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import type { Deliverer } from './deliverer.ts';
import { laneOf, queueLimit } from './model.ts';
import { readThread, threadConcerns } from './store/threads.ts';

export interface Sender {
  /** User id, or agent id of a bot: whose idempotency keys these are. */
  readonly caller: string;
  readonly surface: string;
  /** How the recipient reads who it is: `owner`, `web@dev`. */
  readonly name: string;
  /** The bot that sends, or null. */
  readonly agentId: string | null;
  readonly inPerson: boolean;
  /** See `Actor`. */
  readonly report?: ReportTaken | undefined;
}

export interface SendRoute {
  readonly to: string;
  readonly via: DeliveryVia;
  readonly member: Member | null;
  readonly thread: Thread | null;
  /** Why it has to wait; null when it is tried at once. */
  readonly waits: string | null;
}

export interface SendRouteDeps {
  readonly store: Pick<Store, 'read'>;
  readonly lanes: Pick<Lanes, 'depth'>;
  readonly panes: Pick<PaneEngine, 'engine'>;
  readonly deliverer: Pick<Deliverer, 'obstacle' | 'typing'>;
  readonly registry: { find(idOrAddress: string): Member | null; members(): readonly Member[] };
  /** Whether a run, a step, or a step of that run is there. */
  readonly hasStep: (tx: Pick<Tx, 'get' | 'all'>, dagId: string | undefined, nodeId: string | undefined) => boolean;
}

type FindRoute = (request: SendRequest, sender: Sender) => Promise<SendRoute>;

export function createFindRoute(deps: SendRouteDeps): FindRoute {
  const { store, lanes, deliverer } = deps;

  const resolve = async (request: SendRequest, sender: Sender): Promise<SendRoute> => {
    await refuseUnknownStep(request);
    const channel = /^channel:(.+)$/.exec(request.to)?.[1];
    const threadId = channel ?? request.threadId;
    const thread = threadId === undefined ? null : await findThread(threadId, sender);
    if (request.raw === true && !sender.inPerson) {
      throw new AppError('refused', 'Only the owner may send raw text.', 'Send it without raw.');
    }
    if (channel !== undefined) {
      if (request.threadId !== undefined && request.threadId !== channel) {
        throw new AppError(
          'usage',
          `to names thread ${channel} and threadId names ${request.threadId}.`,
          'Leave threadId out.',
        );
      }
      return { to: request.to, via: 'channel', member: null, thread, waits: null };
    }
    const member = deps.registry.find(request.to);
    if (member === null) throw unknownRecipient(request.to, deps.registry.members());
    if (member.placement.takesTickets) return vendorRoute(member, thread);
    return { to: member.address, thread, member, ...place(member, request) };
  };

  const refuseUnknownStep = async ({ dagId, nodeId }: SendRequest): Promise<void> => {
    if (dagId === undefined && nodeId === undefined) return;
    if (await store.read((tx) => deps.hasStep(tx, dagId, nodeId))) return;
    const what = nodeId === undefined ? `run has the id ${dagId}` : `step has the id ${nodeId}`;
    const where = dagId === undefined || nodeId === undefined ? '' : ` in the run ${dagId}`;
    throw new AppError('not_found', `No ${what}${where}.`, 'List them with `gantry workspace nodes`.');
  };

  const findThread = async (id: string, sender: Sender): Promise<Thread> => {
    const thread = await store.read((tx) => {
      const found = readThread(tx, id);
      return found !== null && sender.agentId !== null && !threadConcerns(tx, id, sender.agentId) ? null : found;
    });
    if (thread === null) {
      throw new AppError('not_found', `No thread has the id ${id}.`, 'List them with `gantry orchestration threads`.');
    }
    return thread;
  };

  /** The gate: at once, later, or not at all. */
  const place = (member: Member, request: SendRequest): { via: DeliveryVia; waits: string | null } => {
    const depth = lanes.depth(laneOf(member.id));
    if (depth >= queueLimit) {
      throw new AppError(
        'refused',
        `${depth} messages already wait for ${member.address}, which is the limit.`,
        'See what holds it (`gantry agents show`), or try again later.',
        { status: 409 },
      );
    }
    const obstacle = deliverer.obstacle(member.id);
    // Sends that are being typed settle in moments: another one waits its turn instead of being postponed.
    const behind = depth > 0 && deliverer.typing(member.id) === null ? `${depth} messages wait before it` : null;
    const why = obstacle ?? behind;
    const { atOnce, waiting } = member.placement.via;
    if (request.queue === true) return { via: waiting, waits: why ?? 'it was sent to the queue' };
    if (why === null) return { via: atOnce, waits: null };
    if (request.queue === false) throw cannotTake(member, why, deps.panes);
    return { via: waiting, waits: why };
  };

  return resolve;
}

function unknownRecipient(to: string, members: readonly Member[]): AppError {
  const shown = members.slice(0, 10).map((member) => member.address);
  const action =
    shown.length === 0
      ? 'There is no team yet: add one in .gantry/teams.'
      : `Bots here: ${shown.join(', ')}${members.length > shown.length ? ', …' : ''}.`;
  return new AppError('not_found', `Nobody has the address "${to}".`, action);
}

/** An outside app handles messages to its bot: each becomes a ticket in a thread. */
function vendorRoute(member: Member, thread: Thread | null): SendRoute {
  if (thread === null) {
    throw new AppError(
      'usage',
      `${member.address} is a vendor's bot, so the message needs a thread.`,
      'Name one with threadId (--thread); `gantry orchestration threads --create "<title>"` opens one.',
    );
  }
  return { to: member.address, via: 'vendor', member, thread, waits: null };
}

export function cannotTake(member: Member, why: string, panes: Pick<PaneEngine, 'engine'>): AppError {
  const action = 'Leave out queue: false to let the message wait.';
  if (!panes.engine().running && member.placement.inPaneHere)
    return new AppError('transport', `${member.address} cannot be reached: ${why}.`, action);
  return new AppError('refused', `${member.address} cannot take a message now: ${why}.`, action, { status: 409 });
}
