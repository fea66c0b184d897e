/** The family `file.*` inside the caller's root. Must not know policy or approvals. */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { join, matchesGlob, relative, sep } from 'node:path';
import { createTwoFilesPatch, formatPatch } from 'diff';
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { saysWhatRuns } from '../policy/what-runs.ts';
import { createJail, type EntryKind, type Jail, kindIn, type Place } from './jail.ts';
import { defineTool, type Tool, type ToolCaller } from './tool.ts';
import type { Finder } from './what-runs-finder.ts';

/** A model reads this much at once, bytes; the rest by `offset`. */
const maxReadSize = 128 * 1024;
/** Read and compared whole. */
const largestFile = 64 * 1024 * 1024;
const largestWrite = 4 * 1024 * 1024;
/** Two texts with more lines between them are shown as one for the other: the time to compare them grows with the square. */
const maxEdits = 1000;
const maxListed = 5000;
const listedByDefault = 500;
/** Files that decide what may run, in a folder that is removed: each is checked against all rules. */
const maxInner = 500;
/** Named in a list, but not entered unless asked for. */
const notEntered = new Set(['.git', 'node_modules']);

const Path = z
  .string()
  .min(1)
  .max(4096)
  .meta({ description: 'Relative to your working folder, or absolute inside it.' });
const Encoding = z.enum(['utf8', 'base64']).optional().meta({ description: 'Default utf8.' });

