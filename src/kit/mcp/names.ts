/**
 * Byte order, and the names that every client accepts: many hosts and models take only `^[a-zA-Z0-9_-]{1,64}$`, and one
 * other name costs them the whole list. Pure. Must not know tools.
 */
import { hash } from 'node:crypto';

export const maxSafeNameLength = 64;

/** By the bytes of UTF-8, neither by locale nor by UTF-16, so that the order is the same everywhere. */
export function byBytes(a: string, b: string): number {
  if (a === b) return 0;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The safe spelling of a name that nothing else shares. */
export function safeSpelling(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_');
}

/**
 * The safe name of each name. A name that is safe already keeps it; one that would share a safe name, or is too long, gets a suffix made of the name
 * itself: independent of the order and of other names, as long as the names sharing it stay.
 */
export function safeNames(names: readonly string[]): Map<string, string> {
  const sharing = new Map<string, number>();
  for (const name of names) {
    const spelled = safeSpelling(name);
    sharing.set(spelled, (sharing.get(spelled) ?? 0) + 1);
  }
  const taken = new Set(names.filter((name) => name === safeSpelling(name) && name.length <= maxSafeNameLength));
  const safe = new Map<string, string>();
  for (const name of names.toSorted(byBytes)) {
    const spelled = safeSpelling(name);
    const fits = spelled.length <= maxSafeNameLength;
    if (fits && (name === spelled || sharing.get(spelled) === 1)) {
      taken.add(spelled);
      safe.set(name, spelled);
    }
  }
  for (const name of names.toSorted(byBytes)) {
    if (safe.has(name)) continue;
    const unique = withEnd(name, taken);
    taken.add(unique);
    safe.set(name, unique);
  }
  return safe;
}

function withEnd(name: string, taken: ReadonlySet<string>): string {
  const digest = hash('sha256', name, 'hex');
  // Longer if a name was made to match this very suffix.
  for (let digits = 8; ; digits += 8) {
    const end = `_${digest.slice(0, digits)}`;
    const made = safeSpelling(name).slice(0, maxSafeNameLength - end.length) + end;
    if (!taken.has(made) || digits >= 56) return made;
  }
}
