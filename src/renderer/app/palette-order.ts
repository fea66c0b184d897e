/**
 * The order of the palette: what is named exactly so or begins so first, then commands that have the typed words, then what was found, then
 * commands that only have the letters. Pure.
 */
import { defaultFilter } from 'cmdk';
import type { Action } from './actions.ts';
import type { FoundGroup, FoundRow } from './use-found.ts';

export type PaletteItem = { readonly key: string } & ({ readonly action: Action } | { readonly row: FoundRow });

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

export const fromLetters = 'Perhaps meant';
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
  const usual: readonly string[] = [...actionGroups, ...foundGroups, fromLetters];
  const ranked = [
    ...actions.flatMap((action) => rankAction(text, action) ?? []),
    ...rows.map((row) => rankRow(text, row)),
  ].toSorted((a, b) => a.near - b.near || b.score - a.score || usual.indexOf(a.group) - usual.indexOf(b.group));
  const groups = Map.groupBy(ranked, ({ group }) => group);
  return [...groups].map(([name, inIt]) => ({ name, items: inIt.map(({ item }) => item) }));
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
