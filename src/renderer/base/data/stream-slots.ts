/**
 * A browser gives a page and its other windows six connections to one server. Streams may hold five of them, over all windows
 * together (Web Locks): three for screens, two for events. What has no slot reads from time to time instead. The pane a
 * person works in comes first: it takes the slot of the one that was in use longest ago.
 */

export const screenSlots = { name: 'gantry-screen', count: 3 } as const;
export const eventSlots = { name: 'gantry-events', count: 2 } as const;

export interface Slot {
  /** Called once when the slot must be given to a pane that matters more. */
  onTaken: () => void;
  release(): void;
}

export interface StreamSlots {
  /** A slot, or null when all are held elsewhere. `urgent`: another pane of this window gives way. */
  take(urgent: boolean, onTaken: () => void): Promise<Slot | null>;
}

type Locks = Pick<LockManager, 'request'>;

export function createStreamSlots(
  locks: Locks | undefined,
  { name, count }: { readonly name: string; readonly count: number },
): StreamSlots {
  /** Slots of this window, oldest first. */
  const held: Slot[] = [];
  const unlocks = new WeakMap<Slot, () => void>();

  /** Holds the lock until the returned function is called; null when somebody else holds it. */
  function lock(one: string): Promise<(() => void) | null> {
    return new Promise((resolve) => {
      if (locks === undefined) return resolve(null);
      void locks
        .request(one, { ifAvailable: true }, (granted) => {
          if (granted === null) {
            resolve(null);
            return undefined;
          }
          return new Promise<void>((release) => resolve(release));
        })
        .catch(() => resolve(null));
    });
  }

  async function takeFree(onTaken: () => void): Promise<Slot | null> {
    // Without Web Locks (an old or insecure page) the window counts for itself.
    if (locks === undefined) return held.length < count ? add(() => {}, onTaken) : null;
    for (let index = 0; index < count; index += 1) {
      const release = await lock(`${name}-${index}`);
      if (release !== null) return add(release, onTaken);
    }
    return null;
  }

  function add(unlock: () => void, onTaken: () => void): Slot {
    const slot: Slot = {
      onTaken,
      release() {
        if (give(slot)) unlock();
      },
    };
    held.push(slot);
    unlocks.set(slot, unlock);
    return slot;
  }

  /** The slot is its holder's no longer; its lock is kept. False when it was given up before. */
  function give(slot: Slot): boolean {
    const at = held.indexOf(slot);
    if (at === -1) return false;
    held.splice(at, 1);
    return true;
  }

  return {
    async take(urgent, onTaken) {
      const free = await takeFree(onTaken);
      if (free !== null || !urgent) return free;
      const oldest = held[0];
      if (oldest === undefined) return null;
      // The lock passes on as it is: let go, it would be free only later, and perhaps another window's by then.
      const unlock = unlocks.get(oldest) ?? (() => {});
      give(oldest);
      oldest.onTaken();
      return add(unlock, onTaken);
    },
  };
}
