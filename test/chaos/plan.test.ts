/** A seed says everything that goes wrong, and slices add up to it. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../support/scratch.ts';
import { planOf, sliceOf, type Target } from './plan.ts';
import { openState, type SliceResult, sumOf } from './slices.ts';

const targets: Target[] = [
  { kind: 'kill', name: 'runtime', weight: 3 },
  { kind: 'kill', name: 'worker', weight: 1 },
  { kind: 'freeze', name: 'runtime', weight: 1 },
];

test('the same seed gives the same faults, and another one others', () => {
  expect(planOf(7, 50, targets)).toEqual(planOf(7, 50, targets));
  expect(planOf(7, 50, targets)).not.toEqual(planOf(8, 50, targets));
  // A longer plan begins with the shorter one.
  expect(planOf(7, 50, targets).slice(0, 20)).toEqual(planOf(7, 20, targets));
});

test('each round has one kill, and everything that can go wrong does', () => {
  const rounds = planOf(7, 200, targets);
  expect(rounds.every(({ kill }) => kill.kind === 'kill')).toBe(true);
  expect(new Set(rounds.map(({ kill }) => kill.name))).toEqual(new Set(['runtime', 'worker']));
  const others = rounds.flatMap(({ before }) => before ?? []);
  expect(others.length).toBeGreaterThan(50);
  expect(new Set(others.map(({ kind }) => kind))).toEqual(new Set(['freeze']));
});

test('slices are the whole plan, each round once', () => {
  const rounds = planOf(7, 50, targets);
  expect([1, 2, 3].flatMap((slice) => sliceOf(rounds, slice, 3))).toEqual(rounds);
});

test('slices that were played are known to the next program, add up, and belong to their plan', () => {
  const file = join(scratchFolder(), 'state.json');
  const plan = {
    seed: 7,
    kills: 40,
    slices: 2,
    spool: true,
    apart: false,
    disk: false,
    programs: 'stand-ins' as const,
  };
  const result: SliceResult = { kills: 20, lost: 1, twice: 0, stale: 0, contradicted: 2, problems: ['a', 'b', 'c'] };
  openState(file, plan).add(2, result);
  const next = openState(file, plan);
  expect([next.isPlayed(1), next.isPlayed(2)]).toEqual([false, true]);
  next.add(1, result);
  expect(sumOf(openState(file, plan).results())).toMatchObject({ kills: 40, lost: 2, contradicted: 4 });
  expect(() => openState(file, { ...plan, seed: 8 })).toThrow('of another plan: its seed is 7');
});
