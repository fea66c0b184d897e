/** A bot in a pane of this computer: its harness judges its state and types into it. Must not know which harness that is. */
import type { HarnessBot } from '../../harness/harness.ts';
import type { PlacedBot } from '../placement.ts';
import { terminalPlacement } from './placement.ts';

/** `stop` ends its pane. */
export function createTerminalBot(program: HarnessBot, stop: PlacedBot['stop']): PlacedBot {
  return {
    ...program,
    placement: terminalPlacement,
    ref: () => null,
    away: () => null,
    async cancelWork(why) {
      await program.interrupt(why);
      // An agent program still has to hear what became of its step.
      return false;
    },
    stop,
  };
}
