/** Opens threads. Messages come into them by sends (`send.ts`). Must not know HTTP. */

import { AppError } from '../../contracts/common/errors.ts';
import type { Thread } from '../../contracts/factory/delivery.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Member } from '../agents/registry.ts';
import type { Actor } from '../base/actor.ts';
import type { Base } from '../base/base.ts';
import { insertThread } from './store/threads.ts';

interface ThreadPlan {
  readonly title: string;
  readonly botId: string | null;
}

export interface ThreadService {
  /** `not_found` when the bot is not here. A bot (`opener`) opens only its own threads; another one is `refused`. */
  plan(title: string, bot: string | undefined, opener: string | undefined): ThreadPlan;
  create(plan: ThreadPlan, by: Actor): Promise<Thread>;
}

export function createThreadService(
  deps: Pick<Base, 'store' | 'ledger' | 'clock' | 'ids'> & {
    readonly registry: { find(idOrAddress: string): Member | null };
  },
): ThreadService {
  return {
    plan(title, bot, opener) {
      if (bot === undefined) return { title, botId: opener ?? null };
      const member = deps.registry.find(bot);
      if (member !== null && opener !== undefined && member.id !== opener) {
        throw new AppError(
          'refused',
          `A bot cannot open a thread with ${member.address}.`,
          'Leave out `bot` to open a thread of its own, or send the other bot a message.',
        );
      }
      if (member !== null) return { title, botId: member.id };
      throw new AppError('not_found', `Nobody has the address "${bot}".`, 'List bots with `gantry agents ls`.');
    },
    async create({ title, botId }, by) {
      const id = deps.ids.next('thread');
      const at = deps.clock.now();
      await deps.store.write((tx) => {
        insertThread(tx, { id, title, agentId: botId, at });
        deps.ledger.append(tx, {
          type: 'thread.created',
          ...by,
          subject: `thread:${id}`,
          body: { v: 1, threadId: id, botId },
        });
      });
      return { id, title, botId, channel: null, lastMessageAt: iso(at) };
    },
  };
}