export function createFileTools(deps: {
  /** As {@link createJail} has it. */
  readonly hidden: readonly string[];
  readonly freshName: () => string;
  /** Finds files that decide what may run, in a folder to be removed. */
  readonly finder: Finder;
}): Tool[] {
  const jailOf = ({ root }: ToolCaller): Promise<Jail> => createJail({ ...deps, root });
  /** The real path: a link must not give a guarded folder, or the subject of a rule, another name. */
  const at = async (jail: Jail, path: string, last = true) => {
    const located = await jail.lands(path, last);
    // A change there changes what may run: a mode that accepts edits does not cover it.
    const guarded = located.split(sep).some(saysWhatRuns);
    return { lands: located, located: located === '' ? '.' : located, absolute: join(jail.root, located), guarded };
  };

  const read = defineTool({
    name: 'file.read',
    title: 'Read a file',
    description:
      'Reads a file. As utf8, offset and limit count lines (offset 0 is the first); as base64 they count bytes. Long files come in parts: next is the offset of the next part.',
    input: z.strictObject({
      path: Path,
      offset: z.number().int().min(0).optional(),
      limit: z.number().int().min(1).max(1_000_000).optional(),
      encoding: Encoding,
    }),
    output: z.strictObject({
      path: z.string(),
      content: z.string(),
      encoding: z.enum(['utf8', 'base64']),
      size: z.number(),
      sha256: z.string(),
      next: z.number().nullable(),
    }),
    readOnly: true,
    annotations: { openWorldHint: false },
    async plan(input, caller) {
      const jail = await jailOf(caller);
      const { lands, located, absolute } = await at(jail, input.path);
      return {
        path: absolute,
        risk: 'low',
        title: `Read ${located}`,
        summary: located,
        async run() {
          const place = await jail.open(input.path);
          try {
            mustLie(place, lands);
            const content = await wholeFile(place.handle, located);
            const encoding = input.encoding ?? 'utf8';
            const part =
              encoding === 'utf8'
                ? linesOf(textOf(content, located), input.offset ?? 0, input.limit)
                : bytesOf(content, input.offset ?? 0, input.limit);
            return { path: shown(place.path), ...part, encoding, size: content.byteLength, sha256: sha256(content) };
          } finally {
            await place.handle.close();
          }
        },
      };
    },
    say: (output) =>
      `${output.content}${output.next === null ? '' : `\n[continues at offset ${output.next}]`}\n[${output.path}, ${output.size} bytes, sha256 ${output.sha256}]`,
  });

  const write = defineTool({
    name: 'file.write',
    title: 'Write a file',
    description:
      'Creates a file or replaces all of it. ifHash: the sha256 that the file must still have, or "" if it must not exist yet.',
    input: z.strictObject({
      path: Path,
      content: z.string().max(largestWrite * 1.4),
      encoding: Encoding,
      createDirs: z.boolean().optional(),
      ifHash: z.string().max(64).optional(),
    }),
    output: z.strictObject({ path: z.string(), size: z.number(), sha256: z.string(), created: z.boolean() }),
    readOnly: false,
    annotations: { destructiveHint: true, openWorldHint: false },
    async plan(input, caller) {
      const jail = await jailOf(caller);
      const { lands, located, absolute, guarded } = await at(jail, input.path);
      const content = Buffer.from(input.content, input.encoding ?? 'utf8');
      if (content.byteLength > largestWrite) {
        throw new AppError(
          'usage',
          `The content has ${content.byteLength} bytes; at most ${largestWrite} are written.`,
          'Write less.',
        );
      }
      const before = await contentNow(jail, input.path, located);
      const planned = before === null ? '' : sha256(before);
      mustBe(input.ifHash, planned, located);
      return {
        path: absolute,
        guarded,
        risk: guarded ? 'high' : 'medium',
        title: before === null ? `Create ${located}` : `Change ${located}`,
        summary: changeOf(located, before, content),
        isDiff: true,
        async run() {
          const done = await jail.write(input.path, content, {
            createDirs: input.createDirs ?? false,
            lands,
            // Does only what was shown: a file that has changed since is not overwritten.
            check: (now) => mustBe(planned, now === null ? '' : sha256(now), located),
          });
          return { path: shown(done.path), size: content.byteLength, sha256: sha256(content), created: done.created };
        },
      };
    },
  });

  const list = defineTool({
    name: 'file.list',
    title: 'List a folder',
    description:
      'Lists a folder, by default without the contents of its subfolders. glob is matched against the path relative to that folder (**/*.ts). Folders called .git and node_modules are listed but not entered.',
    input: z.strictObject({
      path: Path.optional(),
      recursive: z.boolean().optional(),
      glob: z.string().min(1).max(500).optional(),
      limit: z.number().int().min(1).max(maxListed).optional(),
    }),
    output: z.strictObject({
      path: z.string(),
      entries: z.array(
        z.strictObject({ path: z.string(), type: z.enum(['file', 'folder', 'link', 'other']), size: z.number() }),
      ),
      truncated: z.boolean(),
    }),
    readOnly: true,
    annotations: { openWorldHint: false },
    async plan(input, caller) {
      const jail = await jailOf(caller);
      const path = input.path ?? '.';
      const { lands, located, absolute } = await at(jail, path);
      return {
        path: absolute,
        risk: 'low',
        title: `List ${located}`,
        summary: located,
        async run(signal) {
          const place = await jail.open(path);
          try {
            mustLie(place, lands);
            if (!(await place.handle.stat()).isDirectory()) {
              throw new AppError('usage', `${located} is not a folder.`, 'Name a folder.');
            }
            const limit = input.limit ?? listedByDefault;
            const glob = input.glob;
            const deep = input.recursive === true || glob?.includes('/') === true;
            const entries: { path: string; type: EntryKind; size: number }[] = [];
            const truncated = await walk(jail, place, deep, signal, (entry) => {
              const name = shown(relative(place.path, entry.path));
              if (glob !== undefined && !matchesGlob(name, glob)) return true;
              if (entries.length >= limit) return false;
              entries.push({ ...entry, path: name });
              return true;
            });
            return { path: shown(place.path), entries, truncated };
          } finally {
            await place.handle.close();
          }
        },
      };
    },
    say: (output) =>
      [
        ...output.entries.map(
          (entry) => `${entry.path}${entry.type === 'folder' ? '/' : entry.type === 'file' ? '' : ` (${entry.type})`}`,
        ),
        ...(output.entries.length === 0 ? ['(nothing)'] : []),
        ...(output.truncated ? ['[there is more: narrow it with glob or raise limit]'] : []),
      ].join('\n'),
  });

  const exists = defineTool({
    name: 'file.exists',
    title: 'Check whether a path exists',
    description: 'Says whether a path exists and what it is.',
    input: z.strictObject({ path: Path }),
    output: z.strictObject({ exists: z.boolean(), type: z.enum(['file', 'folder', 'other']).nullable() }),
    readOnly: true,
    annotations: { openWorldHint: false },
    async plan(input, caller) {
      const jail = await jailOf(caller);
      const { located, absolute } = await at(jail, input.path);
      return {
        path: absolute,
        risk: 'low',
        title: `Check whether ${located} exists`,
        summary: located,
        async run() {
          const type = await jail.look(input.path);
          return { exists: type !== null, type };
        },
      };
    },
  });

  const remove = defineTool({
    name: 'file.remove',
    title: 'Remove a file or folder',
    description: 'Removes a file, a link or an empty folder; with recursive, also a folder and everything in it.',
    input: z.strictObject({ path: Path, recursive: z.boolean().optional() }),
    output: z.strictObject({ removed: z.string() }),
    readOnly: false,
    annotations: { destructiveHint: true, openWorldHint: false },
    async plan(input, caller) {
      const jail = await jailOf(caller);
      const { lands, located, absolute, guarded } = await at(jail, input.path, false);
      const what = input.recursive === true ? `${located} and everything in it` : located;
      // Removing a folder removes what it contains: a rule about either does not cover the other.
      const { found, cut } =
        input.recursive === true ? await deps.finder.look([absolute], []) : { found: [], cut: false };
      if (cut) {
        const fact = `${located} has too many folders to search for files that say what may run.`;
        throw new AppError('usage', fact, 'Remove it in parts.');
      }
      if (found.length > maxInner) {
        const fact = `${located} has more than ${maxInner} files and folders that say what may run.`;
        throw new AppError('usage', fact, 'Remove it in parts.');
      }
      const inner = found.slice(0, 20).map(({ path }) => shown(relative(jail.root, path)));
      const more = found.length > inner.length ? ` and ${found.length - inner.length} more` : '';
      return {
        path: absolute,
        also: found.map(({ path }) => path),
        guarded: guarded || found.length > 0,
        risk: 'high',
        title: `Remove ${located}`,
        summary: `Removes ${what}.${inner.length === 0 ? '' : ` It contains files that say what may run: ${inner.join(', ')}${more}.`}`,
        async run() {
          await jail.remove(input.path, { recursive: input.recursive ?? false, lands });
          return { removed: shown(located) };
        },
      };
    },
  });

  return [read, write, list, exists, remove];
}

