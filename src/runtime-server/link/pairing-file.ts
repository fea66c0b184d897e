/**
 * The pairing file `pairing.json`: which cloud this computer belongs to and whose tickets it takes. It holds no token, yet it is
 * as private as one: anyone who could write it could move the computer to another cloud. Must not know secrets.
 */
import { rmSync } from 'node:fs';
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { ComputerId, TicketKey } from '../../contracts/link/pairings.ts';
import { readPrivateFile, writePrivateFile } from '../../kit/secrets/token-file.ts';

const PairingFile = z.strictObject({
  v: z.literal(1),
  computerId: ComputerId,
  /** The cloud's id of the person. */
  user: z.string().min(1).max(200),
  cloudUrl: z.url({ protocol: /^https?$/ }),
  ticketKeys: z.array(TicketKey).min(1).max(16),
  /** Row of the sealed secrets in `runtime.db`. */
  deviceTokenRef: z.string().regex(/^[A-Za-z0-9_]{1,80}$/),
});
export type PairingFile = z.infer<typeof PairingFile>;

type PairingRead =
  | { readonly is: 'none' }
  | { readonly is: 'pairing'; readonly pairing: PairingFile }
  | { readonly is: 'unusable'; readonly problem: string };

export function writePairing(path: string, pairing: PairingFile): void {
  writePrivateFile(path, `${JSON.stringify(pairing, null, 2)}\n`);
}

export function removePairing(path: string): void {
  rmSync(path, { force: true });
}

/** Never throws: a problem of the file is returned as text. */
export function readPairing(path: string): PairingRead {
  let text: string;
  try {
    text = readPrivateFile(path);
  } catch (fault) {
    if (fault instanceof AppError && fault.code === 'not_found') return { is: 'none' };
    return {
      is: 'unusable',
      problem: fault instanceof AppError ? fault.fact : `${path} cannot be read: ${String(fault)}.`,
    };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { is: 'unusable', problem: `${path} is not JSON.` };
  }
  const parsed = PairingFile.safeParse(value);
  if (parsed.success) return { is: 'pairing', pairing: parsed.data };
  const [issue] = parsed.error.issues;
  return { is: 'unusable', problem: `${path}: ${[...(issue?.path ?? []), issue?.message].join(': ')}.` };
}
