/** Packs a team folder for another computer: every file as text. Reads only. */
import { join, relative, sep } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import { uploadBytes, uploadFiles } from '../../../contracts/factory/peer-routes.ts';
import { listWithin, readWithin } from '../../../kit/files/within.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Nobody keeps a team's files deeper. */
const deepest = 16;

/** `usage` names files that cannot be sent: too much, or no text. Hidden files of editors (`.name`) and links stay here. */
export async function readTeamFiles(folder: string, workspace: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  let count = 0;
  let bytes = 0;
  const tooLarge = () => {
    const limit = `at most ${uploadFiles} files and ${uploadBytes} bytes go to another computer`;
    return new AppError('usage', `The folder ${folder} is too large: ${limit}.`, 'Move out what its bots do not need.');
  };
  const enter = (at: string, depth: number): void => {
    const { entries, more } = listWithin(workspace, at, 10 * uploadFiles);
    if (more || depth > deepest) throw tooLarge();
    for (const { name, isFolder, isFile } of entries.filter((entry) => !entry.name.startsWith('.'))) {
      const full = join(at, name);
      if (isFolder) enter(full, depth + 1);
      if (!isFile) continue;
      const found = readWithin(workspace, full, uploadBytes);
      if (found.is === 'unfit') throw new AppError('usage', `${full}: ${found.why}`, 'Move it out of the team folder.');
      if (found.is === 'absent') continue;
      count += 1;
      bytes += found.bytes.length;
      if (count > uploadFiles || bytes > uploadBytes) throw tooLarge();
      try {
        files[relative(folder, full).split(sep).join('/')] = utf8.decode(found.bytes);
      } catch {
        throw new AppError('usage', `${full} is not UTF-8 text.`, 'Move it out of the team folder.');
      }
    }
  };
  enter(folder, 0);
  return files;
}
