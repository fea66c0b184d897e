/**
 * Notifies readers of changed tasks, whichever process made the change: one poll for each person and process, for all readers there, in pages. A
 * change that was committed late, behind others already seen, is found because each poll looks back a little, and now and then further than any
 * change may take. A reader slower than the changes continues separately, at its own pace, until it has caught up. A reader that reconnects may get
 * the last seconds again.
 */
import type { TaskStatus } from '../../contracts/work-queue/task.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { ChangedTask, ChangePoint } from './reads.ts';

export interface ChangesDeps {
  readonly changed: (userId: string, after: ChangePoint, limit: number) => Promise<readonly ChangedTask[]>;
  readonly listen: (userId: string, listener: () => void) => () => void;
  readonly now: () => number;
  readonly timers: Timers;
  readonly onFault: (error: unknown) => void;
}

export interface TaskChange {
  readonly id: string;
  readonly status: TaskStatus;
  /** When; a reader that reconnects names the last one it saw. */
  readonly at: number;
}

interface ChangeReader {
  /** False: stop until it is drained. */
  readonly tell: (change: TaskChange) => boolean;
  readonly drained: () => Promise<void>;
}

export interface Changes {
  /** From `since` on, milliseconds since the epoch; null: from now. Returns a function that unsubscribes. */
  follow(userId: string, since: number | null, reader: ChangeReader): () => void;
  close(): void;
}

interface Reader {
  since: number;
  /** Changes it has received, for as long as a poll may find them again. */
  readonly told: Map<string, { readonly mark: string; readonly at: number }>;
  readonly tell: ChangeReader['tell'];
  /** Reads separately from this point on. */
  readonly leave: (after: ChangePoint) => void;
}

/** One poll for all readers of a person. */
interface Hub {
  add(reader: Reader): void;
  /** It stops with its last reader. */
  remove(reader: Reader): void;
  stop(): void;
}

const lookMs = 1000;
/** Wakes within this time share one look. */
const gatherMs = 50;
const overlapMs = 2_000;
/** No statement runs longer than the first half of this. */
const longOverlapMs = 60_000;
const longEvery = 20;
/** Together about 100 KB on a stream: well below the limit at which a reader is cut off. */
const pageRows = 1_000;

export function createChanges({ changed, listen, now, timers, onFault }: ChangesDeps): Changes {
  const hubs = new Map<string, Hub>();

  function hubOf(userId: string): Hub {
    const known = hubs.get(userId);
    if (known !== undefined) return known;
    const hub = startHub({
      changed: (after) => changed(userId, after, pageRows),
      listen: (listener) => listen(userId, listener),
      onStop: () => {
        if (hubs.get(userId) === hub) hubs.delete(userId);
      },
      now,
      timers,
      onFault,
    });
    hubs.set(userId, hub);
    return hub;
  }

  return {
    follow(userId, since, { tell, drained }) {
      const from = since ?? now();
      let over = false;
      let hub: Hub | null = null;
      let cancel = () => {};
      let after: ChangePoint = { at: since === null ? from - longOverlapMs : from - overlapMs, id: '' };
      // Earlier changes are not news, though a poll looks back behind this point.
      let before = since === null;
      const reader: Reader = {
        since: from,
        told: new Map(),
        tell,
        leave(at) {
          after = at;
          leaveHub();
          goOn();
        },
      };

      function leaveHub(): void {
        hub?.remove(reader);
        hub = null;
      }

      async function catchUp(): Promise<void> {
        for (let more = true; more; ) {
          await drained();
          if (over) return;
          const began = now();
          const rows = await changed(userId, after, pageRows);
          if (over) return;
          more = rows.length === pageRows;
          after = endOf(rows) ?? after;
          if (!before) bring(reader, rows, began);
          else
            for (const { id, status, fence, updated_at: at } of rows) {
              if (at < from) reader.told.set(id, { mark: `${status} ${fence}`, at });
            }
        }
        before = false;
        // Only now: the earlier hub may have ended with its last reader.
        hub = hubOf(userId);
        hub.add(reader);
      }

      function goOn(): void {
        catchUp().catch((error: unknown) => {
          onFault(error);
          // The stream is open and its reader waits, even while the database is away.
          if (!over) cancel = timers.after(lookMs, goOn);
        });
      }

      goOn();
      return () => {
        over = true;
        cancel();
        leaveHub();
      };
    },
    close() {
      for (const hub of [...hubs.values()]) hub.stop();
    },
  };
}

function startHub({
  changed,
  listen,
  onStop,
  now,
  timers,
  onFault,
}: {
  readonly changed: (after: ChangePoint) => Promise<readonly ChangedTask[]>;
  readonly listen: (listener: () => void) => () => void;
  readonly onStop: () => void;
} & Pick<ChangesDeps, 'now' | 'timers' | 'onFault'>): Hub {
  const readers = new Set<Reader>();
  let looks = 0;
  let looking = false;
  let again = false;
  let cancel = () => {};
  let cancelSoon: (() => void) | null = null;
  const off = listen(() => {
    cancelSoon ??= timers.after(gatherMs, () => {
      cancelSoon = null;
      look();
    });
  });
  tick();

  function tick(): void {
    cancel = timers.after(lookMs, () => {
      tick();
      look();
    });
  }

  function look(): void {
    again = true;
    if (looking) return;
    looking = true;
    read()
      .catch(onFault)
      .finally(() => {
        looking = false;
      });
  }

  async function read(): Promise<void> {
    while (again && readers.size > 0) {
      again = false;
      looks += 1;
      const back = looks % longEvery === 0 ? longOverlapMs : overlapMs;
      const began = now();
      let after: ChangePoint = { at: Math.min(...[...readers].map((reader) => reader.since)) - back, id: '' };
      while (readers.size > 0) {
        const rows = await changed(after);
        after = endOf(rows) ?? after;
        for (const reader of [...readers]) if (!bring(reader, rows, began)) reader.leave(after);
        if (rows.length < pageRows) break;
      }
    }
  }

  function stop(): void {
    readers.clear();
    off();
    cancel();
    cancelSoon?.();
    onStop();
  }

  return {
    add(reader) {
      readers.add(reader);
      look();
    },
    remove(reader) {
      readers.delete(reader);
      if (readers.size === 0) stop();
    },
    stop,
  };
}

/** False: the reader cannot take more now. */
function bring(reader: Reader, rows: readonly ChangedTask[], began: number): boolean {
  let takes = true;
  for (const { id, status, fence, updated_at: at } of rows) {
    const mark = `${status} ${fence}`;
    if (at < reader.since - longOverlapMs || reader.told.get(id)?.mark === mark) continue;
    reader.told.set(id, { mark, at });
    takes = reader.tell({ id, status, at });
  }
  reader.since = Math.max(reader.since, Math.min(began, rows.at(-1)?.updated_at ?? began));
  const oldest = reader.since - longOverlapMs - overlapMs;
  for (const [id, { at }] of reader.told) if (at < oldest) reader.told.delete(id);
  return takes;
}

function endOf(rows: readonly ChangedTask[]): ChangePoint | null {
  const last = rows.at(-1);
  return last === undefined ? null : { at: last.updated_at, id: last.id };
}
