/** The one page that identity shows: an address that no longer works, and how to get one that does. */
import { plainPage } from '../pages/plain-page.ts';

export function spentCodePage(openCommand: string): string {
  return plainPage('This address no longer works', [
    'It has been opened before, or it is older than ten minutes. Each address opens Gantry once.',
    `To get a new one, press Enter in the terminal where Gantry runs, or run \`${openCommand}\`.`,
  ]);
}
