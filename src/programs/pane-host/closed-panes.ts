/** Panes whose program has ended: their records, and their text, parsed again from the journal at the sizes it had. Must not know live panes. */
import { createEmulator, type EmulatorParts } from './emulator.ts';
import { journalFiles, readFiles } from './journal.ts';
import type { PaneDrawing } from './pane.ts';

import { type PaneRecord, removeRecord } from './records.ts';
import { replayBytes, replay as replayBytesOf } from './replay.ts';
import { HostRefusal } from './start-check.ts';

export function createClosedPanes(folder: string, loadParts: () => Promise<EmulatorParts>) {
  const closed = new Map<string, PaneRecord>();

  function recordOf(id: string): PaneRecord {
    const record = closed.get(id);
    if (!record)
      throw new HostRefusal('not_found', `There is no pane ${id}.`, 'List the panes and use an id from there.');
    return record;
  }

  async function replay<T>(id: string, look: (emulator: ReturnType<typeof createEmulator>) => T): Promise<T> {
    const record = recordOf(id);
    const first = record.resizes[0] ?? { cols: record.info.cols, rows: record.info.rows };
    const silent = { onReply: () => {}, onOsc: () => {} };
    const emulator = createEmulator(await loadParts(), {
      ...silent,
      cols: first.cols,
      rows: first.rows,
      scrollback: record.scrollback,
    });
    const from = Math.max(0, record.info.offset - replayBytes);
    const { start, bytes } = readFiles(journalFiles(folder, id), from, replayBytes);
    replayBytesOf(emulator, start, bytes, record.resizes);
    try {
      return look(emulator);
    } finally {
      emulator.dispose();
    }
  }

  return {
    recordOf,
    all: () => [...closed.values()],
    find: (id: string) => closed.get(id),
    add: (record: PaneRecord) => void closed.set(record.info.id, record),
    /** It goes on, under the same id. */
    takeOut: (id: string) => closed.delete(id),
    forget(id: string): void {
      if (closed.delete(id)) removeRecord(folder, id);
    },
    draw(id: string): Promise<PaneDrawing> {
      return replay(id, (emulator) => {
        const { info } = recordOf(id);
        const { cols, rows } = info;
        const screen = {
          revision: info.facts.revision,
          at: info.endedAt ?? info.startedAt,
          cols,
          rows,
          cursor: emulator.cursor(),
        };
        return { screen, ansi: emulator.screen() };
      });
    },
    capture(id: string, lines: number) {
      const at = recordOf(id).info.endedAt ?? '';
      return replay(id, (emulator) => ({ text: emulator.lastLines(lines), at }));
    },
    scrollback: (id: string, before: number | undefined, lines: number) =>
      replay(id, (emulator) => emulator.scrollback(before, lines)),
    read(id: string, offset: number, max: number) {
      const { info } = recordOf(id);
      const at = info.endedAt ?? info.startedAt;
      return {
        ...readFiles(journalFiles(folder, id), Math.min(offset, info.offset), max),
        end: info.offset,
        live: false,
        at,
      };
    },
  };
}
