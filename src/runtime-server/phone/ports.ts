/** The interfaces between the phone's half on this computer and the factory. Must not know how threads or sends are made. */
import type { Tx } from '../../kit/store/store.ts';

/** The outside end of a thread. `peer`: who is at the other end, as the carrier names them. */
export interface Channel {
  readonly provider: string;
  readonly numberId: string;
  readonly peer: string;
}

/** A message from outside for a bot. */
export interface ChannelMessage {
  readonly channel: Channel;
  readonly messageId: string;
  readonly botId: string;
  readonly title: string;
  readonly text: string;
}

/** An outgoing text of a thread. */
export interface OutgoingText {
  readonly deliveryId: string;
  readonly channel: Channel;
  /** The bot of the thread; null: it no longer exists. */
  readonly botId: string | null;
  readonly text: string;
}

export type OutgoingEnd = { readonly state: 'best_effort' | 'failed' | 'queued'; readonly detail: string };

/** The factory's part. */
export interface ChannelPort {
  /**
   * Into the thread of this channel and bot, which is opened with the first message, and on to the bot; durable when it resolves. A repeat returns
   * the first one. `not_found`: the bot is not here. `refused` (429): too much waits for it.
   */
  take(message: ChannelMessage): Promise<{ readonly threadId: string; readonly botId: string }>;
  /** Tells the person: once a message, in the transaction that notes it. */
  received(tx: Tx, message: ChannelMessage, threadId: string): void;
}

/** For the factory: takes the messages of a thread with a channel, in its transaction, and tells what becomes of them. */
export interface ChannelOut {
  append(tx: Tx, text: OutgoingText): void;
  onMoved(listener: (tx: Tx, deliveryId: string, end: OutgoingEnd) => void): void;
}
