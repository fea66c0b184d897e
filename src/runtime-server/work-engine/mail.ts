/**
 * Inboxes of the bots and of their person: list, read, send. A bot sees only mail that it sent or received; the person sees every inbox. Mail is
 * never typed into a pane. Texts never enter the ledger, only their hash: it cannot forget. Owns `engine_mail`; must not know panes or deliveries.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Mail, MailRequest, MailSummary } from '../../contracts/factory/work-engine/mail.ts';
import * as table from '../../contracts/factory/work-engine/mail.ts';
import { iso } from '../../kit/clock/clock.ts';
import { bind } from '../../kit/http/types.ts';
import type { Tx, Value } from '../../kit/store/store.ts';
import { sha256 } from '../base/actor.ts';
import { decodeCursor, defaultLimit, encodeCursor, idCursor, page } from '../base/paging.ts';
import { titleOf } from '../events/bot-events.ts';
import type { EnginePart, EnginePartDeps } from '../parties/part.ts';
import { type Caller, owner } from '../parties/parties.ts';

/** An unread inbox must not grow without end: a bot in a loop writes faster than a person reads. */
const maxUnread = 1000;
const previewLength = 200;

interface MailRow {
  id: string;
  sender: string;
  recipient: string;
  subject: string;
  text: string;
  at: number;
  read_at: number | null;
  in_reply_to: string | null;
}

type Read = Pick<Tx, 'get' | 'all'>;
const columns = 'id, sender, recipient, subject, at, read_at, in_reply_to';

