/**
 * The computers a cloud knows, with what signs for them, sealed (security.md 2.1: the key is as good as the token, so a hash would
 * protect nothing). Two keys during a rotation. Must not know routes.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { KnownDevice } from '../../kit/signing/authenticator.ts';
import { signingKey } from '../../kit/signing/signature.ts';
import type { Migration, Store } from '../../kit/store/store.ts';

export const deviceMigrations: readonly Migration[] = [
  {
    area: 'link',
    number: 1,
    name: 'devices',
    sql: `
      CREATE TABLE runtime_device (
        computer_id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL,
        token TEXT NOT NULL,
        previous_token TEXT,
        previous_until INTEGER,
        known_since INTEGER NOT NULL
      ) STRICT;
    `,
  },
];

export interface Device {
  readonly computerId: string;
  readonly userId: string;
  readonly token: string;
}

export interface Devices {
  /** Makes a computer known, or gives it a new token: the one before is good for an hour more. */
  know(device: Device): Promise<void>;
  find(computerId: string): Promise<KnownDevice | null>;
}

/** Opened keys in memory. */
const keptOpen = 1000;
/** Long enough for what was signed before to arrive (security.md 2.1). */
const previousKeptMs = 60 * 60_000;

interface DeviceRow {
  readonly user_id: string;
  readonly token: string;
  readonly previous_token: string | null;
  readonly previous_until: number | null;
}

export function createDevices(deps: { store: Store; sealer: Sealer; clock: Clock }): Devices {
  const { store, sealer, clock } = deps;
  const place = (computerId: string) => `runtime_device|token|${computerId}`;
  const select = 'SELECT user_id, token, previous_token, previous_until FROM runtime_device WHERE computer_id = ?';
  /** Keys that were opened; a sealed row opens the same for as long as it is there. */
  const opened = new Map<string, string>();

  /** None when it was sealed under a master key that is gone. */
  function keyOf(computerId: string, sealed: string): string[] {
    const known = opened.get(sealed);
    if (known !== undefined) return [known];
    const token = open(sealed, computerId);
    if (token === null) return [];
    const key = signingKey(token);
    if (opened.size > keptOpen) opened.clear();
    opened.set(sealed, key);
    return [key];
  }

  return {
    know: ({ computerId, userId, token }) =>
      store.write((tx) => {
        const row = tx.get<DeviceRow>(select, computerId);
        if (row !== undefined && row.user_id === userId && open(row.token, computerId) === token) return;
        const sql = `INSERT INTO runtime_device (computer_id, user_id, token, known_since) VALUES (?, ?, ?, ?)
          ON CONFLICT (computer_id) DO UPDATE SET previous_token = CASE WHEN runtime_device.user_id = excluded.user_id
            THEN runtime_device.token END, previous_until = ?, token = excluded.token, user_id = excluded.user_id`;
        const sealed = sealer.seal(place(computerId), token);
        tx.run(sql, computerId, userId, sealed, clock.now(), clock.now() + previousKeptMs);
      }),
    async find(computerId) {
      const row = await store.read((tx) => tx.get<DeviceRow>(select, computerId));
      if (row === undefined) return null;
      const recent = (row.previous_until ?? 0) > clock.now() ? row.previous_token : null;
      const keys = [row.token, recent].flatMap((sealed) => (sealed === null ? [] : keyOf(computerId, sealed)));
      return keys.length === 0 ? null : { userId: row.user_id, keys };
    },
  };

  function open(sealed: string, computerId: string): string | null {
    try {
      return sealer.open(place(computerId), sealed);
    } catch {
      return null;
    }
  }
}
