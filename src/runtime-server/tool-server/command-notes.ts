/**
 * Notes about commands that run in the sandbox, on disk while they run: notes left at the start of Gantry belong to commands that were cut short.
 * The folder lies in Gantry's own, which no command in the sandbox sees. Must not know what the commands did.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandNote } from './what-runs-guard.ts';

interface CommandNotes {
  /** Returns the function that removes it. */
  keep(note: CommandNote): () => void;
  /** Those of a Gantry that was killed. */
  left(): { readonly note: CommandNote; remove(): void }[];
}

export function createCommandNotes(folder: string, freshName: () => string): CommandNotes {
  return {
    keep(note) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, `${freshName()}.json`);
      writeFileSync(file, JSON.stringify(note), { mode: 0o600, flag: 'wx' });
      return () => rmSync(file, { force: true });
    },
    left() {
      return namesIn(folder).flatMap((name) => {
        const file = join(folder, name);
        const remove = () => rmSync(file, { force: true });
        try {
          return [{ note: JSON.parse(readFileSync(file, 'utf8')) as CommandNote, remove }];
        } catch {
          // Killed while it was written: its command was not begun.
          remove();
          return [];
        }
      });
    },
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
