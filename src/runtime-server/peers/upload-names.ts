/**
 * The valid paths of an uploaded folder: those that read the same on every file system, name nothing outside the folder, and have no special meaning
 * for an operating system or git. Pure; must not know the disk.
 */

const maxPathLength = 512;
/** The longest part in UTF-8; file systems take 255, the rest is for a copy's suffix. */
const maxPartLength = 200;

const controls = /[\p{Cc}\p{Zl}\p{Zp}]/u;
/** Marks that change the direction or are not seen, and code points that mean nothing to everybody. */
const unseen = /[\p{Cf}\p{Cs}\p{Co}\p{Cn}]/u;
/** Special on Windows and in other shells: drive letters, streams, wildcards, quotes, pipes. */
const special = /[\\:*?"<>|]/;
/** A device whatever follows the dot, also by superscript digits. */
const device = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\.|$)/i;
/** A repository's own folder, also by the short name that Windows gives it. */
const repository = /^(\.git|git~\d+)$/i;

/** The problem of a relative path, in words; null when it is valid. */
export function nameProblem(path: string): string | null {
  if (path === '') return 'is empty';
  if (Buffer.byteLength(path) > maxPathLength) return `is longer than ${maxPathLength} bytes`;
  if (path.startsWith('/')) return 'is absolute';
  if (path.normalize('NFC') !== path) return 'is not in Unicode form NFC';
  for (const part of path.split('/')) {
    const problem = partProblem(part);
    if (problem !== null) return problem;
  }
  return null;
}

function partProblem(part: string): string | null {
  if (part === '') return 'has an empty part';
  if (part === '.' || part === '..') return `has a part "${part}"`;
  if (Buffer.byteLength(part) > maxPartLength) return `has a part longer than ${maxPartLength} bytes`;
  if (controls.test(part)) return 'has a control character';
  if (unseen.test(part)) return 'has a character that is invisible or changes the text direction';
  const letter = special.exec(part)?.[0];
  if (letter !== undefined) return `has the character ${letter}`;
  if (/^\s|[\s.]$/.test(part)) return 'has a part that begins with a space or ends with a space or dot';
  if (device.test(part)) return `has the name of a device, ${part}`;
  if (repository.test(part)) return 'names the folder of a repository';
  return null;
}

/** Two paths that are one file where upper and lower case or Unicode forms are treated alike; null when there are none. */
export function sameFile(paths: Iterable<string>): readonly [string, string] | null {
  /** Every file and folder by how a careless file system sees it. */
  const seen = new Map<string, { readonly path: string; readonly file: boolean }>();
  for (const path of paths) {
    const parts = path.split('/');
    for (let length = 1; length <= parts.length; length += 1) {
      const here = { path: parts.slice(0, length).join('/'), file: length === parts.length };
      const key = here.path.normalize('NFC').toUpperCase().toLowerCase();
      const there = seen.get(key);
      if (there !== undefined && (there.path !== here.path || there.file || here.file)) return [there.path, path];
      seen.set(key, here);
    }
  }
  return null;
}
