/**
 * The Gantry that runs for this data folder: its process and its address. Trusted only while the folder's lock is held, so that a killed one's record
 * never names a stranger's process.
 */
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { takeInstanceLock } from '../kit/store/instance-lock.ts';
import { dataFolder, placesIn } from './places.ts';

const Holder = z.object({
  pid: z.number().int().positive(),
  address: z.string().nullable(),
  listens: z.string().optional(),
});

export interface Running {
  readonly pid: number;
  /** Address of the web interface; null while it starts, and for `gantry runtime`, which has none. */
  readonly address: string | null;
  /** `host:port` that a cloud listens on behind its public address. */
  readonly listens?: string | undefined;
}

export function findRunning(env: Readonly<Record<string, string | undefined>>): Running | null {
  const places = placesIn(dataFolder(env));
  if (isFree(places.lock)) return null;
  try {
    return Holder.parse(JSON.parse(readFileSync(places.holder, 'utf8')));
  } catch {
    return null;
  }
}

function isFree(lock: string): boolean {
  if (!existsSync(lock)) return true;
  const release = takeInstanceLock(lock);
  release?.();
  return release !== null;
}
