/**
 * Where the live cells of a table lie in a closed SQLite file, by its b-tree: the bytes of each row's own page, header and all, without
 * what overflows. For tests that flip a bit behind the database's back. https://www.sqlite.org/fileformat2.html
 */
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';

export interface Cell {
  readonly offset: number;
  readonly length: number;
}

const kinds = { tableInterior: 5, tableLeaf: 13, indexInterior: 2, indexLeaf: 10 } as const;

export function cellsOf(file: string, table: string): Cell[] {
  const database = new Database(file);
  // The log holds pages that are newer than the file's.
  database.pragma('wal_checkpoint(TRUNCATE)');
  const root = database
    .prepare<[string], number>('SELECT rootpage FROM sqlite_schema WHERE name = ?')
    .pluck()
    .get(table);
  const pageSize = database.pragma('page_size', { simple: true }) as number;
  database.close();
  if (root === undefined) throw new Error(`There is no table ${table}.`);
  const bytes = readFileSync(file);
  const cells: Cell[] = [];

  function visit(page: number): void {
    const start = (page - 1) * pageSize;
    const head = start + (page === 1 ? 100 : 0);
    const kind = bytes[head];
    const interior = kind === kinds.tableInterior || kind === kinds.indexInterior;
    const count = bytes.readUInt16BE(head + 3);
    for (let at = 0; at < count; at += 1) {
      const cell = start + bytes.readUInt16BE(head + (interior ? 12 : 8) + at * 2);
      if (interior) visit(bytes.readUInt32BE(cell));
      if (kind === kinds.tableInterior) continue;
      cells.push({ offset: cell, length: cellLength(cell, kind ?? 0) });
    }
    if (interior) visit(bytes.readUInt32BE(head + 8));
  }

  function cellLength(cell: number, kind: number): number {
    const payload = varint(cell + (kind === kinds.indexInterior ? 4 : 0));
    const behind = kind === kinds.tableLeaf ? varint(payload.end).end : payload.end;
    const max = kind === kinds.tableLeaf ? pageSize - 35 : Math.floor(((pageSize - 12) * 64) / 255) - 23;
    const least = Math.floor(((pageSize - 12) * 32) / 255) - 23;
    const spilled = least + ((payload.value - least) % (pageSize - 4));
    const local = payload.value <= max ? payload.value : spilled <= max ? spilled : least;
    return behind - cell + local;
  }

  function varint(at: number): { value: number; end: number } {
    let value = 0;
    for (let end = at; ; end += 1) {
      const byte = bytes[end] ?? 0;
      value = value * 128 + (byte & 127);
      if (byte < 128) return { value, end: end + 1 };
    }
  }

  visit(root);
  return cells;
}

/** Flips one bit of the file. */
export function flipBit(file: string, offset: number, bit: number): void {
  const open = openSync(file, 'r+');
  const byte = Buffer.alloc(1);
  readSync(open, byte, 0, 1, offset);
  byte[0] = (byte[0] ?? 0) ^ (1 << bit);
  writeSync(open, byte, 0, 1, offset);
  closeSync(open);
}
