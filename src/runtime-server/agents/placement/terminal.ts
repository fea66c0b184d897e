/** Bots in panes of this computer. */
import type { Placement } from './port.ts';

export const terminalPlacement: Placement = {
  name: 'terminal',
  via: { atOnce: 'pane', waiting: 'pane_queue' },
  inTerminal: true,
  inPaneHere: true,
  keptHere: true,
  answersByVerb: true,
  shows: null,
  unenforceable: null,
};