export function createMail(deps: EnginePartDeps): EnginePart {
  const { store, ledger, parties, workspace } = deps;

  const head = (row: MailRow) => ({
    id: row.id,
    from: parties.name(row.sender),
    to: parties.name(row.recipient),
    subject: row.subject,
    at: iso(row.at),
    readAt: row.read_at === null ? null : iso(row.read_at),
    inReplyTo: row.in_reply_to,
  });
  const whole = (row: MailRow): Mail => ({ ...head(row), text: row.text });
  const summary = (row: MailRow): MailSummary => ({ ...head(row), preview: row.text });

  const find = (tx: Read, id: string) =>
    tx.get<MailRow>(`SELECT ${columns}, text FROM engine_mail WHERE workspace = ? AND id = ?`, workspace, id);
  const concerns = (row: MailRow | undefined, agentId: string | undefined) =>
    row !== undefined && (agentId === undefined || row.sender === agentId || row.recipient === agentId);
  const unreadOf = (tx: Read, party: string) =>
    tx.get<{ n: number }>(
      'SELECT count(*) AS n FROM engine_mail WHERE workspace = ? AND recipient = ? AND read_at IS NULL',
      workspace,
      party,
    )?.n ?? 0;

  /** The requested inbox. A bot gets only its own. */
  function boxOf(caller: Caller, bot: string | undefined): string {
    if (bot === undefined) return caller.id;
    const party = parties.find(bot);
    if (caller.bot === null || party === caller.id) return party;
    throw new AppError('refused', `A bot cannot read the mail of ${parties.name(party)}.`, 'Leave `bot` out.');
  }

  /** Its recipient; refuses invalid mail. */
  function check(tx: Read, { to: address, inReplyTo }: MailRequest, caller: Caller): string {
    const to = parties.find(address);
    if (to === caller.id) throw new AppError('usage', 'Sender and recipient are the same.', 'Name somebody else.');
    if (inReplyTo !== undefined && !concerns(find(tx, inReplyTo), caller.bot?.id)) {
      throw new AppError('not_found', `There is no mail ${inReplyTo}.`, 'Leave inReplyTo out.');
    }
    const unread = unreadOf(tx, to);
    if (unread < maxUnread) return to;
    const fact = `${parties.name(to)} already has ${unread} unread mails.`;
    throw new AppError('refused', fact, 'Wait until some are read.', { status: 409 });
  }

  async function write(request: MailRequest, caller: Caller): Promise<Mail> {
    const from = caller.id;
    return store.write((tx) => {
      caller.actor.report?.take(tx);
      const to = check(tx, request, caller);
      const row: MailRow = {
        id: deps.ids.next('mail'),
        sender: from,
        recipient: to,
        subject: request.subject,
        text: request.text,
        at: deps.clock.now(),
        read_at: null,
        in_reply_to: request.inReplyTo ?? null,
      };
      tx.run(
        `INSERT INTO engine_mail (workspace, ${columns}, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        workspace,
        row.id,
        row.sender,
        row.recipient,
        row.subject,
        row.at,
        row.read_at,
        row.in_reply_to,
        row.text,
      );
      ledger.append(tx, {
        type: 'mail.sent',
        ...caller.actor,
        subject: `mail:${row.id}`,
        body: { v: 1, id: row.id, from, to, textSha256: sha256(`${row.subject}\n${row.text}`) },
      });
      if (to === owner && caller.bot !== null) {
        const data = { itemId: row.id, title: titleOf(row.subject) };
        deps.events.emit(tx, caller.bot.id, { type: 'inbox.item.created', id: row.id, data });
      }
      return whole(row);
    });
  }

  async function markRead(id: string, caller: Caller): Promise<Mail> {
    return store.write((tx) => {
      const row = find(tx, id) as MailRow;
      if (row.read_at !== null) return whole(row);
      const at = deps.clock.now();
      tx.run('UPDATE engine_mail SET read_at = ? WHERE id = ?', at, id);
      ledger.append(tx, { type: 'mail.read', ...caller.actor, subject: `mail:${id}`, body: { v: 1, id } });
      return whole({ ...row, read_at: at });
    });
  }

  async function list(party: string, query: { box?: 'in' | 'out'; unread?: boolean; limit?: number; cursor?: string }) {
    const limit = query.limit ?? defaultLimit;
    const before = decodeCursor(query.cursor, idCursor);
    const side = query.box === 'out' ? 'sender' : 'recipient';
    const values: Value[] = [previewLength, workspace, party];
    if (before !== null) values.push(before);
    const rows = await store.read((tx) =>
      tx.all<MailRow>(
        `SELECT ${columns}, substr(text, 1, ?) AS text FROM engine_mail WHERE workspace = ? AND ${side} = ?
          ${query.unread === true ? 'AND read_at IS NULL' : ''} ${before === null ? '' : 'AND id < ?'}
          ORDER BY id DESC LIMIT ?`,
        ...values,
        limit + 1,
      ),
    );
    const { shown, nextCursor } = page(rows, limit, (last) => encodeCursor(last.id));
    return { mail: shown.map(summary), unread: await store.read((tx) => unreadOf(tx, party)), nextCursor };
  }

  return {
    owners: {
      mail: async ({ agentId }, id) => concerns(await store.read((tx) => find(tx, id)), agentId),
    },
    routes: [
      bind(table.listMail, async ({ query, principal }) => ({
        body: await list(boxOf(parties.caller(principal), query.bot), query),
      })),
      bind(table.readMail, async ({ params }) => ({
        body: whole((await store.read((tx) => find(tx, params.id))) as MailRow),
      })),
      bind(table.markMailRead, async ({ params, body, principal }) => {
        const caller = parties.caller(principal);
        const row = (await store.read((tx) => find(tx, params.id))) as MailRow;
        if (row.recipient !== caller.id) {
          const whose = row.recipient === owner ? 'its person' : parties.name(row.recipient);
          throw new AppError(
            'refused',
            `The mail ${row.id} went to ${whose}.`,
            'Only its recipient can mark it as read.',
          );
        }
        if (body.dryRun !== true) return { body: await markRead(params.id, caller) };
        const records = row.read_at === null ? ['mail.read'] : [];
        return { body: { dryRun: true as const, plan: { id: row.id, records } } };
      }),
      bind(table.sendMail, async ({ body, principal }) => {
        const caller = parties.caller(principal);
        if (body.dryRun !== true) return { status: 201 as const, body: await write(body, caller) };
        const to = parties.name(await store.read((tx) => check(tx, body, caller)));
        const plan = { from: caller.name, to, subject: body.subject, records: ['mail.sent'] };
        return { status: 200 as const, body: { dryRun: true as const, plan } };
      }),
    ],
  };
}
