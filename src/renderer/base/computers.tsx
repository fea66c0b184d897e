/** The selected computer, named and chosen the same way everywhere: in the address, so that a link shows what its sender saw. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Ago } from '../ui/now.tsx';
import { computerStatus, Status } from '../ui/status.tsx';
import { botName, type Place, type PlacedBot } from './data/places.ts';
import { useBots, usePlaces } from './floors.tsx';
import { useServices } from './services.tsx';

/** Id of the one computer that the address names; null: none is named. */
export function useOnlyComputer(): string | null {
  const { computer } = useSearch({ strict: false });
  const places = usePlaces();
  return places.find((one) => one.id === computer)?.id ?? null;
}

/** `Linked`, or `Away, seen 3 min ago`. */
export function PlaceState({ place }: { place: Place }) {
  return (
    <span className="inline-flex shrink-0 items-center gap-1.5 text-meta">
      <Status look={computerStatus[place.away ? 'away' : 'linked']} wire={place.away ? 'away' : 'linked'} />
      {place.away && place.since !== null && (
        <span className="text-muted">
          seen <Ago at={place.since} />
        </span>
      )}
    </span>
  );
}

/** `all`: what is shown while no computer is named; null: then it is the one that needs no name. */
export function ComputerSelect({ all, wide = false }: { all: string | null; wide?: boolean }) {
  const navigate = useNavigate();
  const only = useOnlyComputer();
  const places = usePlaces();
  return (
    <select
      aria-label="Computer"
      value={all === null && places.find((one) => one.id === only)?.scope === null ? '' : (only ?? '')}
      onChange={(event) => {
        const computer = event.target.value === '' ? undefined : event.target.value;
        void navigate({ to: '.', search: (old) => ({ ...old, computer }) });
      }}
      className={`rounded-control border border-line bg-raised px-1.5 text-ink ${wide ? 'h-7 w-full pointer-coarse:h-10' : 'h-5 max-w-48 text-meta'}`}
    >
      {all !== null && <option value="">{all}</option>}
      {places.map((place) => (
        <option key={place.id} value={all === null && place.scope === null ? '' : place.id}>
          {place.away ? `${place.name} (away)` : place.name}
        </option>
      ))}
    </select>
  );
}

/** What a bot is called among all that are there: its name, with its team and its computer as far as others share it. */
export function useBotName(bot: PlacedBot): string {
  const bots = useBots();
  return botName(bot, bots);
}

/** The computer of this part of the page. */
export function useHere(): Place {
  const { computer } = useServices();
  const place = usePlaces().find((one) => one.scope === computer);
  return place ?? { id: computer ?? '', name: 'this computer', scope: computer, away: false, since: null };
}

/** The computer a bot runs on, which may be another one than the one its team belongs to. */
export function useRunsOn(bot: PlacedBot): Place {
  const places = usePlaces();
  if (bot.runner === 'local') return bot.place;
  return places.find((place) => place.id === bot.machine) ?? bot.place;
}

/** Name of the computer a bot runs on, where that is another one than the one its team belongs to; else null. */
export function elsewhereOf(bot: PlacedBot): string | null {
  return bot.runner === 'local' || bot.machine === bot.place.id ? null : bot.computerName;
}

/** The computer a bot runs on, named only where there are several. */
export function useComputerName(bot: PlacedBot): string | null {
  const several = usePlaces().length > 1;
  return elsewhereOf(bot) ?? (several ? bot.computerName : null);
}
