/**
 * Moves new parts into place and the old ones aside, so that after a power cut either state can be restored. Moves only; must not delete anything or
 * know what it moves.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { writePrivateFile } from '../../kit/secrets/token-file.ts';
import { underWay } from './manifest.ts';
import { readJson } from './read-json.ts';

const Move = z.strictObject({ from: z.string(), to: z.string() });
export type Move = z.infer<typeof Move>;
const Journal = z.strictObject({ v: z.literal(1), moves: z.array(Move) });

/** All or, when one fails, none. */
export function exchange(home: string, moves: readonly Move[]): void {
  const journal = join(home, underWay);
  writePrivateFile(journal, JSON.stringify({ v: 1, moves }));
  try {
    for (const move of moves) rename(move.from, move.to);
  } catch (error) {
    takeBack(moves);
    rmSync(journal, { force: true });
    throw error;
  }
  rmSync(journal);
}

/** Takes back an exchange that was cut off. False when there was none. */
export function undoCutOff(home: string): boolean {
  const journal = join(home, underWay);
  if (!existsSync(journal)) return false;
  const read = Journal.safeParse(readJson(journal));
  if (read.success) takeBack(read.data.moves);
  rmSync(journal, { force: true });
  return true;
}

/** A move was made when its end is there and its beginning is not. */
function takeBack(moves: readonly Move[]): void {
  for (const { from, to } of [...moves].reverse()) {
    if (existsSync(to) && !existsSync(from)) rename(to, from);
  }
}

function rename(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  renameSync(from, to);
}
