/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * Functions that run inside a page: each is self-contained and sent there as its text. They only look, except where their name says otherwise. Must
 * not use anything outside of their own body.
 */

/** A point in the element's frame, or why it has no such point. Coordinates are those of that frame's viewport. */
interface Spots {
  readonly free: readonly (readonly [number, number])[];
  /** What lies there instead, in words. */
  readonly covered: string | null;
  /** False: it takes no room on the page. */
  readonly seen: boolean;
  /** Something on its page is moving, and it perhaps with it. */
  readonly moving: boolean;
  readonly disabled: boolean;
}

/** Where a click would reach the element: its middle first, then over all of it. */
export function spotsOf(element: Element, options: { readonly scroll: boolean }): Spots {
  const words = (one: Element): string => {
    const text = (one.getAttribute('aria-label') ?? (one as HTMLElement).innerText ?? '').trim().replace(/\s+/g, ' ');
    const id = one.id === '' ? '' : `#${one.id}`;
    return `<${one.localName}${id}>${text === '' ? '' : ` "${text.slice(0, 60)}"`}`;
  };
  const parentOf = (node: Node): Node | null =>
    (node as Element).assignedSlot ?? node.parentNode ?? (node instanceof ShadowRoot ? node.host : null);
  const isWithin = (inner: Node | null, outer: Node): boolean => {
    for (let node = inner; node !== null; node = parentOf(node)) if (node === outer) return true;
    return false;
  };
  const at = (x: number, y: number): Element | null => {
    let found = document.elementFromPoint(x, y);
    for (;;) {
      const deeper: Element | null = found?.shadowRoot?.elementFromPoint(x, y) ?? null;
      if (deeper === null || deeper === found) return found;
      found = deeper;
    }
  };
  if (options.scroll) element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
  const labels = [...((element as HTMLInputElement).labels ?? [])];
  // A tick is often hidden under what draws it: its label does the same.
  const surfaces = [element, ...labels];
  const free: [number, number][] = [];
  let covered: string | null = null;
  let seen = false;
  for (const surface of surfaces) {
    // Of a link in several lines each line; of an area what it covers of its picture.
    const rects = [...surface.getClientRects()].filter(({ width, height }) => width > 0 && height > 0);
    if (rects.length > 0) seen = true;
    for (const rect of rects.slice(0, 20)) {
      const left = Math.max(rect.left, 0);
      const top = Math.max(rect.top, 0);
      const right = Math.min(rect.right, innerWidth);
      const bottom = Math.min(rect.bottom, innerHeight);
      if (right <= left || bottom <= top) continue;
      for (const [across, down] of [
        [0.5, 0.5],
        ...[0.25, 0.75, 0.1, 0.9, 0.03, 0.97].flatMap((a) => [0.5, 0.25, 0.75, 0.1, 0.9].map((b) => [a, b])),
        ...[0.1, 0.9, 0.25, 0.75].map((b) => [0.5, b]),
      ] as [number, number][]) {
        const x = left + (right - left) * across;
        const y = top + (bottom - top) * down;
        const there = at(x, y);
        if (surfaces.some((one) => isWithin(there, one))) {
          if (free.length < 24) free.push([x, y]);
        } else if (there !== null) covered ??= words(there);
      }
    }
    if (free.length > 0) break;
  }
  // What stands beside it pushes it along as well: whether it really moves is seen from one look to the next.
  const moving = document
    .getAnimations()
    .some(
      ({ playState, effect }) =>
        playState === 'running' && effect !== null && Number(effect.getComputedTiming().endTime) < 10_000,
    );
  const disabled = element.matches(':disabled') || element.getAttribute('aria-disabled') === 'true';
  return { free, covered, seen, moving, disabled };
}

/** Points of a frame in its parent document's coordinates, only those where nothing covers the frame. */
export function throughFrame(
  frame: Element,
  places: readonly (readonly [number, number])[],
): { readonly free: readonly (readonly [number, number])[]; readonly covered: string | null } {
  const rect = frame.getBoundingClientRect();
  const style = getComputedStyle(frame);
  const width = (frame as HTMLElement).offsetWidth;
  const height = (frame as HTMLElement).offsetHeight;
  const [across, down] = [width === 0 ? 1 : rect.width / width, height === 0 ? 1 : rect.height / height];
  const left = rect.left + (frame.clientLeft + Number.parseFloat(style.paddingLeft)) * across;
  const top = rect.top + (frame.clientTop + Number.parseFloat(style.paddingTop)) * down;
  const root = frame.getRootNode() as Document | ShadowRoot;
  const free: [number, number][] = [];
  let covered: string | null = null;
  for (const [x, y] of places) {
    const [px, py] = [left + x * across, top + y * down];
    if (px < 0 || py < 0 || px >= innerWidth || py >= innerHeight) continue;
    const there = root.elementFromPoint(px, py);
    if (there === frame) free.push([px, py]);
    else if (there !== null) covered ??= `<${there.localName}${there.id === '' ? '' : `#${there.id}`}>`;
  }
  return { free, covered };
}

export interface Described {
  /** `button "Send"` */
  readonly words: string;
  readonly credential: boolean;
  readonly isFrame: boolean;
  /** In the viewport of its frame. */
  readonly box: readonly [number, number, number, number];
  /** What typing into it means. */
  readonly takes: 'line' | 'lines' | 'rich' | 'keys';
}

