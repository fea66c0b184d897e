/** Our texts in the words of PostgreSQL: parameters, types, what comes back. First user: the store; second: its migrations. */
import pg from 'pg';

/** `?` becomes `$1`, `$2` …, except where it stands in quotes. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/'(?:[^']|'')*'|"[^"]*"|\?/g, (found) => {
    if (found !== '?') return found;
    count += 1;
    return `$${count}`;
  });
}

/**
 * A schema of SQLite: whole numbers of 64 bits, texts compared byte by byte (so that order is the same on both engines, whatever
 * the database was made with), and no table options.
 */
export function schemaText(sql: string): string {
  return sql
    .replace(/'(?:[^']|'')*'|\bINTEGER\b|\bTEXT\b(?! COLLATE)|\bBLOB\b/g, (word) => types[word] ?? word)
    .replace(/\)\s*(?:STRICT|WITHOUT ROWID)(?:\s*,\s*(?:STRICT|WITHOUT ROWID))?(?=\s*(?:;|$))/g, ')');
}

const types: Readonly<Record<string, string>> = { INTEGER: 'BIGINT', TEXT: 'TEXT COLLATE "C"', BLOB: 'BYTEA' };

const { builtins } = pg.types;
const one = (text: string) => (text === 't' ? 1 : 0);

/** Numbers as numbers, also 64-bit ones and sums of them; truth as SQLite tells it. */
const parsers = new Map<number, (text: string) => unknown>([
  [builtins.INT8, Number],
  [builtins.NUMERIC, Number],
  [builtins.BOOL, one],
]);

export const postgresTypes: pg.CustomTypesConfig = {
  getTypeParser: ((id: number, format?: 'text' | 'binary') =>
    parsers.get(id) ?? pg.types.getTypeParser(id, format ?? 'text')) as typeof pg.types.getTypeParser,
};
