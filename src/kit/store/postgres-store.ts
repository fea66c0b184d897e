/**
 * A shared store on PostgreSQL: each operation on one client between BEGIN and COMMIT, run again if another interfered or its connection was lost
 * before COMMIT. Texts are prepared once per connection. Must not know tables.
 */
import type pg from 'pg';
import { AppError } from '../../contracts/common/errors.ts';
import type { Timers } from '../clock/timers.ts';
import type { Wake } from '../wake/wake.ts';
import { runEffects } from './effects.ts';
import type { Connections } from './postgres-connections.ts';
import { asAppError, database, isInTheWay, isLost } from './postgres-errors.ts';
import { type Answer, createStatementGroups, type Query } from './postgres-groups.ts';
import { numbered } from './postgres-sql.ts';
import type { Asked, Op, SharedReader, SharedStore, SharedTx, Sql, Statement, WriteOptions } from './shared-store.ts';
import type { Value } from './store.ts';

/** One run of an operation. */
interface Run {
  /** Statements created but not asked. */
  left: number;
  /** Statements that it may still create. */
  max: number;
  readonly effects: (() => void)[];
}

const newRun = (max: number = Number.POSITIVE_INFINITY): Run => ({ left: 0, max, effects: [] });

const begins = {
  serial: 'BEGIN ISOLATION LEVEL SERIALIZABLE',
  rows: 'BEGIN ISOLATION LEVEL READ COMMITTED',
  snapshot: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
} as const;

/** An operation that others interfere with is retried for this long, with growing pauses. */
const insistMs = 10_000;
const maxPauseMs = 250;
/** Dead connections found in a row before the database counts as away. */
const lostTries = 12;
const maxStatements = 1000;

export function createPostgresStore(deps: {
  readonly connections: Connections;
  readonly timers: Timers;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly wake: Wake;
  /** An effect after a commit threw: a fault of the program. */
  readonly onFault: (error: unknown) => void;
}): SharedStore {
  const { connections, timers, random, wake } = deps;
  const { prepared, readerOf, txOf } = createStatements();
  const groups = createStatementGroups({ connections, timers });
  const running = new Set<Promise<unknown>>();
  let closed = false;

  async function inGroup(query: Query): Promise<Answer> {
    const answer = await known(groups.ask(query));
    if (answer === null) throw groupUndone;
    return answer;
  }

  /** Tries until it is done, refused for good, or has taken too long. */
  async function insist<T>(attempt: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    let waited = 0;
    let lost = 0;
    for (let tries = 1; ; tries += 1) {
      try {
        return await connections.lend(attempt, isLost);
      } catch (error) {
        const inTheWay = isInTheWay(error) && waited < insistMs;
        if (isLost(error)) lost += 1;
        else if (!inTheWay) throw asAppError(error);
        if (lost > lostTries) throw asAppError(error);
        if (!inTheWay) continue;
        const pause = random() * Math.min(2 ** Math.min(tries, 8), maxPauseMs);
        waited += Math.max(1, pause);
        await new Promise<void>((resolve) => void timers.after(pause, resolve));
      }
    }
  }

  /** Operations under way, which closing the store waits for. */
  function track<T>(begin: () => Promise<T>): Promise<T> {
    if (closed) return Promise.reject(new AppError('transport', `${database} is closed.`, 'Start Gantry again.'));
    const work = begin();
    running.add(work);
    const off = () => running.delete(work);
    work.then(off, off);
    return work;
  }

  async function write<T>(operation: (tx: SharedTx) => Asked<T>, options: WriteOptions = {}): Promise<T> {
    const { isolation = 'serial' } = options;
    if (isolation === 'statement') return writeOne(operation);
    const run = await insist(async (client) => {
      const one = newRun();
      const work = () => finish(through(client), operation(txOf(one)), one);
      return { value: await once(client, begins[isolation], work), effects: one.effects };
    });
    runEffects(run.effects, deps.onFault);
    return run.value;
  }

  async function writeOne<T>(operation: (tx: SharedTx) => Asked<T>): Promise<T> {
    let run = newRun(1);
    let value: T;
    try {
      value = await finish(inGroup, operation(txOf(run)), run);
    } catch (error) {
      if (error !== groupUndone) throw error;
      value = await insist((client) => {
        run = newRun(1);
        return finish((query) => known(through(client)(query)), operation(txOf(run)), run);
      });
    }
    runEffects(run.effects, deps.onFault);
    return value;
  }

  const query = (sql: Sql, values: readonly Value[]) =>
    track(() => insist((client) => client.query({ ...prepared(sql), values: [...values] })));

  return {
    engine: 'postgres',
    wake,
    write: (operation, options) => track(() => write(operation, options)),
    read: (operation) =>
      track(() =>
        insist((client) => {
          const run = newRun();
          return once(client, begins.snapshot, () => finish(through(client), operation(readerOf(run)), run));
        }),
      ),
    get: async <T>(sql: Sql, ...values: Value[]) => (await query(sql, values)).rows[0] as T | undefined,
    all: async <T>(sql: Sql, ...values: Value[]) => (await query(sql, values)).rows as T[],
    trouble: () => connections.trouble(),
    async close() {
      closed = true;
      await Promise.allSettled([...running]);
      await connections.close();
    },
  };
}

