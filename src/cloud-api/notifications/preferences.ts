/**
 * A person's notification preferences: a row only where it differs from the default, so that a changed default reaches everybody who never chose.
 * Owns `notification_preference`; must not know pushes.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { findNotifiable, type NotifiableEvent, notifiableEvents } from '../../contracts/events/registry.ts';
import { getPreferences, type Preferences, setPreferences } from '../../contracts/notifications/preferences.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Op, SharedReader, SharedStore } from '../../kit/store/shared-store.ts';

type Change = ReadonlyMap<NotifiableEvent, boolean | null>;

export interface PreferenceStore {
  list(userId: string): Promise<Preferences['preferences']>;
  /** Stores the whole change or nothing. */
  change(userId: string, change: Change): Promise<void>;
  enabled(tx: SharedReader, userId: string, type: NotifiableEvent): Op<boolean>;
}

export function createPreferences(store: SharedStore): PreferenceStore {
  return {
    async list(userId) {
      const sql = 'SELECT event, enabled FROM notification_preference WHERE user_id = ?';
      const rows = await store.all<{ event: string; enabled: number }>(sql, userId);
      const said = new Map(rows.map((row) => [row.event, row.enabled === 1]));
      return notifiableEvents.map(({ type, title, description, default: usual }) => ({
        event: type,
        title,
        description,
        enabled: said.get(type) ?? usual,
        default: usual,
      }));
    },
    change: (userId, change) =>
      store.write(function* (tx) {
        for (const [event, enabled] of change) {
          if (enabled === null) {
            yield* tx.run('DELETE FROM notification_preference WHERE user_id = ? AND event = ?', userId, event);
            continue;
          }
          const sql = `INSERT INTO notification_preference (user_id, event, enabled) VALUES (?, ?, ?)
            ON CONFLICT (user_id, event) DO UPDATE SET enabled = excluded.enabled`;
          yield* tx.run(sql, userId, event, enabled ? 1 : 0);
        }
      }),
    *enabled(tx, userId, type) {
      const sql = 'SELECT enabled FROM notification_preference WHERE user_id = ? AND event = ?';
      const row = yield* tx.get<{ enabled: number }>(sql, userId, type);
      return row === undefined ? findNotifiable(type)?.default === true : row.enabled === 1;
    },
  };
}

/** The map in a request, bare or under `preferences`. Throws `unknown_event` or `bad_value`. */
function readChange(body: unknown): Change {
  const map = isMap(body) && isMap(body.preferences) && Object.keys(body).length === 1 ? body.preferences : body;
  if (!isMap(map) || Object.keys(map).length === 0) {
    throw bad('bad_value', 'The body names no event.', 'Send a map such as {"call.ended": false}.');
  }
  const change = new Map<NotifiableEvent, boolean | null>();
  const entries = Object.entries(map);
  for (const [event] of entries) {
    if (findNotifiable(event) !== null) continue;
    const shown = JSON.stringify(event.slice(0, 100));
    throw bad('unknown_event', `${shown} is not an event with notifications.`, 'GET the preferences to see them all.');
  }
  for (const [event, value] of entries) {
    if (value !== true && value !== false && value !== null) {
      const fact = `${event} cannot be ${JSON.stringify(value)?.slice(0, 100)}.`;
      throw bad('bad_value', fact, 'Send true, false, or null for its default.');
    }
    change.set(event as NotifiableEvent, value);
  }
  return change;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function bad(wireCode: 'unknown_event' | 'bad_value', fact: string, action: string): AppError {
  return new AppError('usage', fact, action, { wireCode });
}

/** The routes of preferences. */
export function preferenceRoutes(deps: { preferences: PreferenceStore; pushConfigured: boolean }): BoundRoute[] {
  const { preferences, pushConfigured } = deps;
  const shown = async (userId: string) => ({
    body: { pushConfigured, preferences: await preferences.list(userId) },
  });
  return [
    bind(getPreferences, ({ principal }) => shown(principal.userId)),
    bind(setPreferences, async ({ principal, body }) => {
      await preferences.change(principal.userId, readChange(body));
      return shown(principal.userId);
    }),
  ];
}
