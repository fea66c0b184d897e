/**
 * A table described once, column by column: the type of a row, the list of columns, the insert of a row, and what of it goes over the wire come from
 * that. A name in camelCase is a column in snake_case. First user: the work queue; second: computer use. Must not know any table.
 */
import { iso } from '../clock/clock.ts';
import type { Value } from './store.ts';

/** What a column holds, and how that is sent. */
interface Column<Held, Sent> {
  readonly sent: (held: Held) => Sent;
}

export const text: Column<string, string> = { sent: (held) => held };
/** One of these words. */
export const word = <T extends string>(): Column<T, T> => ({ sent: (held) => held });
export const integer: Column<number, number> = { sent: (held) => held };
/** Milliseconds since the epoch. */
export const time: Column<number, string> = { sent: iso };
/** 0 or 1. */
export const flag: Column<number, boolean> = { sent: (held) => held === 1 };
/** The text of a JSON value of this type. */
export const json = <T>(): Column<string, T> => ({ sent: (held) => JSON.parse(held) as T });
export const nullable = <Held, Sent>({ sent }: Column<Held, Sent>): Column<Held | null, Sent | null> => ({
  sent: (held) => (held === null ? null : sent(held)),
});

type Columns = Readonly<Record<string, Column<never, unknown>>>;
type HeldBy<C extends Columns> = { readonly [N in keyof C]: C[N] extends Column<infer Held, unknown> ? Held : never };
type SentBy<C extends Columns> = { [N in keyof C]: C[N] extends Column<never, infer Sent> ? Sent : never };

interface Insert<Row> {
  readonly sql: string;
  values(row: Row): Value[];
}

interface Table<C extends Columns> {
  /** For SELECT and RETURNING. */
  readonly columns: string;
  /** Of a whole row, followed by `end`. `instead`: SQL for a column's value, in which `:name` is the value given for that column. */
  insert(end?: string, instead?: Partial<Record<keyof C, string>>): Insert<HeldBy<C>>;
  /** The columns whose names are also those of `shape`, as they are sent: a column that the contract does not name stays here. */
  wire<Shape extends object>(shape: Shape): (row: HeldBy<C>) => Pick<SentBy<C>, keyof C & keyof Shape>;
}

export type RowOf<T> = T extends Table<infer C> ? HeldBy<C> : never;

export function table<C extends Columns>(name: string, described: C): Table<C> {
  const keys = Object.keys(described) as (keyof C & string)[];
  const columnOf = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return {
    columns: keys.map((key) => (columnOf(key) === key ? key : `${columnOf(key)} AS "${key}"`)).join(', '),
    insert(end = '', instead = {}) {
      const values = keys.map((key) => instead[key] ?? `:${key}`).join(', ');
      const given: (keyof C)[] = [];
      const sql = `INSERT INTO ${name} (${keys.map(columnOf).join(', ')}) VALUES (${values}) ${end}`;
      return {
        sql: sql.replace(/:(\w+)/g, (_, key: keyof C) => {
          given.push(key);
          return '?';
        }),
        values: (row) => given.map((key) => row[key] as Value),
      };
    },
    wire(shape) {
      const sent = (Object.keys(shape) as (keyof C & string)[]).filter((key) => key in described);
      return (row) => {
        const body: Record<string, unknown> = {};
        for (const key of sent) body[key] = described[key]!.sent(row[key] as never);
        return body as never;
      };
    },
  };
}
