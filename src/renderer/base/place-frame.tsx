/** The frame of a place that has a list: the list at the left and what is open beside it, one stack where it is narrow. Must not know what is in it. */
import { Link } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import { type ReactNode, type RefObject, useEffect, useRef } from 'react';
import { IconButton } from '../ui/button.tsx';
import { useNarrow } from './use-narrow.ts';

const bar = 'flex h-10 shrink-0 items-center gap-2 border-b border-line bg-panel px-3 pointer-coarse:h-12';

export function PlaceFrame({
  title,
  label = title,
  action,
  list,
  open,
  page,
  children,
}: {
  title: string;
  /** Of the list, for a screen reader. */
  label?: string;
  /** Beside the title. */
  action?: ReactNode;
  list: ReactNode;
  /** What is open; null: nothing is. */
  open: ReactNode | null;
  /** All of it, to find a row in. */
  page: RefObject<HTMLDivElement | null>;
  /** Shown while nothing is open. */
  children: ReactNode;
}) {
  const narrow = useNarrow();
  const header = (
    <header className={bar}>
      <h1 className="min-w-0 flex-1 truncate text-title font-semibold">{title}</h1>
      {action}
    </header>
  );
  return (
    <div ref={page} className="flex min-w-0 flex-1">
      {!narrow && (
        <nav aria-label={label} className="flex w-72 shrink-0 flex-col border-r border-line bg-panel">
          {header}
          <div className="min-h-0 flex-1 overflow-y-auto">{list}</div>
        </nav>
      )}
      <main className="flex min-h-0 min-w-0 flex-1 flex-col overflow-y-auto" data-scroll="true">
        {open ?? (
          <>
            {narrow && header}
            {narrow && <nav aria-label={label}>{list}</nav>}
            {children}
          </>
        )}
      </main>
    </div>
  );
}

/**
 * The bar above an opened item: the way back, its place, and its title. If the row that opened it is gone, the title takes the focus, so that the
 * next key and a screen reader continue here.
 */
export function OpenBar({
  back,
  onBack,
  within,
  title,
  code = false,
  children,
}: {
  /** What the way back leads to: "Back to the list". */
  back: string;
  onBack: () => void;
  /** What it belongs to, as a way there. */
  within?: { readonly name: string; readonly onOpen: () => void } | undefined;
  title: string;
  /** It is a name as programs write it. */
  code?: boolean;
  children?: ReactNode;
}) {
  // The title of the place is not on a narrow page then.
  const Title = useNarrow() ? 'h1' : 'h2';
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus();
  }, []);
  return (
    <header className={bar}>
      <IconButton label={back} shortcut="Esc" onClick={onBack}>
        <ArrowLeft aria-hidden="true" />
      </IconButton>
      {within !== undefined && (
        <>
          <button
            type="button"
            onClick={within.onOpen}
            className="max-w-40 min-w-0 shrink truncate rounded-control text-muted hover:text-ink hover:underline max-sm:max-w-24 pointer-coarse:min-h-6"
          >
            {within.name}
          </button>
          <span aria-hidden="true" className="text-faint">
            /
          </span>
        </>
      )}
      <Title
        ref={heading}
        tabIndex={-1}
        className={`min-w-0 flex-1 truncate font-semibold outline-none ${code ? 'font-mono text-code' : ''}`}
        title={title}
      >
        {title}
      </Title>
      {children}
    </header>
  );
}

/** From a page beside a place, back to it. */
export function BackLink({ to, label }: { to: '/queue' | '/work'; label: string }) {
  return (
    <Link
      to={to}
      aria-label={label}
      title={label}
      className="inline-flex size-6 shrink-0 items-center justify-center rounded-control text-muted hover:bg-raised hover:text-ink pointer-coarse:size-10"
    >
      <ArrowLeft className="size-3.5" aria-hidden="true" />
    </Link>
  );
}

/** How high a row of a place's list is at least, px. */
export const placeRowHeight = 48;

/** One row of a place's list; `aside` is pressed for itself. */
export function PlaceRow({
  mark,
  selected,
  onOpen,
  aside,
  children,
}: {
  /** By which it is found again. */
  mark: Readonly<Record<`data-${string}`, string>>;
  selected: boolean;
  onOpen: () => void;
  aside?: ReactNode;
  children: ReactNode;
}) {
  return (
    <li
      className={`relative flex items-center gap-2 pr-3 hover:bg-raised ${selected ? 'bg-selected hover:bg-selected' : ''}`}
      style={{ minHeight: placeRowHeight }}
    >
      <button
        type="button"
        data-row="true"
        {...mark}
        aria-current={selected ? 'true' : undefined}
        onClick={onOpen}
        className="flex min-w-0 flex-1 flex-col items-start py-1 pl-3 text-left after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
      >
        {children}
      </button>
      {aside !== undefined && <span className="relative z-10">{aside}</span>}
    </li>
  );
}
