/**
 * The stored rows of attached servers: one each, its secrets sealed for exactly that row, and its last good list. Owns `attached_server` and
 * `attached_list`; must not know connections.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import { Transport } from '../../../contracts/tool-server/servers.ts';
import type { Sealer } from '../../../kit/secrets/sealer.ts';
import type { Store, Tx } from '../../../kit/store/store.ts';
import type { ListedPrompt, ListedTool } from './listing.ts';
import { restoreSecrets, type TransportSecrets } from './secrets.ts';

export interface ServerRecord {
  readonly id: string;
  readonly name: string;
  /** As it is shown: without its secrets. */
  readonly hidden: Transport;
  /** Null: they were sealed under another master key, and have to be set again. */
  readonly secrets: TransportSecrets | null;
  readonly enabled: boolean;
  readonly timeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface StoredList {
  readonly tools: readonly ListedTool[];
  readonly prompts: readonly ListedPrompt[];
  readonly problems: readonly string[];
  readonly listedAt: number;
}

export interface ServerRecords {
  /** Oldest first. */
  all(): Promise<readonly { readonly record: ServerRecord; readonly list: StoredList | null }[]>;
  /** `refused` 409 when another has the name. */
  add(record: ServerRecord): Promise<void>;
  change(record: ServerRecord): Promise<void>;
  remove(id: string): Promise<void>;
  putList(id: string, list: StoredList): Promise<void>;
  dropList(id: string): Promise<void>;
}

/** The transport with its secrets, to be used and never shown. Throws `refused` when they cannot be opened. */
export function wholeTransport({ name, hidden, secrets }: ServerRecord): Transport {
  if (secrets === null) {
    throw new AppError(
      'refused',
      `The secrets of "${name}" were sealed under another master key.`,
      'Set its environment or headers again, or put the master key file back.',
    );
  }
  return restoreSecrets(hidden, secrets);
}

interface Row {
  readonly id: string;
  readonly name: string;
  readonly transport: string;
  readonly secrets: string;
  readonly enabled: number;
  readonly timeout_ms: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly tools: string | null;
  readonly prompts: string | null;
  readonly problems: string | null;
  readonly listed_at: number | null;
}

export function createServerRecords({
  store,
  sealer,
  ownerId,
}: {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly ownerId: string;
}): ServerRecords {
  const place = (id: string) => `attached_server|secrets|${id}|${ownerId}`;

  function recordOf(row: Row): ServerRecord {
    let secrets: TransportSecrets | null = null;
    try {
      secrets = JSON.parse(sealer.open(place(row.id), row.secrets)) as TransportSecrets;
    } catch {
      // Told as the state of this server; the others are not kept from running by it.
    }
    return {
      id: row.id,
      name: row.name,
      hidden: Transport.parse(JSON.parse(row.transport)),
      secrets,
      enabled: row.enabled === 1,
      timeoutMs: row.timeout_ms,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    };
  }

  function mustBeFree(tx: Pick<Tx, 'get'>, { id, name }: ServerRecord): void {
    if (tx.get('SELECT 1 FROM attached_server WHERE name = ? AND id <> ?', name, id) === undefined) return;
    throw new AppError('refused', `An attached server is already called "${name}".`, 'Choose another name.', {
      status: 409,
      wireCode: 'name_taken',
    });
  }

  const values = (record: ServerRecord) =>
    [
      record.name,
      JSON.stringify(record.hidden),
      sealer.seal(place(record.id), JSON.stringify(record.secrets ?? {})),
      record.enabled ? 1 : 0,
      record.timeoutMs,
      record.updatedAt,
    ] as const;

  return {
    async all() {
      const sql = `SELECT s.*, l.tools, l.prompts, l.problems, l.listed_at FROM attached_server s
        LEFT JOIN attached_list l ON l.server_id = s.id ORDER BY s.created_at, s.id`;
      const rows = await store.read((tx) => tx.all<Row>(sql));
      return rows.map((row) => ({
        record: recordOf(row),
        list:
          row.tools === null || row.prompts === null || row.problems === null || row.listed_at === null
            ? null
            : {
                tools: JSON.parse(row.tools) as ListedTool[],
                prompts: JSON.parse(row.prompts) as ListedPrompt[],
                problems: JSON.parse(row.problems) as string[],
                listedAt: row.listed_at,
              },
      }));
    },
    add: (record) =>
      store.write((tx) => {
        mustBeFree(tx, record);
        const sql = `INSERT INTO attached_server (name, transport, secrets, enabled, timeout_ms, updated_at, created_at, id)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
        tx.run(sql, ...values(record), record.createdAt, record.id);
      }),
    change: (record) =>
      store.write((tx) => {
        mustBeFree(tx, record);
        // Secrets that cannot be opened stay as they are: the old master key may come back.
        const [name, transport, secrets, enabled, timeout, updated] = values(record);
        const sql = `UPDATE attached_server SET name = ?, transport = ?, secrets = coalesce(?, secrets), enabled = ?,
          timeout_ms = ?, updated_at = ? WHERE id = ?`;
        const sealed = record.secrets === null ? null : secrets;
        tx.run(sql, name, transport, sealed, enabled, timeout, updated, record.id);
      }),
    remove: (id) =>
      store.write((tx) => {
        tx.run('DELETE FROM attached_list WHERE server_id = ?', id);
        tx.run('DELETE FROM attached_server WHERE id = ?', id);
      }),
    putList: (id, { tools, prompts, problems, listedAt }) =>
      store.write((tx) => {
        // It may have been detached in the meantime.
        const sql = `INSERT OR REPLACE INTO attached_list (server_id, tools, prompts, problems, listed_at)
          SELECT id, ?, ?, ?, ? FROM attached_server WHERE id = ?`;
        tx.run(sql, JSON.stringify(tools), JSON.stringify(prompts), JSON.stringify(problems), listedAt, id);
      }),
    dropList: (id) =>
      store.write((tx) => {
        tx.run('DELETE FROM attached_list WHERE server_id = ?', id);
      }),
  };
}
