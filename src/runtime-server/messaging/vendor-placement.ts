/** Bots of vendors: an app outside works on what is sent to them, and Gantry does not see it. */
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
