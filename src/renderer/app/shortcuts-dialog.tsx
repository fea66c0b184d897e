/** All shortcuts that work right now (`?`), and where the words of the page are explained. */

import { useAllActions } from '../base/services.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Kbd } from '../ui/kbd.tsx';

/** Keys that belong to one control and are therefore not actions. */
const inPlace: readonly { keys: string; title: string }[] = [
  { keys: 'Ctrl Enter', title: 'Send, or the primary action of a dialog' },
  { keys: 'Esc', title: 'Close, or back to the list' },
  { keys: '↑ ↓', title: 'Move in a list' },
];

export function ShortcutsDialog({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const withKeys = useAllActions().filter((action) => action.keys !== undefined);
  const rows = [...withKeys.map((action) => ({ keys: action.keys ?? '', title: action.title })), ...inPlace];
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title="Shortcuts"
      description="In a terminal, every key goes to the bot except those with Ctrl Shift."
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable by keyboard */}
      <section aria-label="All shortcuts" tabIndex={0}>
        <dl className="grid grid-cols-[1fr_auto] gap-x-6 gap-y-1.5">
          {rows.map((row) => (
            <div key={`${row.keys} ${row.title}`} className="contents">
              <dt>{row.title}</dt>
              <dd className="text-right">
                <Kbd keys={row.keys} />
              </dd>
            </div>
          ))}
        </dl>
        <p className="mt-4 text-muted">
          <code className="font-mono text-code">docs/glossary.md</code> explains Gantry’s terms.
        </p>
      </section>
    </Dialog>
  );
}
