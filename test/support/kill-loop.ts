/**
 * The only kill loop: start a program, drive it, kill it at a random moment, start it again, check what it
 * acknowledged. Its self-test plants a loss and demands that the loop finds it.
 */
import { setTimeout as delay } from 'node:timers/promises';

export interface Killable {
  readonly pid: number;
  /** SIGKILL, and wait until it is gone. */
  kill(): Promise<unknown>;
}

export interface KillLoopOptions<Program extends Killable> {
  readonly rounds: number;
  /** 0 ≤ x < 1; a seeded one repeats a failure. */
  readonly random: () => number;
  /** Milliseconds between ready (or {@link underWay}) and kill, drawn evenly from this range. */
  readonly killAfter: readonly [number, number] | ((round: number) => readonly [number, number]);
  /** Starts the program and answers once it can be driven. */
  start(round: number): Promise<Program>;
  /** Drives it until `signal` is aborted, remembering what was acknowledged. What fails after the kill is expected. */
  drive(program: Program, signal: AbortSignal, round: number): Promise<void>;
  /** Resolves once something is done that a kill can interrupt, however long a loaded machine takes to it. Default: at once. */
  underWay?(round: number): Promise<void>;
  /** Called with the program up again after each kill: everything acknowledged in any round that is lost, doubled or changed. */
  check(program: Program, round: number): Promise<readonly string[]>;
  /** Ends the last program in good order. */
  end(program: Program): Promise<unknown>;
}

export interface KillLoopResult {
  readonly kills: number;
  readonly problems: readonly string[];
}

/** Throws when driving fails before the kill: then nothing was proven. */
export async function runKillLoop<Program extends Killable>(
  options: KillLoopOptions<Program>,
): Promise<KillLoopResult> {
  const problems: string[] = [];
  let program = await options.start(0);
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      await killOnce(options, program, round);
      program = await options.start(round + 1);
      for (const problem of await options.check(program, round)) problems.push(`kill ${round + 1}: ${problem}`);
    }
  } finally {
    await options.end(program);
  }
  return { kills: options.rounds, problems };
}

async function killOnce<Program extends Killable>(
  options: KillLoopOptions<Program>,
  program: Program,
  round: number,
): Promise<void> {
  const { killAfter } = options;
  const [shortest, longest] = typeof killAfter === 'function' ? killAfter(round) : killAfter;
  const stop = new AbortController();
  let early: unknown = null;
  const driving = options.drive(program, stop.signal, round).catch((error: unknown) => {
    if (!stop.signal.aborted) early = error;
  });
  await Promise.race([options.underWay?.(round), driving]);
  await delay(shortest + options.random() * (longest - shortest));
  const failed = early;
  stop.abort();
  await program.kill();
  await driving;
  if (failed !== null) throw new Error(`Driving failed before kill ${round + 1}.`, { cause: failed });
}

/** Small, fast, seeded (mulberry32): the same seed gives the same kills. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