const shown = (path: string): string => (path === '' ? '.' : path.replaceAll(sep, '/'));
const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

/** Reads only the path that the policy decided about. */
function mustLie(place: Place, lands: string): void {
  if (place.path === lands) return;
  throw new AppError('refused', `${shown(lands)} was moved in the meantime.`, 'Try again.', { status: 409 });
}

function mustBe(wanted: string | undefined, found: string, located: string): void {
  if (wanted === undefined || wanted === found) return;
  const now = found === '' ? 'no longer exists' : `has the sha256 ${found}`;
  throw new AppError('refused', `${located} was changed in the meantime: it ${now}.`, 'Read it again, then write.', {
    status: 409,
  });
}

async function wholeFile(handle: FileHandle, located: string): Promise<Buffer> {
  const found = await handle.stat();
  if (!found.isFile()) throw new AppError('usage', `${located} is not a file.`, 'Name a file.');
  if (found.size > largestFile) {
    throw new AppError(
      'usage',
      `${located} has ${found.size} bytes; only files up to ${largestFile} are read.`,
      'Read it with a command.',
    );
  }
  return handle.readFile();
}

async function contentNow(jail: Jail, path: string, located: string): Promise<Buffer | null> {
  let place: Place;
  try {
    place = await jail.open(path);
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
  try {
    return await wholeFile(place.handle, located);
  } finally {
    await place.handle.close();
  }
}

function textOf(content: Buffer, located: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new AppError('usage', `${located} is not UTF-8 text.`, 'Read it with encoding: base64.');
  }
}

