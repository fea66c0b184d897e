/** What was played so far of a seed: slices are played one by one, on other days and after an end of this program too, and add up. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Played } from './play.ts';

export interface SliceResult {
  readonly kills: number;
  readonly lost: number;
  readonly twice: number;
  readonly stale: number;
  readonly contradicted: number;
  readonly problems: readonly string[];
}

export interface PlanWords {
  readonly seed: number;
  readonly kills: number;
  readonly slices: number;
  readonly spool: boolean;
  readonly apart: boolean;
  readonly disk: boolean;
  /** Which agent programs are in the panes. */
  readonly programs: 'stand-ins' | 'claude';
}

interface State extends PlanWords {
  readonly played: Readonly<Record<string, SliceResult>>;
}

export function resultOf({ kills, verdicts }: Played): SliceResult {
  const { lost, twice, stale, contradicted } = verdicts;
  return {
    kills,
    lost: lost.length,
    twice: twice.length,
    stale: stale.length,
    contradicted: contradicted.length,
    problems: [...lost, ...twice, ...stale, ...contradicted],
  };
}

export function sumOf(results: readonly SliceResult[]): SliceResult {
  const sum = (value: (result: SliceResult) => number) => results.reduce((total, result) => total + value(result), 0);
  return {
    kills: sum(({ kills }) => kills),
    lost: sum(({ lost }) => lost),
    twice: sum(({ twice }) => twice),
    stale: sum(({ stale }) => stale),
    contradicted: sum(({ contradicted }) => contradicted),
    problems: results.flatMap(({ problems }) => problems),
  };
}

/** Throws when the file is of another plan. */
export function openState(file: string, plan: PlanWords) {
  const empty: State = { ...plan, played: {} };
  // A file from before disks were filled and real programs took part does not say that they were not and did not.
  let state: State = existsSync(file)
    ? { disk: false, programs: 'stand-ins', ...JSON.parse(readFileSync(file, 'utf8')) }
    : empty;
  for (const name of ['seed', 'kills', 'slices', 'spool', 'apart', 'disk', 'programs'] as const) {
    if (state[name] === plan[name]) continue;
    throw new Error(`${file} is of another plan: its ${name} is ${state[name]}. Name another file with --state.`);
  }
  return {
    isPlayed: (slice: number) => state.played[slice] !== undefined,
    results: (): SliceResult[] => Object.values(state.played),
    add(slice: number, result: SliceResult): void {
      state = { ...state, played: { ...state.played, [slice]: result } };
      writeFileSync(`${file}.new`, `${JSON.stringify(state, null, 2)}\n`);
      renameSync(`${file}.new`, file);
    },
  };
}
