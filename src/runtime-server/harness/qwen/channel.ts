/**
 * Qwen Code's two files beside its screen: lines that Gantry appends for it, and lines that it appends. Continues to read where it stopped; must not
 * know what a line means.
 */
import { type FSWatcher, watch } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import type { Timers } from '../../../kit/clock/timers.ts';
import { readJsonLines } from '../json-lines.ts';
import type { Channel } from './launch.ts';

/** A file system that reports no change is asked this often. */
const lookEveryMs = 1000;

export type Line = Readonly<Record<string, unknown>>;

export interface ChannelEnd {
  send(line: Line): Promise<void>;
  /** Everything in the file so far has been read. */
  readonly ready: Promise<void>;
  close(): void;
}

export function openChannel(
  { input, events }: Channel,
  options: {
    readonly from: number;
    readonly timers: Timers;
    readonly onLine: (line: Line) => void;
    /** After every page: how far reading has come. */
    readonly onRead: (offset: number) => void;
  },
): ChannelEnd {
  const { timers, onLine, onRead } = options;
  let offset = options.from;
  let reading: Promise<void> | null = null;
  let again = false;
  let closed = false;
  let watcher: FSWatcher | null = null;
  let cancel = () => {};

  async function read(): Promise<void> {
    do {
      again = false;
      for (let more = true; more && !closed; ) {
        const page = await readJsonLines(events, offset);
        if (closed) return;
        for (const { entry } of page.lines) onLine(entry);
        more = page.more;
        if (page.offset === offset) continue;
        offset = page.offset;
        onRead(offset);
      }
    } while (again && !closed);
  }

  function look(): Promise<void> {
    if (reading) {
      again = true;
      return reading;
    }
    // A file that cannot be read now is read at the next look.
    reading = read()
      .catch(() => undefined)
      .finally(() => {
        reading = null;
      });
    return reading;
  }

  function arm(): void {
    cancel = timers.after(lookEveryMs, () => {
      void look();
      if (!closed) arm();
    });
  }

  const ready = look();
  try {
    watcher = watch(events, () => void look());
    watcher.on('error', () => undefined);
  } catch {
    // The timer looks.
  }
  arm();

  return {
    ready,
    send: (line) => appendFile(input, `${JSON.stringify(line)}\n`, { mode: 0o600 }),
    close() {
      closed = true;
      cancel();
      watcher?.close();
    },
  };
}
