/**
 * The part of the factory for outside channels: a channel's thread and bot, and the delivery of replies. Used by the phone. Must not know providers.
 */

import { AppError } from '../../contracts/common/errors.ts';
import type { SendRequest } from '../../contracts/factory/delivery.ts';
import type { Member, Registry } from '../agents/registry.ts';
import type { Base } from '../base/base.ts';
import type { BotEvents } from '../events/bot-events.ts';
import type { Channel, ChannelOut, ChannelPort } from '../phone/ports.ts';
import type { Deliverer } from './deliverer.ts';
import type { SendService } from './send.ts';
import { findChannelThread, insertThread } from './store/threads.ts';

const asComments = (text: string) => text.replace(/^/gm, '# ');

/** A plain shell would run incoming text, also a stranger's: its user gets the text as comments. */
export function asWords(bot: Pick<Member, 'spec'> | null, text: string): string {
  return bot?.spec?.harness === 'shell' ? asComments(text) : text;
}

/** Text of somebody outside: a `custom` program may be a shell as well, or anything else that takes each line as a command. */
export function strangersWords(bot: Pick<Member, 'spec'> | null, text: string): string {
  return bot?.spec?.harness === 'custom' ? asComments(text) : asWords(bot, text);
}

export function createChannelPort(
  deps: Pick<Base, 'store' | 'ledger' | 'clock' | 'ids'> & {
    readonly registry: Pick<Registry, 'find'>;
    readonly sends: SendService;
    readonly deliverer: Pick<Deliverer, 'move'>;
    readonly channelOut?: ChannelOut | undefined;
    readonly events: BotEvents;
  },
): ChannelPort {
  const { store, ledger, clock, ids, registry } = deps;
  deps.channelOut?.onMoved((tx, deliveryId, { state, detail }) =>
    deps.deliverer.move(tx, deliveryId, { state, via: 'channel', evidence: null, detail }),
  );

  /** Senders outside are named as the carrier names them; they are not the owner, whatever they write. */
  const senderAs = ({ provider, peer }: Channel) => {
    const surface = `channel:${provider}`;
    return { caller: surface, surface, name: `${peer} (${provider}, from outside)`, agentId: null, inPerson: false };
  };

  function threadOf(botId: string, channel: Channel, title: string): Promise<string> {
    return store.write((tx) => {
      const found = findChannelThread(tx, botId, channel);
      if (found !== null) return found.id;
      const id = ids.next('thread');
      const { caller, surface } = senderAs(channel);
      insertThread(tx, { id, title, agentId: botId, channel, at: clock.now() });
      ledger.append(tx, {
        type: 'thread.created',
        actor: caller,
        surface,
        subject: `thread:${id}`,
        body: { v: 1, threadId: id, botId },
      });
      return id;
    });
  }

  return {
    async take({ channel, messageId, botId, title, text }) {
      const bot = registry.find(botId);
      if (bot === null) {
        throw new AppError('not_found', `No bot here has the id ${botId}.`, 'List bots with `gantry agents ls`.');
      }
      const threadId = await threadOf(bot.id, channel, title);
      // Queued, which is durable: the channel does not wait until the bot is free.
      const request: SendRequest = {
        to: bot.id,
        text: strangersWords(bot, text),
        threadId,
        queue: true,
        idempotencyKey: messageId,
      };
      await deps.sends.send(request, senderAs(channel), undefined).catch((thrown: unknown) => {
        if (!(thrown instanceof AppError) || thrown.code !== 'refused') throw thrown;
        const more = { status: 429, wireCode: 'rate_limited', retryAfter: 60 } as const;
        throw new AppError('refused', thrown.fact, 'Try again later.', more);
      });
      return { threadId, botId: bot.id };
    },
    received(tx, { channel, messageId, botId, text }, threadId) {
      const data = { threadId, messageId, provider: channel.provider, from: channel.peer, text: text.slice(0, 20_000) };
      deps.events.emit(tx, botId, { type: 'message.received', id: messageId, data });
    },
  };
}
