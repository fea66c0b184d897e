/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * The text of a page, for models that read it instead of looking at a picture. These functions run inside the page and change nothing.
 * Each is sent as source text: it must not use anything outside its own body.
 */

/** Which of these elements hold text that a line of the accessibility tree would lose: their places in the list, with the text. */
export function fieldTexts(
  elements: readonly Element[],
  plain: number,
): { readonly at: number; readonly text: string }[] {
  const folded = (text: string): string => text.replace(/\s+/g, ' ').trim();
  const found = elements.flatMap((element, at) => {
    const field = element as HTMLInputElement;
    if (!['input', 'textarea'].includes(element.localName)) {
      const within = element.parentElement?.isContentEditable === true;
      return within || !field.isContentEditable ? [] : [{ at, text: field.innerText.replace(/\n$/, '') }];
    }
    const { value } = field;
    if (field.type === 'password') return value === '' ? [] : [{ at, text: '••••' }];
    return value === folded(value) && value.length <= plain ? [] : [{ at, text: value }];
  });
  // Whatever is left out of a page with many fields, no password is.
  const isPassword = ({ at }: { readonly at: number }): number =>
    Number((elements[at] as HTMLInputElement).type === 'password');
  return found.sort((one, other) => isPassword(other) - isPassword(one));
}

/**
 * The text as it is seen, with what stands in fields and in shadow roots: `[Ada]` of a field, `[x]` of a tick, `[••••]` of a password.
 */
export function pageText(): string {
  const unseen = new Set(['script', 'style', 'noscript', 'template', 'head', 'title', 'datalist', 'object', 'iframe']);
  const boxes = new Set(['checkbox', 'radio']);
  const silent = new Set(['hidden', 'button', 'submit', 'reset', 'image', 'file', 'color', 'range']);
  let text = '';
  /** Line breaks that come before the next word. */
  let breaks = 0;
  const put = (words: string): void => {
    if (words === '') return;
    if (breaks > 0) text = text === '' ? '' : text.trimEnd() + '\n'.repeat(breaks);
    breaks = 0;
    text += words;
  };
  const line = (lines: number): void => {
    breaks = Math.max(breaks, lines);
  };
  const ownText = (node: Node, style: CSSStyleDeclaration): void => {
    const said = node.nodeValue ?? '';
    if (/^pre|^break-spaces/.test(style.whiteSpace)) {
      put(said);
      return;
    }
    const words = said.replace(/[ \t\n\r\f]+/g, ' ');
    if (words === ' ') {
      if (breaks === 0 && text !== '' && !/\s$/.test(text)) text += ' ';
      return;
    }
    const starts = breaks > 0 || text === '' || /\s$/.test(text);
    put(starts ? words.replace(/^ /, '') : words);
  };
  const fieldText = (element: Element): string | null => {
    if (element.localName === 'select') {
      const chosen = [...(element as HTMLSelectElement).selectedOptions].map((one) => one.label.trim());
      return `[${chosen.join(', ')}]`;
    }
    if (element.localName !== 'input' && element.localName !== 'textarea') return null;
    const field = element as HTMLInputElement;
    if (boxes.has(field.type)) return field.checked ? '[x]' : '[ ]';
    if (['button', 'submit', 'reset'].includes(field.type)) return field.value;
    if (silent.has(field.type)) return '';
    if (field.type === 'password') return field.value === '' ? '[]' : '[••••]';
    return `[${field.value}]`;
  };
  const walk = (node: Node, style: CSSStyleDeclaration): void => {
    if (node.nodeType === Node.TEXT_NODE) ownText(node, style);
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    const element = node as Element;
    const tag = element.localName;
    if (unseen.has(tag)) return;
    const own = getComputedStyle(element);
    if (own.display === 'none' || own.contentVisibility === 'hidden') return;
    if (tag === 'br') {
      line(breaks + 1);
      return;
    }
    const root = element.shadowRoot;
    const field = root === null ? fieldText(element) : null;
    const { display } = own;
    const block = !/^(inline|contents|ruby|none)/.test(display) && !display.startsWith('table-');
    const around = tag === 'p' || /^h[1-6]$/.test(tag) ? 2 : block || display === 'table-row' ? 1 : 0;
    if (around > 0) line(around);
    else if (display === 'table-cell' && element.previousElementSibling !== null) {
      breaks = 0;
      put('\t');
    }
    if (field !== null) {
      const apart = field !== '' && breaks === 0 && /\S$/.test(text);
      if (own.visibility === 'visible') put(apart ? ` ${field}` : field);
    } else {
      const assigned = tag === 'slot' ? (element as HTMLSlotElement).assignedNodes() : [];
      const inside = assigned.length > 0 ? assigned : [...(root ?? element).childNodes];
      const isClosed = tag === 'details' && !(element as HTMLDetailsElement).open;
      for (const child of inside) {
        if (isClosed && (child as Element).localName !== 'summary') continue;
        if (child.nodeType !== Node.TEXT_NODE || own.visibility === 'visible') walk(child, own);
      }
    }
    if (around > 0) line(around);
  };
  if (document.body !== null) walk(document.body, getComputedStyle(document.body));
  return text.trim();
}
