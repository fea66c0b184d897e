/**
 * The live view: who watches which place, and what they see. The executor makes frames of a place only while somebody watches it. Must not know HTTP
 * or calls.
 */
import type { z } from 'zod';
import type { Control, viewEvents } from '../../contracts/computer-use/toolset.ts';
import type { Place, Request } from '../../programs/executor/protocol.ts';
import { nameOfPlace } from './read-call.ts';

type ViewEvents = typeof viewEvents;
type ViewEvent = {
  [Name in keyof ViewEvents]: { event: Name; data: z.input<ViewEvents[Name]> };
}[keyof ViewEvents];

export interface View {
  /** Watches a session, or, with null, whatever place was used last. */
  watch(session: string | null, listener: (event: ViewEvent) => void): () => void;
  /** To those who watch this place. */
  tell(place: Place, event: ViewEvent): void;
  tellAll(event: ViewEvent): void;
  /** Somebody looks there now. */
  isWatched(place: Place): boolean;
  /** A call is about to use it. */
  used(place: Place): void;
  /** It was opened (again): frames have to be requested again. */
  opened(place: Place): void;
  /** The executor ended: nothing is watched any more. */
  lost(): void;
}

interface Watcher {
  readonly session: string | null;
  readonly listener: (event: ViewEvent) => void;
}

/** Frames a second at most. */
const fps = 10;

export function createView({
  control,
  tell,
}: {
  readonly control: () => Control;
  /** Asks the executor; its errors do not matter here. False: it does not run. */
  readonly tell: (request: Request) => boolean;
}): View {
  const watchers = new Set<Watcher>();
  let last: Place | null = null;
  /** Places of which frames are made now. */
  const watched = new Map<string, Place>();

  const placeOf = ({ session }: Watcher): Place | null => (session === null ? last : { kind: 'browser', session });

  function settle(again: Place | null = null): void {
    const wanted = new Map<string, Place>();
    for (const watcher of watchers) {
      const place = placeOf(watcher);
      if (place !== null) wanted.set(nameOfPlace(place), place);
    }
    for (const [name, place] of watched) if (!wanted.has(name)) tell({ do: 'watch', place, fps: 0 });
    for (const name of [...watched.keys()]) if (!wanted.has(name)) watched.delete(name);
    for (const [name, place] of wanted) {
      const asked = watched.has(name) && (again === null || nameOfPlace(again) !== name);
      if (!asked && tell({ do: 'watch', place, fps })) watched.set(name, place);
    }
  }

  return {
    watch(session, listener) {
      const watcher = { session, listener };
      watchers.add(watcher);
      listener({ event: 'control', data: control() });
      const place = placeOf(watcher);
      // Somebody watches it already: the next change may be long in coming, and who is new has seen nothing yet.
      settle(place);
      return () => {
        watchers.delete(watcher);
        settle();
      };
    },
    tell(place, event) {
      const name = nameOfPlace(place);
      for (const watcher of watchers) {
        const at = placeOf(watcher);
        if (at !== null && nameOfPlace(at) === name) watcher.listener(event);
      }
    },
    tellAll(event) {
      for (const { listener } of watchers) listener(event);
    },
    // Viewers of the last used place see this one as soon as it is used.
    isWatched: (place) => watched.has(nameOfPlace(place)) || [...watchers].some(({ session }) => session === null),
    used(place) {
      last = place;
      settle();
    },
    opened: settle,
    lost: () => watched.clear(),
  };
}
