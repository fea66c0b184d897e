/** Messages to bots: each bot's queue, typing from it, sends and threads. */
import type { Delivery, SendRequest } from '../../contracts/factory/delivery.ts';
import { createTokenEnds } from '../../runtime-server/agents/token-ends.ts';
import { titleOf } from '../../runtime-server/events/bot-events.ts';
import { asWords } from '../../runtime-server/messaging/channel-port.ts';
import { createDeliverer } from '../../runtime-server/messaging/deliverer.ts';
import { laneOf } from '../../runtime-server/messaging/model.ts';
import { createSendService } from '../../runtime-server/messaging/send.ts';
import { createThreadService } from '../../runtime-server/messaging/thread-service.ts';
import { hasStep } from '../../runtime-server/workflows/store/runs.ts';
import type { Bots } from './bots.ts';
import type { FactoryDeps } from './deps.ts';

/** Who hands nodes to bots, as the bot reads it. */
const engineSender = { caller: 'engine', surface: 'engine', name: 'Gantry', agentId: null, inPerson: false };

export type Messaging = ReturnType<typeof createMessaging>;

export function createMessaging(deps: FactoryDeps, { registry, holds, tickets, events }: Bots) {
  const deliverer = createDeliverer({ ...deps, registry: deps.directory, limits: holds });
  const lanes = deps.openLanes(deliverer);
  const wake = (agentId: string) => lanes.wake(laneOf(agentId));
  const sends = createSendService({
    ...deps,
    lanes,
    deliverer,
    registry,
    hasStep: (tx, dagId, nodeId) => hasStep(tx, deps.workspace, dagId, nodeId),
    tickets: {
      open(tx, ticket) {
        const { id, opened } = tickets.writer.open(tx, ticket);
        const thread = ticket.threadId === null ? {} : { threadId: ticket.threadId };
        const data = { ...thread, ticketId: id, title: titleOf(ticket.title) };
        if (opened) events.emit(tx, ticket.botId, { type: 'vendor.ticket.created', id, data });
      },
    },
  });
  /** A message of the engine. */
  const tell = async (to: string, text: string, more: Partial<SendRequest>): Promise<Delivery> => {
    const sent = await sends.send({ to, text: asWords(registry.find(to), text), ...more }, engineSender, undefined);
    if ('dryRun' in sent) throw new Error('A dispatch was answered as a dry run.');
    return sent;
  };
  const followTokens = createTokenEnds({ tokens: deps.botTokens, wake, log: deps.log });
  return {
    deliverer,
    lanes,
    sends,
    threads: createThreadService({ ...deps, registry }),
    tell,
    /** The app of a vendor's bot finds the ticket itself. */
    async tellBot(agentId: string, text: string, idempotencyKey: string) {
      const member = registry.find(agentId);
      if (member !== null && !member.placement.takesTickets) await tell(member.address, text, { idempotencyKey });
    },
    followTokens,
    offTokens: followTokens(registry),
    offGate: registry.onGate(wake),
  };
}
