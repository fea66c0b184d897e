/**
 * The last lists of each computer, for when it is away. In memory only: a cloud that has just started asks the computers. Must not know who may see a
 * list.
 */

/** Limit in bytes of all lists together; the least recently read are evicted first. */
const maxBytes = 32 * 1024 * 1024;
/** Limit of one list. A computer with a longer one is always asked itself. */
const maxPerOne = 4 * 1024 * 1024;

export interface LastLists {
  /** `result` of the answer, serialised. */
  keep(place: readonly string[], result: string): void;
  find(place: readonly string[]): string | null;
}

export function createLastLists(): LastLists {
  // Least recently read first.
  const kept = new Map<string, string>();
  let bytes = 0;

  function forget(place: string): void {
    bytes -= (kept.get(place)?.length ?? 0) * 2;
    kept.delete(place);
  }

  return {
    keep(parts, result) {
      const place = JSON.stringify(parts);
      forget(place);
      if (result.length * 2 > maxPerOne) return;
      kept.set(place, result);
      bytes += result.length * 2;
      while (bytes > maxBytes) forget(kept.keys().next().value!);
    },
    find(parts) {
      const place = JSON.stringify(parts);
      const result = kept.get(place);
      if (result === undefined) return null;
      kept.delete(place);
      kept.set(place, result);
      return result;
    },
  };
}
