/**
 * Owns which addresses of a document may stand in Markdown and how: nothing a click would run, no embedded data.
 * Nothing is ever fetched. Must not know any document format.
 */
import { escapeLine, joinLines } from './escape.ts';

const followed: ReadonlySet<string> = new Set(['http', 'https', 'mailto', 'tel']);
/** A picture may also be a part of the mail it stands in. */
const pictured: ReadonlySet<string> = new Set([...followed, 'cid']);
/** `javascript&colon;` before the first slash: a reader that decodes once more than we do sees a scheme. No honest address does that. */
const hiddenScheme = /^[^/?#]*&#?[a-z0-9]+;/i;

/**
 * The address as it may be written, or null where it would run code (`javascript:`), hold data or name a local file.
 * `base` makes relative ones absolute.
 */
export function safeAddress(address: string, base?: string, schemes = followed): string | null {
  // Browsers ignore control characters and white space inside a scheme, so a check must too.
  const plain = address.replace(/[\u0000-\u0020\u007f-\u00a0\u200b-\u200f\u2028\u2029]+/g, (run, at: number) =>
    at === 0 || at + run.length === address.length || !run.includes(' ') ? '' : ' ',
  );
  if (plain === '') return null;
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(plain.replace(/ /g, ''))?.[1]?.toLowerCase();
  if (scheme === undefined ? hiddenScheme.test(plain) : !schemes.has(scheme)) return null;
  if (scheme === undefined && base !== undefined && !plain.startsWith('#')) {
    try {
      return new URL(plain, base).href;
    } catch {
      return plain;
    }
  }
  return plain;
}

/**
 * A reader of Markdown takes backslashes and character references off again: what it has then is the address that was checked. Never
 * in angle brackets: where the link is none after all, because another is around it, they would make a tag.
 */
function destination(address: string): string {
  const plain = address
    .replace(/[\s<>`\\]/g, encodeURIComponent)
    .replace(/&(?=#?[a-zA-Z0-9]+;)/g, '&amp;')
    .replace(/[[\]]/g, '\\$&');
  return unbalanced(plain) ? plain.replace(/[()]/g, '\\$&') : plain;
}

/** Readers follow parentheses 32 deep. */
const deepestParentheses = 30;

function unbalanced(address: string): boolean {
  let depth = 0;
  for (const char of address) {
    if (char === '(') depth += 1;
    else if (char === ')') depth -= 1;
    if (depth < 0 || depth > deepestParentheses) return true;
  }
  return depth !== 0;
}

/** Harmless even if no link results, because another link is around it, and this becomes text. */
function titlePart(title: string | undefined): string {
  const text = (title ?? '').replace(/\s+/g, ' ').trim();
  return text === '' ? '' : ` "${text.replace(/["\\`[\]]|&(?=#?[a-zA-Z0-9]+;)/g, '\\$&').replaceAll('<', '&lt;')}"`;
}

/** A link. `label` is Markdown already; if the address is not allowed, only the label remains. */
export function link(label: string, address: string, options: { base?: string; title?: string } = {}): string {
  const safe = safeAddress(address, options.base);
  const text = joinLines(label);
  if (safe === null || text === '') return text;
  return `[${text}](${destination(safe)}${titlePart(options.title)})`;
}

/** An image by its address or, where it is embedded, a short placeholder that tells its kind. `alt` is plain text. */
export function image(alt: string, address: string, options: { base?: string; title?: string } = {}): string {
  const label = escapeLine(alt);
  const embedded = /^\s*data:([\w.+/-]*)/i.exec(address);
  if (embedded !== null) return `![${label}](data:${embedded[1] || 'image'};base64...)`;
  const safe = safeAddress(address, options.base, pictured);
  if (safe === null) return label;
  return `![${label}](${destination(safe)}${titlePart(options.title)})`;
}
