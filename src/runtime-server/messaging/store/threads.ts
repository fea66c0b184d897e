/** SQL of threads and their messages. */
import type { Message, Thread } from '../../../contracts/factory/delivery.ts';
import type { Tx, Value } from '../../../kit/store/store.ts';
import { firstWordsOf } from '../model.ts';

type Read = Pick<Tx, 'get' | 'all'>;

interface ThreadRow {
  id: string;
  title: string;
  agent_id: string | null;
  channel: string | null;
  created_at: number;
  last_message_at: number;
}

/** With its last message, where it has one. */
interface ListedRow extends ThreadRow {
  sender: string | null;
  recipient: string;
  text: string;
  direction: 'in' | 'out';
}

interface MessageRow {
  id: string;
  thread_id: string;
  sender: string;
  recipient: string;
  text: string;
  at: number;
  direction: 'in' | 'out';
  delivery_id: string | null;
}

const toThread = (row: ThreadRow): Thread => ({
  id: row.id,
  title: row.title,
  botId: row.agent_id,
  channel: row.channel === null ? null : (JSON.parse(row.channel) as NonNullable<Thread['channel']>),
  lastMessageAt: new Date(row.last_message_at).toISOString(),
});

const toMessage = (row: MessageRow): Message => ({
  id: row.id,
  threadId: row.thread_id,
  from: row.sender,
  to: row.recipient,
  text: row.text,
  at: new Date(row.at).toISOString(),
  direction: row.direction,
  ...(row.delivery_id === null ? {} : { deliveryId: row.delivery_id }),
});

interface NewThread {
  readonly id: string;
  readonly title: string;
  readonly agentId: string | null;
  readonly channel?: NonNullable<Thread['channel']>;
  readonly at: number;
}

export function insertThread(tx: Tx, { id, title, agentId, channel, at }: NewThread): void {
  tx.run(
    'INSERT INTO factory_thread (id, title, agent_id, channel, created_at, last_message_at) VALUES (?, ?, ?, ?, ?, ?)',
    id,
    title,
    agentId,
    channel === undefined ? null : channelText(channel),
    at,
    at,
  );
}

/** One bot's thread with the peer of a channel. */
export function findChannelThread(tx: Read, agentId: string, channel: NonNullable<Thread['channel']>): Thread | null {
  const sql = 'SELECT * FROM factory_thread WHERE channel = ? AND agent_id = ?';
  const row = tx.get<ThreadRow>(sql, channelText(channel), agentId);
  return row === undefined ? null : toThread(row);
}

/** As it is kept and looked for. */
const channelText = ({ provider, numberId, peer }: NonNullable<Thread['channel']>) =>
  JSON.stringify({ provider, numberId, peer });

export function readThread(tx: Read, id: string): Thread | null {
  const row = tx.get<ThreadRow>('SELECT * FROM factory_thread WHERE id = ?', id);
  return row === undefined ? null : toThread(row);
}

/** Whether the thread is this bot's: it was opened with it, or a message of it went to or came from it. */
export function threadConcerns(tx: Read, threadId: string, agentId: string): boolean {
  const row = tx.get(
    `SELECT 1 FROM factory_thread t WHERE t.id = ? AND (t.agent_id = ?
       OR EXISTS (SELECT 1 FROM factory_message m WHERE m.thread_id = t.id AND m.agent_id = ?))`,
    threadId,
    agentId,
    agentId,
  );
  return row !== undefined;
}

interface NewMessage {
  readonly id: string;
  readonly threadId: string;
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly at: number;
  readonly direction: 'in' | 'out';
  readonly deliveryId: string;
  /** The bot that it went to or came from. */
  readonly agentId: string | null;
}

export function insertMessage(tx: Tx, message: NewMessage): void {
  tx.run(
    `INSERT INTO factory_message (id, thread_id, sender, recipient, text, at, direction, delivery_id, agent_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    message.id,
    message.threadId,
    message.from,
    message.to,
    message.text,
    message.at,
    message.direction,
    message.deliveryId,
    message.agentId,
  );
  tx.run('UPDATE factory_thread SET last_message_at = ? WHERE id = ?', message.at, message.threadId);
}

interface ThreadFilter {
  readonly agentId?: string | undefined;
  /** Only threads that concern this bot, see {@link threadConcerns}. */
  readonly seenBy?: string | undefined;
  /** Only threads before this place in the list. */
  readonly before?: { readonly at: number; readonly id: string } | undefined;
  readonly limit: number;
}

/** Newest message first. */
export function listThreads(tx: Read, filter: ThreadFilter): Thread[] {
  const conditions: string[] = [];
  const values: Value[] = [];
  if (filter.agentId !== undefined) {
    conditions.push('agent_id = ?');
    values.push(filter.agentId);
  }
  if (filter.seenBy !== undefined) {
    conditions.push(`(agent_id = ? OR EXISTS (
      SELECT 1 FROM factory_message m WHERE m.thread_id = factory_thread.id AND m.agent_id = ?))`);
    values.push(filter.seenBy, filter.seenBy);
  }
  if (filter.before !== undefined) {
    conditions.push('(last_message_at, id) < (?, ?)');
    values.push(filter.before.at, filter.before.id);
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return tx
    .all<ListedRow>(
      `SELECT t.*, m.sender, m.recipient, m.direction, substr(m.text, 1, 1000) AS text
       FROM (SELECT * FROM factory_thread ${where} ORDER BY last_message_at DESC, id DESC LIMIT ?) t
       LEFT JOIN factory_message m
         ON m.id = (SELECT id FROM factory_message WHERE thread_id = t.id ORDER BY id DESC LIMIT 1)
       ORDER BY t.last_message_at DESC, t.id DESC`,
      ...values,
      filter.limit,
    )
    .map((row) => {
      if (row.sender === null) return toThread(row);
      const { sender: from, recipient: to, direction } = row;
      return { ...toThread(row), last: { from, to, firstWords: firstWordsOf(row.text), direction } };
    });
}

/** Newest first. */
export function listMessages(tx: Read, threadId: string, before: string | undefined, limit: number): Message[] {
  const rows =
    before === undefined
      ? tx.all<MessageRow>(
          'SELECT * FROM factory_message WHERE thread_id = ? ORDER BY id DESC LIMIT ?',
          threadId,
          limit,
        )
      : tx.all<MessageRow>(
          'SELECT * FROM factory_message WHERE thread_id = ? AND id < ? ORDER BY id DESC LIMIT ?',
          threadId,
          before,
          limit,
        );
  return rows.map(toMessage);
}
