/**
 * The spool of a bot: one file for each report that nobody has taken yet, in the order in which they were written. Written by the bot's own programs,
 * read by the runtime. A report is signed with the bot's token, so that a file copied from another bot, or changed, is not taken. Imports only Node,
 * because the hook of every event of every bot loads it. Must not know operations or HTTP.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** A body that is sent as bytes, such as a form with a file. It lies beside its report. */
interface SpooledForm {
  readonly type: string;
  readonly size: number;
  readonly sha256: string;
}

/** One report: a request, kept. */
interface Report {
  readonly v: 1;
  readonly id: string;
  readonly op: string;
  /** By the clock of the bot's program, milliseconds since the epoch. */
  readonly at: number;
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly form: SpooledForm | null;
  /** The step that the bot had been given, and which attempt of it this was. */
  readonly work: { readonly dagId: string; readonly nodeId: string; readonly attempt: number } | null;
}

/** Hooks that ask a person. They wait for an answer, so none of them is ever kept, or taken from a spool. */
export const waitingEvents: ReadonlySet<string> = new Set(['PermissionRequest']);

export interface KeptReport {
  readonly id: string;
  /** The report was refused, or is of no use: nobody shall take it. */
  remove(): void;
}

/** Bytes. The largest body of a request is 4 MiB. */
export const largestReport = 5 * 1024 * 1024;
const maxReports = 10_000;
const maxBytes = 256 * 1024 * 1024;
/** Written by the runtime when it hands a step over. */
export const workFile = 'work.json';
const posix = process.platform !== 'win32';
const reportName = /^\d{12}\.json$/;

export const isReportName = (name: string): boolean => reportName.test(name);
export const formName = (id: string): string => `${id}.form`;
export const isReportId = (id: string): boolean => /^rep_[0-9a-f]{32}$/.test(id);
export const isFormName = (name: string): boolean => name.endsWith('.form') && isReportId(name.slice(0, -5));

/** What signs the reports of a bot: the form in which the runtime stores its token. */
const keyOfToken = (token: string): string => hash('sha256', token, 'base64url');

/** The spool takes no more; the message says why. */
export class SpoolFull extends Error {}

interface Given {
  readonly op: string;
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly form?: { readonly type: string; readonly bytes: Uint8Array };
}

/** On disk when this returns. Throws `SpoolFull`, or what the disk says. */
export function keepReport(folder: string, token: string, given: Given, at: number): KeptReport {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const id = `rep_${randomBytes(16).toString('hex')}`;
  const { op, params, query, body, form } = given;
  const report: Report = {
    v: 1,
    id,
    op,
    at,
    params,
    query,
    body,
    form:
      form === undefined
        ? null
        : { type: form.type, size: form.bytes.byteLength, sha256: hash('sha256', form.bytes, 'hex') },
    work: readWork(folder),
  };
  const text = JSON.stringify(report);
  const size = Buffer.byteLength(text);
  if (size > largestReport) throw new SpoolFull(`The report has ${size} bytes; at most ${largestReport} are kept.`);
  let next = admit(folder, size + (form?.bytes.byteLength ?? 0));
  const formFile = join(folder, formName(id));
  const draft = join(folder, `.${id}`);
  try {
    if (form !== undefined) write(formFile, form.bytes, () => {});
    // Its name and its content become durable together: on most disks that is one flush in place of two.
    write(draft, `${text}\n${signatureOf(keyOfToken(token), text)}\n`, () => {
      // A name that is taken is never replaced: of two programs that write at once, the second takes the next number.
      while (!linked(draft, join(folder, nameOf(next)))) next += 1;
      rmSync(draft);
    });
  } catch (error) {
    rmSync(draft, { force: true });
    rmSync(formFile, { force: true });
    throw error;
  }
  syncFolder(folder);
  const file = join(folder, nameOf(next));
  return {
    id,
    remove() {
      // The runtime may have taken it, and another report may have its number now.
      if (readReport(textOf(file), [keyOfToken(token)])?.id !== id) return;
      rmSync(file, { force: true });
      rmSync(formFile, { force: true });
    },
  };
}

/** The report in this text; null if it is damaged, or signed with none of these keys. */
export function readReport(text: string, keys: readonly string[]): Report | null {
  const [json = '', signature = ''] = text.split('\n');
  const given = Buffer.from(signature, 'hex');
  const signed = keys.some((key) => {
    const expected = Buffer.from(signatureOf(key, json), 'hex');
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  if (!signed) return null;
  try {
    return JSON.parse(json) as Report;
  } catch {
    return null;
  }
}

function signatureOf(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

/** The number of the next report. */
function admit(folder: string, size: number): number {
  let last = 0;
  let count = 0;
  let bytes = size;
  for (const name of readdirSync(folder)) {
    bytes += lstatSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
    if (!isReportName(name)) continue;
    count += 1;
    last = Math.max(last, Number(name.slice(0, 12)));
  }
  if (count >= maxReports) throw new SpoolFull(`The spool holds ${count} reports, which is the limit.`);
  if (bytes > maxBytes) throw new SpoolFull(`The spool would hold ${bytes} bytes; the limit is ${maxBytes}.`);
  return last + 1;
}

function readWork(folder: string): Report['work'] {
  try {
    const { dagId, nodeId, attempt } = JSON.parse(textOf(join(folder, workFile))) as NonNullable<Report['work']>;
    return { dagId, nodeId, attempt };
  } catch {
    // It holds no step.
    return null;
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

const nameOf = (number: number) => `${String(number).padStart(12, '0')}.json`;

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** `name` gives the whole file its name, before both are flushed. */
function write(file: string, content: string | Uint8Array, name: () => void): void {
  const handle = openSync(file, 'wx', 0o600);
  try {
    // Repeats until all is written: near a full disk, a single write ends early without an error.
    writeFileSync(handle, content);
    name();
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes the names in a folder durable; Windows has no such call. */
export function syncFolder(folder: string): void {
  if (!posix) return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
