/** Bots of vendors: an outside app handles messages to them, and Gantry does not see its work. */
import type { Placement } from '../agents/placement/port.ts';

export const vendorPlacement: Placement = {
  name: 'vendor',
  via: { atOnce: 'vendor', waiting: 'vendor' },
  inTerminal: false,
  inPaneHere: false,
  keptHere: true,
  answersByVerb: true,
  shows: { state: 'idle', reason: 'it takes tickets; its app is not seen from here' },
  unenforceable: 'An app of somebody else works on its tickets, and Gantry cannot hold that to a mode.',
};
