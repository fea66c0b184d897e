/**
 * The judge: a reducer from typed evidence to one state with a reason. Each harness has one authority; other evidence decides only on the edges its
 * rule names. Unclear evidence keeps the state and closes the gate, because typing into the wrong state could answer a dialog. Pure but for the
 * clock: it sets no timer, it returns when to ask it again. Must not know a harness.
 */
import type { Clock } from '../../../kit/clock/clock.ts';
import type { BotState, ExplainStep } from '../harness.ts';
import type { Evidence } from './evidence.ts';
import type { Matcher, Ruleset, ScreenRule } from './rules.ts';
import type { View } from './view.ts';

/** How many evidences `explain` keeps. */
const maxStepsShown = 50;

export interface Judge {
  state(): BotState;
  /** True while no rule matches the screen: the state is the last known one. */
  unclear(): boolean;
  setup(): boolean;
  /** Evidence that needs no hold: hooks, OSC, the process. Returns whether the state or its reason changed. */
  take(evidence: Evidence): boolean;
  event(source: 'hook' | 'osc', event: string, payload: Readonly<Record<string, unknown>>): boolean;
  /** The program has called a hook. Returns whether it is the first; then the screen must be looked at again. */
  heard(): boolean;
  /** The screen now. Decides nothing before its rule's hold time. */
  look(view: View): boolean;
  /** Lets time pass: promotes a verdict that has held long enough. */
  tick(): boolean;
  /** Milliseconds until {@link tick} could change something; null: nothing pends. */
  next(): number | null;
  /** Id of the rule that knows the screen now; null: none does. It has decided nothing yet. */
  sees(): string | null;
  steps(): readonly ExplainStep[];
}

/** `byAuthority`: the reason came from evidence without limits, and a mere screen may not reword it. */
type Current = BotState & { readonly setup: boolean; readonly byAuthority: boolean };
type Step = { -readonly [K in keyof ExplainStep]: ExplainStep[K] };

export function createJudge({
  ruleset,
  matcher,
  clock,
  from,
  heard = false,
}: {
  readonly ruleset: Ruleset;
  readonly matcher: Matcher;
  readonly clock: Clock;
  /** The last known state after a restart; a new bot is `starting`. */
  readonly from?: BotState;
  /** It had called a hook before the restart. */
  readonly heard?: boolean;
}): Judge {
  let current: Current = {
    ...(from ?? { state: 'starting', reason: null, since: clock.now() }),
    setup: false,
    byAuthority: false,
  };
  let unclear = false;
  let hooked = heard;
  /** The program has ended: output parsed after that is noted and changes nothing. */
  let ended = false;
  /** The verdict of the screen, how long it has held, and its line in the log. */
  let verdict: { rule: ScreenRule; evidence: Evidence; since: number; step: Step; applied: boolean } | null = null;
  let blankSince: number | null = null;
  const log: Step[] = [];

  function note(evidence: Evidence, decided: boolean): Step {
    const claim = evidence.claim;
    const step: Step = {
      at: clock.now(),
      source: evidence.source,
      rule: evidence.rule,
      claim: claim ? [claim.state, claim.reason].filter(Boolean).join(': ') : 'nothing',
      evidence: evidence.seen,
      decided,
    };
    log.push(step);
    if (log.length > maxStepsShown) log.shift();
    return step;
  }

  /** The one place that changes the state. */
  function apply(evidence: Evidence): 'decided' | 'same' | 'no' {
    const { claim } = evidence;
    if (!claim) return 'no';
    if (claim.state !== current.state && evidence.from && !evidence.from.includes(current.state)) return 'no';
    const reason = claim.reason ?? null;
    const setup = claim.setup ?? false;
    const byAuthority = !evidence.from;
    if (claim.state === current.state) {
      // A screen does not take away or reword the reason that the authority gave for this state.
      if (!byAuthority && (reason === null || (current.byAuthority && current.reason !== null))) return 'same';
      if (reason === current.reason && setup === current.setup) return 'same';
      current = { ...current, reason, setup, byAuthority };
      return 'decided';
    }
    current = { state: claim.state, reason, setup, byAuthority, since: clock.now() };
    return 'decided';
  }

  function holdMs(rule: ScreenRule): number {
    return rule.holdFrom?.[current.state] ?? rule.holdMs;
  }

  function promote(): boolean {
    if (ended) return false;
    const now = clock.monotonic();
    let changed = false;
    if (verdict && !verdict.applied && now - verdict.since >= holdMs(verdict.rule)) {
      const outcome = apply(verdict.evidence);
      verdict.applied = true;
      if (outcome === 'decided') {
        verdict.step.decided = true;
        changed = true;
      }
    }
    // A program that still starts has no screen to be unclear about.
    const blank =
      current.state !== 'starting' &&
      blankSince !== null &&
      ruleset.unclearAfterMs !== null &&
      now - blankSince >= ruleset.unclearAfterMs;
    if (blank !== unclear) {
      unclear = blank;
      changed = true;
      if (blank) note({ source: 'screen', rule: 'no rule', claim: null, seen: 'no rule knows this screen' }, false);
    }
    return changed;
  }

  return {
    state: () => ({
      state: current.state,
      reason: unclear ? 'unclear' : current.reason,
      since: current.since,
    }),
    unclear: () => unclear,
    setup: () => current.setup,
    take(evidence) {
      const outcome = ended ? 'no' : apply(evidence);
      note(evidence, outcome === 'decided');
      if (evidence.source === 'process') {
        ended = true;
        unclear = false;
      }
      // The screen still shows the past: its hold starts over after every report of an authority.
      if (evidence.claim && verdict) {
        verdict.since = clock.monotonic();
        verdict.applied = false;
      }
      return outcome === 'decided';
    },
    event(source, event, payload) {
      const evidence = matcher.event(source, event, payload);
      return evidence ? this.take(evidence) : false;
    },
    heard() {
      const first = !hooked;
      hooked = true;
      return first;
    },
    look(view) {
      if (ruleset.unclearAfterMs === null && ruleset.screen.length === 0) return false;
      const found = matcher.screen(view, hooked);
      const now = clock.monotonic();
      if (!found) {
        verdict = null;
        blankSince ??= now;
        return promote();
      }
      blankSince = null;
      const { rule, evidence } = found;
      if (verdict?.evidence.rule !== rule.id || verdict.evidence.claim?.reason !== evidence.claim?.reason) {
        verdict = { rule, evidence, since: now, step: note(evidence, false), applied: false };
      }
      return promote();
    },
    tick: promote,
    next() {
      if (ended) return null;
      const now = clock.monotonic();
      const waits: number[] = [];
      if (verdict && !verdict.applied) waits.push(verdict.since + holdMs(verdict.rule) - now);
      if (blankSince !== null && !unclear && current.state !== 'starting' && ruleset.unclearAfterMs !== null) {
        waits.push(blankSince + ruleset.unclearAfterMs - now);
      }
      return waits.length === 0 ? null : Math.max(0, Math.min(...waits));
    },
    sees: () => verdict?.rule.id ?? null,
    steps: () => log.map((step) => ({ ...step })),
  };
}
