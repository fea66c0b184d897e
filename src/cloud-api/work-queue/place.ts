/** Where a list goes on: the time and id of the last row, opaque to whoever is given it. */
import { AppError } from '../../contracts/common/errors.ts';

export interface Place {
  readonly at: number;
  readonly id: string;
}

export function cursorOf({ created_at: at, id }: { readonly created_at: number; readonly id: string }): string {
  return Buffer.from(`${at} ${id}`).toString('base64url');
}

export function placeOf(cursor: string): Place {
  const [, at, id] = /^(\d{1,15}) ([A-Za-z0-9_]{1,100})$/.exec(Buffer.from(cursor, 'base64url').toString('utf8')) ?? [];
  if (at !== undefined && id !== undefined) return { at: Number(at), id };
  const fact = `${JSON.stringify(cursor.slice(0, 60))} is no cursor of this list.`;
  throw new AppError('usage', fact, 'Use `next_cursor` of an answer.', { wireCode: 'bad_request' });
}

/** One more row than is shown was read, which tells whether there is more. */
export function pageOf<T extends { readonly created_at: number; readonly id: string }>(
  rows: readonly T[],
  limit: number,
): { shown: readonly T[]; nextCursor: string | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { shown, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}
