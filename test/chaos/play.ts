/** Plays one slice of a plan against an orchestrator and judges what is there sixty seconds after the last kill. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Round, wordsOf } from './plan.ts';
import type { Seen, System } from './system.ts';
import { judge, type Verdicts } from './verdicts.ts';

export interface Played {
  readonly kills: number;
  readonly verdicts: Verdicts;
  /** Refusals and ends that nobody asked for; they count against nothing, and are said. */
  readonly surprises: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/** Steps must tell the truth so long after the last kill; milliseconds. */
const truthMs = 60_000;
/** A task of a worker that was killed waits until its lease has ended, a minute. */
const tasksMs = 100_000;
const lookMs = 400;
/** Until the first programs are at work. */
const underWayMs = 60_000;

export async function play(system: System, rounds: readonly Round[], log: (line: string) => void): Promise<Played> {
  const faults: Record<string, number> = {};
  const busy = new AbortController();
  const over = new AbortController();
  const working = repeat(busy.signal, log, () => system.work());
  const attending = repeat(over.signal, log, () => system.attend());
  const began = performance.now();
  const took = () => `${Math.round((performance.now() - began) / 1000)} s`;
  try {
    await until(underWayMs, async () => (await system.seen()).atWork.size > 0);
    for (const { number, before, kill } of rounds) {
      for (const fault of [before, kill]) {
        if (fault === null) continue;
        await delay(fault.afterMs);
        log(`${took()}, ${number}: ${wordsOf(fault)}`);
        const from = performance.now();
        await system.play(fault);
        log(`  up again after ${Math.round(performance.now() - from)} ms`);
        faults[`${fault.kind} ${fault.name}`] = (faults[`${fault.kind} ${fault.name}`] ?? 0) + 1;
      }
    }
    busy.abort();
    const last = performance.now();
    await working;
    const isAtRest = await until(truthMs, () => system.isAtRest());
    let seen = await system.seen();
    if (!isAtRest && !(await tasksEnded(seen))) {
      // Steps are judged by what is there now, tasks once the leases of the dead have ended.
      await until(tasksMs - (performance.now() - last), async () => tasksEnded(await system.seen()));
      const { tasks } = await system.seen();
      seen = { ...seen, tasks };
    }
    if (seen.reports.length === 0) throw new Error('No program reported anything: nothing was proven.');
    log(`${took()}: ${isAtRest ? 'everything has ended' : 'something is still under way'}`);
    const settledMs = Math.round(performance.now() - last);
    return {
      kills: rounds.length,
      verdicts: judge(seen),
      surprises: seen.surprises,
      counts: { ...system.counts(), ...answersOf(seen), ...faults, settledMs },
    };
  } finally {
    busy.abort();
    over.abort();
    await Promise.all([working, attending]);
  }
}

function tasksEnded({ tasks }: Seen): boolean {
  return tasks.every(({ status }) => ['succeeded', 'failed', 'cancelled'].includes(status));
}

function answersOf({ reports, refusedLater }: Seen): Record<string, number> {
  const counts: Record<string, number> = { reports: reports.length, refusedLater: refusedLater.size };
  for (const { answer } of reports) counts[answer] = (counts[answer] ?? 0) + 1;
  return counts;
}

/** While something is down, what is asked of it fails: that is expected, asked again, and each kind of it said once. */
async function repeat(signal: AbortSignal, log: (line: string) => void, what: () => Promise<void>): Promise<void> {
  const said = new Set<string>();
  while (!signal.aborted) {
    await what().catch((error: unknown) => {
      const words = String(error).slice(0, 300);
      const kind = words.replaceAll(/[0-9A-Za-z_-]*\d[0-9A-Za-z_-]*/g, '…');
      if (!said.has(kind)) log(`not now: ${words}`);
      said.add(kind);
    });
    await delay(lookMs);
  }
}

async function until(ms: number, holds: () => Promise<boolean> | boolean): Promise<boolean> {
  const end = performance.now() + ms;
  for (;;) {
    try {
      if (await holds()) return true;
    } catch {
      // It is not reached at this moment.
    }
    if (performance.now() > end) return false;
    await delay(lookMs);
  }
}
