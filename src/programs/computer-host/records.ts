/**
 * The helper's files on disk, readable only by root: the existing computers, and how each running one is reached. A computer exists once it has a
 * record. Must not know what runs.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { HostedComputerId } from '../../contracts/hosted-computers/computer.ts';
import type { Ranges } from './network.ts';
import type { HostSpec } from './protocol.ts';

export interface ComputerRecord {
  readonly computer: string;
  readonly slot: number;
  /** Absent where it was made for a cloud of an older Gantry: the helper's limits hold, and it may reach public addresses. */
  readonly spec?: HostSpec;
}

/** A computer whose program was started, by any helper. */
interface RunRecord {
  readonly token: string;
  /** The first process, and when it began: an id could belong to another by now. */
  readonly pid: number;
  readonly began: string;
  readonly since: number;
}

/** Identifies the machine's boot: after a reboot the network may be another one. */
export interface MachineRecord extends Ranges {
  readonly boot: string;
  /** It forwarded nothing before the helper came. */
  readonly only: boolean;
}

export interface Records {
  folderOf(computer: string): string;
  computers(): readonly ComputerRecord[];
  addComputer(record: ComputerRecord): void;
  /** Makes a computer of the files of one that has no record: all of it, or nothing. */
  handOver(from: string, record: ComputerRecord): void;
  removeComputer(computer: string): void;
  run(computer: string): RunRecord | null;
  setRun(computer: string, run: RunRecord | null): void;
  machine(): MachineRecord | null;
  setMachine(record: MachineRecord): void;
  /** Folders without a computer, left from making or removing one. */
  removeLeftovers(): void;
}

/** One that nobody has called. Its name is no id of a computer, so no request can name it. */
export const isWarm = (computer: string): boolean => !HostedComputerId.safeParse(computer).success;

export function openRecords(folder: string): Records {
  const all = join(folder, 'computers');
  // A user who may call a computer must reach its socket, and sees no names on the way.
  mkdirSync(all, { recursive: true, mode: 0o711 });
  for (const each of [folder, all]) chmodSync(each, 0o711);
  const folderOf = (computer: string) => join(all, computer);
  const recordIn = (computer: string) => join(folderOf(computer), 'computer.json');
  const runIn = (computer: string) => join(folderOf(computer), 'run.json');
  const machineFile = join(folder, 'machine.json');

  return {
    folderOf,
    computers: () =>
      readdirSync(all)
        .filter((name) => !isWarm(name))
        .flatMap((computer) => readJson<ComputerRecord>(recordIn(computer)) ?? []),
    addComputer(record) {
      mkdirSync(folderOf(record.computer), { recursive: true, mode: 0o711 });
      writeJson(recordIn(record.computer), record);
    },
    handOver(from, record) {
      writeJson(recordIn(from), record);
      renameSync(folderOf(from), folderOf(record.computer));
    },
    removeComputer(computer) {
      // The record first: anything left after that belongs to nobody.
      rmSync(recordIn(computer), { force: true });
      rmSync(folderOf(computer), { recursive: true, force: true });
    },
    run: (computer) => readJson<RunRecord>(runIn(computer)),
    setRun(computer, run) {
      if (run === null) rmSync(runIn(computer), { force: true });
      else writeJson(runIn(computer), run);
    },
    machine: () => readJson<MachineRecord>(machineFile),
    setMachine: (record) => writeJson(machineFile, record),
    removeLeftovers() {
      for (const name of readdirSync(all)) {
        if (isWarm(name) || !existsSync(recordIn(name))) rmSync(join(all, name), { recursive: true, force: true });
      }
    },
  };
}

/** Null if it does not exist or was not written completely. */
function readJson<Value>(file: string): Value | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Value;
  } catch {
    return null;
  }
}

function writeJson(file: string, value: unknown): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(value)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** The end of a file, however long it is: a computer writes as much into its log as it likes. */
export function endOf(file: string): string {
  const opened = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(4096);
    const read = readSync(opened, bytes, 0, bytes.length, Math.max(0, fstatSync(opened).size - bytes.length));
    return bytes.toString('utf8', 0, read);
  } finally {
    closeSync(opened);
  }
}
