/** Bots in panes of this computer. */
import type { Placement } from '../placement.ts';

export const terminalPlacement: Placement = {
  via: { atOnce: 'pane', waiting: 'pane_queue' },
  inTerminal: true,
  inPaneHere: true,
  isLocal: true,
  followsTeam: false,
  keepsConversation: false,
  answersByVerb: true,
  takesTickets: false,
  shows: null,
  holdsMode: false,
  unenforceable: null,
};
