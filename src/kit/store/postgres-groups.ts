/**
 * Statements that are each their own transaction, grouped like SQLite's write groups: those of one loop turn, and those that come while a few groups
 * are on their way, are sent together over one connection and committed once. Commits and process switches are most of the cost of a small statement.
 * A failing statement undoes its group, whose statements are then sent one by one. First user: the store.
 */
import type pg from 'pg';
import type { Timers } from '../clock/timers.ts';
import type { Connections } from './postgres-connections.ts';
import { isLost, postgresCode } from './postgres-errors.ts';
import { postgresTypes } from './postgres-sql.ts';
import type { Value } from './store.ts';

export interface Query {
  /** The name under which a connection keeps it; undefined: it does not. */
  readonly name: string | undefined;
  readonly text: string;
  readonly values: readonly Value[];
}

export interface Answer {
  readonly rows: readonly unknown[];
  readonly rowCount: number | null;
}

interface StatementGroups {
  /** Called once it is durable. Null: nothing of its group was kept. Rejects if the connection was lost, or there is none. */
  ask(query: Query): Promise<Answer | null>;
}

/** A group that takes longer waits for a lock or a disk: newer statements go over another connection. */
const patienceMs = 10;
const maxGroupSize = 100;
/** Groups on their way at once: with only one, every statement would wait for each commit to reach the disk before the next is sent. */
const maxGroups = 4;

interface Waiting {
  readonly query: Query;
  readonly resolve: (answer: Answer | null) => void;
  readonly reject: (error: unknown) => void;
}

export function createStatementGroups({
  connections,
  timers,
}: {
  readonly connections: Pick<Connections, 'lend'>;
  readonly timers: Timers;
}): StatementGroups {
  const texts = new WeakMap<object, KnownTexts>();
  const waiting: Waiting[] = [];
  let scheduled = false;
  let under = 0;

  function schedule(): void {
    if (scheduled || under >= maxGroups || waiting.length === 0) return;
    scheduled = true;
    // After the poll phase: by then, everything that arrived in this turn of the loop has queued its statements.
    setImmediate(flush);
  }

  function flush(): void {
    scheduled = false;
    const group = waiting.splice(0, maxGroupSize);
    let counts = true;
    under += 1;
    schedule();
    const letNext = () => {
      if (!counts) return;
      counts = false;
      under -= 1;
      schedule();
    };
    const cancel = timers.after(patienceMs, letNext);
    void send(group).then(() => {
      cancel();
      letNext();
    });
  }

  async function send(group: readonly Waiting[]): Promise<void> {
    const queries = group.map(({ query }) => query);
    // After a failure it is unknown which of the new texts the connection has kept.
    let prepares = false;
    const work = (client: pg.ClientBase) =>
      new Promise<readonly Answer[]>((resolve, reject) => {
        const connection = (client as unknown as { connection: object }).connection;
        const known = texts.get(connection) ?? new Map();
        texts.set(connection, known);
        prepares = queries.some(({ name }) => name !== undefined && !known.has(name));
        client.query(new Group(queries, known, resolve, reject));
      });
    try {
      const answers = await connections.lend(work, (error) => prepares || isLost(error));
      group.forEach(({ resolve }, index) => {
        resolve(answers[index] as Answer);
      });
    } catch (error) {
      const notKept = postgresCode(error) !== '' && (!isLost(error) || postgresCode(error) === planOutdated);
      for (const { resolve, reject } of group) {
        if (notKept) resolve(null);
        else reject(error);
      }
    }
  }

  return {
    ask: (query) =>
      new Promise((resolve, reject) => {
        waiting.push({ query, resolve, reject });
        schedule();
      }),
  };
}

/** The schema changed under a text that a connection keeps. */
const planOutdated = '0A000';

/** The columns of a text: requested once per connection, not with each answer. */
interface Shape {
  readonly names: readonly string[];
  readonly parsers: readonly ((text: string) => unknown)[];
}

type KnownTexts = Map<string, Shape>;

const noRows: Shape = { names: [], parsers: [] };

/** The part of the library's connection for PostgreSQL's extended protocol. */
interface Wire {
  readonly stream: { cork(): void; uncork(): void };
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: readonly Value[]; valueMapper: (value: Value) => unknown }): void;
  describe(message: { type: 'P'; name: '' }): void;
  execute(message: { portal: '' }): void;
  sync(): void;
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

/** Several statements before one Sync: PostgreSQL makes them one transaction. Implements the library's interface for custom queries. */
class Group implements pg.Submittable {
  readonly queries: readonly Query[];
  readonly known: KnownTexts;
  /** The library wraps this with its own, which watches the time. */
  callback: (error: unknown) => void;
  readonly answers: Answer[] = [];
  /** For the statement that is being answered. */
  shape: Shape | undefined;
  rows: unknown[] = [];

  constructor(
    queries: readonly Query[],
    known: KnownTexts,
    resolve: (answers: readonly Answer[]) => void,
    reject: (error: unknown) => void,
  ) {
    this.queries = queries;
    this.known = known;
    this.callback = (error) => {
      if (error === null) resolve(this.answers);
      else reject(error);
    };
  }

  submit(connection: unknown): void {
    const wire = connection as Wire;
    const sent = new Set<string>();
    wire.stream.cork();
    for (const { name, text, values } of this.queries) {
      const kept = name !== undefined && this.known.has(name);
      // Differs from the name under which the library makes the connection keep the same text.
      const statement = name === undefined ? '' : `grouped-${name}`;
      if (!kept && !sent.has(statement)) {
        wire.parse({ name: statement, text });
        if (name !== undefined) sent.add(statement);
      }
      wire.bind({ statement, values, valueMapper });
      if (!kept) wire.describe({ type: 'P', name: '' });
      wire.execute({ portal: '' });
    }
    wire.sync();
    wire.stream.uncork();
    this.begin();
  }

  /** The next statement's answer. */
  begin(): void {
    const name = this.queries[this.answers.length]?.name;
    this.shape = name === undefined ? undefined : this.known.get(name);
    this.rows = [];
  }

  handleRowDescription({ fields }: { fields: readonly Field[] }): void {
    const parsers = fields.map(({ dataTypeID }) => postgresTypes.getTypeParser(dataTypeID, 'text'));
    this.shape = { names: fields.map(({ name }) => name), parsers };
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const { names, parsers } = this.shape ?? noRows;
    const row: Record<string, unknown> = {};
    for (let index = 0; index < names.length; index += 1) {
      const text = fields[index] as string | null;
      row[names[index] as string] = text === null ? null : parsers[index]?.(text);
    }
    this.rows.push(row);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const { name } = this.queries[this.answers.length] as Query;
    if (name !== undefined) this.known.set(name, this.shape ?? noRows);
    const count = text.slice(text.lastIndexOf(' ') + 1);
    this.answers.push({
      rows: this.rows,
      rowCount: count === '' || Number.isNaN(Number(count)) ? null : Number(count),
    });
    this.begin();
  }

  handleError(error: unknown): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback(null);
  }
}

function valueMapper(value: Value): unknown {
  if (typeof value === 'string' || value === null) return value;
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : String(value);
}
