/**
 * A text shown unchanged: a log, a file, a command or a diff, with line numbers on request. Only the lines in view are drawn, so that a log of a
 * million lines scrolls. A diff uses signs and background, not green and red, which mean proven and failed.
 */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import { type DiffLineKind, diffKinds, linesOf } from './text-lines.ts';

const lineHeight = 18;
const padding = 6;
/** Characters; the longest question has as many. What is longer is not wrapped: only the lines in view are drawn then. */
const maxWrappedLength = 200_000;

const kindClass: Readonly<Record<DiffLineKind, string>> = {
  file: 'text-muted',
  hunk: 'text-faint',
  added: 'bg-selected',
  removed: 'bg-raised text-muted',
  same: '',
};

export function TextView({
  text,
  label,
  diff = false,
  maxLines = 18,
  fill = false,
  wrap = false,
  whole = false,
}: {
  text: string;
  /** Names the region for a screen reader. */
  label: string;
  diff?: boolean;
  /** Lines shown before it scrolls. */
  maxLines?: number;
  /** Takes the height of its place instead. */
  fill?: boolean;
  /** Wraps long lines, for text that must be read in full. */
  wrap?: boolean;
  /** Wrapped and at its full height, however long: for what is read to its end in one scroll with what stands around it. */
  whole?: boolean;
}) {
  const scroll = useRef<HTMLElement>(null);
  const lines = useMemo(() => linesOf(text), [text]);
  const kinds = useMemo(() => (diff ? diffKinds(lines) : null), [diff, lines]);
  const widest = useMemo(() => lines.reduce((max, line) => Math.max(max, line.length), 0), [lines]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => lineHeight,
    overscan: 20,
  });
  if (text !== '' && (whole || (wrap && text.length <= maxWrappedLength))) {
    return (
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        className="min-w-0 overflow-y-auto rounded-control border border-line bg-terminal font-mono text-code"
        style={whole ? undefined : { maxHeight: maxLines * lineHeight + 2 * padding + 2 }}
      >
        <pre
          className="px-2 font-mono wrap-anywhere whitespace-pre-wrap"
          style={{ paddingBlock: padding, lineHeight: `${lineHeight}px` }}
        >
          {!diff
            ? text
            : stretches(text).map(({ from, kind, said }) => (
                <span key={from} data-line={kind} className={`block ${kindClass[kind]}`}>
                  {said}
                </span>
              ))}
        </pre>
      </section>
    );
  }
  const height = Math.min(Math.max(lines.length, 1), maxLines) * lineHeight + 2 * padding + 2;
  return (
    <section
      ref={scroll}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      className={`min-w-0 overflow-auto rounded-control border border-line bg-terminal font-mono text-code ${fill ? 'h-full min-h-0' : ''}`}
      style={fill ? undefined : { height: height + (widest > 60 ? 10 : 0) }}
    >
      {lines.length === 0 ? (
        <p className="px-2 py-1.5 text-faint">Empty.</p>
      ) : (
        <div
          className="relative"
          style={{
            height: virtual.getTotalSize() + 2 * padding,
            minWidth: '100%',
            width: `calc(${widest}ch + 20px)`,
          }}
        >
          {virtual.getVirtualItems().map((item) => (
            <div
              key={item.index}
              data-line={kinds?.[item.index]}
              className={`absolute inset-x-0 top-0 px-2 whitespace-pre ${kinds === null ? '' : kindClass[kinds[item.index] ?? 'same']}`}
              style={{ height: lineHeight, transform: `translateY(${item.start + padding}px)` }}
            >
              {lines[item.index] === '' ? '\u00a0' : lines[item.index]}
            </div>
          ))}
        </div>
      )}
    </section>
  );
}

/** Lines of a diff of one kind that follow each other, to the last character: what must be read whole hides nothing of itself. */
function stretches(text: string) {
  const lines = text.replace(/\n$/, '').split('\n');
  const kinds = diffKinds(lines);
  const found: { from: number; kind: DiffLineKind; said: string }[] = [];
  for (const [at, line] of lines.entries()) {
    const kind = kinds[at] ?? 'same';
    const last = found.at(-1);
    if (last?.kind === kind) last.said += `${line}\n`;
    else found.push({ from: at, kind, said: `${line}\n` });
  }
  return found;
}
