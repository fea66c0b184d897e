/** The actor in rows of the ledger, and the hash that replaces a text there: nothing can be deleted from the ledger. */
import { createHash } from 'node:crypto';
import type { ReportTaken } from '../../kit/http/types.ts';

/** By whom and over which surface. */
export interface Actor {
  readonly actor: string;
  readonly surface: string;
  /** The report of a bot that is carried out: whatever records it takes it in the same operation. */
  readonly report?: ReportTaken | undefined;
}

export const engineActor: Actor = { actor: 'engine', surface: 'engine' };

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
