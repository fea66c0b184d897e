/** Finds words in a live pane: on its screen and in all that it printed above. */
import type { ISearchOptions } from '@xterm/addon-search';
import { ArrowDown, ArrowUp, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useScheme } from '../../base/use-theme.ts';
import { IconButton } from '../../ui/button.tsx';
import { isFindKey } from '../../ui/terminal/keys.ts';
import type { PaneHandle } from './pane-terminal.tsx';

export function FindBar({
  name,
  pane,
  onClose,
  onTwice,
}: {
  name: string;
  pane: Pick<PaneHandle, 'search' | 'lookBack'>;
  onClose: () => void;
  /** The keys that open it, pressed in it: they are meant for the program. */
  onTwice: () => void;
}) {
  const scheme = useScheme();
  const field = useRef<HTMLInputElement>(null);
  const [wanted, setWanted] = useState('');
  const [found, setFound] = useState<{ index: number; count: number } | null>(null);

  const { search } = pane;

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each terminal
  useEffect(() => {
    field.current?.focus();
    // What was typed before the lines above were there is looked for in them too.
    void pane.lookBack().then(() => look('findPrevious', field.current?.value ?? ''));
    const results = search.onDidChangeResults(({ resultIndex, resultCount }) =>
      setFound({ index: resultIndex, count: resultCount }),
    );
    return () => {
      results.dispose();
      search.clearDecorations();
    };
  }, [pane]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: matches that are shown take the colours of another scheme
  useEffect(() => {
    if (wanted === '') return;
    search.clearDecorations();
    search.findPrevious(wanted, { decorations: colours[scheme], incremental: true });
  }, [scheme]);

  function look(direction: 'findNext' | 'findPrevious', text: string): void {
    if (text === '') {
      search.clearDecorations();
      setFound(null);
    } else search[direction](text, { decorations: colours[scheme] });
  }

  return (
    <search
      aria-label={`Find in ${name}`}
      className="absolute top-0 right-3 z-10 flex h-9 max-w-full items-center gap-1 rounded-b-panel border border-t-0 border-line bg-panel px-2 shadow-float"
      onKeyDown={(event) => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          onClose();
        } else if (isFindKey(event)) {
          event.preventDefault();
          onTwice();
        }
      }}
    >
      <input
        ref={field}
        value={wanted}
        aria-label={`Find in ${name}`}
        placeholder="Find"
        onChange={(event) => {
          setWanted(event.target.value);
          look('findPrevious', event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') look(event.shiftKey ? 'findNext' : 'findPrevious', wanted);
        }}
        className="h-6 w-40 min-w-0 rounded-control border border-line bg-window px-2"
      />
      <span role="status" className="min-w-16 shrink-0 text-right text-meta text-muted tabular-nums">
        {wanted !== '' && found !== null && inWords(found)}
      </span>
      <IconButton label="Earlier match" shortcut="Enter" onClick={() => look('findPrevious', wanted)}>
        <ArrowUp aria-hidden="true" />
      </IconButton>
      <IconButton label="Later match" shortcut="Shift Enter" onClick={() => look('findNext', wanted)}>
        <ArrowDown aria-hidden="true" />
      </IconButton>
      <IconButton label="Back to the terminal" shortcut="Esc" onClick={onClose}>
        <X aria-hidden="true" />
      </IconButton>
    </search>
  );
}

function inWords({ index, count }: { index: number; count: number }): string {
  if (count === 0) return 'No match';
  return index < 0 ? `${count} matches` : `${index + 1} of ${count}`;
}

const colours: Readonly<Record<'dark' | 'light', ISearchOptions['decorations']>> = {
  dark: colour('#3d5a73', '#5eb6ee'),
  light: colour('#b9d6ef', '#0a66ad'),
};

function colour(match: string, active: string): ISearchOptions['decorations'] {
  return {
    matchBackground: match,
    // The match is selected, too, and takes the ground of what is selected.
    activeMatchBorder: active,
    matchOverviewRuler: match,
    activeMatchColorOverviewRuler: active,
  };
}
