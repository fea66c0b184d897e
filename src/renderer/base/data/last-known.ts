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
  /** When the person signs out: names of bots are theirs, not the browser's. */
  forget(): void;
}

const prefix = 'gantry.last-floor.';

export function createLastKnown(storage: Storage): LastKnown {
  const read = new Map<string, LastFloor | null>();
  return {
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
      writeJson(storage, prefix + computerId, floor);
    },
    forget() {
      read.clear();
      for (const key of Object.keys(storage)) if (key.startsWith(prefix)) storage.removeItem(key);
    },
  };
}
