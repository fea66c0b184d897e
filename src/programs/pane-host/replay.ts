/** A pane's journal parsed again, at the sizes the pane had. It knows nothing of live panes. */
import type { Emulator } from './emulator.ts';

/** From `offset` on the pane had this size. */
export interface Resize {
  readonly offset: number;
  readonly cols: number;
  readonly rows: number;
}

/** How much of a journal is parsed again: more than a scrollback and quick to parse. */
export const replayBytes = 2 * 1024 * 1024;

/** The emulator has the size of the first resize; `bytes` begin at `start` and end where the emulator shall stand. */
export function replay(emulator: Emulator, start: number, bytes: Uint8Array, resizes: readonly Resize[]): void {
  let at = 0;
  for (const size of [...resizes.slice(1), null]) {
    const until = size ? Math.min(Math.max(size.offset - start, at), bytes.length) : bytes.length;
    emulator.write(bytes.subarray(at, until));
    if (size) emulator.resize(size.cols, size.rows);
    at = until;
  }
}
