/**
 * What keeps a hosted bot from its model: a missing key or price, its money of the day, a service that refuses. Owns how long, when it looks or tries
 * again, and what ends it; must not know turns.
 */
import type { ModelHold } from '../agents/placement.ts';
import type { FaultKind } from '../models/model.ts';
import type { HostedDeps } from './deps.ts';
import type { ShownState } from './shown-state.ts';
import type { HostedSpec } from './spec.ts';
import { type NotTaken, pausesMs } from './turn.ts';

/** Held until something else changes: its team file, a key or a server that is added. */
const forever = Number.POSITIVE_INFINITY;
/** How often a held bot looks whether its model can be found, or is found in another way, ms. */
const lookAgainMs = 2000;
const personMends: readonly FaultKind[] = ['key', 'unknown_model'];

export function createModelHold(
  deps: Pick<HostedDeps, 'clock' | 'timers' | 'models' | 'store'>,
  bot: {
    readonly agentId: string;
    readonly spec: () => HostedSpec;
    /** Neither a turn nor a run is under way. */
    readonly isFree: () => boolean;
    readonly show: ShownState['show'];
    /** Tells those that wait, if the gate is open now. */
    readonly openGate: () => void;
  },
) {
  const { clock } = deps;
  /** No message is tried before. */
  let hold: { readonly why: string; readonly since: number; readonly until: number } | null = null;
  /** How often the service has refused in a row. */
  let tries = 0;
  let cancelHold = () => {};
  let cancelLook = () => {};

  function holdFor(next: 'blocked' | 'needs_you', why: string, until: number, rule: string): void {
    cancelHold();
    hold = { why, since: clock.now(), until };
    bot.show(next, why, rule);
    lookForChange(JSON.stringify(deps.models.find(bot.spec().model)));
    if (until === forever) return;
    cancelHold = deps.timers.after(Math.max(0, until - clock.now()) + 1, () => {
      // Whether it works again is seen with the next message; a person is asked until then.
      if (next === 'blocked' && bot.isFree()) goOn('hold.over');
      else bot.openGate();
    });
  }

  /** A hold ends with its cause: the key or the server that was missing is there, or is another one. */
  function lookForChange(before: string): void {
    cancelLook();
    cancelLook = deps.timers.after(lookAgainMs, () => {
      const found = deps.models.find(bot.spec().model);
      if (JSON.stringify(found) === before) lookForChange(before);
      else if ('problem' in found)
        holdFor('needs_you', `${found.problem.fact} ${found.problem.action}`, forever, 'model.key');
      else {
        tries = 0;
        goOn('model.changed');
      }
    });
  }

  /** Held no longer: the message that waits is tried. */
  function goOn(rule: string): void {
    stop();
    hold = null;
    if (bot.isFree()) bot.show('idle', null, rule);
    bot.openGate();
  }

  function release(): void {
    stop();
    hold = null;
    tries = 0;
  }

  function stop(): void {
    cancelHold();
    cancelLook();
  }

  /** What prevents it from asking its model at all, with the hold that follows; null: nothing. */
  async function hindrance(): Promise<string | null> {
    const found = deps.models.find(bot.spec().model);
    if ('problem' in found) {
      const why = `${found.problem.fact} ${found.problem.action}`;
      holdFor('needs_you', why, forever, 'model.key');
      return why;
    }
    const limit = bot.spec().limits.usd ?? deps.models.limits.usd;
    const { dailyUsd } = deps.models;
    if ((limit !== null || dailyUsd !== null) && !deps.models.priced(found.target.model)) {
      const why = `It has a dollar limit, but the price of ${found.target.model} is unknown. Add the price under models.prices in settings.json, or remove the limit.`;
      holdFor('needs_you', why, forever, 'model.price');
      return why;
    }
    if (dailyUsd === null) return null;
    const day = 24 * 3600 * 1000;
    const today = Math.floor(clock.now() / day) * day;
    const { microUsd } = await deps.store.read((tx) => deps.models.spent(tx, bot.agentId, today));
    if (microUsd < dailyUsd * 1e6) return null;
    const until = today + day;
    const why = `It has spent $${(microUsd / 1e6).toFixed(2)} of its $${dailyUsd} a day. It continues at ${new Date(until).toISOString()}, or after you raise models.limits.dailyUsd in settings.json.`;
    holdFor('blocked', why, until, 'model.spend');
    return why;
  }

  return {
    hindrance,
    /** The service took a message: nothing holds it any more. */
    release,
    stop,
    /** Why no message is tried now; null: one may be. */
    why: () => (hold !== null && clock.now() < hold.until ? hold.why : null),
    held: (): ModelHold | null =>
      hold === null ? null : { why: hold.why, since: hold.since, until: hold.until === forever ? null : hold.until },
    /** Holds the bot after its service refused a message, longer with each refusal; returns why. */
    refused(fault: NotTaken): string {
      const pause = pausesMs[Math.min(tries, pausesMs.length - 1)] as number;
      tries += 1;
      const until = fault.retryAt ?? clock.now() + pause;
      const why = `${fault.message} The next try is at ${new Date(until).toISOString()}.`;
      holdFor(personMends.includes(fault.kind) ? 'needs_you' : 'blocked', why, until, `model.${fault.kind}`);
      return why;
    },
    /** A person lets it continue, or its team file has changed. */
    end(rule: string): void {
      if (hold === null) return;
      tries = 0;
      goOn(rule);
    },
  };
}
