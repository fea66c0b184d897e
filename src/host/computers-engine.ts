/** Which container engine makes hosted computers, from the environment. Must not know the driver. */
import { isAbsolute } from 'node:path';
import { AppError } from '../contracts/common/errors.ts';

export interface ComputersEngine {
  readonly socket: string;
  readonly image: string;
  readonly runtime: string | null;
}

/** Null: computers are made by the computer host. Throws `usage`. */
export function readComputersEngine(env: Readonly<Record<string, string | undefined>>): ComputersEngine | null {
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
  };
}
