/** The programs of a cluster as processes: each in a network namespace, with a log of its own. Knows nothing of what they are. */
import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from '../namespaces.ts';

export interface Part {
  readonly name: string;
  readonly running: boolean;
  readonly pid: number;
  /** As it was first. */
  start(): void;
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** The end of what it has logged. */
  log(): string;
}

export function createPart(options: {
  readonly name: string;
  readonly place: Place;
  readonly folder: string;
  readonly program: string;
  readonly words: readonly string[];
  /** A process whose view of the files it shares. Default: this process's. */
  readonly beside?: () => Part;
}): Part {
  const { name, place, program, words, beside } = options;
  const file = join(options.folder, `${name}.log`);
  let child: ChildProcess | null = null;
  const running = () => child !== null && child.exitCode === null && child.signalCode === null;
  return {
    name,
    get running() {
      return running();
    },
    get pid() {
      return child?.pid ?? 0;
    },
    start() {
      const enter = [`--net=/var/run/netns/${place.namespace}`];
      if (beside !== undefined) enter.push(`--mount=/proc/${beside().pid}/ns/mnt`);
      const log = openSync(file, 'a');
      // Not `ip netns exec`: it mounts another /sys, in which container engines find no cgroups.
      child = spawn('nsenter', [...enter, program, ...words], {
        stdio: ['ignore', log, log],
        // Apart from this group: an early end from a keyboard must reach the parts in their order.
        detached: true,
        env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: options.folder },
      });
    },
    async stop(signal = 'SIGTERM') {
      if (!running()) return;
      const ended = new Promise((resolve) => child!.once('exit', resolve));
      child!.kill(signal);
      const late = setTimeout(() => child!.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(late);
    },
    log: () => readFileSync(file, 'utf8').slice(-3_000),
  };
}
