/** What reached the other end, read from both databases: in the order of its cause, once, and at the end all of it. */
import Database from 'better-sqlite3';
import { filesOf, type World } from './world.ts';

export interface Arrived {
  /** Numbers of the trigger's events, as tickets of the computer. */
  readonly tickets: readonly number[];
  /** Questions in the order in which the computer asked, and in which the cloud heard of them. */
  readonly held: readonly string[];
  readonly heard: readonly string[];
  /** Answers in the order in which the person gave them, and in which the computer took them. */
  readonly given: readonly string[];
  readonly taken: readonly string[];
  /** Questions that the computer had withdrawn or given up before their answer came. */
  readonly gone: ReadonlySet<string>;
}

export function look(world: World): Arrived {
  const { cloud, runtime } = filesOf(world);
  const there = new Database(runtime, { readonly: true });
  const here = new Database(cloud, { readonly: true });
  try {
    const rows = (database: Database.Database, sql: string) => database.prepare<[], { v: string }>(sql).all();
    const values = (database: Database.Database, sql: string) => rows(database, sql).map(({ v }) => v);
    const subjects = (type: string) =>
      values(there, `SELECT subject AS v FROM ledger WHERE type = '${type}' ORDER BY seq`).map((subject) =>
        subject.slice(subject.indexOf(':') + 1),
      );
    return {
      tickets: values(there, 'SELECT data AS v FROM engine_ticket ORDER BY id').map(
        (data) => (JSON.parse(data) as { n: number }).n,
      ),
      held: subjects('approval.held'),
      heard: values(here, 'SELECT id AS v FROM approval ORDER BY rowid'),
      given: values(here, 'SELECT id AS v FROM approval WHERE decision IS NOT NULL ORDER BY resolved_at'),
      taken: subjects('approval.answered'),
      gone: new Set(values(there, "SELECT id AS v FROM approval_hold WHERE state IN ('withdrawn', 'expired')")),
    };
  } finally {
    there.close();
    here.close();
  }
}

/** What must never be seen, at any moment. */
export function disorder({ tickets, held, heard, given, taken }: Arrived): string[] {
  return [
    ...notOnce('ticket', tickets),
    ...notOnce('question at the cloud', heard),
    ...notOnce('answer at the computer', taken),
    ...unordered(
      'tickets',
      tickets,
      tickets.toSorted((a, b) => a - b),
    ),
    ...unordered('questions', heard, held),
    ...unordered('answers', taken, given),
  ];
}

/** What is missing once nothing is under way any more. */
export function missing(world: World, { tickets, held, heard, given, taken, gone }: Arrived): string[] {
  const there = new Set(tickets);
  const known = new Set(heard);
  const acted = new Set(taken);
  return [
    ...world.posted.filter((n) => !there.has(n)).map((n) => `event ${n} never became a ticket`),
    ...[...world.asked].filter((id) => !held.includes(id)).map((id) => `question ${id} was lost by its computer`),
    ...held.filter((id) => !known.has(id)).map((id) => `question ${id} never came to the cloud`),
    ...given.filter((id) => !acted.has(id) && !gone.has(id)).map((id) => `the answer to ${id} never came back`),
  ];
}

function notOnce(what: string, values: readonly (string | number)[]): string[] {
  const counts = new Map<string | number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].filter(([, n]) => n !== 1).map(([value, n]) => `${what} ${value} is there ${n} times`);
}

/** `found` must be in the order of `expected`, which may have more. */
function unordered<T>(what: string, found: readonly T[], expected: readonly T[]): string[] {
  const places = new Map(expected.map((value, at) => [value, at]));
  let last = -1;
  for (const value of found) {
    const at = places.get(value);
    if (at === undefined) return [`${what}: ${value} came from nowhere`];
    if (at < last) return [`${what}: ${value} came after one that follows it`];
    last = at;
  }
  return [];
}
