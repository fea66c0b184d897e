/**
 * The order of the palette: exact names and names that begin with the typed text first, then commands that have the typed words, then search results,
 * then commands that only have the letters. Enter runs the first row, so no action that changes something is first unless the person named it, and
 * one that acts at once, such as the answer to a question, must be named by its whole title. Pure.
 */
import { defaultFilter } from 'cmdk';
import { type Action, mayChange } from '../base/actions.ts';
import type { FoundGroup, FoundRow } from './use-found.ts';

type PaletteItem = { readonly key: string } & ({ readonly action: Action } | { readonly row: FoundRow });

export interface PaletteGroup {
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
  /** A bit for each letter and digit with which a word of its title or its thing begins. */
  readonly begins: number;
  readonly isButton: boolean;
}

/** Made once for a list of actions, so that a key costs comparisons only: there may be ten thousand. */
interface PaletteIndex {
  readonly entries: readonly Entry[];
  /** What is drawn of them while nothing is typed, in order. */
  readonly untyped: readonly Entry[];
  /** In which order those stand that are equally near. */
  readonly places: ReadonlyMap<string, number>;
}

export function indexPalette(
  actions: readonly Action[],
  actionGroups: readonly Action['group'][],
  foundGroups: readonly FoundGroup[],
): PaletteIndex {
  const groups: readonly string[] = [...actionGroups, ...foundGroups, fromLetters];
  const entries = actions.map(entryOf);
  const byGroup = Map.groupBy(entries, ({ item }) => item.action.group);
  return {
    entries,
    untyped: actionGroups.flatMap((group) => (byGroup.get(group) ?? []).slice(0, drawn.untyped)),
    places: new Map(groups.map((group, place) => [group, place])),
  };
}

function entryOf(action: Action): Entry {
  const key = `${action.title} ${action.id}`.trim();
  const letters = asLetters(key);
  const title = plain(action.title);
  const thing = action.thing === undefined ? null : plain(action.thing);
  return {
    item: { key, action },
    title,
    thing,
    letters,
    has: bitsOf(letters),
    begins: beginningsOf(title) | beginningsOf(thing ?? ''),
    isButton: action.id.startsWith(pressMark),
  };
}

const asLetters = (text: string): string => text.toLowerCase().replace(/[\s-]/g, ' ');

const bitOf = (text: string, at: number): number => 1 << (text.charCodeAt(at) & 31);

function bitsOf(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at += 1) bits |= bitOf(text, at);
  return bits;
}

function beginningsOf(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at += 1) if (isBeginning(text, at)) bits |= bitOf(text, at);
  return bits;
}

/** So many of a kind are put in order by how well they fit; beyond that nobody reads, and they keep the order of the list. */
const maxScored = 100;
/** Nobody looks further down: a letter more brings up what is there. Of each group while nothing is typed, then of all. */
const drawn = { untyped: 24, typed: 60 } as const;

/** What is equally near. */
interface Tier {
  readonly near: number;
  readonly entries: readonly Entry[];
  readonly rows: readonly Ranked[];
}

/** What of all that fits can be reached, and how many cannot. */
export function orderPalette(
  typed: string,
  index: PaletteIndex,
  rows: readonly FoundRow[],
): { readonly groups: readonly PaletteGroup[]; readonly more: number } {
  const text = plain(typed);
  const tiers = tiersOf(text, index, rows);
  const most = text === '' ? Number.POSITIVE_INFINITY : drawn.typed;
  const first: Ranked[] = [];
  let safe: Ranked | null = null;
  let farthest: number = near.found;
  for (const one of inOrder(text, tiers, index.places)) {
    // Letters that stand apart in a name are no reason to stand before what has the words.
    if (first.length === 0 && one.near === near.letters) farthest = near.letters;
    if (first.length < most) first.push(one);
    if (safe === null && one.near <= farthest && isSafe(text, one)) safe = one;
    if (first.length === most && (safe !== null || one.near > farthest)) break;
  }
  const shown = safe === null ? first : [safe, ...first.filter((one) => one !== safe)].slice(0, most);
  const fits = text === '' ? index.entries.length + rows.length : countOf(tiers);
  const groups = Map.groupBy(shown, ({ group }) => group);
  return {
    groups: [...groups].map(([name, inIt]) => ({ name, items: inIt.map(({ item }) => item) })),
    more: fits - shown.length,
  };
}

function tiersOf(text: string, { entries, untyped }: PaletteIndex, found: readonly FoundRow[]): readonly Tier[] {
  const rows = found.map((row) => rankRow(text, row));
  const rowsAt = (nearness: number): readonly Ranked[] => rows.filter((row) => row.near === nearness);
  if (text === '') return [{ near: near.words, entries: untyped, rows }];
  const words = text.split(' ');
  const begins = words.reduce((bits, word) => bits | bitOf(word, 0), 0);
  const isNear: Entry[][] = [[], [], []];
  const others: Entry[] = [];
  for (const entry of entries) {
    // Whatever it is near by, each typed word begins one of its words.
    const nearness = (begins & entry.begins) === begins ? nearAction(text, words, entry) : null;
    (nearness === null ? others : isNear[nearness]!).push(entry);
  }
  const tiers: Tier[] = [
    ...isNear.map((some, nearness) => ({ near: nearness, entries: some, rows: rowsAt(nearness) })),
    { near: near.found, entries: [], rows: rowsAt(near.found) },
  ];
  // They stand behind all of these: where there is more than is drawn, nobody sees them.
  if (countOf(tiers) >= drawn.typed) return tiers;
  const letters = lettersOf(text);
  return [
    ...tiers,
    { near: near.letters, entries: others.filter((entry) => hasLetters(letters, words, entry)), rows: [] },
  ];
}

const countOf = (tiers: readonly Tier[]): number =>
  tiers.reduce((sum, { entries, rows }) => sum + entries.length + rows.length, 0);

/** One after the other, so that of ten thousand only those are put in order that somebody sees. */
function* inOrder(text: string, tiers: readonly Tier[], places: ReadonlyMap<string, number>): Generator<Ranked> {
  const place = (group: string): number => places.get(group) ?? -1;
  const byPlace = (a: Ranked, b: Ranked): number => place(a.group) - place(b.group);
  for (const { near: nearness, entries, rows } of tiers) {
    const scored = entries.slice(0, text === '' ? 0 : maxScored).map((entry) => rank(text, entry, nearness));
    yield* scored.sort((a, b) => b.score - a.score || byPlace(a, b));
    for (let at = scored.length; at < entries.length; at += 1) yield rank('', entries[at]!, nearness);
    yield* rows.toSorted(byPlace);
  }
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

/** With an empty text its score is nothing. */
function rank(text: string, { item }: Entry, nearness: number): Ranked {
  const score = text === '' ? 0 : defaultFilter(item.key, text);
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
    if (isBeginning(title, at)) return true;
  }
  return false;
}

function isBeginning(text: string, at: number): boolean {
  if (at === 0) return true;
  const code = text.charCodeAt(at - 1);
  // Most characters are recognised without a pattern, because each key looks at ten thousand names.
  if (code < 128) return !((code >= 97 && code <= 122) || (code >= 48 && code <= 57));
  return !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '');
}