function linesOf(text: string, offset: number, limit: number | undefined): { content: string; next: number | null } {
  const lines = text.split(/(?<=\n)/);
  let size = 0;
  let end = offset;
  const last = Math.min(lines.length, limit === undefined ? lines.length : offset + limit);
  while (end < last) {
    size += Buffer.byteLength(lines[end] as string);
    // One line is always given, however long.
    if (size > maxReadSize && end > offset) break;
    end += 1;
  }
  const content = lines.slice(offset, end).join('');
  return { content: content.slice(0, maxReadSize * 2), next: end < lines.length ? end : null };
}

function bytesOf(content: Buffer, offset: number, limit: number | undefined): { content: string; next: number | null } {
  const end = Math.min(content.byteLength, offset + Math.min(limit ?? maxReadSize, maxReadSize));
  return { content: content.subarray(offset, end).toString('base64'), next: end < content.byteLength ? end : null };
}

function changeOf(located: string, before: Buffer | null, after: Buffer): string {
  const text = (content: Buffer) => {
    try {
      return textOf(content, located);
    } catch {
      return null;
    }
  };
  const [old, next] = [before === null ? '' : text(before), text(after)];
  if (old === null || next === null) {
    const was = before === null ? '' : `, now ${before.byteLength} bytes with sha256 ${sha256(before)}`;
    return `${located}: ${after.byteLength} bytes that are not text, sha256 ${sha256(after)}${was}`;
  }
  const from = before === null ? '/dev/null' : located;
  const options = { context: 3, maxEditLength: maxEdits };
  return (
    createTwoFilesPatch(from, located, old, next, undefined, undefined, options) ?? wholly(from, located, old, next)
  );
}

/** The patch that takes every line out and puts every line in. */
function wholly(from: string, to: string, old: string, next: string): string {
  const signed = (sign: string, text: string) => {
    const lines = text.split('\n').map((line) => `${sign}${line}`);
    return text.endsWith('\n') ? lines.slice(0, -1) : [...lines, '\\ No newline at end of file'];
  };
  const [out, put] = [signed('-', old), signed('+', next)];
  const count = (lines: string[]) => lines.filter((line) => !line.startsWith('\\')).length;
  const hunk = { oldStart: 1, oldLines: count(out), newStart: 1, newLines: count(put), lines: [...out, ...put] };
  const names = { oldFileName: from, newFileName: to, oldHeader: undefined, newHeader: undefined };
  return formatPatch({ ...names, index: undefined, hunks: [hunk] });
}

/** Every entry below, folder by folder; `take` returns false to stop. Returns whether it was stopped. */
async function walk(
  jail: Jail,
  folder: Place,
  deep: boolean,
  signal: AbortSignal,
  take: (entry: { path: string; type: EntryKind; size: number }) => boolean,
): Promise<boolean> {
  for (const name of await jail.names(folder)) {
    signal.throwIfAborted();
    const found = await kindIn(folder, jail.root, name);
    if (found === null) continue;
    const path = join(folder.path, name);
    if (!take({ path, type: found.kind, size: found.kind === 'file' ? found.size : 0 })) return true;
    if (!deep || found.kind !== 'folder' || notEntered.has(name)) continue;
    const child = await jail.open(path).catch(() => null);
    if (child === null) continue;
    try {
      // A link that took the folder's place leads elsewhere.
      if (child.path === path && (await walk(jail, child, deep, signal, take))) return true;
    } finally {
      await child.handle.close();
    }
  }
  return false;
}
