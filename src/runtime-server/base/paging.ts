/** Opaque cursors of the factory's lists. */
import { AppError } from '../../contracts/common/errors.ts';

export const defaultLimit = 50;

export function encodeCursor(...parts: (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** The parts of a cursor that this list made, or null without one. `usage` for any other text. */
export function decodeCursor<T>(cursor: string | undefined, check: (parts: unknown) => T | null): T | null {
  if (cursor === undefined) return null;
  try {
    const parts = check(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
    if (parts !== null) return parts;
  } catch {
    // Not JSON: the same answer as below.
  }
  throw new AppError(
    'usage',
    `"${cursor.slice(0, 60)}" is not a cursor of this list.`,
    'Use `nextCursor` of an answer.',
  );
}

export function idCursor(parts: unknown): string | null {
  return Array.isArray(parts) && parts.length === 1 && typeof parts[0] === 'string' ? parts[0] : null;
}

/** One page of `limit + 1` read rows: the rows to show, and the cursor if there are more. */
export function page<T>(
  rows: readonly T[],
  limit: number,
  cursorOf: (last: T) => string,
): { shown: T[]; nextCursor: string | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { shown, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}
