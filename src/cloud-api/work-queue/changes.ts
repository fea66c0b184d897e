/**
 * Tells readers which tasks changed, wherever the change was made (gaps.md A, events): one look a person and process, for all who
 * read there. A change that was committed late, behind others that were seen already, is found because each look goes back a
 * little, and now and then further than any change may take. A reader that comes back may be told the last seconds again.
 */
import type { TaskStatus } from '../../contracts/work-queue/task.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { ChangedTask } from './reads.ts';

export interface ChangesDeps {
  readonly changed: (userId: string, since: number) => Promise<readonly ChangedTask[]>;
  readonly listen: (userId: string, listener: () => void) => () => void;
  readonly now: () => number;
  readonly timers: Timers;
  readonly onFault: (error: unknown) => void;
}

export interface TaskChange {
  readonly id: string;
  readonly status: TaskStatus;
  /** When; a reader that comes back names the last one it saw. */
  readonly at: number;
}

export interface Changes {
  /** From `since` on, milliseconds since the epoch; null: from now. Returns the way to stop. */
  follow(userId: string, since: number | null, tell: (change: TaskChange) => void): () => void;
  close(): void;
}

interface Reader {
  since: number;
  /** What it was told, as long as it may be found again. */
  readonly told: Map<string, { readonly mark: string; readonly at: number }>;
  readonly tell: (change: TaskChange) => void;
}

interface Hub {
  readonly readers: Set<Reader>;
  looks: number;
  looking: boolean;
  again: boolean;
  readonly stop: () => void;
}

const lookMs = 1000;
/** Wakes that come close together are answered by one look. */
const gatherMs = 50;
const overlapMs = 2_000;
/** No statement runs longer than the first half of this. */
const longOverlapMs = 60_000;
const longEvery = 20;

export function createChanges({ changed, listen, now, timers, onFault }: ChangesDeps): Changes {
  const hubs = new Map<string, Hub>();

  function hubOf(userId: string): Hub {
    const known = hubs.get(userId);
    if (known !== undefined) return known;
    let cancel = () => {};
    let cancelSoon: (() => void) | null = null;
    const soon = () => {
      cancelSoon ??= timers.after(gatherMs, () => {
        cancelSoon = null;
        look(userId, hub);
      });
    };
    const off = listen(userId, soon);
    const tick = () => {
      cancel = timers.after(lookMs, () => {
        tick();
        look(userId, hub);
      });
    };
    const hub: Hub = {
      readers: new Set(),
      looks: 0,
      looking: false,
      again: false,
      stop: () => {
        off();
        cancel();
        cancelSoon?.();
        if (hubs.get(userId) === hub) hubs.delete(userId);
      },
    };
    tick();
    hubs.set(userId, hub);
    return hub;
  }

  function look(userId: string, hub: Hub): void {
    hub.again = true;
    if (hub.looking) return;
    hub.looking = true;
    read(userId, hub)
      .catch(onFault)
      .finally(() => {
        hub.looking = false;
      });
  }

  async function read(userId: string, hub: Hub): Promise<void> {
    while (hub.again && hub.readers.size > 0) {
      hub.again = false;
      hub.looks += 1;
      const back = hub.looks % longEvery === 0 ? longOverlapMs : overlapMs;
      const began = now();
      const since = Math.min(...[...hub.readers].map((reader) => reader.since)) - back;
      const rows = await changed(userId, since);
      for (const reader of hub.readers) bring(reader, rows, began);
    }
  }

  function bring(reader: Reader, rows: readonly ChangedTask[], began: number): void {
    for (const { id, status, fence, updated_at: at } of rows) {
      const mark = `${status} ${fence}`;
      if (at < reader.since - longOverlapMs || reader.told.get(id)?.mark === mark) continue;
      reader.told.set(id, { mark, at });
      reader.tell({ id, status, at });
    }
    reader.since = Math.max(reader.since, Math.min(began, rows.at(-1)?.updated_at ?? began));
    const oldest = reader.since - longOverlapMs - overlapMs;
    for (const [id, { at }] of reader.told) if (at < oldest) reader.told.delete(id);
  }

  return {
    follow(userId, since, tell) {
      const from = since ?? now();
      const reader: Reader = { since: from, told: new Map(), tell };
      let over = false;
      let hub: Hub | null = null;
      let cancel = () => {};

      async function begin(): Promise<void> {
        // What was there before is not news, though a look goes back behind it.
        const before = since === null ? await changed(userId, from - longOverlapMs) : [];
        for (const { id, status, fence, updated_at: at } of before) {
          if (at < from) reader.told.set(id, { mark: `${status} ${fence}`, at });
        }
        if (over) return;
        // Only now: the hub that was there at first may have ended with its last reader.
        hub = hubOf(userId);
        hub.readers.add(reader);
        look(userId, hub);
      }

      function tryToBegin(): void {
        begin().catch((error: unknown) => {
          onFault(error);
          // The stream is open, and whoever reads it waits: for a database that is away, too.
          if (!over) cancel = timers.after(lookMs, tryToBegin);
        });
      }

      tryToBegin();
      return () => {
        over = true;
        cancel();
        hub?.readers.delete(reader);
        if (hub?.readers.size === 0) hub.stop();
      };
    },
    close() {
      for (const hub of [...hubs.values()]) {
        hub.readers.clear();
        hub.stop();
      }
    },
  };
}
