/** Route table of the work engine, as far as it is built. */
import { listMail, markMailRead, readMail, sendMail } from './mail.ts';

export const workEngineRoutes = [listMail, readMail, markMailRead, sendMail] as const;
