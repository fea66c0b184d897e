/** All shortcuts that work right now (`?`), and the glossary, which explains the words of every page. */
import { useState } from 'react';
import words from '../../../docs/glossary.md?raw';
import { useAllActions } from '../base/services.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Kbd } from '../ui/kbd.tsx';
import { Markdown } from '../ui/markdown.tsx';

/** Keys that belong to one control and are therefore not actions. */
const inPlace: readonly { keys: string; title: string }[] = [
  { keys: 'Ctrl Enter', title: 'Send, or the primary action of a dialog' },
  { keys: 'Esc', title: 'Close, or back to the list' },
  { keys: '↑ ↓', title: 'Move in a list' },
  { keys: 'c', title: 'Comment on the chosen line of a diff' },
];

/** The dialog has its title already. */
const glossary = words.replace(/^# .*\n/, '');

export function ShortcutsDialog({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const [explains, setExplains] = useState(false);
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title={explains ? 'Glossary' : 'Shortcuts'}
      description={
        explains
          ? 'What Gantry’s words mean.'
          : 'In a terminal, every key goes to the bot except those with Ctrl Shift.'
      }
      footer={<Button onClick={() => setExplains(!explains)}>{explains ? 'Shortcuts' : 'Glossary'}</Button>}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable by keyboard */}
      <section key={String(explains)} aria-label={explains ? 'All words' : 'All shortcuts'} tabIndex={0}>
        {explains ? <Markdown text={glossary} /> : <Shortcuts />}
      </section>
    </Dialog>
  );
}

function Shortcuts() {
  const withKeys = useAllActions().filter((action) => action.keys !== undefined);
  const rows = [...withKeys.map((action) => ({ keys: action.keys ?? '', title: action.title })), ...inPlace];
  return (
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
  );
}
