/**
 * Which elements of a tree a few words mean: ranked by rules, the same for the same page, without a model. Pure.
 */
import { type Branch, isActing } from './tree.ts';

interface Found {
  readonly branch: Branch;
  readonly score: number;
  /** Every word of the query was met. */
  readonly whole: boolean;
}

export const maxFound = 20;

/** What people call what the tree calls otherwise. */
const roleWords: Readonly<Record<string, readonly string[]>> = {
  textbox: ['field', 'input', 'box', 'textbox', 'text', 'textarea'],
  searchbox: ['field', 'input', 'box', 'search', 'searchbox'],
  spinbutton: ['field', 'input', 'number'],
  combobox: ['dropdown', 'select', 'list', 'combobox', 'field', 'menu', 'choice'],
  listbox: ['dropdown', 'select', 'list', 'listbox'],
  button: ['button'],
  link: ['link', 'button'],
  checkbox: ['checkbox', 'tick', 'box', 'option'],
  radio: ['radio', 'option', 'choice', 'button'],
  switch: ['switch', 'toggle'],
  slider: ['slider', 'range'],
  tab: ['tab'],
  heading: ['heading', 'title', 'headline'],
  img: ['image', 'picture', 'icon', 'img'],
  cell: ['cell'],
  row: ['row'],
  iframe: ['frame', 'iframe'],
  option: ['option', 'choice'],
  menuitem: ['menu', 'item'],
};
/** Say nothing about which one is meant. */
const empty = new Set(['the', 'a', 'an', 'of', 'for', 'to', 'in', 'on', 'with', 'and', 'or', 'that', 'which', 'is']);

export function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word !== '');
}

/** The best first, at most {@link maxFound}; of equal ones the earlier of the page. */
export function findIn(branches: readonly (Branch | string)[], query: string): Found[] {
  const asked = wordsOf(query).filter((word) => !empty.has(word));
  const words = asked.length === 0 ? wordsOf(query) : asked;
  const phrase = query.trim().toLowerCase();
  const found: Found[] = [];

  const look = (branch: Branch | string, around: readonly string[]): void => {
    if (typeof branch === 'string') return;
    if (branch.ref !== undefined) {
      const { score, whole } = rate(branch, words, phrase, around);
      if (score > 0) found.push({ branch, score, whole });
    }
    const children = branch.children ?? [];
    // What stands beside an element says which of several it is: the row of a button, the section of a field.
    const beside = children.length > 30 ? [] : wordsOf(children.map(ownText).join(' '));
    const section = branch.name === undefined ? [] : wordsOf(branch.name);
    for (const child of children) look(child, [...around.slice(-40), ...section, ...beside].slice(-80));
  };
  for (const branch of branches) look(branch, []);
  return found.sort((one, other) => other.score - one.score).slice(0, maxFound);
}

function rate(
  branch: Branch,
  words: readonly string[],
  phrase: string,
  around: readonly string[],
): { score: number; whole: boolean } {
  const own = ownText(branch).toLowerCase();
  const ownWords = wordsOf(own);
  const hints = wordsOf(`${branch.placeholder ?? ''} ${branch.url ?? ''}`);
  const roles = [branch.role.toLowerCase(), ...(roleWords[branch.role] ?? [])];
  let score = 0;
  let met = 0;
  let meant = 0;
  for (const word of words) {
    const begins = (one: string): boolean => one.startsWith(word) || (one.length > 3 && word.startsWith(one));
    if (ownWords.includes(word)) score += 4;
    else if (word.length > 2 && ownWords.some(begins)) score += 2.5;
    else if (hints.includes(word)) score += 2;
    else if (roles.includes(word)) score += 1.5;
    else if (around.includes(word)) score += 0.75;
    else continue;
    met += 1;
    if (!roles.includes(word) && !(around.includes(word) && !ownWords.some(begins))) meant += 1;
  }
  const onlyRoles = words.every((word) => Object.values(roleWords).some((known) => known.includes(word)));
  // A role's name is not enough: "blue button" must not match every button.
  if (met === 0 || (meant === 0 && !onlyRoles)) return { score: 0, whole: false };
  if (own === phrase) score += 6;
  else if (phrase.length > 2 && own.includes(phrase)) score += 2;
  if (met === words.length) score += 3;
  if (isActing(branch)) score += 2;
  // A long text that has the words somewhere is less what was meant than a short one.
  score -= Math.min(2, ownWords.length / 40);
  return { score, whole: met === words.length };
}

function ownText(branch: Branch | string): string {
  if (typeof branch === 'string') return branch;
  const inside = (branch.children ?? []).filter((child): child is string => typeof child === 'string');
  return [branch.name ?? '', branch.text ?? '', ...inside].join(' ').trim();
}