export function describe(element: Element): Described {
  const input = element as HTMLInputElement;
  const tag = element.localName;
  const type = tag === 'input' ? input.type : '';
  const roles: Readonly<Record<string, string>> = {
    a: 'link',
    button: 'button',
    select: 'combobox',
    textarea: 'textbox',
    img: 'image',
    summary: 'button',
    option: 'option',
    iframe: 'frame',
    label: 'label',
  };
  const inputs: Readonly<Record<string, string>> = {
    checkbox: 'checkbox',
    radio: 'radio',
    range: 'slider',
    number: 'spinbutton',
    button: 'button',
    submit: 'button',
    reset: 'button',
    image: 'button',
    file: 'file field',
    password: 'password field',
  };
  // What was hit is often the text or picture of what acts.
  const acting = element.closest('a[href],button,select,textarea,input,summary,option,label,[role],[contenteditable]');
  if (acting !== null && acting !== element && !(acting as HTMLElement).isContentEditable) {
    const role = acting.getAttribute('role') ?? roles[acting.localName] ?? acting.localName;
    const name = acting.getAttribute('aria-label') ?? (acting as HTMLElement).innerText ?? '';
    const short = name.trim().replace(/\s+/g, ' ').slice(0, 80);
    const { left, top, width, height } = acting.getBoundingClientRect();
    return {
      words: `${role}${short === '' ? '' : ` "${short}"`}`,
      credential: false,
      isFrame: false,
      box: [left, top, width, height],
      takes: 'keys',
    };
  }
  const editable = (element as HTMLElement).isContentEditable;
  const role =
    element.getAttribute('role') ??
    (tag === 'input' ? (inputs[type] ?? 'textbox') : editable ? 'textbox' : (roles[tag] ?? tag));
  const label = [...(input.labels ?? [])].map((one) => one.innerText).join(' ');
  const own =
    ['input', 'textarea', 'select', 'iframe'].includes(tag) || editable ? '' : (element as HTMLElement).innerText;
  const button = ['button', 'submit', 'reset'].includes(type) ? input.value : '';
  const name =
    [element.getAttribute('aria-label'), label, button, own, element.getAttribute('alt'), element.getAttribute('title')]
      .concat(element.getAttribute('placeholder'), element.getAttribute('name'))
      .find((one) => (one ?? '').trim() !== '') ?? '';
  const short = name.trim().replace(/\s+/g, ' ').slice(0, 80);
  const fills = (element.getAttribute('autocomplete') ?? '').toLowerCase().split(/\s+/);
  const typed = tag === 'textarea' || (tag === 'input' && inputs[type] === undefined) || type === 'number';
  const root = element.getRootNode() as Document | ShadowRoot;
  const labelledBy = (element.getAttribute('aria-labelledby') ?? '')
    .split(/\s+/)
    .map((id) => (id === '' ? '' : (root.getElementById?.(id)?.textContent ?? '')));
  const said = [
    label,
    ...labelledBy,
    ...['aria-label', 'placeholder', 'title'].map((one) => element.getAttribute(one)),
  ];
  // A field without a name is named after the text before it: the preceding words, or its row's first cell.
  const nearby = (): string => {
    if (said.some((one) => (one ?? '').trim() !== '')) return '';
    let before = element.previousSibling;
    while (before !== null && (before.textContent ?? '').trim() === '') before = before.previousSibling;
    const text =
      (before ?? element.closest('td,dd')?.previousElementSibling ?? element.parentElement)?.textContent ?? '';
    return text.length > 60 ? '' : text;
  };
  const words = [...said, nearby(), input.name, element.id]
    .join(' ')
    // `apiKey`, `api_key`, `api-key`: two words.
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ');
  const secretWords =
    /passw|passphrase|passcode|kennwort|contraseña|mot de passe|\bsenha\b|пароль|密码|密碼|パスワード|비밀번호|\bapi ?keys?\b|\b(?:secret|private|access|license|signing|recovery|backup|security|verification|auth|authentication|one time|2fa|mfa|sms|card) ?(?:key|codes?|number|token)\b|\b(?:secret|token|pin|pincode|cvc2?|cvv2?|cvn|csc|otp|totp)\b/u;
  const masked = getComputedStyle(element).getPropertyValue('-webkit-text-security');
  const credential =
    type === 'password' ||
    ((typed || editable) &&
      (fills.some((one) => one.startsWith('cc-') || /^(one-time-code|current-password|new-password)$/.test(one)) ||
        (masked !== '' && masked !== 'none') ||
        secretWords.test(words)));
  const { left, top, width, height } = element.getBoundingClientRect();
  return {
    words: `${role}${short === '' ? '' : ` "${short}"`}`,
    credential,
    isFrame: tag === 'iframe' || tag === 'frame',
    box: [left, top, width, height],
    takes: tag === 'textarea' ? 'lines' : typed || type === 'password' ? 'line' : editable ? 'rich' : 'keys',
  };
}

/** What has the focus in this document, within shadow roots too; the body where nothing has. */
export function focused(): Element {
  let active = document.activeElement ?? document.documentElement;
  while (active.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active;
}

/** What lies at a place of this document, within shadow roots too. */
export function elementAt([x, y]: readonly [number, number]): Element {
  let found = document.elementFromPoint(x, y) ?? document.documentElement;
  for (;;) {
    const deeper: Element | null = found.shadowRoot?.elementFromPoint(x, y) ?? null;
    if (deeper === null || deeper === found) return found;
    found = deeper;
  }
}

/** The place in the coordinates of a frame that lies at it. */
export function intoFrame(frame: Element, [x, y]: readonly [number, number]): [number, number] {
  const rect = frame.getBoundingClientRect();
  const style = getComputedStyle(frame);
  const width = (frame as HTMLElement).offsetWidth;
  const scale = width === 0 ? 1 : rect.width / width;
  return [
    (x - rect.left) / scale - frame.clientLeft - Number.parseFloat(style.paddingLeft),
    (y - rect.top) / scale - frame.clientTop - Number.parseFloat(style.paddingTop),
  ];
}
