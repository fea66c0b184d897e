/** A team folder as it goes to another computer: every file as text. Reads only. */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import { uploadBytes, uploadFiles } from '../../../contracts/factory/peer-routes.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** `usage` names what cannot go: too much, or no text. What an editor keeps to itself (`.name`) and links stay here. */
export async function readTeamFiles(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  let count = 0;
  let bytes = 0;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    const full = join(entry.parentPath, entry.name);
    const path = relative(folder, full).split(sep).join('/');
    if (path.split('/').some((part) => part.startsWith('.'))) continue;
    const content = await readFile(full);
    count += 1;
    bytes += content.length;
    if (count > uploadFiles || bytes > uploadBytes) {
      const limit = `at most ${uploadFiles} files and ${uploadBytes} bytes go to another computer`;
      throw new AppError('usage', `The folder ${folder} is too large: ${limit}.`, 'Move what its bots do not need.');
    }
    try {
      files[path] = utf8.decode(content);
    } catch {
      throw new AppError('usage', `${full} is no text in UTF-8.`, 'Move it out of the team folder.');
    }
  }
  return files;
}
