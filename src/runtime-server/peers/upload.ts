/**
 * A team folder that another computer brings: checked whole before anything is written, written into a fresh folder, and put in
 * place by one rename, so that a hostile or half-sent upload changes nothing. Must not know bots or HTTP.
 */
import { constants } from 'node:fs';
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { uploadBytes, uploadFiles } from '../../contracts/factory/peer-routes.ts';
import type { TeamFile } from '../../contracts/factory/team-file.ts';
import { cultureFile, readTeamFile } from '../agents/team-file/read.ts';
import { nameProblem, sameFile } from './upload-names.ts';

export type UploadFiles = Readonly<Record<string, string>>;

interface UploadedTeam {
  readonly file: TeamFile;
  readonly culture: string | null;
}

interface UploadPlace {
  /** The workspace that its bots work in. */
  readonly root: string;
  readonly userHome: string;
}

/** The team that the files make. `usage` names the file that is wrong; 409 where two would be one. Writes nothing. */
export function readUpload(name: string, files: UploadFiles, place: UploadPlace): UploadedTeam {
  const paths = Object.keys(files);
  if (paths.length > uploadFiles) {
    throw new AppError('usage', `${paths.length} files were sent.`, `A team folder has at most ${uploadFiles} here.`);
  }
  for (const path of paths) {
    const problem = nameProblem(path);
    if (problem !== null) {
      const shown = JSON.stringify(path.slice(0, 200));
      throw new AppError('usage', `The path ${shown} ${problem}.`, 'Rename the file in the team folder.');
    }
  }
  const twice = sameFile(paths);
  if (twice !== null) {
    const fact = `${JSON.stringify(twice[0])} and ${JSON.stringify(twice[1])} are one file on some computers.`;
    throw new AppError('refused', fact, 'Rename one of them.', { status: 409 });
  }
  const bytes = paths.reduce((sum, path) => sum + Buffer.byteLength(files[path] ?? ''), 0);
  if (bytes > uploadBytes) {
    throw new AppError(
      'usage',
      `The files have ${bytes} bytes.`,
      `A team folder has at most ${uploadBytes} here: leave out what its bots do not need.`,
    );
  }
  const text = Object.hasOwn(files, 'team.yaml') ? files['team.yaml'] : undefined;
  if (text === undefined) {
    throw new AppError('usage', 'The files have no team.yaml.', 'Send the whole team folder.');
  }
  const read = readTeamFile(text, {
    folder: name,
    workspace: place.root,
    userHome: place.userHome,
    // Whether a folder of the workspace is there is known once the workspace is.
    isFolder: () => true,
    hasFile: (file) => Object.hasOwn(files, file),
  });
  if (!read.ok) {
    const said = read.problems
      .slice(0, 5)
      .map((one) => `line ${one.line ?? '?'}, ${one.path || 'file'}: ${one.message}`);
    throw new AppError('usage', `team.yaml has problems: ${said.join(' ')}`, 'Fix it, then start the team again.');
  }
  const file = cultureFile(read.file);
  const culture =
    file === null ? (read.file.culture ?? null) : Object.hasOwn(files, file) ? (files[file] ?? null) : null;
  return { file: read.file, culture };
}

/** Replaces the team's folder below `root` whole. The root is made if needed. */
export async function placeUpload(root: string, name: string, files: UploadFiles, mark: string): Promise<void> {
  const teams = join(root, '.gantry', 'teams');
  await mkdir(teams, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTDIR' && error.code !== 'EEXIST') throw error;
    // A repository may hold a file of that name; a link of it is a file as well.
    const fact = `${teams} cannot be created: a file is in its way.`;
    throw new AppError('refused', fact, 'Take .gantry out of the repository.', { status: 409, cause: error });
  });
  // A link that a repository or a bot put there instead of a folder would lead outside.
  if ((await realpath(teams)) !== join(await realpath(root), '.gantry', 'teams')) {
    throw new AppError('refused', `${teams} is a link to another folder.`, 'Remove the link on that computer.', {
      status: 409,
    });
  }
  const fresh = join(teams, `.${name}.${mark}`);
  const old = `${fresh}.old`;
  try {
    await mkdir(fresh, { mode: 0o700 });
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(fresh, path)), { recursive: true, mode: 0o700 });
      await writeNew(join(fresh, path), text);
    }
    await rename(join(teams, name), old).catch(ignoreMissing);
    await rename(fresh, join(teams, name));
  } finally {
    await rm(fresh, { recursive: true, force: true });
    await rm(old, { recursive: true, force: true });
  }
}

/** Nothing that is there already is opened, nor followed. */
async function writeNew(path: string, text: string): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
  const file = await open(path, flags, 0o600);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
