/** Plays back a run that has ended: its pictures one after the other, or its video if there is one. */
import { ChevronLeft, ChevronRight, Pause, Play } from 'lucide-react';
import { useEffect, useState } from 'react';
import { IconButton } from '../../ui/button.tsx';
import { Ways } from '../../ui/ways.tsx';
import type { Entry } from './steps.ts';

/** A picture stays so long while it plays, ms. */
const stayMs = 900;

interface ReplayProps {
  readonly pictures: readonly { readonly id: string; readonly entry: Entry }[];
  readonly video: string | null;
  readonly chosen: string | null;
  readonly pictureOf: (id: string) => string;
  readonly onChoose: (id: string) => void;
}

export function Replay({ pictures, video, chosen, pictureOf, onChoose }: ReplayProps) {
  const [way, setWay] = useState<'pictures' | 'video'>('pictures');
  const [playing, setPlaying] = useState(false);
  const found = pictures.findIndex((one) => one.id === chosen);
  const at = found === -1 ? pictures.length - 1 : found;
  const shown = pictures[at];
  const isLast = at >= pictures.length - 1;
  useEffect(() => {
    if (!playing) return;
    if (isLast) return setPlaying(false);
    const timer = setTimeout(() => onChoose(pictures[at + 1]!.id), stayMs);
    return () => clearTimeout(timer);
  }, [playing, isLast, at, pictures, onChoose]);

  const go = (to: number) => {
    setPlaying(false);
    const next = pictures[Math.min(pictures.length - 1, Math.max(0, to))];
    if (next !== undefined) onChoose(next.id);
  };
  return (
    <section aria-label="Replay" className="flex min-w-0 flex-col gap-2">
      {way === 'video' && video !== null ? (
        // biome-ignore lint/a11y/useMediaCaption: a screen without sound
        <video src={video} controls className="aspect-[16/10] w-full rounded-panel border border-line bg-terminal" />
      ) : (
        <div className="aspect-[16/10] w-full overflow-hidden rounded-panel border border-line bg-terminal">
          {shown === undefined ? (
            <p className="flex h-full items-center justify-center p-3 text-center text-muted">
              The run ended before its first picture.
            </p>
          ) : (
            <img
              src={pictureOf(shown.id)}
              alt={`The screen after “${shown.entry.words}”`}
              data-replay={shown.id}
              className="size-full object-contain"
            />
          )}
        </div>
      )}
      <div className="flex min-h-7 items-center gap-1.5">
        {way === 'pictures' && pictures.length > 1 && (
          <>
            <IconButton label="Previous picture" disabled={at <= 0} onClick={() => go(at - 1)}>
              <ChevronLeft aria-hidden="true" />
            </IconButton>
            <IconButton
              label={playing ? 'Stop playing' : 'Play'}
              onClick={() => {
                if (!playing && isLast) onChoose(pictures[0]!.id);
                setPlaying(!playing);
              }}
            >
              {playing ? <Pause aria-hidden="true" /> : <Play aria-hidden="true" />}
            </IconButton>
            <IconButton label="Next picture" disabled={isLast} onClick={() => go(at + 1)}>
              <ChevronRight aria-hidden="true" />
            </IconButton>
            <input
              type="range"
              aria-label="Picture"
              aria-valuetext={shown?.entry.words}
              min={0}
              max={pictures.length - 1}
              value={at}
              onChange={(event) => go(Number(event.target.value))}
              className="min-w-0 flex-1 accent-accent"
            />
            <span className="w-14 shrink-0 text-right text-meta text-muted tabular-nums">
              {at + 1} of {pictures.length}
            </span>
          </>
        )}
        {video !== null && (
          <Ways
            label="Replay as"
            value={way}
            ways={[
              { key: 'pictures', word: 'Pictures' },
              { key: 'video', word: 'Video' },
            ]}
            onChange={setWay}
          />
        )}
      </div>
    </section>
  );
}
