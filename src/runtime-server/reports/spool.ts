/**
 * Reads the spools of bots. Their folders belong to bots: anything may lie in them. What is damaged, too large, a link, or signed by somebody else is
 * moved to the folder `evidence` beside the spool and taken by nobody. Must not know what reports mean.
 */
import { createHash } from 'node:crypto';
import { createReadStream, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { reportOps } from '../../contracts/factory/report-routes.ts';
import { largestProof } from '../../contracts/factory/workflow-routes.ts';
import { listWithin, openWithin, readWithin } from '../../kit/files/within.ts';
import {
  formName,
  isFormName,
  isReportId,
  isReportName,
  largestReport,
  readReport,
  syncFolder,
  waitingEvents,
} from '../../kit/spool/bot-spool.ts';

const Fields = z.record(z.string(), z.unknown()).optional();
const Report = z.strictObject({
  v: z.literal(1),
  id: z.string().refine(isReportId),
  op: z.enum(reportOps),
  at: z.number(),
  params: Fields,
  query: Fields,
  body: z.unknown().optional(),
  form: z
    .strictObject({
      type: z.string().max(300),
      // A form is a little longer than its file.
      size: z.number().max(largestProof + 64 * 1024),
      sha256: z.string(),
    })
    .nullable(),
  work: z.strictObject({ dagId: z.string(), nodeId: z.string(), attempt: z.number() }).nullable(),
});
export type SpooledReport = z.infer<typeof Report>;

/** How the text of a report begins. */
const idBegins = /^\{"v":1,"id":"(rep_[0-9a-f]{32})"/;
/** More than a spool holds. */
const maxEntries = 30_000;
const maxEvidence = 1_000;

export interface Spools {
  /** Agents that have a spool, also those that no team has any more. */
  agents(): string[];
  /** The files of reports, oldest first. */
  files(agentId: string): string[];
  /** Null: it was not fit, and is evidence now. */
  read(agentId: string, file: string, keys: readonly string[]): SpooledReport | null;
  /** The bytes of its form; null if they are not those that were kept. */
  form(agentId: string, report: SpooledReport): Promise<AsyncIterable<Uint8Array> | null>;
  /** It has been taken. */
  remove(agentId: string, file: string, report: SpooledReport): void;
  /** It is kept to be looked at, and never taken. */
  setAside(agentId: string, file: string, report: SpooledReport | null): void;
  /** Removes what a program that was killed left half written before `before`, and files of reports that are gone. Milliseconds since the epoch. */
  tidy(before: number): void;
}

/** `writePrivateFile` writes the note of a bot's step under such a name first. */
const noteDraft = /^work\.json\.[0-9a-f]{12}$/;

/** `root` has a folder for each bot. */
export function createSpools(root: string): Spools {
  const folderOf = (agentId: string) => join(root, agentId, 'spool');

  /** All names in a spool; none if the spool, or its bot's folder, is a link. */
  function namesIn(agentId: string): string[] {
    const isFolder = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isFolder(join(root, agentId)) || !isFolder(folderOf(agentId))) return [];
    return listWithin(root, join(agentId, 'spool'), maxEntries).entries.map(({ name }) => name);
  }

  const reportsIn = (agentId: string) => namesIn(agentId).filter(isReportName);

  function setAside(agentId: string, file: string, report: SpooledReport | null): void {
    const aside = join(root, agentId, 'evidence');
    mkdirSync(aside, { recursive: true, mode: 0o700 });
    const full = readdirSync(aside).length >= maxEvidence;
    const names = report?.form ? [file, formName(report.id)] : [file];
    for (const name of names) {
      const from = join(folderOf(agentId), name);
      if (full) rmSync(from, { force: true, recursive: true });
      else move(from, aside, name);
    }
    syncFolder(folderOf(agentId));
  }

  const bots = () =>
    listWithin(root, '.', maxEntries).entries.flatMap(({ name, isFolder }) => (isFolder ? [name] : []));

  /** Names in a spool that are left over: drafts, and files whose report is not there. */
  function leftovers(agentId: string): string[] {
    const names = namesIn(agentId);
    const forms = names.filter(isFormName);
    const drafts = names.filter((name) => noteDraft.test(name) || (name.startsWith('.') && isReportId(name.slice(1))));
    if (forms.length === 0) return drafts;
    const wanted = new Set(
      names.filter(isReportName).map((file) => {
        const found = readWithin(root, join(agentId, 'spool', file), largestReport + 1024);
        return found.is === 'file' ? idBegins.exec(found.bytes.toString('utf8', 0, 100))?.[1] : undefined;
      }),
    );
    return [...drafts, ...forms.filter((name) => !wanted.has(name.slice(0, -'.form'.length)))];
  }

  return {
    agents: () => bots().filter((name) => reportsIn(name).length > 0),
    tidy(before) {
      for (const agentId of bots()) {
        for (const name of leftovers(agentId)) {
          const path = join(folderOf(agentId), name);
          const found = lstatSync(path, { throwIfNoEntry: false });
          // Its program may write it at this moment.
          if (found !== undefined && found.mtimeMs < before) rmSync(path, { force: true, recursive: true });
        }
      }
    },
    files: reportsIn,
    read(agentId, file, keys) {
      const entry = lstatSync(join(folderOf(agentId), file), { throwIfNoEntry: false });
      if (entry === undefined) return null;
      const found = entry.isFile() ? readWithin(root, join(agentId, 'spool', file), largestReport + 1024) : null;
      const text = found?.is === 'file' ? found.bytes.toString('utf8') : '';
      const parsed = Report.safeParse(readReport(text, keys));
      if (parsed.success && !asksPerson(parsed.data)) return parsed.data;
      setAside(agentId, file, null);
      return null;
    },
    async form(agentId, report) {
      if (report.form === null) return null;
      const open = () => openWithin(root, join(agentId, 'spool', formName(report.id)));
      const handle = open();
      if (typeof handle !== 'number') return null;
      const digest = createHash('sha256');
      let size = 0;
      for await (const chunk of createReadStream('', { fd: handle, end: report.form.size })) {
        digest.update(chunk as Buffer);
        size += (chunk as Buffer).length;
      }
      if (size !== report.form.size || digest.digest('hex') !== report.form.sha256) return null;
      const again = open();
      return typeof again === 'number' ? createReadStream('', { fd: again, end: size - 1 }) : null;
    },
    remove(agentId, file, report) {
      unlink(join(folderOf(agentId), file));
      if (report.form !== null) unlink(join(folderOf(agentId), formName(report.id)));
    },
    setAside,
  };
}

/** It would hold its bot's queue, and the start, until somebody answers. */
const asksPerson = ({ op, params }: SpooledReport) => op === 'agentHook' && waitingEvents.has(String(params?.event));

/** For a file, a fifth of the time of `rmSync`. */
function unlink(file: string): void {
  try {
    unlinkSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function move(from: string, folder: string, name: string): void {
  for (let number = 0; ; number += 1) {
    const to = join(folder, number === 0 ? name : `${name}.${number}`);
    if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      renameSync(from, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    return;
  }
}
