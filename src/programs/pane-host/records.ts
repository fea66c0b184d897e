/**
 * Stored facts about each pane, beside its journal, so that a later host can still show a pane that ended. Never the environment: it may hold
 * secrets.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { journalFiles, removeJournal } from './journal.ts';
import type { InfoWire } from './protocol.ts';
import type { Resize } from './replay.ts';

export interface PaneRecord {
  readonly version: 1;
  readonly info: InfoWire;
  /** Tells this process from a later one with the same number. */
  readonly processStart: string | null;
  readonly scrollback: number;
  readonly resizes: readonly Resize[];
}

const ending = '.pane.json';

export function writeRecord(folder: string, record: PaneRecord): void {
  const path = join(folder, `${record.info.id}${ending}`);
  writeFileSync(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** All records; a file that is not whole is passed over, and told to `onDamage`. */
export function readRecords(folder: string, onDamage: (path: string) => void): PaneRecord[] {
  if (!existsSync(folder)) return [];
  const records: PaneRecord[] = [];
  for (const name of readdirSync(folder)) {
    if (!name.endsWith(ending)) continue;
    try {
      const record = JSON.parse(readFileSync(join(folder, name), 'utf8')) as PaneRecord;
      if (record.version !== 1 || typeof record.info.id !== 'string') throw new Error('unknown version');
      records.push(record);
    } catch {
      onDamage(join(folder, name));
    }
  }
  return records;
}

/** A pane whose host ended before it: closed where its journal ends. */
export function closeRecord(folder: string, record: PaneRecord, reason: string): PaneRecord {
  const files = journalFiles(folder, record.info.id);
  const last = files.at(-1);
  const endedAt = last ? statSync(last.path).mtime.toISOString() : record.info.startedAt;
  const offset = last ? last.offset + last.size : 0;
  const facts = { ...record.info.facts, offset, at: endedAt };
  return { ...record, info: { ...record.info, alive: false, endReason: reason, endedAt, offset, facts } };
}

export function removeRecord(folder: string, pane: string): void {
  rmSync(join(folder, `${pane}${ending}`), { force: true });
  removeJournal(folder, pane);
}
