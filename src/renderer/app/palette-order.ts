/**
 * The order of the palette: exact names and names that begin with the typed text first, then commands that have the typed words, then search results,
 * then commands that only have the letters. Enter runs the first row, so no action that changes something is first unless the person named it, and
 * one that acts at once, such as the answer to a question, must be named by its whole title. Pure.
 */
import { defaultFilter } from 'cmdk';
import { type Action, mayChange } from '../base/actions.ts';
import type { FoundGroup, FoundRow } from './use-found.ts';

type PaletteItem = { readonly key: string } & ({ readonly action: Action } | { readonly row: FoundRow });

interface PaletteGroup {
  readonly name: string;
  readonly items: readonly PaletteItem[];
}

/** Less is nearer to what was typed. */
const near = { exact: 0, prefix: 1, words: 2, found: 3, letters: 4 } as const;

interface Ranked {
  readonly item: PaletteItem;
  readonly group: string;
  readonly near: number;
  /** Among those that are as near; more is better. */
  readonly score: number;
}

const fromLetters = 'Did you mean';
/** Of a button of the page that is shown: its name is a sentence, and letters that stand apart in one mean nothing. */
export const pressMark = 'press-';

const plain = (text: string): string => text.toLowerCase().trim().replace(/\s+/g, ' ');
const digitsOf = (text: string): string => text.replace(/\D/g, '');

/** An action, with what every key is compared to. */
interface Entry {
  readonly item: PaletteItem & { readonly action: Action };
  readonly title: string;
  readonly thing: string | null;
  /** Of the title and the id, as cmdk compares letters. */
  readonly letters: string;
  /** A bit for each letter and digit in it: what lacks one of those typed is not looked at further. */
  readonly has: number;
  readonly isButton: boolean;
}

/** Made once for a list of actions, so that a key costs comparisons only: there may be ten thousand. */
interface PaletteIndex {
  readonly entries: readonly Entry[];
  /** In which order those stand that are equally near. */
  readonly places: ReadonlyMap<string, number>;
}

export function indexPalette(
  actions: readonly Action[],
  actionGroups: readonly Action['group'][],
  foundGroups: readonly FoundGroup[],
): PaletteIndex {
  const groups: readonly string[] = [...actionGroups, ...foundGroups, fromLetters];
  return { entries: actions.map(entryOf), places: new Map(groups.map((group, place) => [group, place])) };
}

function entryOf(action: Action): Entry {
  const key = `${action.title} ${action.id}`.trim();
  const letters = asLetters(key);
  return {
    item: { key, action },
    title: plain(action.title),
    thing: action.thing === undefined ? null : plain(action.thing),
    letters,
    has: bitsOf(letters),
    isButton: action.id.startsWith(pressMark),
  };
}

const asLetters = (text: string): string => text.toLowerCase().replace(/[\s-]/g, ' ');

function bitsOf(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at += 1) bits |= 1 << (text.charCodeAt(at) & 31);
  return bits;
}

/** So many of a kind are put in order by how well they fit; beyond that nobody reads, and they keep the order of the list. */
const maxScored = 100;

export function orderPalette(
  typed: string,
  { entries, places }: PaletteIndex,
  rows: readonly FoundRow[],
): readonly PaletteGroup[] {
  const text = plain(typed);
  const words = text.split(' ');
  const isNear: Entry[][] = [[], [], []];
  const others: Entry[] = [];
  for (const entry of entries) {
    const nearness = nearAction(text, words, entry);
    (nearness === null ? others : isNear[nearness]!).push(entry);
  }
  const place = (group: string): number => places.get(group) ?? -1;
  const byFit = (a: Ranked, b: Ranked) => a.near - b.near || b.score - a.score || place(a.group) - place(b.group);
  const ranked = [
    ...isNear.flatMap((some, nearness) => some.map((entry, at) => rank(text, entry, nearness, at))),
    ...rows.map((row) => rankRow(text, row)),
  ];
  // They stand behind all of these: where there is more than is drawn, nobody sees them.
  if (ranked.length < drawn.typed) {
    const letters = lettersOf(text);
    ranked.push(
      ...others
        .filter((entry) => hasLetters(letters, words, entry))
        .map((entry, at) => rank(text, entry, near.letters, at)),
    );
  }
  ranked.sort(byFit);
  // Letters that stand apart in a name are no reason to stand before what has the words.
  const farthest = ranked[0]?.near === near.letters ? near.letters : near.found;
  const first = ranked.findIndex((one) => one.near <= farthest && isSafe(text, one));
  const ordered = first > 0 ? [ranked[first]!, ...ranked.toSpliced(first, 1)] : ranked;
  const groups = Map.groupBy(ordered, ({ group }) => group);
  return [...groups].map(([name, inIt]) => ({ name, items: inIt.map(({ item }) => item) }));
}

