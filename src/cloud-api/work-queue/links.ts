/** Sessions and deployments in the database: made, read and listed, never removed, so that a task's link always leads somewhere. */
import type { Deployment, WorkSession } from '../../contracts/work-queue/links.ts';
import { iso } from '../../kit/clock/clock.ts';
import { type Page, type Place, pageOf } from '../../kit/http/place.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';

export interface LinkRow {
  readonly id: string;
  readonly user_id: string;
  readonly title: string | null;
  /** JSON. */
  readonly metadata: string;
  readonly created_at: number;
}

export interface Links {
  /** Returns the stored row: it may have been added before, under the same id. */
  add(row: LinkRow): Promise<LinkRow>;
  find(userId: string, id: string): Promise<LinkRow | null>;
  list(userId: string, after: Place | null, limit: number): Promise<Page<LinkRow>>;
}

/** Both kinds are stored alike; only the column of their name differs. */
export function createLinks(store: SharedStore, table: 'work_session' | 'work_deployment'): Links {
  const word = table === 'work_session' ? 'title' : 'name';
  const columns = `id, user_id, ${word} AS title, metadata, created_at`;
  const find = async (userId: string, id: string) =>
    (await store.get<LinkRow>(`SELECT ${columns} FROM ${table} WHERE id = ? AND user_id = ?`, id, userId)) ?? null;
  return {
    async add(row) {
      const { id, user_id, title, metadata, created_at } = row;
      const sql = `INSERT INTO ${table} (id, user_id, ${word}, metadata, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`;
      const { changes } = await store.write((tx) => tx.run(sql, id, user_id, title, metadata, created_at), {
        isolation: 'statement',
      });
      return changes === 1 ? row : ((await find(user_id, id)) ?? row);
    },
    find,
    list(userId, after, limit) {
      const place = after === null ? '' : 'AND (created_at, id) < (?, ?)';
      const values = after === null ? [] : [after.at, after.id];
      const all = <T>(what: string, max: number) => {
        const sql = `SELECT ${what} FROM ${table} WHERE user_id = ? ${place} ORDER BY created_at DESC, id DESC LIMIT ?`;
        return store.all<T>(sql, userId, ...values, max);
      };
      return pageOf<LinkRow>(
        limit,
        (max) => all('octet_length(metadata) AS bytes', max),
        (max) => all(columns, max),
      );
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
