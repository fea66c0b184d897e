/**
 * Finds runs, steps, messages and ledger rows by words. Reads only the newest rows of each kind, so that a search costs the same however long Gantry
 * has been running; reports when there are older ones.
 */
import { partyWords } from '../../contracts/factory/delivery.ts';
import { type Found, search } from '../../contracts/factory/search-routes.ts';
import { ledgerSentence } from '../../contracts/factory/work-engine/ledger-words.ts';
import { iso } from '../../kit/clock/clock.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { bodyOf } from '../../kit/ledger/create-ledger.ts';
import type { Store, Tx } from '../../kit/store/store.ts';
import type { Parties } from '../parties/parties.ts';
import { namesOf } from '../work-engine/ledger-names.ts';

type Read = Pick<Tx, 'get' | 'all'>;

/** Rows of a kind that are looked through, newest first. */
export const lookedThrough = 10_000;
/** Rows with long texts per read: the store answers one read at a time. Titles without texts are quick, and sorted again for each read. */
const fewAtATime = 500;
/** Of one text; the rest is not searched. Characters. */
const maxTextLength = 4_000;
const usually = 6;
/** Characters shown of a text, before and after its first match. */
const before = 24;
const after = 120;

interface Look {
  readonly words: readonly string[];
  readonly limit: number;
}

interface Kind {
  readonly table: 'factory_run' | 'factory_node' | 'factory_message' | 'ledger';
  /** Rows of one read. */
  readonly portion: number;
  /** Among the rows of a portion that begins after this many newer ones. */
  find(tx: Read, look: Look, from: number): Found[];
}

export function searchRoutes(deps: {
  readonly store: Pick<Store, 'read'>;
  readonly workspace: string;
  readonly parties: Pick<Parties, 'name'>;
}): BoundRoute[] {
  return [
    bind(search, async ({ query }) => {
      const words = query.q.trim().split(/\s+/).filter(Boolean);
      if (words.length === 0) return { body: { found: [], complete: true } };
      const look = { words, limit: query.limit ?? usually };
      const found: Found[] = [];
      let complete = true;
      for (const kind of [runs(deps.workspace), steps(deps.workspace), messages, events(deps.parties)]) {
        const hits = new Map<string, Found>();
        let older = true;
        // In portions: other work of the store goes in between. Rows written in between shift the others, so that some appear twice.
        for (let from = 0; from < lookedThrough && older && hits.size < look.limit; from += kind.portion) {
          const { rows, more } = await deps.store.read((tx) => ({
            rows: kind.find(tx, look, from),
            more: isLonger(tx, kind.table, from + kind.portion),
          }));
          for (const row of rows) if (hits.size < look.limit) hits.set(row.id, row);
          older = more;
        }
        // The search has enough results: whether there are more does not matter.
        if (hits.size < look.limit && older) complete = false;
        found.push(...hits.values());
      }
      return { body: { found, complete } };
    }),
  ];
}

