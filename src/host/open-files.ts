/** How many files this program may have open, and whether that is enough. Must not know what opens them. */
import { AppError } from '../contracts/common/errors.ts';

/** Databases, panes, links, requests under way. */
const otherFiles = 500;

/** The most files of this program; null where the system names no limit. */
export function maxOpenFiles(): number | null {
  if (process.platform === 'win32' || process.report === undefined) return null;
  // Else it looks up the name of every connection's other end.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const limit = userLimits?.open_files?.soft;
  return typeof limit === 'number' ? limit : null;
}

/**
 * Node uses all the files that the account's limit allows, but cannot raise that limit. Throws `usage` where so many event streams have no room: each is
 * a connection, and those beyond would hang without a word.
 */
export function checkRoomForStreams(eventStreams: number, limit: number | null): void {
  const needed = eventStreams + otherFiles;
  if (limit === null || limit >= needed) return;
  throw new AppError(
    'usage',
    `${eventStreams} event streams need ${needed} open files, but a program here may have only ${limit}.`,
    `Raise that limit (\`ulimit -n ${needed}\` in the shell that starts Gantry, LimitNOFILE of a service), or lower GANTRY_EVENT_STREAMS.`,
  );
}
