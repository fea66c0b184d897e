/**
 * The people of a cloud: created at their first sign-in, identified by issuer and subject, never by email address. A computer's one owner has a row,
 * too. Must not know how they sign in.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Plan } from '../../contracts/identity/plan.ts';
import { createRowCache } from '../../kit/store/row-cache.ts';
import type { SharedReader, SharedStore } from '../../kit/store/shared-store.ts';
import type { Changes } from './changes.ts';

export interface User {
  readonly id: string;
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
  readonly name: string;
  readonly plan: Plan;
  readonly createdAt: number;
  readonly disabledAt: number | null;
}

/** The provider's claims about a person. */
export interface Identified {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
  readonly name: string;
}

export interface Users {
  /** For other areas: null if unknown or shut out. */
  find(userId: string): Promise<User | null>;
  /** Whether this person may act; synchronous if it is cached. */
  admits(userId: string): boolean | Promise<boolean>;
  /** Includes people who are shut out. */
  get(userId: string): Promise<User | null>;
  of(issuer: string, subject: string): Promise<User | null>;
  list(): Promise<User[]>;
  /** Creates the person at the first sign-in, and updates name and address at each. */
  signIn(who: Identified): Promise<User>;
  /** The one owner of a computer, with the largest plan. */
  ensureOwner(userId: string, name: string): Promise<void>;
  change(userId: string, change: { plan?: Plan; disabled?: boolean }): Promise<User>;
  /** Another process changed the person. */
  changed(userId: string, shutOut: boolean): void;
}

interface Row {
  id: string;
  issuer: string;
  subject: string;
  email: string | null;
  name: string;
  plan: Plan;
  created_at: number;
  disabled_at: number | null;
}

const select = 'SELECT id, issuer, subject, email, name, plan, created_at, disabled_at FROM account';
/** The issuer of a computer's owner, who has no provider. */
const local = { issuer: 'local', subject: 'owner' } as const;

export function createUsers({
  store,
  clock,
  ids,
  onShutOut,
  changes,
}: {
  readonly store: SharedStore;
  readonly clock: { now(): number };
  readonly ids: { next(prefix: string): string };
  /** A person is shut out from now on. */
  readonly onShutOut: (userId: string) => void;
  readonly changes: Pick<Changes, 'note' | 'age'>;
}): Users {
  const read = (tx: SharedReader, id: string) => tx.get<Row>(`${select} WHERE id = ?`, id);
  const kept = createRowCache(async (id) => {
    const row = await store.get<Row>(`${select} WHERE id = ?`, id);
    return row === undefined ? null : toUser(row);
  }, changes);
  const get = async (id: string) => kept.peek(id) ?? (await kept.load(id));
  const live = (user: User | null) => user !== null && user.disabledAt === null;

  return {
    get,
    async find(id) {
      const user = await get(id);
      return live(user) ? user : null;
    },
    admits(id) {
      const user = kept.peek(id);
      return user === undefined ? kept.load(id).then(live) : live(user);
    },
    async of(issuer, subject) {
      const row = await store.get<Row>(`${select} WHERE issuer = ? AND subject = ?`, issuer, subject);
      return row === undefined ? null : toUser(row);
    },
    async list() {
      const rows = await store.all<Row>(`${select} ORDER BY created_at DESC, id DESC`);
      return rows.map(toUser);
    },
    async signIn({ issuer, subject, email, name }) {
      const row = await store.write(function* (tx) {
        yield* tx.run(
          `INSERT INTO account (id, issuer, subject, email, name, plan, created_at) VALUES (?, ?, ?, ?, ?, 'free', ?)
            ON CONFLICT (issuer, subject) DO UPDATE SET email = excluded.email, name = excluded.name`,
          ids.next('user'),
          issuer,
          subject,
          email,
          name,
          clock.now(),
        );
        return (yield* tx.get<Row>(`${select} WHERE issuer = ? AND subject = ?`, issuer, subject))!;
      });
      const user = toUser(row);
      kept.put(user.id, user);
      return user;
    },
    async ensureOwner(userId, name) {
      await store.write(function* (tx) {
        yield* tx.run(
          `INSERT INTO account (id, issuer, subject, email, name, plan, created_at) VALUES (?, ?, ?, NULL, ?, 'ultra', ?)
            ON CONFLICT (id) DO UPDATE SET name = excluded.name`,
          userId,
          local.issuer,
          local.subject,
          name,
          clock.now(),
        );
      });
      kept.forget(userId);
    },
    changed(userId, shutOut) {
      kept.forget(userId);
      if (shutOut) onShutOut(userId);
    },
    async change(userId, { plan, disabled }) {
      const row = await store.write(function* (tx) {
        const before = yield* read(tx, userId);
        if (before === undefined) throw unknownUser(userId);
        const until =
          disabled === undefined ? before.disabled_at : disabled ? (before.disabled_at ?? clock.now()) : null;
        yield* tx.run('UPDATE account SET plan = ?, disabled_at = ? WHERE id = ?', plan ?? before.plan, until, userId);
        yield* changes.note(tx, { kind: 'user', id: userId, over: disabled === true });
        return (yield* read(tx, userId))!;
      });
      const user = toUser(row);
      kept.put(userId, user);
      if (disabled === true) onShutOut(userId);
      return user;
    },
  };
}

export function unknownUser(id: string): AppError {
  return new AppError(
    'not_found',
    `There is no user ${JSON.stringify(id.slice(0, 200))}.`,
    'List them with `gantry admin users ls`.',
    {
      wireCode: 'user_not_found',
    },
  );
}

function toUser(row: Row): User {
  const { id, issuer, subject, email, name, plan } = row;
  return { id, issuer, subject, email, name, plan, createdAt: row.created_at, disabledAt: row.disabled_at };
}
