/**
 * Where a page of a list ends and the next begins: after so many rows or bytes; the time and id of the last row, opaque to clients. First user: the
 * work queue; second: hosted computers.
 */
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
  const fact = `${JSON.stringify(cursor.slice(0, 60))} is not a cursor of this list.`;
  throw new AppError('usage', fact, 'Use `next_cursor` of an answer.', { wireCode: 'bad_request' });
}

export interface Page<T> {
  readonly shown: readonly T[];
  readonly nextCursor: string | null;
}

/** A page of large rows ends here, after at least one: reading more at once would hold up everybody else. */
const maxBytes = 8_000_000;

/** Reads the sizes first, of one row more than the page has, which shows whether there are more; then the rows that fit. */
export async function pageOf<T extends { readonly created_at: number; readonly id: string }>(
  limit: number,
  sizes: (max: number) => Promise<readonly { readonly bytes: number }[]>,
  rows: (max: number) => Promise<readonly T[]>,
): Promise<Page<T>> {
  const there = await sizes(limit + 1);
  let bytes = there[0]?.bytes ?? 0;
  let fit = Math.min(1, there.length);
  while (fit < Math.min(limit, there.length)) {
    bytes += there[fit]?.bytes ?? 0;
    if (bytes > maxBytes) break;
    fit += 1;
  }
  const shown = fit === 0 ? [] : await rows(fit);
  const last = shown.at(-1);
  return { shown, nextCursor: there.length > fit && last !== undefined ? cursorOf(last) : null };
}
