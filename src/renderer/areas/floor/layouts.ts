/**
 * Layouts of the floor in this browser: one of all bots, one of each team, and those that got a name. Each is kept under a key of its own and comes
 * back after a reload. Must not know the dock.
 */
import { z } from 'zod';
import { readJson, writeJson } from '../../base/data/settings.ts';

/** `` is that of all bots; `team:crew` that of a team; `name:Review` one with a name. */
type LayoutId = string;

/** What a browser keeps of them. */
const Kept = z.object({ shown: z.string().catch(''), names: z.array(z.string()).catch([]) });
type Kept = z.infer<typeof Kept>;

const prefix = 'gantry.floor.v1.';
/** Long enough to say what it is for, short enough for its field. */
export const maxLayoutNameLength = 40;

export const teamOfLayout = (id: LayoutId): string | null => (id.startsWith('team:') ? id.slice('team:'.length) : null);

export interface Layouts {
  readonly shown: LayoutId;
  readonly names: readonly string[];
  show(id: LayoutId): Layouts;
  /** Keeps the shown layout under a name, and shows it from then on; a name that is taken is written over. */
  saveAs(name: string): Layouts;
  /** Forgets a name. What was shown is that of all bots again. */
  remove(name: string): Layouts;
  /** Where the dock keeps the shown layout. */
  readonly key: string;
}

type Space = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** `floor` is the engine whose panes are laid out. */
export function readLayouts(storage: Space, floor: string): Layouts {
  return layoutsOf(storage, floor, Kept.catch({ shown: '', names: [] }).parse(readJson(storage, listKey(floor)) ?? {}));
}

const listKey = (floor: string): string => `${prefix}${floor}.layouts`;
const keyOf = (floor: string, id: LayoutId): string => (id === '' ? `${prefix}${floor}` : `${prefix}${floor}.${id}`);

function layoutsOf(storage: Space, floor: string, kept: Kept): Layouts {
  const change = (next: Kept): Layouts => {
    writeJson(storage, listKey(floor), next);
    return layoutsOf(storage, floor, next);
  };
  return {
    ...kept,
    key: keyOf(floor, kept.shown),
    show: (shown) => change({ ...kept, shown }),
    saveAs(name) {
      const id = `name:${name}`;
      const layout = readJson(storage, keyOf(floor, kept.shown));
      if (layout !== null) writeJson(storage, keyOf(floor, id), layout);
      return change({ shown: id, names: [...kept.names.filter((one) => one !== name), name].sort() });
    },
    remove(name) {
      storage.removeItem(keyOf(floor, `name:${name}`));
      return change({ shown: '', names: kept.names.filter((one) => one !== name) });
    },
  };
}
