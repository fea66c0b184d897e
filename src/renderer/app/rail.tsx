/** The main navigation: a rail at the left, a bar at the bottom of narrow windows. */
import { Link } from '@tanstack/react-router';
import { Command } from 'lucide-react';
import { type Place, places } from '../base/rail-places.ts';

const item =
  'relative flex size-9 items-center justify-center rounded-control text-muted hover:bg-raised hover:text-ink data-[status=active]:bg-selected data-[status=active]:text-ink';
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
  readonly onPalette: () => void;
}

export function Rail({ needs, news, narrow, onPalette }: RailProps) {
  const showsNews = (place: Place): boolean => place.path === '/inbox' && news > 0 && !needs['/inbox'];
  if (narrow) {
    return (
      <nav aria-label="Places" className="flex h-14 border-t border-line bg-panel pb-[env(safe-area-inset-bottom)]">
        {places
          .filter((place) => place.wideOnly !== true)
          .map((place) => (
            <Link key={place.path} to={place.path} activeOptions={{ exact: place.path === '/' }} className={barItem}>
              <span className="relative">
                <place.icon className="size-5" aria-hidden="true" />
                <NeedDot count={needs[place.path] ?? 0} />
                {showsNews(place) && <NewsDot />}
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
  return (
    <nav
      aria-label="Places"
      className="flex w-12 shrink-0 flex-col items-center gap-1 border-r border-line bg-panel py-2"
    >
      {places.map((place) => (
        <Link
          key={place.path}
          to={place.path}
          activeOptions={{ exact: place.path === '/' }}
          aria-label={nameOf(place, needs, news)}
          title={`${place.name} (g ${place.letter})`}
          className={`${item} ${place.foot ? 'mt-auto' : ''}`}
        >
          <span className="relative">
            <place.icon className="size-[18px]" aria-hidden="true" />
            <NeedDot count={needs[place.path] ?? 0} />
          </span>
        </Link>
      ))}
    </nav>
  );
}
