/** Sessions and deployments in the database: made, read and listed, never removed, so that a task's link always leads somewhere. */
import type { Deployment, WorkSession } from '../../contracts/work-queue/links.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { type Place, pageOf } from './place.ts';

export interface LinkRow {
  readonly id: string;
  readonly user_id: string;
  readonly title: string | null;
  /** JSON. */
  readonly metadata: string;
  readonly created_at: number;
}

export interface Links {
  add(row: LinkRow): Promise<void>;
  find(userId: string, id: string): Promise<LinkRow | null>;
  list(
    userId: string,
    after: Place | null,
    limit: number,
  ): Promise<{ shown: readonly LinkRow[]; nextCursor: string | null }>;
}

/** Both kinds are kept alike; only what a person calls them has another column. */
export function createLinks(store: SharedStore, table: 'work_session' | 'work_deployment'): Links {
  const word = table === 'work_session' ? 'title' : 'name';
  const columns = `id, user_id, ${word} AS title, metadata, created_at`;
  return {
    add: ({ id, user_id, title, metadata, created_at }) =>
      store.write(
        function* (tx) {
          const sql = `INSERT INTO ${table} (id, user_id, ${word}, metadata, created_at) VALUES (?, ?, ?, ?, ?)`;
          yield* tx.run(sql, id, user_id, title, metadata, created_at);
        },
        { isolation: 'statement' },
      ),
    find: async (userId, id) =>
      (await store.get<LinkRow>(`SELECT ${columns} FROM ${table} WHERE id = ? AND user_id = ?`, id, userId)) ?? null,
    async list(userId, after, limit) {
      const place = after === null ? '' : 'AND (created_at < ? OR (created_at = ? AND id < ?))';
      const values = after === null ? [] : [after.at, after.at, after.id];
      const sql = `SELECT ${columns} FROM ${table} WHERE user_id = ? ${place} ORDER BY created_at DESC, id DESC LIMIT ?`;
      return pageOf(await store.all<LinkRow>(sql, userId, ...values, limit + 1), limit);
    },
  };
}

const metadataOf = (row: LinkRow) => JSON.parse(row.metadata) as WorkSession['metadata'];

export function wireSession(row: LinkRow): WorkSession {
  return { id: row.id, title: row.title, metadata: metadataOf(row), created_at: iso(row.created_at) };
}

export function wireDeployment(row: LinkRow): Deployment {
  return { id: row.id, name: row.title ?? '', metadata: metadataOf(row), created_at: iso(row.created_at) };
}
