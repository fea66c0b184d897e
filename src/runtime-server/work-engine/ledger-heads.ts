/**
 * Exported heads: `.gantry/ledger/heads.jsonl`, one line an export. A chain of hashes reveals a silent edit, but not a rewrite by somebody who has
 * the database file; a head that was noted elsewhere reveals that too. Knows the file; must not know rows.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { readTextWithin } from '../../kit/files/within.ts';

interface ExportedHead {
  readonly engine: string;
  readonly id: string;
  readonly hash: string;
  readonly at: string;
}

const Line = z.object({
  engine: z.string(),
  id: z.string().regex(/^(0|[1-9]\d{0,15})$/),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  at: z.string(),
});
/** Into the file itself: not through a link, and not into a pipe without a reader. */
const appending =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  (constants.O_NOFOLLOW ?? 0) |
  (constants.O_NONBLOCK ?? 0);
/** A file beyond this was not written by exports. */
const largest = 16 * 1024 * 1024;

type Heads =
  | { readonly ok: true; readonly heads: readonly ExportedHead[] }
  /** A line without a head: it is reported, never skipped. */
  | { readonly ok: false; readonly line: number };

/** Heads of this engine; a workspace may have been another's before. */
export async function readHeads(file: string, engine: string): Promise<Heads> {
  const text = readTextWithin(dirname(file), file, largest);
  if (typeof text !== 'string') return text.is === 'absent' ? { ok: true, heads: [] } : { ok: false, line: 1 };
  const heads: ExportedHead[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '') continue;
    const head = parse(line);
    if (head === null) return { ok: false, line: index + 1 };
    if (head.engine === engine) heads.push(head);
  }
  return { ok: true, heads };
}

function parse(line: string): ExportedHead | null {
  try {
    return Line.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

/** Adds one line, durable when it resolves. */
export async function addHead(file: string, head: ExportedHead): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, appending, 0o600);
    await handle.appendFile(`${JSON.stringify(head)}\n`);
    await handle.sync();
  } finally {
    await handle?.close();
  }
}
