/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * Functions about fields that run inside a page: each is self-contained and sent there as its text. Must not use anything outside of their own body.
 */

export type Control =
  | { readonly kind: 'done' }
  /** The caller must fill it. */
  | { readonly kind: 'text' }
  | { readonly kind: 'rich'; readonly full: boolean }
  | { readonly kind: 'refused'; readonly code: 'not_editable' | 'option_not_found'; readonly why: string };

/** The field that an element is, labels, or holds as its only one; null for none. */
export function controlOf(element: Element): Element | null {
  const fields =
    'input:not([type=hidden]),select,textarea,[contenteditable=""],[contenteditable=true],[contenteditable=plaintext-only]';
  const roles = '[role=checkbox],[role=switch],[role=radio]';
  if (element.matches(fields) || element.matches(roles)) return element;
  if (element instanceof HTMLLabelElement && element.control !== null) return element.control;
  if (element instanceof HTMLOptionElement) return element.closest('select');
  if ((element as HTMLElement).isContentEditable) return element.closest('[contenteditable]') ?? element;
  const within = [...(element.shadowRoot ?? element).querySelectorAll(fields)];
  if (within.length === 1) return within[0]!;
  const label = element.closest('label');
  return within.length === 0 ? (label?.control ?? null) : null;
}

/** Sets what has no text to type; says what is left to do for the rest. */
export function setControl(element: Element, value: string | number | boolean): Control {
  const refused = (why: string): Control => ({ kind: 'refused', code: 'not_editable', why });
  const told = (): void => {
    element.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    element.dispatchEvent(new Event('change', { bubbles: true }));
  };
  if (element.matches(':disabled') || element.getAttribute('aria-disabled') === 'true') return refused('is disabled.');
  const role = element.getAttribute('role') ?? '';
  const type = element instanceof HTMLInputElement ? element.type : '';
  if (type === 'checkbox' || type === 'radio' || ['checkbox', 'switch', 'radio'].includes(role)) {
    const wanted =
      typeof value === 'boolean'
        ? value
        : /^(true|on|yes|checked|1)$/i.test(String(value))
          ? true
          : /^(false|off|no|unchecked|0)$/i.test(String(value))
            ? false
            : null;
    const now = (): boolean =>
      element instanceof HTMLInputElement ? element.checked : element.getAttribute('aria-checked') === 'true';
    if (wanted === null) {
      // A choice may be named by its value.
      if (type === 'radio' && (element as HTMLInputElement).value !== String(value))
        return refused(`is a radio button: give true to choose it, not ${JSON.stringify(value)}.`);
      if (type !== 'radio') return refused(`is a checkbox: it takes true or false, not ${JSON.stringify(value)}.`);
    }
    if (wanted === false && (type === 'radio' || role === 'radio') && now())
      return refused('is a radio button: choose another one of its group instead.');
    if (now() !== (wanted ?? true)) (element as HTMLElement).click();
    return now() === (wanted ?? true) || role !== ''
      ? { kind: 'done' }
      : refused('did not change when it was clicked.');
  }
  if (element instanceof HTMLSelectElement) {
    const texts = String(value);
    const options = [...element.options].filter((one) => !one.disabled);
    const plain = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase();
    const find = (text: string): HTMLOptionElement | undefined =>
      options.find((one) => one.value === text) ??
      options.find((one) => one.label.trim() === text.trim()) ??
      options.find((one) => plain(one.label) === plain(text));
    const one = find(texts);
    const several =
      one === undefined && element.multiple ? texts.split(/[,\n]/).map((part) => find(part.trim())) : [one];
    if (several.includes(undefined)) {
      const there = options.slice(0, 20).map((option) => JSON.stringify(option.label.trim()));
      return {
        kind: 'refused',
        code: 'option_not_found',
        why: `has no option ${JSON.stringify(value)}. It has ${there.join(', ')}${options.length > 20 ? ', …' : ''}.`,
      };
    }
    element.focus();
    for (const option of element.options) option.selected = several.includes(option);
    told();
    return { kind: 'done' };
  }
  if ((element as HTMLElement).isContentEditable) return { kind: 'rich', full: element.textContent !== '' };
  if (type === 'file') return refused('is a file field: use file_upload.');
  if (['button', 'submit', 'reset', 'image'].includes(type)) return refused('is a button: click it.');
  if ((element as HTMLInputElement).readOnly) return refused('is read-only.');
  return { kind: 'text' };
}
