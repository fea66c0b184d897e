/**
 * Containers of the driver docker that run before anybody asks for them, so that a create only has to take one. They outlive their cloud, and all
 * replicas keep the same ones: the first to write the file of a container's claim may take or remove it. Must not know the engine.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { ComputerSpec } from './driver.ts';

type Toolset = ComputerSpec['toolset'];
/** How many of each run before anybody asks for them. */
export type WarmCounts = Readonly<Record<Toolset, number>>;

interface WarmContainer {
  /** Of its folder, and for as long as nobody has taken it also its name. */
  readonly place: string;
  readonly toolset: Toolset;
  readonly state: 'starting' | 'running' | 'stopped';
  /** It is what a create would get now: of the image and with the limits of today. */
  readonly isCurrent: boolean;
}

interface Claim {
  readonly computer: string;
  readonly key: string;
}

const toolsets = ['desktop', 'shell'] as const;
const prefix = 'warm_';
/** Between two looks whether one ended or could be made by now. Milliseconds. */
const againMs = 15_000;
/** After a create that took one its first calls go before making the next one, which takes a processor. Milliseconds. */
const firstCallsMs = 1_000;
/** A claim that has not given a container its computer's name by then was cut off. Milliseconds. */
const claimedFor = 60_000;

export const isWarm = (place: string) => place.startsWith(prefix);

/** A place in the folder of computers that has the claim of nobody: null. */
export function claimIn(folder: string, place: string): Claim | null {
  if (!isWarm(place)) return null;
  try {
    return JSON.parse(readFileSync(claimFile(folder, place), 'utf8')) as Claim;
  } catch {
    return null;
  }
}

const claimFile = (folder: string, place: string) => join(folder, place, 'claim.json');

export function createDockerWarm(deps: {
  readonly wanted: WarmCounts;
  readonly folder: string;
  /** Those that nobody has taken by name. */
  readonly list: () => Promise<readonly WarmContainer[]>;
  /** Resolves once it can be called. */
  readonly make: (spec: ComputerSpec) => Promise<unknown>;
  readonly remove: (place: string) => Promise<void>;
  readonly clock: Pick<Clock, 'now'>;
  readonly timers: Timers;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}) {
  const { wanted, folder, clock, timers } = deps;
  let closed = false;
  let cancel = () => {};
  let filling: Promise<void> = Promise.resolve();
  const wantsAny = toolsets.some((toolset) => wanted[toolset] > 0);
  const isFree = ({ place }: WarmContainer) => claimIn(folder, place) === null;
  const isReady = (one: WarmContainer) => one.state === 'running' && one.isCurrent && isFree(one);

  /** False: somebody else was first. */
  function claim(place: string, by: Claim): boolean {
    try {
      writeFileSync(claimFile(folder, place), JSON.stringify(by), { flag: 'wx', mode: 0o600 });
      return true;
    } catch {
      return false;
    }
  }

  async function drop(one: WarmContainer): Promise<void> {
    if (claim(one.place, { computer: one.place, key: '' })) return deps.remove(one.place);
    const at = statSync(claimFile(folder, one.place), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (clock.now() - at > claimedFor) await deps.remove(one.place);
  }

  async function makeOne(toolset: Toolset): Promise<void> {
    const spec = warmSpec(toolset);
    const place = spec.computer;
    try {
      await deps.make(spec);
    } catch (fault) {
      // Somebody may have taken it as soon as it could be called: then it is a computer's, with another name.
      const isOurs = claim(place, { computer: place, key: '' });
      if (!isOurs && claimIn(folder, place) !== null) return;
      if (isOurs) await deps.remove(place);
      throw fault;
    }
  }

  async function fillAll(): Promise<void> {
    const all = await deps.list();
    const kept: WarmContainer[] = [];
    for (const one of all) {
      const has = kept.filter(({ toolset }) => toolset === one.toolset).length;
      const isWanted = one.state !== 'stopped' && one.isCurrent && isFree(one) && has < wanted[one.toolset];
      if (isWanted) kept.push(one);
      else await drop(one);
    }
    for (const toolset of toolsets) {
      const has = kept.filter((one) => one.toolset === toolset).length;
      for (let count = has; count < wanted[toolset] && !closed; count += 1) await makeOne(toolset);
    }
  }

  function fill(): void {
    if (closed) return;
    filling = filling
      .then(fillAll)
      .catch((fault: Error) => {
        if (wantsAny) deps.log.warn('A computer could not be made in advance.', { fault: fault.message });
      })
      .finally(() => later(againMs));
  }

  function later(ms: number): void {
    cancel();
    if (!closed && wantsAny) cancel = timers.after(ms, fill);
  }

  return {
    /** Also where none are wanted: those that an earlier cloud kept go. */
    begin: fill,
    /** Null if none are to be kept. */
    async counts(): Promise<WarmCounts | null> {
      if (!wantsAny) return null;
      const ready = (await deps.list()).filter(isReady);
      const of = (toolset: Toolset) => ready.filter((one) => one.toolset === toolset).length;
      return { desktop: of('desktop'), shell: of('shell') };
    },
    /** The place of one that is the computer's from now on; null: none is exactly what was asked for. */
    async take(spec: ComputerSpec): Promise<string | null> {
      const { image, limits, egress, lifetime, toolset } = spec;
      const isUsual = image === null && limits.memory === null && limits.processes === null && lifetime === null;
      if (!wantsAny || !isUsual || egress !== 'public') return null;
      for (const one of await deps.list()) {
        if (one.toolset !== toolset || !isReady(one)) continue;
        if (!claim(one.place, { computer: spec.computer, key: spec.key })) continue;
        later(firstCallsMs);
        return one.place;
      }
      return null;
    },
    /** What runs stays for the next cloud. */
    close(): void {
      closed = true;
      cancel();
    },
  };
}

export function warmSpec(toolset: Toolset, place = `${prefix}${randomBytes(8).toString('hex')}`): ComputerSpec {
  const limits = { memory: null, processes: null };
  return { computer: place, key: place, image: null, limits, toolset, egress: 'public', lifetime: null };
}

/** Of a computer that is not there any more, and of whose container only the folder is left. */
export function placesOf(folder: string, computer: string, all: readonly string[]): string[] {
  return all.filter((place) => place === computer || claimIn(folder, place)?.computer === computer);
}
