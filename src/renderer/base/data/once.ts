/**
 * What an area keeps while the app is open, whichever of its pages is shown: created when the first of them asks for it, so that no other page loads
 * it. Must not know what any of it is.
 */
import type { ConnectionsDeps } from './connections.ts';

/** The same for the same `make`, which is therefore a function of a module and not of a call. */
export type Once = <T>(make: (page: ConnectionsDeps) => T) => T;

export function createOnce(page: ConnectionsDeps): Once {
  const made = new Map<unknown, unknown>();
  return <T>(make: (page: ConnectionsDeps) => T): T => {
    if (!made.has(make)) made.set(make, make(page));
    return made.get(make) as T;
  };
}
