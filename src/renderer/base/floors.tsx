/** The floors of all the person's computers, live or as last seen: one list for everything that looks up a bot. */
import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useEffect, useMemo, useRef } from 'react';
import { botsOf, type Floor, type Place, type PlacedBot, placedBot, placesOf } from './data/places.ts';
import { useServices } from './services.tsx';

/** No event reports whether a computer is linked, so it is polled; ms. */
const computersEvery = 10_000;

export function useComputers() {
  const { queries } = useServices();
  return useQuery({ ...queries.computers, refetchInterval: computersEvery });
}

interface Floors {
  readonly floors: readonly Floor[];
  readonly bots: readonly PlacedBot[];
  /** Whether all that can be read was read once: who is not there now is not there at all. */
  readonly complete: boolean;
}
const FloorsContext = createContext<Floors>({ floors: [], bots: [], complete: false });
const PlacesContext = createContext<readonly Place[]>([]);

export const useFloors = (): readonly Floor[] => use(FloorsContext).floors;
export const useFloorsComplete = (): boolean => use(FloorsContext).complete;
/** Those of the floors, in the same order. They change seldom, floors with every state of a bot. */
export const usePlaces = (): readonly Place[] => use(PlacesContext);
/** Every bot of the person, once each, wherever it runs. */
export const useBots = (): readonly PlacedBot[] => use(FloorsContext).bots;

function useReadPlaces(): readonly Place[] {
  const { queries } = useServices();
  const own = useQuery(queries.session).data?.computer ?? null;
  const computers = useComputers().data?.computers;
  return useMemo(() => placesOf(own, computers), [own, computers]);
}

/** Reads the floor of each computer that is linked, follows its events, and keeps what was read for when it is away. */
export function FloorsProvider({ children }: { children: ReactNode }) {
  const { connections, lastKnown } = useServices();
  const places = useReadPlaces();
  const listed = !useComputers().isPending;
  useReadAnewFor(places);
  const linked = places.flatMap((one) => (one.away || one.scope === null ? [] : [one.scope])).join(' ');
  useEffect(() => {
    const stops = linked.split(' ').flatMap((id) => (id === '' ? [] : [connections.watch(id)]));
    return () => {
      for (const stop of stops) stop();
    };
  }, [connections, linked]);

  const agents = useQueries({
    queries: places.map((place) => ({ ...connections.on(place.scope).queries.agents, enabled: !place.away })),
    combine: (answers) => answers.map(({ data, error }) => ({ data, error })),
  });
  const teams = useQueries({
    queries: places.map((place) => ({ ...connections.on(place.scope).queries.teams, enabled: !place.away })),
    combine: (answers) => answers.map(({ data, error }) => ({ data, error })),
  });
  const value = useMemo((): Floors => {
    const floors = places.map((place, index): Floor => {
      const agentsNow = agents[index];
      const teamsNow = teams[index];
      const read = agentsNow?.data !== undefined && teamsNow?.data !== undefined;
      const kept = read ? null : lastKnown.of(place.id);
      const listed = teamsNow?.data?.teams ?? kept?.teams ?? [];
      const titles = new Map(listed.map(({ name, title }) => [name, title ?? null]));
      return {
        place,
        bots: (agentsNow?.data?.agents ?? kept?.agents ?? []).map((agent) =>
          placedBot(agent, place, places, titles.get(agent.team) ?? null),
        ),
        teams: listed,
        invalid: teamsNow?.data?.invalid ?? [],
        known: read || kept !== null,
        error: place.away ? null : (teamsNow?.error ?? agentsNow?.error ?? null),
      };
    });
    const settled = (floor: Floor): boolean =>
      floor.known || floor.place.away || (floor.place.scope !== null && floor.error !== null);
    return { floors, bots: botsOf(floors), complete: listed && floors.length > 0 && floors.every(settled) };
  }, [places, agents, teams, lastKnown, listed]);

  useEffect(() => {
    for (const [index, place] of places.entries()) {
      const agentsNow = agents[index]?.data;
      const teamsNow = teams[index]?.data;
      if (place.away || agentsNow === undefined || teamsNow === undefined) continue;
      lastKnown.keep(place.id, { agents: agentsNow.agents, teams: teamsNow.teams });
    }
  }, [places, agents, teams, lastKnown]);

  return (
    <PlacesContext value={places}>
      <FloorsContext value={value}>{children}</FloorsContext>
    </PlacesContext>
  );
}

/** When another computer becomes the one that needs no name, all that was read without a name is the former one's. */
function useReadAnewFor(places: readonly Place[]): void {
  const { connections } = useServices();
  const client = useQueryClient();
  const home = places.find((one) => one.scope === null)?.id ?? null;
  const before = useRef(home);
  useEffect(() => {
    const former = before.current;
    if (home === null || former === home) return;
    before.current = home;
    const { events } = connections.on(null);
    // The first one that is known was answering all along, unless until now there was none.
    if (former === null && events.link().kind !== 'off') return;
    events.stop();
    events.start();
    void client.resetQueries();
  }, [home, connections, client]);
}
