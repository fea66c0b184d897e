/**
 * Where the rows of a terminal lie: many in one piece of memory. One by one they are pieces of a kilobyte, which the C library takes from its heap
 * between longer-lived ones and never gives back to the system, however many terminals are asleep.
 * It replaces parts of the terminal that its public interface leaves out: the version is pinned, and a test covers each.
 */
import type { Terminal } from '@xterm/headless';

interface Row {
  _data: Uint32Array<ArrayBuffer>;
  length: number;
}
interface RowClass {
  readonly constructor: new (columns: number) => Row;
  clone(): Row;
  resize(columns: number, fill: unknown): boolean;
  cleanupMemory(): number;
}

/** The memory of one terminal: its pieces are free as soon as no row is in them. */
export interface RowMemory {
  /** Zeros. */
  take(words: number): Uint32Array<ArrayBuffer>;
}

export interface RowMemories {
  create(): RowMemory;
  /** Rows that a terminal makes during `work` lie in `memory`. */
  during(memory: RowMemory, work: () => void): void;
}

/** Large enough for a mapping of its own (host-starter.ts), small enough that a terminal of few rows has little to spare. Words: 64 KB. */
const piece = 16 * 1024;

/** For all terminals of the class that made `sample`. */
export function keepRowsTogether(sample: Terminal): RowMemories {
  const shared = new WeakSet<ArrayBuffer>();
  let now: RowMemory | null = null;
  const rows = Object.getPrototypeOf(rowOf(sample)) as RowClass;
  const { clone, resize, cleanupMemory } = rows;
  const isShared = (row: Row): boolean => shared.has(row._data.buffer);

  rows.clone = function (this: RowClass & Row): Row {
    if (now === null) return clone.call(this);
    // A copy of no columns, to which all but the cells is copied.
    const { _data: data } = this;
    this._data = new Uint32Array(0);
    const made = clone.call(this);
    this._data = data;
    made._data = now.take(data.length);
    made._data.set(data);
    return made;
  };
  // The originals take the whole buffer for the row's own.
  rows.resize = function (this: RowClass & Row, columns, fill): boolean {
    if (!isShared(this)) return resize.call(this, columns, fill);
    if (columns === this.length) return false;
    this._data = this._data.slice();
    return resize.call(this, columns, fill);
  };
  rows.cleanupMemory = function (this: RowClass & Row): number {
    return isShared(this) ? 0 : cleanupMemory.call(this);
  };

  return {
    create() {
      let buffer = new ArrayBuffer(0);
      let used = 0;
      return {
        take(words) {
          if (words > piece / 4) return new Uint32Array(words);
          if (used + words > buffer.byteLength / 4) {
            buffer = new ArrayBuffer(piece * 4);
            shared.add(buffer);
            used = 0;
          }
          const taken = new Uint32Array(buffer, used * 4, words);
          used += words;
          return taken;
        },
      };
    },
    during(memory, work) {
      const before = now;
      now = memory;
      try {
        work();
      } finally {
        now = before;
      }
    },
  };
}

interface Core {
  readonly _core: { readonly buffers: { readonly normal: { readonly lines: { get(index: number): Row } } } };
}

function rowOf(terminal: Terminal): Row {
  return (terminal as unknown as Core)._core.buffers.normal.lines.get(0);
}
