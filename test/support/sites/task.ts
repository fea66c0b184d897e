/**
 * A small site with something to do on it, made from a seed, and a script that does it with input actions. A page
 * reports to the server with `report(…)`, and the last report is judged. Must not know the executor: only the members
 * of the toolset.
 */
import type { Hands } from './hands.ts';

export interface Random {
  /** Whole, `from` ≤ n < `to`. */
  int(from: number, to: number): number;
  pick<T>(list: readonly T[]): T;
  shuffle<T>(list: readonly T[]): T[];
  /** A word of letters that stands nowhere else. */
  word(): string;
}

export interface Site {
  /** Body of each page by its path; `/` is where it begins. */
  readonly pages: Readonly<Record<string, string>>;
  /** Whether what was reported last is what was to be done. */
  done(reported: unknown): boolean;
  /** `file` is one that may be handed to a page; `other` is the same site under another origin. */
  solve(hands: Hands, place: { readonly file: string; readonly origin: string; readonly other: string }): Promise<void>;
}

export interface Task {
  readonly name: string;
  site(random: Random, place: { readonly other: string }): Site;
}

/** The same seed, the same numbers (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (from: number, to: number) => from + Math.floor(next() * (to - from));
  const pick = <T>(list: readonly T[]): T => list[int(0, list.length)] as T;
  return {
    int,
    pick,
    shuffle(list) {
      const mixed = [...list];
      for (let at = mixed.length - 1; at > 0; at -= 1) {
        const other = int(0, at + 1);
        [mixed[at], mixed[other]] = [mixed[other]!, mixed[at]!];
      }
      return mixed;
    },
    word() {
      const letters = 'bcdfghklmnprstvwz';
      return Array.from({ length: 3 }, () => `${pick([...letters])}${pick([...'aeiou'])}`).join('');
    },
  };
}

/** A whole page around `body`, with `report`. */
export function pageOf(body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Task</title>
<style>body{font:16px/1.4 sans-serif;margin:24px;max-width:900px}label{display:block;margin:8px 0}button,input,select,textarea{font:inherit}</style>
<script>const report = (what) => navigator.sendBeacon('/report', JSON.stringify(what));</script></head><body>${body}</body></html>`;
}
