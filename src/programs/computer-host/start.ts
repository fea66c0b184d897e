/** The helper as a program: takes the folder's lock, checks the machine, opens computers and the socket, and closes all of them together. */
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { AppError } from '../../contracts/common/errors.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { systemTimers } from '../../kit/clock/timers.ts';
import { createLog } from '../../kit/log/log.ts';
import { serveMetrics } from '../../kit/metrics/serve-metrics.ts';
import { findCode } from '../../kit/sandbox/own-code.ts';
import { takeInstanceLock } from '../../kit/store/instance-lock.ts';
import { openHost } from './host.ts';
import { leadToComputer } from './lead.ts';
import { whereNobodyEnters, whoElseChanges, whyNot } from './machine.ts';
import { computerHostMetrics } from './metrics.ts';
import { socketIn } from './protocol.ts';
import { openHostServer } from './server.ts';
import type { HostSettings } from './settings.ts';
import { createTool, HostError } from './tools.ts';

interface ComputerHost {
  readonly socket: string;
  /** Answers a connection that came over the link of a cloud on another machine. */
  accept(connection: Duplex): void;
  /** The same for one that is for a computer. */
  lead(connection: Duplex): void;
  /** Address of its figures, and the file with the token that reads them. */
  readonly metrics: { readonly url: string; readonly tokenFile: string } | null;
  /** Stops every computer, within the seconds that they take. Idempotent. */
  close(): Promise<void>;
}

/** Fails with `refused` if another helper has the folder or this machine cannot make computers; the sentence names what is missing. */
export async function startComputerHost(
  settings: HostSettings,
  path: string,
  clock: Clock,
  version: string,
): Promise<ComputerHost> {
  const tool = createTool(path);
  const { platform } = process;
  const { firstUid, most, folder } = settings;
  const lacks = await whyNot({ tool, path, platform, uid: process.getuid?.(), firstUid, most, code: findCode() });
  const unsafe = lacks ?? whoElseChanges(folder) ?? whereNobodyEnters(folder);
  if (unsafe !== null) throw refused(unsafe);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  chmodSync(folder, 0o711);
  const release = takeInstanceLock(join(folder, 'lock'));
  if (release === null) throw refused(`Another computer host is already running in ${folder}.`);
  const log = createLog({ folder: join(folder, 'logs'), name: 'computer-host', clock });
  try {
    const host = await openHost({ settings, path, clock, timers: systemTimers, log }).catch((error: unknown) => {
      throw error instanceof HostError ? refused(error.message, error) : error;
    });
    const socket = socketIn(folder);
    const server = await openHostServer({ socket, owner: settings.owner, host });
    const tokenFile = join(folder, 'metrics-token');
    const figures =
      settings.metricsPort === null
        ? null
        : await serveMetrics({
            port: settings.metricsPort,
            tokenFile,
            metrics: computerHostMetrics(host, { most, version }),
            clock,
            log,
          });
    log.info('Computers can be made.', { folder });
    let closed: Promise<void> | undefined;
    return {
      socket,
      accept: server.accept,
      lead: (connection) => void leadToComputer(host, connection),
      metrics: figures === null ? null : { url: figures.url, tokenFile },
      close() {
        closed ??= server
          .close()
          .then(() => figures?.close())
          .then(() => host.close())
          .finally(() => {
            log.close();
            release();
          });
        return closed;
      },
    };
  } catch (error) {
    log.close();
    release();
    throw error;
  }
}

function refused(fact: string, cause?: unknown): AppError {
  return new AppError('refused', fact, 'See docs/hosted-computers.md for what a machine needs.', { cause });
}
