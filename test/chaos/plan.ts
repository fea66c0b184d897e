/** What goes wrong, and when: drawn from a seed, the same for the same seed. Must not know an orchestrator. */
import { seededRandom } from '../support/kill-loop.ts';

export const faultKinds = ['kill', 'freeze', 'cut', 'hold', 'delay', 'clock', 'fill'] as const;
export type FaultKind = (typeof faultKinds)[number];

/** What can go wrong at an orchestrator, and how often one thing compared to another. */
export interface Target {
  readonly kind: FaultKind;
  /** The part, the link or the disk that it happens to. */
  readonly name: string;
  readonly weight: number;
}

export interface Fault {
  readonly kind: FaultKind;
  readonly name: string;
  /** Milliseconds of work before it. */
  readonly afterMs: number;
  /** How long it lasts: until the part is started again, goes on or is reached again. */
  readonly forMs: number;
  /** `clock`: by so many seconds, back or ahead. */
  readonly seconds: number;
}

/** One kill, and what may go wrong shortly before it. */
export interface Round {
  readonly number: number;
  readonly before: Fault | null;
  readonly kill: Fault;
}

const afterMs = [400, 2500] as const;
const awayMs = [0, 2500] as const;
/** Some last longer than a call waits for its answer. */
const frozenMs = [300, 5000] as const;
const clockSeconds = 900;
const othersShare = 0.5;

export function planOf(seed: number, kills: number, targets: readonly Target[]): Round[] {
  const random = seededRandom(seed);
  const between = ([least, most]: readonly [number, number]) => Math.round(least + random() * (most - least));
  const drawn = (from: readonly Target[]): Fault | null => {
    const total = from.reduce((sum, { weight }) => sum + weight, 0);
    let left = random() * total;
    const found = from.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    // Always as many draws, so that what follows does not depend on what can go wrong here.
    const [after, away, frozen, by] = [between(afterMs), between(awayMs), between(frozenMs), random()];
    if (found === undefined) return null;
    return {
      kind: found.kind,
      name: found.name,
      afterMs: after,
      forMs: found.kind === 'kill' ? away : frozen,
      seconds: Math.round((by * 2 - 1) * clockSeconds),
    };
  };
  const kinds = (kill: boolean) => targets.filter(({ kind }) => (kind === 'kill') === kill);
  return Array.from({ length: kills }, (_, index) => {
    const wanted = random() < othersShare;
    const other = drawn(kinds(false));
    const kill = drawn(kinds(true));
    if (kill === null) throw new Error('Nothing can be killed here.');
    return { number: index + 1, before: wanted ? other : null, kill };
  });
}

/** The rounds of slice `index` of `count`, counted from 1. Together the slices are the whole plan. */
export function sliceOf<T>(rounds: readonly T[], index: number, count: number): T[] {
  const edge = (at: number) => Math.round((rounds.length * at) / count);
  return rounds.slice(edge(index - 1), edge(index));
}

export function wordsOf({ kind, name, forMs, seconds }: Fault): string {
  const words: Record<FaultKind, string> = {
    kill: `kill -9 of ${name}, away for ${forMs} ms`,
    freeze: `${name} frozen for ${forMs} ms`,
    cut: `${name} cut`,
    hold: `${name} half-open for ${forMs} ms`,
    delay: `${name} slow for ${forMs} ms`,
    clock: `${name} set by ${seconds} s for ${forMs} ms`,
    fill: `${name} full for ${forMs} ms`,
  };
  return words[kind];
}
