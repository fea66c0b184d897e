/**
 * Bounds in µs of CPU, and those in ms for one action at a time, hold on the machine on which they were set; the same work costs 1.6 to 2.3
 * times as much on others. So such a figure measures, by turns with its own rounds, what a program without Gantry pays for work of the same
 * kind (`../victims/floor.ts`), and is told as it would be on the machine of the bounds: `value` is the raw cost over `factor`, and `factor`
 * is the floor now over the floor there. What Gantry gets slower by is in the raw cost alone, so `value` grows by as much; raw cost, floor
 * and factor stand in `detail`.
 */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { startVictim } from '../victim.ts';
import { load, type Target } from './converse.ts';
import { median, rounded } from './numbers.ts';

/**
 * µs of CPU that one piece of each work costs on the machine on which the bounds were set. That machine is gone: these are what the floors
 * cost on another that was quiet, over 2.25, as one build of Gantry costs that much more there (a text 911 µs beside 424, a cycle of the
 * queue 592 beside 253). `row`, `ed25519`, `hmac`, `pass`: a request to `../victims/floor.ts`. `hash`: a row of the ledger, read by
 * better-sqlite3 and hashed by node:crypto.
 */
export const floorThere = { row: 40, ed25519: 124, hmac: 70, pass: 39, hash: 1.87 } as const;

export type FloorKind = keyof typeof floorThere;

/** No machine that Gantry is built on is so far off: then the floor itself is disturbed or broken, and must not excuse anything. */
const furthest = 4;

export interface Machine {
  /** How many times as much CPU the same work costs here. */
  readonly factor: number;
  /** For the figure's line, beside the raw cost. */
  readonly detail: { readonly machine: number; readonly floorUs: number; readonly floorThereUs: number };
}

/** `rounds`: µs of each; `of`: the same choice among rounds that the figure makes among its own. Throws where the floor cannot be believed. */
export function machineBy(kind: FloorKind, rounds: readonly number[], of = median): Machine {
  const there = floorThere[kind];
  const now = of(rounds);
  const factor = now / there;
  if (!(factor >= 1 / furthest && factor <= furthest)) {
    throw new Error(`The floor "${kind}" costs ${now} µs here and ${there} µs where the bounds were set.`);
  }
  return {
    factor,
    detail: { machine: rounded(factor, 3), floorUs: rounded(now, 2), floorThereUs: there },
  };
}

const connections = 16;
/** Until then it is compiling. Requests. */
const warmUp = 15_000;
const each = 3_000;

/** What `measure` finds in each round, and in turn with them the rounds of a floor that is posted to: µs of its CPU each. */
export async function besideFloor<T>(
  kind: Exclude<FloorKind, 'hash'>,
  rounds: number,
  measure: (round: number) => Promise<T>,
): Promise<{ found: T[]; floors: number[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-floor-'));
  const script = fileURLToPath(new URL('../victims/floor.ts', import.meta.url));
  const victim = startVictim({ command: [process.execPath, script, kind, folder] });
  try {
    const target = JSON.parse(await victim.until((line) => line.startsWith('{'))) as Target;
    await load(target, warmUp, connections);
    const found: T[] = [];
    const floors: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      found.push(await measure(round));
      const { cpuMs, sent } = await load(target, each, connections);
      floors.push((cpuMs / sent) * 1000);
    }
    return { found, floors };
  } finally {
    await victim.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Rows at once, as the ledger reads them. */
const rowsAtOnce = 2_000;

/** One round of the floor `hash`: every row of a ledger's file. µs of this process's CPU a row. */
export function hashLedger(file: string): number {
  const database = new Database(file, { readonly: true });
  const rows = database.prepare('SELECT * FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?').raw();
  let count = 0;
  const before = process.cpuUsage();
  for (let last = -1; ; ) {
    const some = rows.all(last, rowsAtOnce) as (string | number | null)[][];
    for (const row of some) hash('sha256', row.join('\n'), 'hex');
    count += some.length;
    if (some.length < rowsAtOnce) break;
    last = some.at(-1)?.[0] as number;
  }
  const { user, system } = process.cpuUsage(before);
  database.close();
  return (user + system) / count;
}
