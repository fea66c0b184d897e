/** Collects garbage now: a process that allocates nothing does it no more, and keeps what it used before. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Holds the one thread up meanwhile. `regular` keeps emptied pages for some seconds, in case they are needed again; `last-resort` gives them back at once
 * and takes twice as long.
 */
export function collectGarbage(flavor: 'regular' | 'last-resort'): void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (how: object) => void;
  gc({ type: 'major', execution: 'sync', flavor });
}
