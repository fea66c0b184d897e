/**
 * State shared by the parts of the simulated carrier: data, time, randomness, jobs and posts. A change is stored before the response. Must not know
 * any route.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../src/kit/clock/clock.ts';
import { iso } from '../../src/kit/clock/clock.ts';
import type { Timers } from '../../src/kit/clock/timers.ts';
import type { Json } from './exchange.ts';
import type { Fault } from './faults.ts';
import { refused } from './refusal.ts';
import type { Job, State } from './state.ts';

interface Later {
  /** For people: `campaign of Acme: reviewed by the networks`. */
  readonly what: string;
  readonly kind: string;
  readonly args: Readonly<Record<string, string>>;
  /** At the speed `realistic`, milliseconds. */
  readonly after: number;
  /** A person's patience, which takes its time even at the instant speed. */
  readonly patient?: boolean;
}

export interface World {
  readonly state: State;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Its own address for others, without a path. */
  readonly origin: () => string;
  /** RFC 3339, now. */
  now(): string;
  /** Its own time, which can be frozen and moved, ms. */
  time(): number;
  /** A uuid that was never used before. */
  id(): string;
  later(job: Later): void;
  /** Drops the jobs that `matches`. */
  forget(matches: (job: Job) => boolean): void;
  /** Posts an event to `url`, in the envelope or plain (`bare`); null: to the account's address, if there is one. */
  emit(url: string | null, type: string, payload: Json, as?: 'envelope' | 'bare'): void;
  /** Charges the account, or refuses if it has no funds. */
  charge(what: string, amount: number, ref: string): void;
  /** The planted fault for this, used once; null: none. `about` is its subject. */
  strikes(name: string, about?: string): Fault | null;
  log(what: string, detail: Json): void;
}

const maxLogEntries = 1000;

interface WorldDeps {
  readonly state: State;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly origin: () => string;
  readonly post: World['emit'];
  readonly strikes: World['strikes'];
}

export function createWorld(deps: WorldDeps): World {
  const { state, clock } = deps;

  function id(): string {
    state.sequence += 1;
    const hex = createHash('sha256').update(`${state.seed}:${state.sequence}`).digest('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }

  const world: World = {
    state,
    clock,
    timers: deps.timers,
    origin: deps.origin,
    now: () => iso(clock.now()),
    time: () => state.frozenAt ?? clock.now() + state.ahead,
    id,
    later(job) {
      state.jobs.push({
        id: id(),
        kind: job.kind,
        what: job.what,
        args: job.args,
        dueAt: world.time() + job.after,
        patient: job.patient ?? false,
      });
    },
    forget(matches) {
      state.jobs = state.jobs.filter((job) => !matches(job));
    },
    emit: deps.post,
    charge(what, amount, ref) {
      const left = state.account.balance - amount;
      if (left < 0 || deps.strikes('no_funds', what) !== null)
        throw refused(403, '20100', 'Insufficient Funds', 'You have insufficient funds to perform this action.');
      state.account.balance = left;
      state.charges.push({ at: world.now(), what, amount, ref });
    },
    strikes: deps.strikes,
    log(what, detail) {
      state.log.push({ at: world.now(), what, detail });
      if (state.log.length > maxLogEntries) state.log.splice(0, state.log.length - maxLogEntries);
    },
  };
  return world;
}
