/**
 * Everything that a pane printed, addressed by byte: the newest part in memory, the rest in files of a bounded total size. Files are named by the
 * offset of their first byte, so that their names suffice to know what is stored. It knows nothing of what the bytes mean.
 */
import { closeSync, existsSync, openSync, readdirSync, readSync, rmSync, statSync, writev } from 'node:fs';
import { join } from 'node:path';

/** Bytes kept in memory: readers close to the end and the emulator never touch the disk. */
const memoryBytes = 1024 * 1024;
/** Rooms grow from the first to the second size, so that a quiet pane costs little. */
const roomBytes = { first: 8 * 1024, largest: 64 * 1024 };
/** A file is closed at this size and the oldest beyond `maxFiles` is removed: 24 to 32 MB of text a pane. */
const fileBytes = 8 * 1024 * 1024;
const maxFiles = 4;
/** Bytes gathered before a write, and the longest that bytes wait for more, ms: what a crash of the host can lose. */
const gather = { bytes: 256 * 1024, ms: 20 };
/** The least room that a read is offered; the kernel gives 4096 at a time. */
const leastRoom = 4096;

export interface Journal {
  readonly end: number;
  /** Bytes that are in memory only. */
  readonly unsaved: number;
  /** Why the disk takes no more; null while it does. */
  readonly fault: string | null;
  room(): Uint8Array;
  took(bytes: number): void;
  /** The longest piece held in memory from `offset`, at most `max` bytes; null when older than memory. Not to be kept: memory is used again. */
  view(offset: number, max: number): Uint8Array | null;
  /** From memory or disk. `start` is later than `offset` when that was dropped. */
  read(offset: number, max: number): { start: number; bytes: Uint8Array };
  /** Called whenever bytes have left memory for the disk. */
  onSaved(listener: () => void): void;
  /** First byte held anywhere. */
  start(): number;
  /** Nothing is only in memory any more, including bytes that the disk refused. */
  readonly whole: boolean;
  /** Nobody reads now: memory whose bytes are on disk is let go. */
  rest(): void;
  /** Writes what is left and closes the file; reading continues, and so may writing. */
  finish(): Promise<void>;
}

interface Room {
  readonly offset: number;
  readonly bytes: Uint8Array;
  used: number;
}

interface JournalFile {
  readonly offset: number;
  readonly path: string;
  readonly size: number;
}

/** The files of one pane, oldest first. */
export function journalFiles(folder: string, pane: string): JournalFile[] {
  const prefix = `${pane}.`;
  const found: JournalFile[] = [];
  if (!existsSync(folder)) return found;
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(prefix) || !name.endsWith('.journal')) continue;
    const offset = Number(name.slice(prefix.length, -'.journal'.length));
    const path = join(folder, name);
    if (Number.isSafeInteger(offset)) found.push({ offset, path, size: statSync(path).size });
  }
  return found.sort((a, b) => a.offset - b.offset);
}

export function removeJournal(folder: string, pane: string): void {
  for (const file of journalFiles(folder, pane)) rmSync(file.path, { force: true });
}

/** Bytes of files from `offset`; stops at a hole. */
export function readFiles(
  files: readonly JournalFile[],
  offset: number,
  max: number,
): { start: number; bytes: Uint8Array } {
  const oldest = files[0]?.offset ?? offset;
  let start = Math.max(offset, oldest);
  const out = Buffer.allocUnsafe(max);
  let filled = 0;
  for (const file of files) {
    if (filled === max || file.offset + file.size <= start + filled) continue;
    if (file.offset > start + filled) {
      if (filled > 0) break;
      start = file.offset;
    }
    const fd = openSync(file.path, 'r');
    try {
      filled += readSync(fd, out, filled, max - filled, start + filled - file.offset);
    } finally {
      closeSync(fd);
    }
  }
  return { start, bytes: out.subarray(0, filled) };
}

export function createJournal(options: {
  readonly folder: string;
  readonly pane: string;
  /** Where an earlier one ended: its files are continued. */
  readonly from?: number;
  /** The disk takes no more: told once a fault, with the reason. */
  readonly onFault: (reason: string) => void;
}): Journal {
  const { folder, pane } = options;
  let end = options.from ?? 0;
  let saved = end;
  const memory = createMemory();
  const files = createFiles(folder, pane, end === 0 ? [] : journalFiles(folder, pane));
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | null = null;
  let fault: string | null = null;
  let tellSaved = () => {};
  /** Bytes before this one may be in no file. */
  let refusedTo = 0;
  let savedAt = Number.NEGATIVE_INFINITY;

  function save(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    savedAt = performance.now();
    writing ??= writeAll().finally(() => {
      writing = null;
    });
    return writing;
  }
  async function writeAll(): Promise<void> {
    while (saved < end) {
      try {
        const written = await files.append(saved, memory.from(saved, fileBytes));
        saved += written;
        fault = null;
      } catch (error) {
        // The program continues; its text stays readable while memory holds it, and a later file begins after the gap.
        const reason = (error as Error).message;
        if (fault === null) options.onFault(reason);
        fault = reason;
        files.close();
        saved = end;
        refusedTo = end;
      }
      tellSaved();
    }
  }

  return {
    get end() {
      return end;
    },
    get unsaved() {
      return end - saved;
    },
    get fault() {
      return fault;
    },
    room: () => memory.room(end, saved),
    took(bytes) {
      memory.took(bytes);
      end += bytes;
      if (end - saved >= gather.bytes) void save();
      // What comes after a silence is written at once: a crash of the host then loses nothing that somebody had time to read.
      else timer ??= setTimeout(() => void save(), performance.now() - savedAt > gather.ms ? 0 : gather.ms);
    },
    view: memory.view,
    read(offset, max) {
      const from = Math.min(Math.max(0, offset), end);
      const oldest = memory.start() ?? end;
      if (from < oldest) {
        const found = readFiles(files.all, from, Math.min(max, oldest - from));
        const { start, bytes } = found;
        // As far as it is whole, from disk and memory in one piece.
        if (bytes.length > 0 && start + bytes.length === oldest && bytes.length < max) {
          return { start, bytes: Buffer.concat([bytes, ...memory.from(oldest, max - bytes.length)]) };
        }
        if (bytes.length > 0 && start < oldest) return found;
      }
      const start = Math.max(from, oldest);
      return { start, bytes: Buffer.concat(memory.from(start, max)) };
    },
    get whole() {
      return fault === null && saved === end && (memory.start() ?? end) >= refusedTo;
    },
    onSaved(listener) {
      tellSaved = listener;
    },
    rest() {
      memory.rest(saved, refusedTo);
    },
    start: () => Math.min(files.all[0]?.offset ?? end, memory.start() ?? end),
    async finish() {
      await save();
      files.close();
    },
  };
}

