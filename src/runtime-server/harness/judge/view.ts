/**
 * The screen as rules read it: named regions over the facts of a pane, always of the buffer's bottom, never of a scrolled view.
 * Must not know a harness.
 */
import type { PaneFacts } from '../../panes/pane-engine.ts';

export type RegionName = 'title' | 'progress' | 'bottom' | 'last' | 'box' | 'above_box' | 'below_box' | 'after_rule';

export type View = Pick<PaneFacts, 'title' | 'progress' | 'bottom' | 'dimRows'>;

/** A horizontal rule: a row that is nothing but at least 20 box-drawing dashes. */
const horizontalRule = /^\s*[─━]{20,}\s*$/u;
const defaultRows = 12;

/** Rows between the last two horizontal rules (a prompt box without sides); null where there are not two. */
export function promptBox(view: View): { readonly first: number; readonly rows: readonly string[] } | null {
  const rules = view.bottom.flatMap((row, index) => (horizontalRule.test(row) ? [index] : []));
  const [top, end] = rules.slice(-2);
  if (top === undefined || end === undefined) return null;
  return { first: top + 1, rows: view.bottom.slice(top + 1, end) };
}

/** Text of a region with rows joined by newlines; null where the screen has no such region. */
export function regionText(view: View, region: RegionName, rows: number = defaultRows): string | null {
  switch (region) {
    case 'title':
      return view.title;
    case 'progress':
      return view.progress;
    case 'bottom':
      return view.bottom
        .filter((row) => row.trim() !== '')
        .slice(-rows)
        .join('\n');
    case 'last':
      return view.bottom.findLast((row) => row.trim() !== '') ?? null;
    case 'box':
      return promptBox(view)?.rows.join('\n') ?? null;
    case 'above_box': {
      const box = promptBox(view);
      return box
        ? view.bottom
            .slice(0, box.first - 1)
            .filter((row) => row.trim() !== '')
            .slice(-rows)
            .join('\n')
        : null;
    }
    case 'below_box': {
      const box = promptBox(view);
      return box ? view.bottom.slice(box.first + box.rows.length + 1).join('\n') : null;
    }
    case 'after_rule': {
      const last = view.bottom.findLastIndex((row) => horizontalRule.test(row));
      return last < 0 ? null : view.bottom.slice(last + 1).join('\n');
    }
  }
}
