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

/** `actionGroups` and `foundGroups`: in which order those stand that are equally near. */
export function orderPalette(
  typed: string,
  actions: readonly Action[],
  rows: readonly FoundRow[],
  actionGroups: readonly Action['group'][],
  foundGroups: readonly FoundGroup[],
): readonly PaletteGroup[] {
  const text = plain(typed);
  const defaultOrder: readonly string[] = [...actionGroups, ...foundGroups, fromLetters];
  const ranked = [
    ...actions.flatMap((action) => rankAction(text, action) ?? []),
    ...rows.map((row) => rankRow(text, row)),
  ].toSorted(
    (a, b) => a.near - b.near || b.score - a.score || defaultOrder.indexOf(a.group) - defaultOrder.indexOf(b.group),
  );
  // Letters that stand apart in a name are no reason to stand before what has the words.
  const farthest = ranked[0]?.near === near.letters ? near.letters : near.found;
  const first = ranked.findIndex((one) => one.near <= farthest && isSafe(text, one));
  const ordered = first > 0 ? [ranked[first]!, ...ranked.toSpliced(first, 1)] : ranked;
  const groups = Map.groupBy(ordered, ({ group }) => group);
  return [...groups].map(([name, inIt]) => ({ name, items: inIt.map(({ item }) => item) }));
}

/** Nobody looks further down: a letter more brings up what is there. Of each group while nothing is typed, then of all. */
const drawn = { untyped: 24, typed: 60 } as const;

/** What of it is drawn, and how many are not. */
export function firstOf(
  groups: readonly PaletteGroup[],
  typed: string,
): { readonly shown: readonly PaletteGroup[]; readonly more: number } {
  const all = plain(typed) === '';
  let room: number = drawn.typed;
  const shown = groups.map(({ name, items }) => {
    const some = items.slice(0, all ? drawn.untyped : Math.max(0, room));
    room -= some.length;
    return { name, items: some };
  });
  const count = (of: readonly PaletteGroup[]) => of.reduce((sum, { items }) => sum + items.length, 0);
  return { shown: shown.filter(({ items }) => items.length > 0), more: count(groups) - count(shown) };
}

/** Whether Enter may act on it without its having been chosen: where only such fit that may not, none is. */
export function enterActsOn(typed: string, item: PaletteItem): boolean {
  if (!('action' in item)) return true;
  const ranked = rankAction(plain(typed), item.action);
  return ranked !== null && isSafe(plain(typed), ranked);
}

/** A letter or two name nothing. */
const leastNamed = 3;

function isSafe(text: string, { item, near: nearness }: Ranked): boolean {
  if (!('action' in item) || !mayChange(item.action)) return true;
  if (nearness === near.exact) return true;
  return item.action.changes !== 'at once' && text.length >= leastNamed && nearness <= near.words;
}

function rankAction(text: string, action: Action): Ranked | null {
  const item = { key: `${action.title} ${action.id}`.trim(), action };
  if (text === '') return { item, group: action.group, near: near.words, score: 0 };
  const score = defaultFilter(item.key, text);
  const byName = nearName(text, action.title) ?? (action.thing === undefined ? null : nearName(text, action.thing));
  if (byName !== null) return { item, group: action.group, near: byName, score };
  const title = plain(action.title);
  const words = text.split(' ');
  if (words.every((word) => beginsWord(title, word))) return { item, group: action.group, near: near.words, score };
  const fits = action.id.startsWith(pressMark) ? words.every((word) => title.includes(word)) : score > 0;
  return fits ? { item, group: fromLetters, near: near.letters, score } : null;
}

/** It fits, in whatever way its server says; among its like it stays where the server put it. */
function rankRow(text: string, row: FoundRow): Ranked {
  const digits = row.group === 'Numbers' ? digitsOf(text) : '';
  const number = digitsOf(row.title);
  // With or without the country's 1.
  const dialled = digits.length > 2 && (number.startsWith(digits) || number.slice(1).startsWith(digits));
  const byName = nearName(text, row.title) ?? (dialled ? near.prefix : near.found);
  return { item: { key: row.key, row }, group: row.group, near: byName, score: 0 };
}

function nearName(text: string, name: string): 0 | 1 | null {
  const it = plain(name);
  if (it === text) return near.exact;
  return it.startsWith(text) ? near.prefix : null;
}

function beginsWord(title: string, word: string): boolean {
  for (let at = title.indexOf(word); at >= 0; at = title.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(title[at - 1] ?? '')) return true;
  }
  return false;
}
