/** The devices that receive a person's pushes. Owns `push_device`; must not know how a push is sent. */
import { AppError } from '../../contracts/common/errors.ts';
import type { DeviceOutcome, PushDevice } from '../../contracts/notifications/push.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Asked, Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';

export interface Subscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

export interface Device extends Subscription {
  readonly id: string;
  readonly userId: string;
  /** Registered by its person in person: its notifications may have buttons. */
  readonly answers: boolean;
}

interface NewDevice {
  readonly name: string;
  /** The sign-in that registered it; null if none did. */
  readonly sessionId: string | null;
}

export interface DeviceStore {
  /** The same endpoint is the same device. If another person registers it, it becomes theirs: one browser, one person. */
  add(userId: string, subscription: Subscription & Pick<Device, 'answers'> & NewDevice): Promise<PushDevice>;
  list(userId: string): Promise<PushDevice[]>;
  get(id: string): Promise<Device | null>;
  /** Ids of the person's devices. */
  idsOf(tx: SharedReader, userId: string): Op<string[]>;
  remove(tx: SharedTx, id: string): Asked<unknown>;
  /** The sign-in that registered it has ended, or was replaced by another one. */
  signInEnded(sessionId: string, replacedBy: string | undefined): Promise<void>;
  /** The outcome of a push to it. */
  note(tx: SharedTx, id: string, outcome: DeviceOutcome): Asked<unknown>;
}

/** Nobody has more browsers; each push goes to all of them. */
const maxDevices = 20;

interface Row {
  readonly id: string;
  readonly user_id: string;
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
  readonly name: string;
  readonly created_at: number;
  readonly last_sent_at: number | null;
  readonly last_outcome: DeviceOutcome | null;
  readonly answers: number;
}

export function createDeviceStore(deps: { store: SharedStore; clock: Clock; ids: Ids }): DeviceStore {
  const { store, clock, ids } = deps;
  function* idsOf(tx: SharedReader, userId: string): Op<string[]> {
    const rows = yield* tx.all<{ id: string }>('SELECT id FROM push_device WHERE user_id = ? ORDER BY id', userId);
    return rows.map(({ id }) => id);
  }

  return {
    idsOf,
    add: (userId, { endpoint, keys, name, answers, sessionId }) =>
      store.write(function* (tx) {
        const known = yield* tx.get<Row>('SELECT * FROM push_device WHERE endpoint = ?', endpoint);
        const others = (yield* idsOf(tx, userId)).filter((id) => id !== known?.id);
        if (others.length >= maxDevices) {
          const fact = `You already have ${maxDevices} devices for push.`;
          throw new AppError('refused', fact, 'Remove one first.', { status: 409, wireCode: 'too_many_devices' });
        }
        const id = known !== undefined && known.user_id === userId ? known.id : ids.next('pdev');
        const sql = `INSERT INTO push_device (id, user_id, endpoint, p256dh, auth, name, created_at, answers, session_id)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (endpoint) DO UPDATE SET id = excluded.id, user_id = excluded.user_id,
          p256dh = excluded.p256dh, auth = excluded.auth, name = excluded.name, answers = excluded.answers, session_id = excluded.session_id,
          last_outcome = NULL`;
        yield* tx.run(sql, id, userId, endpoint, keys.p256dh, keys.auth, name, clock.now(), answers ? 1 : 0, sessionId);
        return wire((yield* tx.get<Row>('SELECT * FROM push_device WHERE id = ?', id))!);
      }),
    async list(userId) {
      const sql = 'SELECT * FROM push_device WHERE user_id = ? ORDER BY created_at DESC, id DESC';
      return (await store.all<Row>(sql, userId)).map(wire);
    },
    async get(id) {
      const row = await store.get<Row>('SELECT * FROM push_device WHERE id = ?', id);
      if (row === undefined) return null;
      const keys = { p256dh: row.p256dh, auth: row.auth };
      return { id: row.id, userId: row.user_id, endpoint: row.endpoint, keys, answers: row.answers === 1 };
    },
    remove: (tx, id) => tx.run('DELETE FROM push_device WHERE id = ?', id),
    signInEnded: (sessionId, replacedBy) =>
      store.write(function* (tx) {
        if (replacedBy === undefined) yield* tx.run('DELETE FROM push_device WHERE session_id = ?', sessionId);
        else yield* tx.run('UPDATE push_device SET session_id = ? WHERE session_id = ?', replacedBy, sessionId);
      }),
    note(tx, id, outcome) {
      const sql = `UPDATE push_device SET last_outcome = ?, last_sent_at = CASE WHEN ? = 'sent' THEN ? ELSE last_sent_at END
        WHERE id = ?`;
      return tx.run(sql, outcome, outcome, clock.now(), id);
    },
  };
}

function wire(row: Row): PushDevice {
  return {
    id: row.id,
    name: row.name,
    createdAt: iso(row.created_at),
    lastSentAt: row.last_sent_at === null ? null : iso(row.last_sent_at),
    lastOutcome: row.last_outcome,
  };
}
