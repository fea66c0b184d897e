/** Computer hosts that may join this cloud, and which computers each has: rows as whole operations. Must not know links or drivers. */
import type { SharedStore } from '../../kit/store/shared-store.ts';

export interface HostRow {
  readonly id: string;
  readonly name: string;
  readonly addedAt: number;
  /** Null while it may join. */
  readonly removedAt: number | null;
}

export interface HostStore {
  /** In the order in which they were added. */
  list(): Promise<readonly HostRow[]>;
  /** As {@link list}, with the number of computers of each. */
  counted(): Promise<readonly (HostRow & { readonly computers: number })[]>;
  add(id: string, name: string): Promise<void>;
  /** Null if no host has that id. */
  remove(id: string): Promise<(HostRow & { readonly computers: number }) | null>;
  get(id: string): Promise<HostRow | null>;
  computersOf(host: string): Promise<readonly string[]>;
  /** The host that has this computer, also one that was removed; null: this machine's. */
  placeOf(computer: string): Promise<HostRow | null>;
  /** Null: it has left its host. */
  setPlace(computer: string, host: string | null): Promise<void>;
}

const columns = 'h.id, h.name, h.added_at AS "addedAt", h.removed_at AS "removedAt"';
const counted = `${columns}, (SELECT count(*) FROM hosted_place p WHERE p.host = h.id) AS computers`;
const single = { isolation: 'statement' } as const;

export function createHostStore(store: SharedStore, now: () => number): HostStore {
  const there = 'h.removed_at IS NULL';
  const one = (id: string) =>
    store.get<HostRow & { computers: number }>(
      `SELECT ${counted} FROM computer_host h WHERE h.id = ? AND ${there}`,
      id,
    );
  return {
    list: () => store.all<HostRow>(`SELECT ${columns} FROM computer_host h WHERE ${there} ORDER BY h.added_at, h.id`),
    async counted() {
      const sql = `SELECT ${counted} FROM computer_host h WHERE ${there} ORDER BY h.added_at, h.id`;
      const rows = await store.all<HostRow & { computers: number }>(sql);
      return rows.map((row) => ({ ...row, computers: Number(row.computers) }));
    },
    async add(id, name) {
      const sql = 'INSERT INTO computer_host (id, name, added_at) VALUES (?, ?, ?)';
      await store.write((tx) => tx.run(sql, id, name, now()), single);
    },
    async remove(id) {
      const row = await one(id);
      if (row === undefined) return null;
      const sql = 'UPDATE computer_host SET removed_at = ? WHERE id = ? AND removed_at IS NULL';
      await store.write((tx) => tx.run(sql, now(), id), single);
      return { ...row, computers: Number(row.computers) };
    },
    get: async (id) => (await one(id)) ?? null,
    async computersOf(host) {
      const rows = await store.all<{ id: string }>('SELECT computer_id AS id FROM hosted_place WHERE host = ?', host);
      return rows.map(({ id }) => id);
    },
    async placeOf(computer) {
      const sql = `SELECT ${columns} FROM hosted_place p JOIN computer_host h ON h.id = p.host WHERE p.computer_id = ?`;
      return (await store.get<HostRow>(sql, computer)) ?? null;
    },
    async setPlace(computer, host) {
      if (host === null) {
        await store.write((tx) => tx.run('DELETE FROM hosted_place WHERE computer_id = ?', computer), single);
        return;
      }
      const sql = `INSERT INTO hosted_place (computer_id, host) VALUES (?, ?)
        ON CONFLICT (computer_id) DO UPDATE SET host = excluded.host`;
      await store.write((tx) => tx.run(sql, computer, host), single);
    },
  };
}
