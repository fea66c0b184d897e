/**
 * Whether a bot can take a message now, and the state that people see of it: the judged one, unless it has taken no message for long. Knows until when a
 * person is likely to type. Must not know how a message is delivered, nor who waits for one.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Driver } from './adapter.ts';
import type { BotState, Gate } from './harness.ts';
import type { Judge } from './judge/judge.ts';
import { obstacleInWords } from './wording.ts';

/** After a person's key nothing is typed for this long: they are likely to press another. */
const personGraceMs = 1500;
/** After a person's Enter, waiting for the screen to follow is enough. */
const personEnterGraceMs = 300;
/** A bot that cannot take a message for this long needs a person: such an obstacle does not go away without one. */
const cannotTakeMs = 60_000;
/** A person's input is recorded once a burst, or it would push all other evidence out of `explain`. */
const personBurstMs = 5000;

type Obstacles = Pick<Driver, 'obstacle' | 'away'>;

interface Readiness {
  gate(driver: Obstacles): Gate;
  /** The state that people see. */
  state(driver: Obstacles): BotState;
  /** Looks whether something prevents a message, and remembers since when. */
  check(driver: Obstacles): void;
  /** A person has typed these bytes. */
  typed(bytes: string): void;
  /** Milliseconds after which time alone changes the gate or the state; empty: it does not. */
  waits(): readonly number[];
}

export function createReadiness({
  clock,
  judge,
  unreachable,
}: {
  readonly clock: Clock;
  readonly judge: Judge;
  /** Why nothing can be typed into its pane, whatever it does; null: it can. */
  readonly unreachable: () => string | null;
}): Readiness {
  /** Why a bot outside a turn cannot take a message, and since when. */
  let shut: { readonly why: string; readonly since: number } | null = null;
  let person = { at: Number.NEGATIVE_INFINITY, until: Number.NEGATIVE_INFINITY };

  /** Why it can take no message although it is in no turn and asks nothing; null: nothing prevents it, or a turn runs. */
  function hindrance(driver: Obstacles): string | null {
    if (unreachable() !== null) return null;
    const { state } = judge.state();
    if (state === 'starting') return 'it has not become ready since its start';
    if (judge.unclear())
      return state === 'needs_you' || state === 'blocked' ? null : 'Gantry does not recognize its screen';
    if (state !== 'idle' && state !== 'done') return null;
    const obstacle = driver.obstacle();
    return obstacle === null ? null : obstacleInWords(obstacle);
  }

  return {
    gate(driver) {
      const closedBecause = (why: string, setup = false): Gate => ({ open: false, why, setup });
      const away = unreachable();
      if (away !== null) return closedBecause(away);
      const { state, reason } = judge.state();
      if (judge.unclear()) return closedBecause('unclear');
      if (state !== 'idle' && state !== 'done') {
        return closedBecause(reason ? `${state}: ${reason}` : state, judge.setup());
      }
      if (clock.monotonic() < person.until) return closedBecause('a person is typing');
      const obstacle = driver.obstacle();
      return obstacle === null ? { open: true } : closedBecause(obstacle);
    },
    state(driver) {
      const judged = judge.state();
      if (shut === null) return judged;
      const lasted = Math.round(clock.monotonic() - shut.since);
      if (lasted >= cannotTakeMs) {
        const since = clock.now() - lasted + cannotTakeMs;
        return { state: 'needs_you', reason: `cannot take messages: ${shut.why}`, since };
      }
      // An idle bot can take a message; one that cannot be reached is not there yet, or has gone.
      const away = driver.away?.() ?? null;
      if (away === null || judged.state === 'starting') return judged;
      return { state: 'starting', reason: away, since: clock.now() - lasted };
    },
    check(driver) {
      const why = hindrance(driver);
      shut = why === null ? null : { why, since: shut?.since ?? clock.monotonic() };
    },
    typed(bytes) {
      shut = null;
      const now = clock.monotonic();
      if (now - person.at > personBurstMs) {
        judge.take({ source: 'person', rule: 'person.input', claim: null, seen: 'a person typed' });
      }
      person = { at: now, until: now + (/[\r\n]$/.test(bytes) ? personEnterGraceMs : personGraceMs) };
    },
    waits() {
      const now = clock.monotonic();
      const ends = [person.until, ...(shut === null ? [] : [shut.since + cannotTakeMs])];
      return ends.map((end) => end - now).filter((wait) => wait > 0);
    },
  };
}
