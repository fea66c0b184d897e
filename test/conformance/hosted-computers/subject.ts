/** What the suite of hosted drivers needs of an engine besides the driver itself. */
import type { ComputerSpec, OfferingDriver } from '../../../src/cloud-api/hosted-computers/driver.ts';
import type { Attempt } from '../../support/computers/probe.ts';

export type Attempts = Readonly<Record<string, Attempt>>;
/** Of each attempt, what came of it: `open`, or why not. */
export type Came = Readonly<Record<string, string>>;

export interface DriverSubject {
  /** What its computers are, where a test asks for no kind: its engine may have an image with or without a browser. */
  readonly toolset: ComputerSpec['toolset'];
  /** What its driver says of itself, all of which the suite checks. */
  readonly promises: Omit<Awaited<ReturnType<OfferingDriver['capabilities']>>, 'refused'>;
  /** A driver as each cloud has one. */
  connect(): OfferingDriver;
  /** kill -9 of what serves the driver. Resolves when it serves again. */
  kill(): Promise<void>;
  /** Ends everything in a computer, as its own crash would. */
  crash(computer: string): void;
  /** What the kernel holds it to: mebibytes; processes and threads. */
  limitsOf(computer: string): { readonly memory: number; readonly processes: number };
  /** Tried from inside a computer, as its own user. */
  probe(computer: string, attempts: Attempts): Came;
  /** What a command writes in a computer: as its own user, and with everything that its programs have. */
  inside(computer: string, command: readonly string[]): string;
  /** Tried from the machine, which nothing holds: all of it can be reached. */
  probeFreely(attempts: Attempts): Came;
  /** An address at which another computer could be reached, and somebody listens there. */
  addressOf(computer: string): Promise<string>;
  /** Everything of computers on the machine: files, processes, networks, groups. */
  remains(): readonly string[];
  close(): Promise<void>;
}
