/** What became of the events, read from the computer's database: one ticket and one entry each, in the tracker's order. */
import Database from 'better-sqlite3';

export interface Arrived {
  /** `<subscription>/<event>` of each ticket, in the order in which they were opened. */
  readonly tickets: readonly string[];
  /** Idempotency keys of the ledger's entries, in its order. */
  readonly entries: readonly string[];
}

/** What the tracker told, by subscription, in its order. */
export type Told = ReadonlyMap<string, readonly string[]>;

export function look(file: string): Arrived {
  const database = new Database(file, { readonly: true });
  try {
    const values = (sql: string) =>
      database
        .prepare<[], { v: string }>(sql)
        .all()
        .map(({ v }) => v);
    return {
      tickets: values("SELECT source_ref AS v FROM engine_ticket WHERE source_kind = 'connector' ORDER BY rowid"),
      entries: values("SELECT idem_key AS v FROM ledger WHERE type = 'connector.event.received' ORDER BY seq"),
    };
  } finally {
    database.close();
  }
}

/** What must never be seen, at any moment. */
export function disorder({ tickets, entries }: Arrived, told: Told): string[] {
  return [
    ...notOnce('ticket', tickets),
    ...notOnce('entry', entries),
    ...unordered(bySubscription(tickets), told),
    ...tickets
      .filter((ref, at) => entries[at] !== keyOf(ref))
      .map((ref) => `the ticket of ${ref} has no entry like it`),
  ];
}

/** What is missing once nothing is under way any more. */
export function missing({ tickets }: Arrived, told: Told): string[] {
  const there = new Set(tickets);
  return [...told].flatMap(([subscription, events]) =>
    events.map((event) => `${subscription}/${event}`).filter((ref) => !there.has(ref)),
  );
}

const keyOf = (ref: string) => `mcp-event:${ref.replace('/', ':')}`;

function notOnce(what: string, values: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].filter(([, n]) => n !== 1).map(([value, n]) => `${what} ${value} is there ${n} times`);
}

function bySubscription(refs: readonly string[]): Map<string, string[]> {
  const lists = new Map<string, string[]>();
  for (const ref of refs) {
    const [subscription = '', event = ''] = ref.split('/');
    const list = lists.get(subscription);
    if (list === undefined) lists.set(subscription, [event]);
    else list.push(event);
  }
  return lists;
}

function unordered(found: ReadonlyMap<string, readonly string[]>, told: Told): string[] {
  const problems: string[] = [];
  for (const [subscription, events] of found) {
    const places = new Map((told.get(subscription) ?? []).map((event, at) => [event, at]));
    let last = -1;
    for (const event of events) {
      const at = places.get(event);
      if (at === undefined) problems.push(`${subscription}/${event} was never told`);
      else if (at < last) problems.push(`${subscription}/${event} came after one that follows it`);
      else last = at;
    }
  }
  return problems;
}
