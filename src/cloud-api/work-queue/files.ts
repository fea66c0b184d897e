/**
 * Files of tasks in the database, a row for each part: every replica has them, and a backup, without a folder that all must share. Must not know HTTP
 * or what a file means.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';

export interface TaskFiles {
  /** Stores a part, in place of an earlier one with this number. `refused` when the person's files are too many. */
  put(userId: string, name: string, part: number, bytes: Uint8Array): Promise<void>;
  /** `not_found` for a part that this person does not have. */
  get(userId: string, name: string, part: number): Promise<Uint8Array>;
  remove(userId: string, name: string): Promise<void>;
  /** Removes parts that were stored before this time, in milliseconds since the epoch. */
  forgetOld(before: number): Promise<void>;
}

/** Of one person, all files together: 2 GiB. */
const maxPartsOfPerson = 2048;

const putSql = `INSERT INTO work_file (user_id, name, part, at, bytes) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (user_id, name, part) DO UPDATE SET at = excluded.at, bytes = excluded.bytes`;

export function createTaskFiles({
  store,
  now,
}: {
  readonly store: SharedStore;
  readonly now: () => number;
}): TaskFiles {
  return {
    async put(userId, name, part, bytes) {
      const count = 'SELECT count(*) AS parts FROM work_file WHERE user_id = ?';
      const { parts } = (await store.get<{ parts: number | bigint }>(count, userId)) ?? { parts: 0 };
      if (Number(parts) >= maxPartsOfPerson) {
        throw new AppError(
          'refused',
          `Your files of tasks have ${parts} parts of up to 1 MiB; at most ${maxPartsOfPerson} are kept.`,
          'Remove files that no task needs any more.',
          { status: 409, wireCode: 'files_full' },
        );
      }
      await store.write((tx) => tx.run(putSql, userId, name, part, now(), bytes), { isolation: 'statement' });
    },
    async get(userId, name, part) {
      const sql = 'SELECT bytes FROM work_file WHERE user_id = ? AND name = ? AND part = ?';
      const row = await store.get<{ bytes: Uint8Array }>(sql, userId, name, part);
      if (row !== undefined) return row.bytes;
      throw new AppError(
        'not_found',
        `There is no part ${part} of a file ${name}.`,
        'Files are removed 30 days after they were stored. Store it again.',
        { wireCode: 'file_not_found' },
      );
    },
    async remove(userId, name) {
      await store.write((tx) => tx.run('DELETE FROM work_file WHERE user_id = ? AND name = ?', userId, name), {
        isolation: 'statement',
      });
    },
    forgetOld: (before) =>
      removePortions(
        store,
        `DELETE FROM work_file WHERE id IN (SELECT id FROM work_file WHERE at < ? ORDER BY at LIMIT ${portion})`,
        before,
      ),
  };
}
