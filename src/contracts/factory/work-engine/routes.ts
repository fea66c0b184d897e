/** Route table of the work engine, as far as it is built. */
import { claimLease, listLeases, releaseLease, renewLease } from './leases.ts';
import { downloadLedger, exportLedger, queryLedger, verifyLedger } from './ledger.ts';
import { listMail, markMailRead, readMail, sendMail } from './mail.ts';
import { beatPeer, listPeers, registerPeer, removePeer, sendToPeer } from './peers.ts';
import { discardPlan, draftPlan, getPlan, listPlans, refinePlan, runPlan } from './plans.ts';
import { listCheckpoints, steerAgent } from './steer.ts';
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
] as const;