/** It failed, or another statement of its group did: it is sent separately. */
const groupUndone = new Error('The group was undone.');

/** The statements of operations: their texts, prepared once, and the handles that create them. */
function createStatements() {
  const texts = new Map<string, Pick<Query, 'name' | 'text'>>();

  /** Texts are few; beyond this number they are sent without a name, so that no connection grows without end. */
  function prepared(sql: Sql): Pick<Query, 'name' | 'text'> {
    const source = typeof sql === 'string' ? sql : sql.postgres;
    const known = texts.get(source);
    if (known !== undefined) return known;
    const text = numbered(source);
    if (texts.size >= maxStatements) return { name: undefined, text };
    const made = { name: `g${texts.size}`, text };
    texts.set(source, made);
    return made;
  }

  function* ask<T>(run: Run, sql: Sql, values: readonly Value[], read: (result: Answer) => T): Op<T> {
    run.left -= 1;
    const query: Query = { ...prepared(sql), values };
    // The only place that creates them: the type keeps all other code from yielding anything.
    return read((yield query as unknown as Statement) as Answer);
  }

  function asked<T>(run: Run, sql: Sql, values: readonly Value[], read: (result: Answer) => T): Asked<T> {
    run.max -= 1;
    if (run.max < 0) throw new Error('An operation of one statement asked another.');
    run.left += 1;
    return { [Symbol.iterator]: () => ask(run, sql, values, read) };
  }

  function readerOf(run: Run): SharedReader {
    return {
      get: <T>(sql: Sql, ...values: Value[]) => asked(run, sql, values, ({ rows }) => rows[0] as T | undefined),
      all: <T>(sql: Sql, ...values: Value[]) => asked(run, sql, values, ({ rows }) => rows as T[]),
    };
  }

  function txOf(run: Run): SharedTx {
    return {
      ...readerOf(run),
      run: (sql, ...values) => asked(run, sql, values, ({ rowCount }) => ({ changes: rowCount ?? 0 })),
      afterCommit: (effect) => {
        run.effects.push(effect);
      },
    };
  }

  return { prepared, readerOf, txOf };
}

/** Sends one statement after another until the operation ends. The first failure ends it, even if the operation catches it. */
async function finish<T>(ask: (query: Query) => Promise<Answer>, operation: Asked<T>, run: Run): Promise<T> {
  const steps = operation[Symbol.iterator]();
  let step = steps.next();
  while (step.done !== true) {
    let answer: Answer;
    try {
      answer = await ask(step.value as unknown as Query);
    } catch (error) {
      endWith(steps, error);
      throw error;
    }
    step = steps.next(answer);
  }
  if (run.left !== 0) throw new Error('A statement was made and not asked: write `yield*` before it.');
  return step.value;
}

/** One try on one client. An error before COMMIT was sent can be retried. */
async function once<T>(client: pg.ClientBase, begin: string, work: () => Promise<T>): Promise<T> {
  await client.query(begin);
  let value: T;
  try {
    value = await work();
  } catch (error) {
    // Also for a fault of the operation itself: the connection stays good, unless it says otherwise.
    if (!isLost(error)) await client.query('ROLLBACK');
    throw error;
  }
  try {
    await client.query('COMMIT');
  } catch (error) {
    if (isLost(error)) throw unknownEnd(error);
    throw error;
  }
  return value;
}

const through = (client: pg.ClientBase) => (query: Query) => client.query(query as pg.QueryConfig) as Promise<Answer>;

/** A statement that is its own transaction: if its connection is lost, it is unknown whether it was kept. */
async function known<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw isLost(error) ? unknownEnd(error) : error;
  }
}

/** Runs its own `finally`; anything it throws or continues with is ignored. */
function endWith(steps: Iterator<Statement, unknown>, error: unknown): void {
  try {
    steps.throw?.(error);
  } catch {
    // The statement's own failure is reported.
  }
}

function unknownEnd(cause: unknown): AppError {
  return new AppError(
    'transport',
    `${database} disconnected at the end of a change: whether it was saved is not known.`,
    'Check whether it was, then try again.',
    { cause, unknownEnd: true },
  );
}
