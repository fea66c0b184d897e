/**
 * The phone on this computer. Texts that the cloud brings become messages in their bot's thread, replies in that thread go out as
 * texts, and the list of numbers is read again whenever the cloud says so. Carriers, consent and STOP belong to the cloud.
 */

import { AppError } from '../../contracts/common/errors.ts';
import { deliverText, type RelayedText, resync } from '../../contracts/phone/texts.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Base } from '../base/base.ts';
import { createPhoneNumbers, type NumbersDeps } from './numbers.ts';
import { createOutgoing, type OutgoingDeps } from './outgoing.ts';
import type { ChannelMessage, ChannelOut, ChannelPort } from './ports.ts';

export { phoneMigrations } from './migrations.ts';
export type { ChannelOut } from './ports.ts';

export interface Phone {
  /** For the cloud; `channels` takes what comes from outside to the bots. */
  routes(channels: ChannelPort): readonly BoundRoute[];
  /** Takes over what threads with a channel send. */
  readonly out: ChannelOut;
  /** Another cloud may be home now, or it can be reached again. */
  wake(): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** The cloud brings a text for one day. */
const knownMs = 7 * 24 * 60 * 60_000;

export function createPhone(
  deps: Pick<Base, 'store' | 'clock'> &
    NumbersDeps &
    Pick<OutgoingDeps, 'openLanes' | 'call'> & {
      readonly call: NumbersDeps['call'] & OutgoingDeps['call'];
      readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
    },
): Phone {
  const { store, clock, log } = deps;
  const numbers = createPhoneNumbers(deps);
  const outgoing = createOutgoing({ ...deps, numbers });
  const ending = new AbortController();

  const readNumbers = () =>
    numbers
      .read(ending.signal)
      .catch((fault: unknown) => log.warn('The numbers of this computer could not be read.', { fault: String(fault) }));

  async function take(channels: ChannelPort, text: RelayedText): Promise<'delivered' | 'duplicate'> {
    const { messageId } = text;
    const known = await store.read((tx) => tx.get('SELECT 1 FROM phone_text WHERE message_id = ?', messageId));
    if (known !== undefined) return 'duplicate';
    const message = messageOf(text);
    const { threadId } = await channels.take(message).catch(said);
    await store.write((tx) => {
      tx.run('DELETE FROM phone_text WHERE at < ?', clock.now() - knownMs);
      const sql = 'INSERT INTO phone_text (message_id, thread_id, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING';
      if (tx.run(sql, messageId, threadId, clock.now()).changes === 1) channels.received(tx, message, threadId);
    });
    return 'delivered';
  }

  return {
    out: outgoing,
    routes: (channels) => [
      bind(deliverText, async ({ body }) => ({ body: { status: await take(channels, body) } })),
      bind(resync, async () => {
        await readNumbers();
        outgoing.wake();
        return { body: { ok: true as const } };
      }),
    ],
    wake() {
      void readNumbers().then(() => outgoing.wake());
    },
    async start() {
      await outgoing.start();
      void readNumbers();
    },
    async close() {
      ending.abort();
      await outgoing.close();
    },
  };
}

/** For the bot, and for the text's notification. */
const mayMeanStop =
  '[This may be a request to stop texting. If it is, do not reply: the sender can be marked as opted out on the page of the number.]';

/** Pictures and other media stay with the carrier: the message names their addresses. */
function messageOf({ messageId, numberId, botId, from, to, text, media, flag }: RelayedText): ChannelMessage {
  const attached = media.map(({ url, contentType }) => `Attached: ${contentType ?? 'a file'} ${url}`);
  return {
    channel: { provider: 'sms', numberId, peer: from },
    messageId,
    botId,
    title: `Texts with ${from} on ${to}`,
    text: [text, ...attached, flag === 'may_mean_stop' ? mayMeanStop : ''].filter((line) => line !== '').join('\n'),
  };
}

/** A bot that is gone will not come back; one with too much before it will have time. */
function said(thrown: unknown): never {
  if (thrown instanceof AppError && thrown.code === 'not_found') {
    throw new AppError('refused', thrown.fact, 'Assign the number to another bot.', {
      status: 410,
      wireCode: 'bot_gone',
    });
  }
  throw thrown;
}
