/** Route table of the work engine, as far as it is built. */
import { getAgentRun, listAgentRuns } from './agent-runs.ts';
import { claimLease, listLeases, releaseLease, renewLease } from './leases.ts';
import { downloadLedger, exportLedger, queryLedger, verifyLedger } from './ledger.ts';
import { listMail, markMailRead, readMail, sendMail } from './mail.ts';
import { beatPeer, listPeers, registerPeer, removePeer, sendToPeer } from './peers.ts';
import { discardPlan, draftPlan, getPlan, listPlans, refinePlan, runPlan } from './plans.ts';
import { listCheckpoints, steerAgent } from './steer.ts';
import { closeTicket, getTicket, listTickets } from './tickets.ts';
import { createTrigger, listTriggers, removeTrigger } from './triggers.ts';
import { listSecrets, removeSecret, setSecret } from './vault.ts';

export const workEngineRoutes = [
  listMail,
  readMail,
  markMailRead,
  sendMail,
  queryLedger,
  verifyLedger,
  downloadLedger,
  exportLedger,
  listLeases,
  claimLease,
  renewLease,
  releaseLease,
  listPlans,
  getPlan,
  draftPlan,
  refinePlan,
  runPlan,
  discardPlan,
  listPeers,
  registerPeer,
  beatPeer,
  sendToPeer,
  removePeer,
  listCheckpoints,
  steerAgent,
  listSecrets,
  setSecret,
  removeSecret,
  listTickets,
  getTicket,
  closeTicket,
  listTriggers,
  createTrigger,
  removeTrigger,
  listAgentRuns,
  getAgentRun,
] as const;
