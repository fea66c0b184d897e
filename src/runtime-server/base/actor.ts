/** Who did something, as rows of the ledger say it; and the hash that stands there for a text: nothing can be deleted from the ledger. */
import { createHash } from 'node:crypto';

/** By whom and through which door. */
export interface Actor {
  readonly actor: string;
  readonly surface: string;
}

export const engineActor: Actor = { actor: 'engine', surface: 'engine' };

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
