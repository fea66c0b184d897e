/** One hash of a team folder in transit: both ends compute it from the same files. Pure. */
import { createHash } from 'node:crypto';

export function uploadHash(files: Readonly<Record<string, string>>): string {
  const sorted = Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex');
}
