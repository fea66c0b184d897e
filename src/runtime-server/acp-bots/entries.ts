/**
 * The entries of one agent's conversation, which grow until they are settled and are written a few times a second. Must not know what an entry says.
 */
import type { Tx } from '../../kit/store/store.ts';
import type { Base } from '../base/base.ts';
import { dropEntriesBefore, type EntryBody, lastNumbers, saveEntry, unsettled } from './store.ts';

export interface Entry {
  readonly seq: number;
  rev: number;
  settled: boolean;
  readonly at: number;
  body: EntryBody;
}

/** A crash loses at most what came in this time. */
const writeAfterMs = 150;
/** Of one agent; older ones are dropped as a turn begins. */
const maxEntries = 5000;

export function createEntries(deps: Pick<Base, 'store' | 'clock' | 'timers' | 'log'>, agentId: string) {
  const { store, clock } = deps;
  let numbers = { seq: 0, rev: 0 };
  const open = new Set<Entry>();
  const dirty = new Set<Entry>();
  let cancel: (() => void) | null = null;
  let written: Promise<unknown> = Promise.resolve();

  function change(entry: Entry): void {
    entry.rev = ++numbers.rev;
    dirty.add(entry);
    cancel ??= deps.timers.after(writeAfterMs, () => void flush());
  }

  function settle(entry: Entry): void {
    if (entry.settled) return;
    entry.settled = true;
    open.delete(entry);
    change(entry);
  }

  /** What changed, in this transaction. What changes meanwhile is written with the next one. */
  function writeInto(tx: Tx): void {
    const saved = [...dirty].map((entry) => ({ entry, rev: entry.rev }));
    for (const { entry } of saved) saveEntry(tx, agentId, entry);
    tx.afterCommit(() => {
      for (const { entry, rev } of saved) if (entry.rev === rev) dirty.delete(entry);
    });
  }

  function flush(): Promise<unknown> {
    cancel?.();
    cancel = null;
    if (dirty.size === 0) return written;
    written = store.write(writeInto).catch((error: unknown) => {
      deps.log.warn('A conversation could not be written.', { agentId, error: String(error) });
    });
    return written;
  }

  return {
    open: open as ReadonlySet<Entry>,
    add(body: EntryBody, settled: boolean): Entry {
      const entry: Entry = { seq: ++numbers.seq, rev: 0, settled, at: clock.now(), body };
      if (!settled) open.add(entry);
      change(entry);
      return entry;
    },
    change,
    settle,
    writeInto,
    flush,
    /** Takes up what an earlier process left; `settleAll` ends what was open then. */
    load: (settleAll: () => void): Promise<void> =>
      store.write((tx) => {
        numbers = lastNumbers(tx, agentId);
        for (const entry of unsettled(tx, agentId)) open.add({ ...entry });
        settleAll();
        writeInto(tx);
      }),
    prune: (tx: Tx): void => dropEntriesBefore(tx, agentId, numbers.seq - maxEntries),
  };
}
