/** Which container engine makes hosted computers, and what computers may ask for, from the environment. Must not know the driver. */
import { isAbsolute } from 'node:path';
import type { ComputerBounds } from '../cloud-api/hosted-computers/index.ts';
import { AppError } from '../contracts/common/errors.ts';
import { maxLifetimeSeconds } from '../contracts/hosted-computers/computer.ts';
import { readImageRules } from './image-rules.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface ComputersEngine {
  readonly socket: string;
  readonly image: string;
  readonly runtime: string | null;
  /** What each computer has at most, which is also what it has unless it asks for less. Mebibytes; processes and threads. */
  readonly most: { readonly memory: number; readonly processes: number };
  /** Of an image that a computer asks for. Mebibytes; null: any. */
  readonly maxImage: number | null;
  /** How many computers of each toolset run before anybody asks for them. */
  readonly warm: { readonly desktop: number; readonly shell: number };
}

/** Null: computers are made by the computer host. Throws `usage`. */
export function readComputersEngine(env: Env): ComputersEngine | null {
  const socket = env.GANTRY_COMPUTERS_ENGINE || null;
  if (socket === null) return null;
  if (!isAbsolute(socket)) {
    throw new AppError(
      'usage',
      `GANTRY_COMPUTERS_ENGINE is ${JSON.stringify(socket)}.`,
      'Give the path of the container engine’s socket, such as /var/run/docker.sock.',
    );
  }
  return {
    socket,
    image: env.GANTRY_COMPUTERS_IMAGE || 'gantry-computer',
    runtime: env.GANTRY_COMPUTERS_RUNTIME || null,
    most: {
      memory: whole(env, 'GANTRY_COMPUTERS_MEMORY', 'a number of MiB', 256, 1_048_576) ?? 2048,
      processes: whole(env, 'GANTRY_COMPUTERS_PROCESSES', 'a number', 64, 1_000_000) ?? 1024,
    },
    maxImage: whole(env, 'GANTRY_COMPUTERS_MAX_IMAGE', 'a number of MiB', 1, 1_048_576),
    warm: {
      desktop: whole(env, 'GANTRY_COMPUTERS_WARM_DESKTOP', 'a number', 0, 200) ?? 0,
      shell: whole(env, 'GANTRY_COMPUTERS_WARM_SHELL', 'a number', 0, 200) ?? 0,
    },
  };
}

/** Throws `usage`. */
export function readComputerBounds(env: Env): ComputerBounds {
  const seconds = whole(env, 'GANTRY_COMPUTERS_LIFETIME', 'a number of seconds', 10, maxLifetimeSeconds);
  return {
    images: readImageRules(env, 'GANTRY_COMPUTERS_IMAGES'),
    lifetime: seconds === null ? null : seconds * 1000,
  };
}

/** Null if it is not set. */
function whole(env: Env, name: string, what: string, least: number, most: number): number | null {
  const given = env[name]?.trim() ?? '';
  if (given === '') return null;
  const number = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new AppError('usage', `${name} is ${JSON.stringify(given)}.`, `Give ${what} from ${least} to ${most}.`);
}
