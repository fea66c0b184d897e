/**
 * Removes from a text what says whose it is or opens something: secrets, quoted texts, addresses of people, ids, the home folder. Line by line, on
 * the whole text that is shown: no part of it can be forgotten. Pure.
 */
import { createHash } from 'node:crypto';
import { scrub } from '../kit/log/scrub.ts';

/** In order: an address inside of a quoted text goes with it. */
const shapes: readonly [RegExp, string][] = [
  // What Gantry quotes, in its errors too, is somebody's own: a prompt, a name, a file.
  [/"(?:[^"\\]|\\.)*"|“[^”]*”|`[^`]*`|(?<![\p{L}\d])'[^']*'(?![\p{L}\d])/gu, '"…"'],
  // User and password of a database.
  [/:\/\/[^\s/@]*@/g, '://[secret]@'],
  [/[^\s@<>"'(),;:=|]+@[^\s@<>"'(),;:=|]+\.[a-z]{2,}/gi, '[e-mail]'],
  [/\+\d[\d ().-]{6,}\d/g, '[number]'],
  [/(?<![\d.:-])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?![\d.:-])/g, '[number]'],
  [/\b\d{10,12}\b/g, '[number]'],
];
/** `dag_01J8Z3KQ4V6W7X8Y9ZABCDEFGH`. */
const ids = /\b([a-z][a-z0-9]*)_([0-9A-HJKMNP-TV-Z]{26})\b/g;
/** Shorter ones may be words. */
const shortestSecret = 6;

export function anonymous(
  text: string,
  { secrets, home }: { readonly secrets: readonly string[]; readonly home: string | null },
): string {
  const known = secrets.filter((secret) => secret.length >= shortestSecret).sort((a, b) => b.length - a.length);
  return text
    .split('\n')
    .map((line) => {
      let clean = line;
      for (const secret of known) clean = clean.replaceAll(secret, '[secret]');
      for (const [shape, instead] of shapes) clean = clean.replace(shape, instead);
      clean = scrub(clean).replace(ids, (_, kind: string, id: string) => `${kind}_${shortHash(id)}`);
      return home === null || home === '' || home === '/' ? clean : clean.replaceAll(home, '~');
    })
    .join('\n');
}

/** The same id has the same hash everywhere in a bundle, and leads nobody back. */
export const shortHash = (id: string) => `#${createHash('sha256').update(id).digest('hex').slice(0, 8)}`;
