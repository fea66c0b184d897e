/**
 * Wakes over PostgreSQL: LISTEN and one gathered NOTIFY per process and 20 ms, on a connection of its own, never in a transaction of the work,
 * because NOTIFY locks the whole database at its commit. Without LISTEN, waiters poll.
 */
import pg from 'pg';
import type { Timers } from '../clock/timers.ts';
import { createLocalWake } from '../wake/local-wake.ts';
import type { Wake } from '../wake/wake.ts';
import { settingsOf } from './postgres-connections.ts';

interface PostgresWake extends Wake {
  close(): Promise<void>;
}

const channel = 'gantry_wake';
const gatherMs = 20;
/** PostgreSQL accepts less than 8000 bytes in one. */
const maxBytes = 7000;
const againMs = [250, 500, 1000, 2000, 5000];
/** This query detects a connection that was cut silently. */
const askMs = 15_000;

export function createPostgresWake({
  url,
  timers,
  id,
}: {
  readonly url: string;
  readonly timers: Timers;
  /** This process, among those that share the database. */
  readonly id: string;
}): PostgresWake {
  const local = createLocalWake(timers);
  const outgoing = new Set<string>();
  let client: pg.Client | null = null;
  let failures = 0;
  let closed = false;
  let telling = false;
  let cancelFlush: (() => void) | null = null;
  let cancelNext = () => {};

  function flush(): void {
    cancelFlush = null;
    if (telling || outgoing.size === 0) return;
    telling = true;
    const topics = [...outgoing];
    outgoing.clear();
    void tell(payloadsOf(id, topics)).finally(() => {
      telling = false;
      if (outgoing.size > 0 && !closed) cancelFlush ??= timers.after(gatherMs, flush);
    });
  }

  /** One after the other: a client accepts the next query after it has answered the last. */
  async function tell(payloads: readonly string[]): Promise<void> {
    for (const payload of payloads) {
      // Waiters that miss this wake find the rows by polling.
      if (client === null) return;
      const query = { name: 'notify', text: 'SELECT pg_notify($1, $2)', values: [channel, payload] };
      await client.query(query).catch(() => {});
    }
  }

  function hear(payload: string | undefined): void {
    const [from, ...topics] = (payload ?? '').split('\n');
    if (from !== id) for (const topic of topics) local.signal(topic);
  }

  function begin(): void {
    if (closed) return;
    const opened = new pg.Client(settingsOf(url));
    let over = false;
    const end = () => {
      if (over) return;
      over = true;
      if (client === opened) client = null;
      cancelNext();
      opened.end().catch(() => {});
      if (closed) return;
      cancelNext = timers.after(againMs[Math.min(failures, againMs.length - 1)] as number, begin);
      failures += 1;
    };
    opened.on('error', end);
    opened.on('end', end);
    opened.on('notification', ({ payload }) => hear(payload));
    listen(opened).catch(end);

    function ask(): void {
      opened.query('SELECT 1').then(() => {
        if (!over) cancelNext = timers.after(askMs, ask);
      }, end);
    }

    async function listen(on: pg.Client): Promise<void> {
      await on.connect();
      await on.query(`LISTEN ${channel}`);
      if (closed || over) return end();
      client = on;
      failures = 0;
      cancelNext = timers.after(askMs, ask);
      // A wake may have been missed while nobody listened.
      local.all();
    }
  }

  begin();
  return {
    ...local,
    signal(topic) {
      local.signal(topic);
      if (closed) return;
      outgoing.add(topic);
      cancelFlush ??= timers.after(gatherMs, flush);
    },
    async close() {
      closed = true;
      cancelFlush?.();
      cancelNext();
      const open = client;
      client = null;
      await open?.end().catch(() => {});
    },
  };
}

/** One line per topic, after the line that names the sender, in as few messages as possible. */
function payloadsOf(id: string, topics: readonly string[]): string[] {
  const payloads: string[] = [];
  let text = id;
  for (const topic of topics) {
    if (Buffer.byteLength(text) + Buffer.byteLength(topic) + 1 > maxBytes) {
      payloads.push(text);
      text = id;
    }
    text += `\n${topic}`;
  }
  return [...payloads, text];
}
