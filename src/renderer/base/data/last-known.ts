/**
 * The bots of each computer as last read, so that the floor can show them while that computer is away, also after a reload. Kept in this browser's
 * storage until the person signs out. Must not know how a bot is shown.
 */
import { z } from 'zod';
import { Agent, Team } from '../../../contracts/factory/agent.ts';
import { readJson, writeJson } from './settings.ts';

const LastFloor = z.object({ agents: z.array(Agent), teams: z.array(Team) });
interface LastFloor {
  readonly agents: readonly Agent[];
  readonly teams: readonly Team[];
}

export interface LastKnown {
  /** Null: nothing of it was read in this browser, or what was kept is of another version. */
  of(computerId: string): LastFloor | null;
  keep(computerId: string, floor: LastFloor): void;
  /** Writes what was kept since the last time; before the page goes away. */
  save(): void;
  /** When the person signs out: names of bots are theirs, not the browser's. */
  forget(): void;
}

const prefix = 'gantry.last-floor.';

/** A floor of hundreds of bots is long, and changes with every event: it is written only so often, in ms, and when the page goes away. */
const saveEvery = 30_000;

export function createLastKnown(storage: Storage): LastKnown {
  const read = new Map<string, LastFloor | null>();
  const unsaved = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | null = null;

  function save(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    for (const id of unsaved) writeJson(storage, prefix + id, read.get(id));
    unsaved.clear();
  }

  return {
    save,
    of(computerId) {
      let floor = read.get(computerId);
      if (floor === undefined) {
        floor = LastFloor.safeParse(readJson(storage, prefix + computerId)).data ?? null;
        read.set(computerId, floor);
      }
      return floor;
    },
    keep(computerId, floor) {
      read.set(computerId, floor);
      unsaved.add(computerId);
      timer ??= setTimeout(save, saveEvery);
    },
    forget() {
      read.clear();
      unsaved.clear();
      for (const key of Object.keys(storage)) if (key.startsWith(prefix)) storage.removeItem(key);
    },
  };
}
