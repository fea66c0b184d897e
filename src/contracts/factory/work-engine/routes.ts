/** Route table of the work engine, as far as it is built. */
import { downloadLedger, exportLedger, queryLedger, verifyLedger } from './ledger.ts';
import { listMail, markMailRead, readMail, sendMail } from './mail.ts';

export const workEngineRoutes = [
  listMail,
  readMail,
  markMailRead,
  sendMail,
  queryLedger,
  verifyLedger,
  downloadLedger,
  exportLedger,
] as const;
