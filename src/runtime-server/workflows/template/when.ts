/**
 * The condition of a step: `<value> [== | != | contains <value>]`, joined by `and`, `or`, negated by `not`; `and` binds closer. A value is a
 * reference, a quoted text or a word. A value without a comparison holds when it is neither empty nor `false`, `no` or `0`. References are values,
 * never text of the condition: an output that says `== x` changes nothing. Pure.
 */
import { parseReference, type Reference, type ValueFor } from './references.ts';

type Value = { readonly text: string } | { readonly reference: Reference };
interface Comparison {
  readonly not: boolean;
  readonly left: Value;
  readonly operator: '==' | '!=' | 'contains' | null;
  readonly right: Value | null;
}
/** Any of these groups must hold; a group holds when each of its comparisons does. */
interface Condition {
  readonly anyOf: readonly (readonly Comparison[])[];
  readonly references: readonly Reference[];
}

type ParsedCondition = { readonly condition: Condition } | { readonly problem: string };

const token = /\s*(?:\{\{([^{}]*)\}\}|"([^"]*)"|'([^']*)'|(==|!=)|([^\s"'{}=!]+))/y;

type Token =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'word'; readonly word: string }
  | { readonly kind: 'operator'; readonly operator: '==' | '!=' };

function tokens(text: string): Token[] | string {
  const found: Token[] = [];
  let at = 0;
  while (text.slice(at).trim() !== '') {
    token.lastIndex = at;
    const match = token.exec(text);
    if (match === null) return `Not valid from ${JSON.stringify(text.slice(at).trim().slice(0, 40))} on.`;
    at = token.lastIndex;
    const [, reference, double, single, operator, word] = match;
    if (reference !== undefined) {
      const parsed = parseReference(reference.trim());
      if (parsed === null) return `{{ ${reference.trim()} }} refers to nothing.`;
      found.push({ kind: 'value', value: { reference: parsed } });
    } else if (operator !== undefined) found.push({ kind: 'operator', operator: operator as '==' | '!=' });
    else if (word !== undefined) found.push({ kind: 'word', word });
    else found.push({ kind: 'value', value: { text: double ?? single ?? '' } });
  }
  return found;
}

const keywords = new Set(['and', 'or', 'not', 'contains']);

export function parseCondition(text: string): ParsedCondition {
  const list = tokens(text);
  if (typeof list === 'string') return { problem: list };
  let at = 0;
  const word = () => {
    const next = list[at];
    return next?.kind === 'word' && keywords.has(next.word) ? next.word : null;
  };
  const value = (): Value | null => {
    const next = list[at];
    if (next === undefined || next.kind === 'operator' || word() !== null) return null;
    at += 1;
    return next.kind === 'word' ? { text: next.word } : next.value;
  };
  const anyOf: Comparison[][] = [[]];
  while (true) {
    let not = false;
    while (word() === 'not') {
      not = !not;
      at += 1;
    }
    const left = value();
    if (left === null) return { problem: 'A value is missing.' };
    const next = list[at];
    const operator = next?.kind === 'operator' ? next.operator : word() === 'contains' ? 'contains' : null;
    let right: Value | null = null;
    if (operator !== null) {
      at += 1;
      right = value();
      if (right === null) return { problem: `A value is missing after ${operator}.` };
    }
    (anyOf.at(-1) as Comparison[]).push({ not, left, operator, right });
    if (at === list.length) break;
    const join = word();
    if (join !== 'and' && join !== 'or') return { problem: 'Join comparisons by "and" or "or".' };
    if (join === 'or') anyOf.push([]);
    at += 1;
  }
  const values = anyOf.flat().flatMap((one) => [one.left, one.right]);
  const references = values.flatMap((one) => (one !== null && 'reference' in one ? [one.reference] : []));
  return { condition: { anyOf, references } };
}

const falsy = new Set(['', 'false', 'no', '0']);

export function holds(condition: Condition, valueFor: ValueFor): boolean {
  const textOf = (value: Value) => ('reference' in value ? valueFor(value.reference) : value.text).trim();
  const compare = ({ not, left, operator, right }: Comparison): boolean => {
    const a = textOf(left);
    const b = right === null ? '' : textOf(right);
    const result =
      operator === '=='
        ? a === b
        : operator === '!='
          ? a !== b
          : operator === 'contains'
            ? a.includes(b)
            : !falsy.has(a.toLowerCase());
    return result !== not;
  };
  return condition.anyOf.some((group) => group.every(compare));
}