/** `?` for each word and place: one of the places contains the word. */
function where(words: readonly string[], places: readonly string[]): { sql: string; values: string[] } {
  const one = `(${places.map((place) => `${place} LIKE ? ESCAPE '\\'`).join(' OR ')})`;
  const values = words.flatMap((word) => {
    const pattern = `%${word.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
    return places.map(() => pattern);
  });
  return { sql: words.map(() => one).join(' AND '), values };
}

const runs = (workspace: string): Kind => ({
  table: 'factory_run',
  portion: lookedThrough,
  find(tx, { words, limit }, from) {
    const { sql, values } = where(words, ['r.title', 'c.title', 'r.dag_id']);
    return tx
      .all<{ dag_id: string; title: string; campaign: string; created_at: number }>(
        `SELECT r.dag_id, r.title, c.title AS campaign, r.created_at
           FROM (SELECT * FROM factory_run WHERE workspace = ? ORDER BY dag_id DESC LIMIT ${lookedThrough} OFFSET ?) r
           JOIN factory_campaign c ON c.workspace = r.workspace AND c.id = r.campaign_id
          WHERE ${sql} ORDER BY r.dag_id DESC LIMIT ?`,
        workspace,
        from,
        ...values,
        limit,
      )
      .map((row) => ({
        kind: 'run',
        id: row.dag_id,
        title: row.title,
        text: row.campaign === row.title ? '' : row.campaign,
        at: iso(row.created_at),
        url: `/work?${new URLSearchParams({ dag: row.dag_id, view: 'graph' })}`,
      }));
  },
});

const steps = (workspace: string): Kind => ({
  table: 'factory_node',
  portion: lookedThrough,
  find(tx, { words, limit }, from) {
    const { sql, values } = where(words, ['n.title', 'n.step_id', 'n.node_id', 'n.assignee']);
    return tx
      .all<{ dag_id: string; node_id: string; title: string; run: string; created_at: number }>(
        `SELECT n.dag_id, n.node_id, n.title, r.title AS run, r.created_at
           FROM (SELECT * FROM factory_node ORDER BY dag_id DESC, seq LIMIT ${lookedThrough} OFFSET ?) n
           JOIN factory_run r ON r.dag_id = n.dag_id AND r.workspace = ?
          WHERE ${sql} ORDER BY n.dag_id DESC, n.seq LIMIT ?`,
        from,
        workspace,
        ...values,
        limit,
      )
      .map((row) => ({
        kind: 'step',
        id: row.node_id,
        title: row.title,
        text: row.run,
        at: iso(row.created_at),
        url: `/work?${new URLSearchParams({ dag: row.dag_id, node: row.node_id, view: 'graph' })}`,
      }));
  },
});

interface MessageFound {
  id: string;
  sender: string;
  recipient: string;
  text: string;
  at: number;
  thread_id: string;
  title: string;
  channel: string | null;
}

const messages: Kind = {
  table: 'factory_message',
  portion: fewAtATime,
  find(tx, { words, limit }, from) {
    const { sql, values } = where(words, ['m.text', 'm.sender', 'm.recipient', 't.title', 't.channel']);
    return tx
      .all<MessageFound>(
        `SELECT m.id, m.sender, m.recipient, m.text, m.at, m.thread_id, t.title, t.channel
           FROM (SELECT id, thread_id, sender, recipient, substr(text, 1, ${maxTextLength}) AS text, at
                   FROM factory_message ORDER BY id DESC LIMIT ${fewAtATime} OFFSET ?) m
           JOIN factory_thread t ON t.id = m.thread_id
          WHERE ${sql} ORDER BY m.id DESC LIMIT ?`,
        from,
        ...values,
        limit,
      )
      .map((row) => ({
        kind: 'message',
        id: row.id,
        title: `${partyWords(row.sender)} → ${partyWords(row.recipient)}`,
        text: around(row.text, words),
        at: iso(row.at),
        url: pageOfThread(row),
      }));
  },
};

/** A conversation by phone has its own page; any other thread is shown with the pane of its bot. */
function pageOfThread({ thread_id, channel }: Pick<MessageFound, 'thread_id' | 'channel'>): string {
  if (channel !== null) {
    const { provider, numberId, peer } = JSON.parse(channel) as { provider: string; numberId: string; peer: string };
    if (provider === 'sms') return `/phone?${new URLSearchParams({ number: numberId, with: peer })}`;
  }
  return `/?${new URLSearchParams({ allternit_thread: thread_id })}`;
}

interface EventFound {
  seq: number;
  at: number;
  type: string;
  actor: string;
  subject: string;
  body: string;
}

/** As the ledger's page says them. */
const events = (parties: Pick<Parties, 'name'>): Kind => ({
  table: 'ledger',
  portion: fewAtATime,
  find(tx, { words, limit }, from) {
    const { sql, values } = where(words, ['l.type', 'l.subject', 'l.actor', 'l.begins']);
    return tx
      .all<EventFound>(
        `SELECT w.seq, w.at, w.type, w.actor, w.subject, w.body
           FROM (SELECT seq, type, subject, actor, substr(body, 1, ${maxTextLength}) AS begins
                   FROM ledger ORDER BY seq DESC LIMIT ${fewAtATime} OFFSET ?) l
           JOIN ledger w ON w.seq = l.seq
          WHERE ${sql} ORDER BY w.seq DESC LIMIT ?`,
        from,
        ...values,
        limit,
      )
      .map(({ type, actor, subject, ...row }) => {
        const body = bodyOf(row.body);
        const names = namesOf(tx, { actor, subject, body }, parties);
        return {
          kind: 'event',
          id: String(row.seq),
          title: ledgerSentence({ type, subject, body, names }),
          text: type,
          at: iso(row.at),
          url: `/ledger?${new URLSearchParams({ row: String(row.seq) })}`,
        };
      });
  },
});

function isLonger(tx: Read, table: Kind['table'], rows: number): boolean {
  return tx.get(`SELECT 1 FROM ${table} LIMIT 1 OFFSET ?`, rows) !== undefined;
}

/** One line of the text with its first word in it. */
export function around(text: string, words: readonly string[]): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const lower = line.toLowerCase();
  const places = words.map((word) => lower.indexOf(word.toLowerCase())).filter((place) => place >= 0);
  const first = places.length === 0 ? 0 : Math.min(...places);
  const from = first <= before ? 0 : first - before;
  const to = Math.min(line.length, first + after);
  return `${from > 0 ? '…' : ''}${line.slice(from, to)}${to < line.length ? '…' : ''}`;
}
