/** Whether there is a Chromium to drive; says once where there is none. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

let answer: boolean | null = null;

export function hasChromium(): boolean {
  if (answer !== null) return answer;
  const folders = (process.env.PATH ?? '').split(delimiter);
  answer =
    process.env.CHROMIUM !== undefined ||
    ['chromium', 'chromium-browser', 'google-chrome'].some((name) =>
      folders.some((one) => existsSync(join(one, name))),
    );
  if (!answer) console.warn('Skipped: there is no Chromium on this computer.');
  return answer;
}
