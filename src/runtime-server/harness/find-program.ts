/** Looks a program up as a shell would. Must not start it. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

/** Absolute path of an executable file on `path`, or null. An absolute name is only checked. */
export async function findProgram(name: string, path: string | undefined): Promise<string | null> {
  if (isAbsolute(name)) return (await isExecutable(name)) ? name : null;
  for (const folder of (path ?? '').split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const file = join(folder, name);
    if (await isExecutable(file)) return file;
  }
  return null;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
