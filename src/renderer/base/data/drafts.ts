/**
 * Unsent text, by where it was typed. Kept in the tab's session storage, so that it survives another page and a reload. Must not know how it is
 * shown.
 */
import { readJson, writeJson } from './settings.ts';

const storageKey = 'gantry.typed';
/** Of the places that were typed in last. */
const kept = 50;

export interface Drafts {
  of(place: string): string;
  keep(place: string, text: string): void;
}

export function createDrafts(storage: Pick<Storage, 'getItem' | 'setItem'>): Drafts {
  const stored = readJson(storage, storageKey);
  const texts = new Map(
    (Array.isArray(stored) ? stored : []).filter(
      (one): one is [string, string] =>
        Array.isArray(one) && typeof one[0] === 'string' && typeof one[1] === 'string' && one.length === 2,
    ),
  );
  return {
    of: (place) => texts.get(place) ?? '',
    keep(place, text) {
      texts.delete(place);
      if (text !== '') texts.set(place, text);
      const oldest = texts.keys().next().value;
      if (texts.size > kept && oldest !== undefined) texts.delete(oldest);
      writeJson(storage, storageKey, [...texts]);
    },
  };
}