/** The newest bytes, in rooms that reads of the terminal fill. What is on disk is let go beyond {@link memoryBytes}. */
function createMemory() {
  let rooms: Room[] = [];
  /** A flood reuses its buffer instead of allocating, so readers get a copy. */
  let spare: Uint8Array | null = null;

  function newest(end: number, saved: number): Room {
    const last = rooms.at(-1);
    if (last && last.bytes.length - last.used >= leastRoom) return last;
    const size = Math.min(last ? last.bytes.length * 2 : roomBytes.first, roomBytes.largest);
    const again = spare?.length === size ? spare : null;
    if (again) spare = null;
    const room = { offset: end, bytes: again ?? new Uint8Array(Buffer.allocUnsafeSlow(size).buffer), used: 0 };
    rooms.push(room);
    let drop = 0;
    while (rooms.length - drop > 1 && end - rooms[drop + 1]!.offset >= memoryBytes && rooms[drop + 1]!.offset <= saved)
      drop++;
    if (drop > 0) {
      spare = rooms[drop - 1]!.bytes;
      rooms = rooms.slice(drop);
    }
    return room;
  }

  function from(offset: number, max: number): Uint8Array[] {
    const pieces: Uint8Array[] = [];
    let left = max;
    for (const room of rooms) {
      if (left === 0) break;
      if (room.offset + room.used <= offset) continue;
      const start = Math.max(0, offset - room.offset);
      const piece = room.bytes.subarray(start, Math.min(room.used, start + left));
      pieces.push(piece);
      left -= piece.length;
    }
    return pieces;
  }

  return {
    /** The first byte here; null: it holds none. */
    start: (): number | null => rooms[0]?.offset ?? null,
    room(end: number, saved: number): Uint8Array {
      const room = newest(end, saved);
      return room.bytes.subarray(room.used);
    },
    took(bytes: number): void {
      rooms.at(-1)!.used += bytes;
    },
    from,
    view(offset: number, max: number): Uint8Array | null {
      for (let index = rooms.length - 1; index >= 0; index--) {
        const room = rooms[index]!;
        if (room.offset > offset) continue;
        const from = offset - room.offset;
        return room.bytes.subarray(from, Math.min(room.used, from + max));
      }
      return null;
    },
    /** Lets go of what is on disk. The newest room stays: the next read of the terminal goes there. */
    rest(saved: number, refusedTo: number): void {
      while (rooms.length > 1 && rooms[1]!.offset <= saved && rooms[0]!.offset >= refusedTo) rooms.shift();
      spare = null;
    },
  };
}

/** The files of one pane; the newest is open while it is written. */
function createFiles(folder: string, pane: string, files: { offset: number; path: string; size: number }[]) {
  let fd: number | null = null;
  let fileStart = 0;

  function openFile(saved: number): number {
    if (fd !== null && saved - fileStart < fileBytes) return fd;
    close();
    const last = files.at(-1);
    if (last && last.offset + last.size === saved && last.size < fileBytes) {
      fd = openSync(last.path, 'a', 0o600);
      fileStart = last.offset;
      return fd;
    }
    const path = join(folder, `${pane}.${saved}.journal`);
    fd = openSync(path, 'a', 0o600);
    fileStart = saved;
    files.push({ offset: saved, path, size: 0 });
    while (files.length > maxFiles) rmSync(files.shift()!.path, { force: true });
    return fd;
  }

  function close(): void {
    if (fd !== null) closeSync(fd);
    fd = null;
  }

  return {
    /** Oldest first. */
    all: files as readonly JournalFile[],
    /** Writes bytes that follow `saved`, and returns how many were written. */
    async append(saved: number, pieces: Uint8Array[]): Promise<number> {
      const written = await writePieces(openFile(saved), pieces);
      files.at(-1)!.size += written;
      return written;
    },
    close,
  };
}

function writePieces(fd: number, pieces: Uint8Array[]): Promise<number> {
  return new Promise((resolve, reject) => {
    writev(fd, pieces, (error, written) => (error ? reject(error) : resolve(written)));
  });
}
