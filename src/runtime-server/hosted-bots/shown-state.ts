/** The state of a hosted bot as others see it, with the last changes for `explain`. Must not know what moves it. */
import type { AgentState } from '../../contracts/factory/agent.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { BotState, ExplainStep } from '../harness/harness.ts';

export interface ShownState {
  now(): BotState;
  /** `rule`: what decided it. Nothing happens if it is shown already. */
  show(next: AgentState, reason: string | null, rule: string): void;
  steps(): ExplainStep[];
  onState(listener: (state: BotState) => void): () => void;
  close(): void;
}

/** States of the last turns that `explain` shows. */
const maxSteps = 30;

export function createShownState(first: Omit<BotState, 'since'>, clock: Pick<Clock, 'now'>): ShownState {
  let state: BotState = { ...first, since: clock.now() };
  const steps: ExplainStep[] = [];
  const listeners = new Set<(state: BotState) => void>();
  return {
    now: () => state,
    show(next, reason, rule) {
      if (state.state === next && state.reason === reason) return;
      state = { state: next, reason, since: clock.now() };
      steps.push({ at: state.since, source: 'process', rule, claim: next, evidence: reason ?? '', decided: true });
      if (steps.length > maxSteps) steps.shift();
      for (const listener of listeners) listener(state);
    },
    steps: () => [...steps],
    onState(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => listeners.clear(),
  };
}
