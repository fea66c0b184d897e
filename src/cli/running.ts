/**
 * The Gantry that runs for this data folder: its process and its address. Believed only while the folder's lock is held, so that
 * what a killed one left behind never names a stranger's process.
 */
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { AppError } from '../contracts/common/errors.ts';
import { dataFolder, placesIn } from '../host/places.ts';
import { takeInstanceLock } from '../kit/store/instance-lock.ts';
import type { CommandNames } from './command-name.ts';
import type { Env } from './connect.ts';

const Holder = z.object({
  pid: z.number().int().positive(),
  address: z.string().nullable(),
  listens: z.string().optional(),
});

export interface Running {
  readonly pid: number;
  /** Address of the web interface; null while it starts, and for a runtime alone, which has none. */
  readonly address: string | null;
  /** `host:port` that a cloud listens on behind its public address. */
  readonly listens?: string | undefined;
}

export function findRunning(env: Env): Running | null {
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

export function notRunning(env: Env, names: CommandNames): AppError {
  return new AppError('transport', `Gantry is not running for ${dataFolder(env)}.`, `Start it with: ${names.start}`);
}

/** Address of the web interface of the owner's Gantry that runs here. Throws `transport` when there is none. */
export function webAddress(env: Env, names: CommandNames): string {
  const running = findRunning(env);
  if (running === null) throw notRunning(env, names);
  if (running.listens !== undefined) {
    const fact = `In ${dataFolder(env)} runs a cloud of many people, which has no owner.`;
    throw new AppError('transport', fact, `Sign in at ${running.address}, or see: ${names.gantry} admin --help`);
  }
  if (running.address !== null) return running.address;
  throw new AppError(
    'transport',
    `The Gantry of ${dataFolder(env)} (process ${running.pid}) has no web interface, or is still starting.`,
    `If it is a runtime alone, go to the cloud that it is paired with: ${names.gantry} pair`,
  );
}
