/** Footnotes and comments in Markdown's form: their text, below, and its author. Pure. */
import { escapeLine } from './escape.ts';

/** `content` is Markdown; its lines below the first are set in, so that they belong to it. */
export function footnote(label: string, content: string): string {
  return `[^${label}]: ${content.replace(/\n(?=[^\n])/g, '\n    ')}`;
}

/** Before what a comment says. */
export function commentLead(author: string): string {
  return author === '' ? '**Comment:** ' : `**Comment by ${escapeLine(author)}:** `;
}
