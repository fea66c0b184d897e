/** What commands report about the Gantry that runs, or does not run, for this data folder. */
import { AppError } from '../contracts/common/errors.ts';
import { pairedCloud } from '../host/paired-cloud.ts';
import { dataFolder } from '../host/places.ts';
import { findRunning } from '../host/running.ts';
import type { CommandNames } from './command-name.ts';
import type { Env } from './connect.ts';

export { findRunning, type Running } from '../host/running.ts';

export function notRunning(env: Env, names: CommandNames): AppError {
  return new AppError('transport', `Gantry is not running for ${dataFolder(env)}.`, `Start it with: ${names.start}`);
}

/** Address of the web interface of the owner's Gantry that runs here. Throws `transport` when there is none. */
export function webAddress(env: Env, names: CommandNames): string {
  const running = findRunning(env);
  if (running === null) throw notRunning(env, names);
  if (running.listens !== undefined) {
    const fact = `A multi-user cloud is running in ${dataFolder(env)}; it has no owner.`;
    throw new AppError('transport', fact, `Sign in at ${running.address}, or see: ${names.gantry} admin --help`);
  }
  if (running.address !== null) return running.address;
  const cloud = pairedCloud(dataFolder(env));
  throw new AppError(
    'transport',
    `The Gantry of ${dataFolder(env)} (process ${running.pid}) has no web interface, or is still starting.`,
    cloud === null
      ? `If it is only a runtime, pair it with a cloud: ${names.gantry} pair <address>`
      : `If it is only a runtime, use the cloud it is paired with: ${cloud}`,
  );
}
