/** What a pane printed above its screen, with a search. Read once when opened; the live screen is one key away. */

import { useQuery } from '@tanstack/react-query';
import { SearchAddon } from '@xterm/addon-search';
import { ArrowDown, ArrowUp, Copy, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { toast } from 'sonner';
import { useBotName } from '../../base/computers.tsx';
import type { PlacedBot } from '../../base/data/places.ts';
import { useServices, useSettings } from '../../base/services.tsx';
import { useScheme } from '../../base/use-theme.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { Problem } from '../../ui/problem.tsx';
import { type OpenTerminal, openTerminal } from '../../ui/terminal/create-terminal.ts';
import { type PanePort, panePortOf } from './pane-port.ts';

/** Lines of one request (the contract's most) and of the whole view. */
const pageLines = 2000;
const maxLines = 10_000;

interface Lines {
  readonly ansi: string;
  readonly count: number;
  readonly cols: number;
}

/** Newest lines first by page, joined oldest first, the present screen last. */
async function readScrollback(pane: PanePort, signal: AbortSignal): Promise<Lines> {
  const screen = await pane.screen({ signal });
  let text = screen.ansi;
  let count = 0;
  let before: number | undefined;
  while (count < maxLines) {
    const page = await pane.scrollback({ before, lines: pageLines }, { signal });
    if (page.lines === 0) break;
    text = `${page.ansi}\u001b[0m\r\n${text}`;
    count += page.lines;
    if (page.first === 0 || page.lines < pageLines) break;
    before = page.first;
  }
  return { ansi: text, count, cols: screen.cols };
}

export function Scrollback({ bot, onClose }: { bot: PlacedBot; onClose: () => void }) {
  const name = useBotName(bot);
  const { api } = useServices();
  const { terminalFontSize, terminalRenderer, screenReader } = useSettings();
  const scheme = useScheme();
  const box = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const opened = useRef<{ view: OpenTerminal; search: SearchAddon }>(null);
  const [wanted, setWanted] = useState('');
  const [found, setFound] = useState<{ index: number; count: number } | null>(null);
  const lines = useQuery({
    queryKey: ['scrollback', bot.id],
    queryFn: ({ signal }) => readScrollback(panePortOf(api, bot), signal),
    gcTime: 0,
    staleTime: 0,
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn once per reading; the look is that of the moment it opened
  useEffect(() => {
    const element = box.current;
    if (element === null || lines.data === undefined) return;
    const look = { scheme, fontSize: terminalFontSize, renderer: terminalRenderer, screenReader };
    const view = openTerminal(element, { look, scrollback: maxLines, label: `Scrollback of ${name}`, readOnly: true });
    const search = new SearchAddon();
    view.terminal.loadAddon(search);
    const results = search.onDidChangeResults((result) =>
      setFound({ index: result.resultIndex, count: result.resultCount }),
    );
    const fill = (): void => {
      const size = view.proposeSize();
      if (size !== null) view.terminal.resize(Math.max(lines.data.cols, size.cols), size.rows);
    };
    fill();
    const observer = new ResizeObserver(fill);
    observer.observe(element);
    view.terminal.write(`${lines.data.ansi}\u001b[?25l`, () => view.terminal.scrollToBottom());
    opened.current = { view, search };
    field.current?.focus();
    return () => {
      observer.disconnect();
      results.dispose();
      view.dispose();
      opened.current = null;
    };
  }, [lines.data]);

  function look(direction: 'findNext' | 'findPrevious', text: string): void {
    if (text === '') {
      opened.current?.search.clearDecorations();
      setFound(null);
      return;
    }
    const mark = scheme === 'dark' ? '#3d5a73' : '#b9d6ef';
    const active = scheme === 'dark' ? '#5eb6ee' : '#0a66ad';
    opened.current?.search[direction](text, {
      decorations: {
        matchBackground: mark,
        activeMatchBackground: active,
        matchOverviewRuler: mark,
        activeMatchColorOverviewRuler: active,
      },
    });
  }

  /** Everything that is shown, or only what is selected in it. */
  function copy(): void {
    const terminal = opened.current?.view.terminal;
    if (terminal === undefined) return;
    const chosen = terminal.getSelection();
    const buffer = terminal.buffer.active;
    let text = chosen;
    if (chosen === '') {
      for (let at = 0; at < buffer.length; at += 1) {
        const line = buffer.getLine(at);
        // A wrapped line continues without a break.
        text += `${at > 0 && line?.isWrapped !== true ? '\n' : ''}${line?.translateToString(true) ?? ''}`;
      }
    }
    navigator.clipboard.writeText(text.trimEnd()).then(
      () => toast(chosen === '' ? `Copied what ${name} printed` : 'Copied what is selected'),
      () => toast.error('The browser does not let this page copy.'),
    );
  }

  return (
    <section
      aria-label={`Scrollback of ${name}`}
      className="absolute inset-0 z-10 flex flex-col bg-terminal"
      onKeyDown={(event) => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          onClose();
        }
      }}
    >
      <div className="flex h-9 shrink-0 items-center gap-1 border-b border-line bg-panel px-2">
        <input
          ref={field}
          value={wanted}
          aria-label={`Search the scrollback of ${name}`}
          placeholder="Search"
          onChange={(event) => {
            setWanted(event.target.value);
            look('findPrevious', event.target.value);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') look(event.shiftKey ? 'findNext' : 'findPrevious', wanted);
          }}
          className="h-6 w-44 rounded-control border border-line bg-window px-2"
        />
        <IconButton label="Earlier match" shortcut="Enter" onClick={() => look('findPrevious', wanted)}>
          <ArrowUp aria-hidden="true" />
        </IconButton>
        <IconButton label="Later match" shortcut="Shift Enter" onClick={() => look('findNext', wanted)}>
          <ArrowDown aria-hidden="true" />
        </IconButton>
        <span role="status" className="text-meta text-muted tabular-nums">
          {wanted !== '' && found !== null
            ? found.count === 0
              ? 'No match'
              : `${found.index + 1} of ${found.count}`
            : lines.data !== undefined && `${lines.data.count} lines above the screen`}
        </span>
        <span className="ml-auto" />
        <Button icon={Copy} kind="quiet" disabled={lines.data === undefined} onClick={copy}>
          Copy as text
        </Button>
        <Button icon={X} kind="quiet" onClick={onClose}>
          Back to live
        </Button>
      </div>
      {lines.error !== null && (
        <Problem error={lines.error} failures={lines.errorUpdateCount - 1} onRetry={() => void lines.refetch()} />
      )}
      <div className="relative min-h-0 flex-1">
        <div ref={box} className="absolute inset-0 overflow-auto" data-readonly="true" data-scrollback={bot.id} />
      </div>
    </section>
  );
}
