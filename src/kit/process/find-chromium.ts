/** Finds this computer's Chromium or Chrome. First user: the executor's browser; second: the doctor. Must not start it. */
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

const names = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
  'microsoft-edge',
  'brave-browser',
];
const elsewhere: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: [
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ],
  win32: [
    'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
  ],
};

type FoundChromium = { readonly path: string } | { readonly missing: string };

/** `CHROMIUM`, otherwise the first in the path or the usual places; otherwise a sentence that says what to do. */
export function findChromium(env: Readonly<Record<string, string | undefined>>): FoundChromium {
  const wanted = env.CHROMIUM;
  if (wanted !== undefined && wanted !== '') {
    return isProgram(wanted) ? { path: wanted } : { missing: `CHROMIUM names ${wanted}, which cannot be run.` };
  }
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  const places = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  const path = [...places, ...(elsewhere[process.platform] ?? [])].find(isProgram);
  if (path !== undefined) return { path };
  return { missing: 'There is no Chromium or Chrome on this computer. Install one, or set CHROMIUM to its path.' };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