/** Nobody looks further down: a letter more brings up what is there. Of each group while nothing is typed, then of all. */
const drawn = { untyped: 24, typed: 60 } as const;

/** What of it can be reached, and how many cannot. */
export function firstOf(
  groups: readonly PaletteGroup[],
  typed: string,
): { readonly shown: readonly PaletteGroup[]; readonly more: number } {
  const shown =
    plain(typed) === ''
      ? groups.map(({ name, items }) => ({ name, items: items.slice(0, drawn.untyped) }))
      : firstRows(groups, drawn.typed);
  return { shown, more: countOf(groups) - countOf(shown) };
}

/** The first `count` rows, in their groups. */
export function firstRows(groups: readonly PaletteGroup[], count: number): readonly PaletteGroup[] {
  let room = count;
  const some = groups.map(({ name, items }) => {
    const first = items.slice(0, Math.max(0, room));
    room -= first.length;
    return { name, items: first };
  });
  return some.filter(({ items }) => items.length > 0);
}

const countOf = (groups: readonly PaletteGroup[]): number => groups.reduce((sum, { items }) => sum + items.length, 0);

/** Whether Enter may act on it without its having been chosen: where only such fit that may not, none is. */
export function enterActsOn(typed: string, item: PaletteItem): boolean {
  if (!('action' in item)) return true;
  const text = plain(typed);
  const words = text.split(' ');
  const entry = entryOf(item.action);
  const nearness = nearAction(text, words, entry) ?? (hasLetters(lettersOf(text), words, entry) ? near.letters : null);
  return nearness !== null && isSafe(text, { item, near: nearness });
}

/** A letter or two name nothing. */
const leastNamed = 3;

function isSafe(text: string, { item, near: nearness }: Pick<Ranked, 'item' | 'near'>): boolean {
  if (!('action' in item) || !mayChange(item.action)) return true;
  if (nearness === near.exact) return true;
  return item.action.changes !== 'at once' && text.length >= leastNamed && nearness <= near.words;
}

/** By its name or the beginnings of its words; null where at most its letters fit. */
function nearAction(text: string, words: readonly string[], { title, thing }: Entry): 0 | 1 | 2 | null {
  if (text === '') return near.words;
  const byName = nearName(text, title) ?? (thing === null ? null : nearName(text, thing));
  if (byName !== null) return byName;
  return words.every((word) => beginsWord(title, word)) ? near.words : null;
}

interface Letters {
  readonly text: string;
  readonly has: number;
}
const lettersOf = (text: string): Letters => ({ text: asLetters(text), has: bitsOf(asLetters(text)) });

/** Whether it has the typed letters in their order, two of them changed over, or one typed twice: exactly what cmdk gives a score. */
function hasLetters({ text, has }: Letters, words: readonly string[], entry: Entry): boolean {
  if (entry.isButton) return words.every((word) => entry.title.includes(word));
  if ((has & entry.has) !== has) return false;
  const { letters } = entry;
  // For so many of the typed letters, how far into the name they reach at least; the nearest leaves most to come.
  const reached: number[] = [0];
  const reach = (count: number, found: number, length: number): void => {
    if (found >= 0 && found + length < (reached[count] ?? Number.POSITIVE_INFINITY)) reached[count] = found + length;
  };
  for (let count = 0; count < text.length; count += 1) {
    const from = reached[count];
    if (from === undefined) continue;
    const [letter, next] = [text[count] as string, text[count + 1]];
    const found = letters.indexOf(letter, from);
    reach(count + 1, found, 1);
    if (next === undefined) continue;
    if (next === letter) reach(count + 2, found, 1);
    else reach(count + 2, letters.indexOf(next + letter, Math.max(0, from - 1)), 2);
  }
  return reached[text.length] !== undefined;
}

function rank(text: string, { item }: Entry, nearness: number, at: number): Ranked {
  const score = text === '' || at >= maxScored ? 0 : defaultFilter(item.key, text);
  return { item, group: nearness === near.letters ? fromLetters : item.action.group, near: nearness, score };
}

/** It fits, in whatever way its server says; among its like it stays where the server put it. */
function rankRow(text: string, row: FoundRow): Ranked {
  const digits = row.group === 'Numbers' ? digitsOf(text) : '';
  const number = digitsOf(row.title);
  // With or without the country's 1.
  const dialled = digits.length > 2 && (number.startsWith(digits) || number.slice(1).startsWith(digits));
  const byName = nearName(text, plain(row.title)) ?? (dialled ? near.prefix : near.found);
  return { item: { key: row.key, row }, group: row.group, near: byName, score: 0 };
}

function nearName(text: string, name: string): 0 | 1 | null {
  if (name === text) return near.exact;
  return name.startsWith(text) ? near.prefix : null;
}

function beginsWord(title: string, word: string): boolean {
  for (let at = title.indexOf(word); at >= 0; at = title.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(title[at - 1] ?? '')) return true;
  }
  return false;
}
