/** The main navigation: a rail at the left, with words where there is room for them, and a bar at the bottom of narrow windows. */
import { Link } from '@tanstack/react-router';
import { Command, PanelLeftClose, PanelLeftOpen } from 'lucide-react';
import { memo } from 'react';
import { type Place, places } from '../base/rail-places.ts';
import { IconButton } from '../ui/button.tsx';
import { Kbd } from '../ui/kbd.tsx';

const item =
  'group relative flex h-9 items-center rounded-control text-muted hover:bg-raised hover:text-ink data-[status=active]:bg-selected data-[status=active]:text-ink';
const barItem =
  'relative flex h-full flex-1 flex-col items-center justify-center gap-0.5 text-meta text-muted data-[status=active]:text-accent';

/** A dot of amber on the place where somebody waits. */
function NeedDot({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <span className="absolute -top-1.5 left-3 flex min-w-3.5 items-center justify-center rounded-full bg-need px-1 text-[10px] leading-[14px] font-semibold text-window tabular-nums">
      {count}
      <span className="sr-only"> waiting: </span>
    </span>
  );
}

/** Something to read, where nobody waits: no colour, since nobody is needed. */
function NewsDot() {
  return <span className="absolute -top-0.5 left-3.5 size-1.5 rounded-full bg-ink" aria-hidden="true" />;
}

/** The number is part of the name, as it is part of what is seen. */
function nameOf(place: Place, needs: RailProps['needs'], news: number): string {
  const count = needs[place.path] ?? 0;
  if (count > 0) return `${count} waiting: ${place.name}`;
  return place.path === '/inbox' && news > 0 ? `${news} unread: ${place.name}` : place.name;
}

interface RailProps {
  /** How many wait for a person, by the place where they are answered. */
  readonly needs: Partial<Record<Place['path'], number>>;
  /** Notifications that nobody has read. */
  readonly news: number;
  readonly narrow: boolean;
  /** `none`: the window has no room for words. */
  readonly words: 'shown' | 'hidden' | 'none';
  readonly onWords: (words: 'shown' | 'hidden') => void;
  readonly onPalette: () => void;
}

export const Rail = memo(function Rail({ needs, news, narrow, words, onWords, onPalette }: RailProps) {
  const showsNews = (place: Place): boolean => place.path === '/inbox' && news > 0 && !needs['/inbox'];
  if (narrow) {
    return (
      <nav
        aria-label="Places"
        className="box-content flex h-14 border-t border-line bg-panel pb-[env(safe-area-inset-bottom)]"
      >
        {places
          .filter((place) => place.wideOnly !== true)
          .map((place) => (
            <Link key={place.path} to={place.path} activeOptions={{ exact: place.path === '/' }} className={barItem}>
              <span className="relative">
                <place.icon className="size-5" aria-hidden="true" />
                <NeedDot count={needs[place.path] ?? 0} />
                {showsNews(place) && <NewsDot />}
              </span>
              {place.name}
            </Link>
          ))}
        <button type="button" onClick={onPalette} className={barItem}>
          <Command className="size-5" aria-hidden="true" />
          More
        </button>
      </nav>
    );
  }
  const onFold = () => onWords(words === 'shown' ? 'hidden' : 'shown');
  if (words !== 'shown') {
    return (
      <nav
        aria-label="Places"
        className="flex w-12 shrink-0 flex-col items-center gap-1 border-r border-line bg-panel py-2"
      >
        {words === 'hidden' && (
          <IconButton label="Show words in the rail" className="mb-1" onClick={onFold}>
            <PanelLeftOpen aria-hidden="true" />
          </IconButton>
        )}
        {places.map((place) => (
          <Link
            key={place.path}
            to={place.path}
            activeOptions={{ exact: place.path === '/' }}
            aria-label={nameOf(place, needs, news)}
            className={`${item} w-9 justify-center ${place.foot ? 'mt-auto' : ''}`}
          >
            <span className="relative">
              <place.icon className="size-[18px]" aria-hidden="true" />
              <NeedDot count={needs[place.path] ?? 0} />
              {showsNews(place) && <NewsDot />}
            </span>
            <Tip place={place} />
          </Link>
        ))}
      </nav>
    );
  }
  return (
    <nav aria-label="Places" className="flex w-44 shrink-0 flex-col gap-0.5 border-r border-line bg-panel p-2">
      <p className="flex h-8 shrink-0 items-center gap-2 pb-1 pl-2.5 text-title font-semibold">
        Gantry
        <IconButton label="Show only icons in the rail" className="ml-auto" onClick={onFold}>
          <PanelLeftClose aria-hidden="true" />
        </IconButton>
      </p>
      {places.map((place) => {
        const count = needs[place.path] ?? 0;
        return (
          <Link
            key={place.path}
            to={place.path}
            activeOptions={{ exact: place.path === '/' }}
            aria-label={nameOf(place, needs, news)}
            title={`${place.name} (g ${place.letter})`}
            className={`${item} gap-2.5 px-2.5 ${place.foot ? 'mt-auto' : ''}`}
          >
            <span className="relative shrink-0">
              <place.icon className="size-4" aria-hidden="true" />
              {showsNews(place) && <NewsDot />}
            </span>
            {count > 0 && (
              // Drawn, not written: the name of the link says it already.
              <span
                data-count={count}
                className="order-last min-w-4 shrink-0 rounded-full bg-need px-1 text-center text-[10px] leading-4 font-semibold text-window tabular-nums before:content-[attr(data-count)]"
              />
            )}
            <span className="min-w-0 flex-1 truncate">{place.name}</span>
          </Link>
        );
      })}
    </nav>
  );
});

/** What an icon means, beside it as long as it is pointed at or has the focus. */
function Tip({ place }: { place: Place }) {
  return (
    <span
      aria-hidden="true"
      className="pointer-events-none invisible absolute left-full z-30 ml-2 flex h-7 items-center gap-2 rounded-control border border-line bg-raised px-2 whitespace-nowrap text-ink opacity-0 shadow-float transition-opacity duration-[120ms] group-hover:visible group-hover:opacity-100 group-focus-visible:visible group-focus-visible:opacity-100"
    >
      <span>{place.name}</span>
      <Kbd keys={`g ${place.letter}`} />
    </span>
  );
}
