/**
 * The buttons of the page that is shown, by accessible name, so that the palette reaches every action of every page, including future ones. Must not
 * know what a button does.
 */

interface PageButton {
  readonly name: string;
  press(): void;
}

const pressable = 'button, summary, [role="button"], [role="tab"], [role="switch"], input[type="checkbox"]';
/** Places and the bots of panes have actions of their own, rows are found by what they show, and the palette is not on the page. */
const left = 'nav[aria-label="Places"], [data-palette], [data-row], [data-sonner-toaster], .xterm, .dv-tab';
/** Of what tells two buttons of one name apart. Characters. */
const maxPerRow = 48;

/** Lists each button once; the row tells apart buttons with the same name. */
export function buttonsOf(root: ParentNode): PageButton[] {
  const elements = [...root.querySelectorAll<HTMLElement>(pressable)].filter(
    (element) =>
      element.closest(left) === null &&
      element.closest('[aria-hidden="true"], [inert]') === null &&
      element.closest(':disabled, [aria-disabled="true"]') === null &&
      element.checkVisibility(),
  );
  const names = elements.map(nameOf);
  const seen = new Set<string>();
  return elements.flatMap((element, index) => {
    const short = names[index] ?? '';
    if (short === '') return [];
    const shared = names.filter((one) => one === short).length > 1;
    const row = shared ? rowOf(element, short) : '';
    const name = row === '' ? short : `${short}: ${row}`;
    if (seen.has(name)) return [];
    seen.add(name);
    return [{ name, press: () => pressed(element) }];
  });
}

/** As the accessibility tree has it, as far as this page names its buttons. */
function nameOf(element: HTMLElement): string {
  const label = element.getAttribute('aria-label');
  const by = element.getAttribute('aria-labelledby');
  const labelled = by === null ? null : document.getElementById(by)?.textContent;
  const field = element instanceof HTMLInputElement ? element.labels?.[0]?.textContent : null;
  return oneLine(label ?? labelled ?? field ?? shownText(element));
}

function rowOf(element: HTMLElement, name: string): string {
  const row = element.closest('li, tr, article, section');
  const text = oneLine(row?.getAttribute('aria-label') ?? (row instanceof HTMLElement ? shownText(row) : ''));
  return text === name ? '' : text.slice(0, maxPerRow);
}

// biome-ignore lint/performance/useDomNodeTextContent: parts that stand apart are read apart; one press of a key, not a loop
const shownText = (element: HTMLElement): string => element.innerText;

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

function pressed(element: HTMLElement): void {
  element.scrollIntoView({ block: 'nearest' });
  element.focus();
  element.click();
}
