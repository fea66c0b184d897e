/** Ends a turn: each harness does it differently, its end is noticed in the same way. Must not know a harness. */
import type { AgentState } from '../../contracts/factory/agent.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { BotState } from './harness.ts';

/** Programs end a turn within a second; a screen must then hold still, and a loaded computer takes longer. */
const endsWithinMs = 8000;

export function isTurn(state: AgentState): boolean {
  return state === 'working' || state === 'checking';
}

/** Whether the bot was seen out of its turn after `act`, for however short a time. A question that comes up is not the end of a turn. */
export function interruptTurn(
  onState: (listener: (state: BotState) => void) => () => void,
  state: () => BotState,
  timers: Timers,
  act: () => Promise<void>,
): Promise<boolean> {
  const over = ({ state: now }: BotState) => !isTurn(now) && now !== 'needs_you' && now !== 'starting';
  return new Promise<boolean>((resolve, reject) => {
    const end = (ended: boolean) => {
      off();
      cancel();
      resolve(ended);
    };
    const off = onState((now) => {
      if (over(now)) end(true);
    });
    const cancel = timers.after(endsWithinMs, () => end(over(state())));
    act().then(
      () => over(state()) && end(true),
      (error: unknown) => {
        off();
        cancel();
        reject(error);
      },
    );
  });
}
