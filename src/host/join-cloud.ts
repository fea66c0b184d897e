/** A computer host's link to its cloud on another machine: it dials with the token that an administrator gave it, and again when the link is gone. */
import type { Duplex } from 'node:stream';
import { AppError } from '../contracts/common/errors.ts';
import type { Clock } from '../kit/clock/clock.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import { newToken } from '../kit/secrets/token-file.ts';
import { parseCloudUrl } from '../runtime-server/link/cloud-url.ts';
import { createDialer } from '../runtime-server/link/dialer.ts';

export interface CloudToJoin {
  readonly cloudUrl: string;
  readonly hostId: string;
  readonly key: string;
}

/** Throws `usage`. */
export function readCloudToJoin(cloud: string, token: string): CloudToJoin {
  const [, hostId, key] = /^(host_[0-9A-Za-z]{8,40})\.([0-9a-f]{64})$/.exec(token.trim()) ?? [];
  if (hostId !== undefined && key !== undefined) return { cloudUrl: parseCloudUrl(cloud), hostId, key };
  throw new AppError(
    'usage',
    'The token is not one of a computer host.',
    'Use what `gantry admin hosts add <name>` printed at the cloud.',
  );
}

export function joinCloud({
  to: { cloudUrl, hostId, key },
  serve,
  clock,
  tell,
}: {
  readonly to: CloudToJoin;
  readonly serve: {
    /** A connection that speaks the computer host's protocol. */
    accept(connection: Duplex): void;
    /** One for the computer that its first line names. */
    lead(connection: Duplex): void;
  };
  readonly clock: Clock;
  /** A sentence for who runs it. */
  readonly tell: (sentence: string) => void;
}): { close(): Promise<void> } {
  const dialer = createDialer({
    home: () => ({ cloudUrl, computerId: hostId, key }),
    serve: { engine: serve.accept, peer: serve.lead },
    // Nothing that the cloud sends here needs it: a pipe of its link is the cloud's.
    linkToken: () => newToken(),
    ifKeyRefused:
      'If this computer host was removed there, add it again (gantry admin hosts add) and start it here with the new token.',
    clock,
    timers: systemTimers,
    random: Math.random,
    log: {
      info() {},
      warn: (_message, facts) => tell(`Not linked to ${cloudUrl}: ${facts?.why} Gantry keeps dialling.`),
    },
  });
  dialer.onChange((linked) => {
    if (linked) tell(`Linked to ${cloudUrl}.`);
  });
  dialer.start();
  return { close: () => dialer.stop() };
}
