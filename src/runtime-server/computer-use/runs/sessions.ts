/**
 * Sessions: a separate browser profile that several runs use one after the other. Its browser starts with the first run that needs it. Must not know
 * HTTP or what runs do.
 */

import type { Session, TargetScope } from '../../../contracts/computer-use/run.ts';
import type { Ids } from '../../../kit/ids/ids.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { Base } from '../../base/base.ts';
import type { ToolsetGate } from '../gate.ts';
import { sessionNotFound } from './order.ts';
import { findSession, insertSession, runIdsOf, type SessionRow, sessionWire } from './records.ts';
import { liveRunOf, refuseBusy } from './runs.ts';

export interface Sessions {
  create(userId: string, given: { target_scope?: TargetScope; metadata?: Record<string, unknown> }): Promise<Session>;
  /** Newest first; those that were made for one run only while they are open. */
  list(userId: string): Promise<Session[]>;
  read(id: string): Promise<Session>;
  /** 409 `session_busy` while a run of it lives. `wipe`: its profile is removed, also of one that is closed already. */
  close(id: string, wipe: boolean): Promise<Session>;
}

export function createSessions({
  store,
  gate,
  clock,
  ids,
}: Pick<Base, 'store' | 'clock'> & {
  readonly gate: Pick<ToolsetGate, 'sessions'>;
  readonly ids: Pick<Ids, 'next'>;
}): Sessions {
  const pageOf = (row: SessionRow) => (row.closed_at === null ? gate.sessions.page(row.id) : null);
  const wire = (tx: Pick<Tx, 'get' | 'all'>, row: SessionRow) => sessionWire(row, pageOf(row), runIdsOf(tx, row.id));

  async function read(id: string): Promise<Session> {
    const session = await store.read((tx) => {
      const row = findSession(tx, id);
      return row === null ? null : wire(tx, row);
    });
    if (session === null) throw sessionNotFound(id);
    return session;
  }

  return {
    read,
    async create(userId, { target_scope = 'auto', metadata = {} }) {
      const id = ids.next('ses');
      const at = clock.now();
      await store.write((tx) =>
        insertSession(tx, {
          id,
          user_id: userId,
          target_scope,
          of_run: 0,
          metadata: JSON.stringify(metadata),
          created_at: at,
          last_used_at: at,
          closed_at: null,
        }),
      );
      return read(id);
    },
    list: (userId) =>
      store.read((tx) =>
        tx
          .all<SessionRow>(
            `SELECT * FROM computer_use_session WHERE user_id = ? AND (of_run = 0 OR closed_at IS NULL) ORDER BY seq DESC`,
            userId,
          )
          .map((row) => wire(tx, row)),
      ),
    async close(id, wipe) {
      const closed = await store.write((tx) => {
        const row = findSession(tx, id);
        if (row === null) throw sessionNotFound(id);
        refuseBusy(tx.get<{ id: string }>(liveRunOf, id), id);
        if (row.closed_at !== null) return false;
        tx.run('UPDATE computer_use_session SET closed_at = ? WHERE id = ?', clock.now(), id);
        return true;
      });
      if (closed || wipe) await gate.sessions.close(id, wipe);
      return read(id);
    },
  };
}
