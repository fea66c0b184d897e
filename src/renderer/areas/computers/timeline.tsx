/** A run's steps, each with the picture after it. */
import { Ban, Check, CircleX, Hand, type LucideIcon, Minus } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { Ago } from '../../ui/now.tsx';
import { StatusIcon, type StatusLook } from '../../ui/status.tsx';
import type { Entry, EntryState } from './steps.ts';

const looks: Readonly<
  Record<EntryState, { icon: LucideIcon | 'ring'; tone: StatusLook['tone']; word: string; className: string }>
> = {
  note: { icon: Minus, tone: 'faint', word: '', className: 'text-faint' },
  running: { icon: 'ring', tone: 'accent', word: 'Running: ', className: 'text-accent' },
  done: { icon: Check, tone: 'muted', word: 'Done: ', className: 'text-muted' },
  failed: { icon: CircleX, tone: 'fail', word: 'Failed: ', className: 'text-fail' },
  denied: { icon: Ban, tone: 'muted', word: 'Not allowed: ', className: 'text-muted' },
  waits: { icon: Hand, tone: 'need', word: '', className: 'text-need' },
};

export function Timeline({
  entries,
  live,
  chosen,
  pictureOf,
  onChoose,
}: {
  entries: readonly Entry[];
  /** The last entry stays in sight. */
  live: boolean;
  /** The picture that is shown. */
  chosen: string | null;
  pictureOf: (id: string) => string;
  /** Absent: pictures cannot be shown large now. */
  onChoose?: (id: string) => void;
}) {
  const list = useRef<HTMLOListElement>(null);
  const count = entries.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new entry scrolls
  useEffect(() => {
    // Only if the timeline has its own column: if it is below the picture, the picture stays.
    const column = list.current?.closest('[data-steps]');
    if (live && column) column.scrollTop = column.scrollHeight;
  }, [live, count]);
  return (
    <ol ref={list} aria-label="Steps" className="flex flex-col">
      {entries.map((entry) => (
        <li
          key={entry.key}
          data-entry={entry.state}
          className="flex gap-2 border-b border-line px-3 py-1.5 last:border-b-0"
        >
          <span className={`mt-[3px] ${looks[entry.state].className}`}>
            <StatusIcon look={looks[entry.state]} />
          </span>
          <div className="min-w-0 flex-1">
            <p className={`break-words ${entry.state === 'note' ? 'text-muted' : ''}`}>
              <span className="sr-only">{looks[entry.state].word}</span>
              {entry.words}
            </p>
            <p className="text-meta break-words text-muted">
              {entry.detail !== null && <>{entry.detail} · </>}
              <Ago at={entry.at} />
            </p>
            {entry.pictures.length > 0 && (
              <div className="mt-1 flex flex-wrap gap-1.5">
                {entry.pictures.map((id) => (
                  <button
                    key={id}
                    type="button"
                    disabled={onChoose === undefined}
                    aria-label={`Show the screen after “${entry.words}”`}
                    aria-pressed={id === chosen}
                    onClick={() => onChoose?.(id)}
                    className="h-[50px] w-20 overflow-hidden rounded-control border border-line bg-terminal hover:border-line-strong disabled:cursor-default aria-pressed:border-accent"
                  >
                    <img src={pictureOf(id)} alt="" loading="lazy" className="size-full object-cover object-top" />
                  </button>
                ))}
              </div>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}
