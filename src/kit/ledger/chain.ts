/** The hash chain: the fields that a row's hash covers, and the description of a broken chain. Pure. */
import { hash as digest } from 'node:crypto';

/** A row as stored in the table. */
export interface StoredRow {
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  readonly surface: string;
  readonly type: string;
  readonly subject: string;
  readonly idem_key: string | null;
  readonly body: string;
  readonly prev_hash: string;
  readonly hash: string;
}

/** The previous hash of the first row. */
export const noHash = '0'.repeat(64);

/**
 * sha256 over the previous hash and every field, one per line. No field contains a line break ({@link plain}; canonical JSON
 * never does), so two different rows never give one text.
 */
export function rowHash(row: Omit<StoredRow, 'hash'>): string {
  return digest(
    'sha256',
    `${row.prev_hash}\n${row.seq}\n${row.at}\n${row.actor}\n${row.surface}\n${row.type}\n${row.subject}\n${row.idem_key ?? ''}\n${row.body}`,
    'hex',
  );
}

// One test for all control characters; fields are short.
const control = /[\u0000-\u001f\u007f]/;

/** Throws if a field of a row could blur the chain's lines. */
export function plain(name: string, text: string): string {
  if (text === '' || control.test(text)) {
    throw new Error(`The ledger's ${name} ${JSON.stringify(text)} is empty or holds a control character.`);
  }
  return text;
}

type ChainBreak = {
  readonly seq: number;
  readonly problem: 'changed' | 'removed' | 'inserted';
  readonly fact: string;
};

/**
 * The first break between `previous` (the last sound row, null before genesis) and `row`; `next` is the row after it, if any.
 * Null: `row` continues the chain.
 */
export function findBreak(
  previous: { seq: number; hash: string } | null,
  row: StoredRow,
  next: StoredRow | undefined,
): ChainBreak | null {
  const expectedSeq = previous === null ? 0 : previous.seq + 1;
  const expectedHash = previous?.hash ?? noHash;
  if (row.seq > expectedSeq) {
    return { seq: expectedSeq, problem: 'removed', fact: `Row ${expectedSeq} is missing: the next one is ${row.seq}.` };
  }
  if (row.seq < expectedSeq) {
    return { seq: row.seq, problem: 'inserted', fact: `Row ${row.seq} comes before the ledger's first row.` };
  }
  // Two rows follow the same one: the first of them did not exist when the second was written.
  if (next !== undefined && next.prev_hash === expectedHash) {
    return { seq: row.seq, problem: 'inserted', fact: `Row ${row.seq} was not there when the next row was written.` };
  }
  const sound = rowHash(row) === row.hash;
  if (sound && row.prev_hash === expectedHash) return null;
  if (sound) {
    return { seq: row.seq, problem: 'removed', fact: `Row ${row.seq} follows a row that is no longer there.` };
  }
  return { seq: row.seq, problem: 'changed', fact: `Row ${row.seq} does not match its hash.` };
}
