/** Bots of vendors: an outside app handles messages to them, and Gantry does not see its work. None of them is ever live here. */
import type { Placement } from '../../agents/placement.ts';

export const vendorPlacement: Placement = {
  via: { atOnce: 'vendor', waiting: 'vendor' },
  inTerminal: false,
  inPaneHere: false,
  keptHere: true,
  followsTeam: false,
  keepsConversation: false,
  answersByVerb: true,
  takesTickets: true,
  shows: { state: 'idle', reason: 'it takes tickets; its app is not seen from here' },
  holdsMode: false,
  unenforceable: 'An app of somebody else works on its tickets, and Gantry cannot hold that to a mode.',
};
