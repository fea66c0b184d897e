/** Bots of vendors: an outside app handles messages to them, and Gantry does not see its work. None of them is ever live here. */
import type { Placement } from '../../agents/placement.ts';

export const vendorPlacement: Placement = {
  via: { atOnce: 'vendor', waiting: 'vendor' },
  inTerminal: false,
  inPaneHere: false,
  isLocal: true,
  followsTeam: false,
  keepsConversation: false,
  answersByVerb: true,
  takesTickets: true,
  shows: { state: 'idle', reason: 'it takes tickets; Gantry does not see its app' },
  holdsMode: false,
  unenforceable: 'A vendor’s app works on its tickets, where Gantry cannot enforce permissions.',
};
