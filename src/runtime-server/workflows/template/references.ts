/** `{{ … }}` in templates: params, the intent, results of earlier steps. Knows only texts; must not know where values come from. */
import { AppError } from '../../../contracts/common/errors.ts';

export type Reference =
  | { readonly kind: 'param'; readonly name: string }
  | { readonly kind: 'intent' }
  | { readonly kind: 'step'; readonly step: string; readonly what: 'output' | 'status' };

interface FoundReference {
  readonly reference: Reference | null;
  /** As it was written between the braces. */
  readonly words: string;
  readonly start: number;
  readonly end: number;
}

const braces = /\{\{([^{}]*)\}\}/g;
const stepWords = /^step\.([a-z0-9][a-z0-9_-]*)\.(output|status)$/;
const paramWords = /^params\.([A-Za-z_][A-Za-z0-9_]*)$/;

export function parseReference(words: string): Reference | null {
  if (words === 'intent') return { kind: 'intent' };
  const param = paramWords.exec(words);
  if (param !== null) return { kind: 'param', name: param[1] as string };
  const step = stepWords.exec(words);
  if (step !== null) return { kind: 'step', step: step[1] as string, what: step[2] as 'output' | 'status' };
  return null;
}

export function findReferences(text: string): FoundReference[] {
  if (!text.includes('{{')) return [];
  return [...text.matchAll(braces)].map((match) => {
    const words = (match[1] as string).trim();
    return { reference: parseReference(words), words, start: match.index, end: match.index + match[0].length };
  });
}

export type ValueFor = (reference: Reference) => string;

/** The text with every reference replaced. An unknown one is `usage`: templates are checked before a run begins. */
export function fillIn(text: string, valueFor: ValueFor): string {
  let filled = '';
  let from = 0;
  for (const found of findReferences(text)) {
    if (found.reference === null) throw unknownReference(found.words);
    filled += text.slice(from, found.start) + valueFor(found.reference);
    from = found.end;
  }
  return filled + text.slice(from);
}

export function unknownReference(words: string): AppError {
  return new AppError(
    'usage',
    `{{ ${words} }} refers to nothing.`,
    'Use {{ params.<name> }}, {{ intent }}, {{ step.<id>.output }} or {{ step.<id>.status }}.',
  );
}
