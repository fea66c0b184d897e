/** A file to read: line numbers, colours, one line marked. Only the lines in view are drawn. Must not know where the file came from. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState } from 'react';
import { visibleText } from '../visible-text.ts';
import type { Coloured } from './colours.ts';
import { languageOf } from './language.ts';

const lineHeight = 18;
/** Of one line: more of it is cut, so that a file without line breaks does not fill the page. Characters. */
const maxShownLength = 2000;
/** A longer file is shown without colours: they would take seconds. Characters. */
const maxColoured = 300_000;

export function CodeView({
  text,
  path,
  line,
}: {
  text: string;
  /** Names it, and says in which language it is. */
  path: string;
  /** Shown and marked; null: the beginning is shown. */
  line: number | null;
}) {
  const box = useRef<HTMLElement>(null);
  const lines = useMemo(() => {
    const all = text.split('\n').map((one) => (one.endsWith('\r') ? one.slice(0, -1) : one));
    if (all.at(-1) === '') all.pop();
    return all;
  }, [text]);
  const colours = useColours(text, path);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => lineHeight,
    overscan: 20,
  });
  const ready = lines.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: shown when the file or the line changes, not whenever it is drawn
  useEffect(() => {
    if (ready)
      virtual.scrollToIndex(line === null ? 0 : Math.min(line, lines.length) - 1, {
        align: line === null ? 'start' : 'center',
      });
  }, [path, line, ready]);
  return (
    <section
      ref={box}
      aria-label={`Text of ${visibleText(path)}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      className="h-full min-h-0 min-w-0 overflow-y-auto bg-terminal font-mono text-code"
    >
      <div className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => (
          <div
            key={item.key}
            ref={virtual.measureElement}
            data-index={item.index}
            data-line-number={item.index + 1}
            aria-current={item.index + 1 === line ? 'location' : undefined}
            className={`absolute inset-x-0 top-0 flex ${item.index + 1 === line ? 'bg-selected shadow-[inset_3px_0_var(--accent)]' : ''}`}
            style={{ transform: `translateY(${item.start}px)` }}
          >
            <span className="w-12 shrink-0 pr-3 text-right text-faint tabular-nums select-none">{item.index + 1}</span>
            <span className="min-w-0 flex-1 pr-2 wrap-anywhere whitespace-pre-wrap">
              <Line text={lines[item.index] ?? ''} coloured={colours?.[item.index]} />
            </span>
          </div>
        ))}
      </div>
    </section>
  );
}

function Line({ text, coloured }: { text: string; coloured: readonly Coloured[] | undefined }) {
  const cut = text.length - maxShownLength;
  if (cut > 0) {
    return (
      <>
        {visibleText(text.slice(0, maxShownLength))}
        <span className="text-faint"> … and {cut} more characters</span>
      </>
    );
  }
  if (coloured === undefined) return visibleText(text);
  let from = 0;
  return coloured.map((one) => {
    const key = from;
    from += one.text.length;
    return (
      <span key={key} style={one.colour === null ? undefined : { color: one.colour }}>
        {visibleText(one.text)}
      </span>
    );
  });
}

/** The coloured lines so far, from the first on; null while there are none. */
function useColours(text: string, path: string): readonly (readonly Coloured[])[] | null {
  const [found, setFound] = useState<{ readonly of: string; readonly lines: readonly (readonly Coloured[])[] } | null>(
    null,
  );
  useEffect(() => {
    const language = languageOf(path);
    if (language === null || text.length > maxColoured) return;
    const ended = new AbortController();
    const lines: (readonly Coloured[])[] = [];
    const plain = text.replaceAll('\r\n', '\n');
    void import('./colours.ts')
      .then(({ colour }) =>
        colour(
          plain,
          language,
          (more) => {
            lines.push(...more);
            if (!ended.signal.aborted) setFound({ of: text, lines: [...lines] });
          },
          ended.signal,
        ),
      )
      // Without them the text says the same.
      .catch(() => {});
    return () => ended.abort();
  }, [text, path]);
  return found?.of === text ? found.lines : null;
}
