/** Downloads of a session into its folder, each at most so large. Must not know tabs. */
import { readdir, rename, stat } from 'node:fs/promises';
import { join, parse } from 'node:path';
import type { BrowserContext, Download } from 'playwright-core';
import { largestDownload, type ProgramEvent } from '../protocol.ts';
import type { StateChange } from './session.ts';

interface DownloadDeps {
  readonly session: string;
  readonly folder: string;
  /** Where the browser puts what is not whole yet. */
  readonly partial: string;
  readonly emit: (event: ProgramEvent) => void;
  readonly changed: (change: StateChange) => void;
}

/** Milliseconds between looks at how large it is by now. */
const lookMs = 200;

export interface Downloads {
  /** The browser said under which name it writes what comes from there. */
  began(guid: string, url: string): void;
}

export function keepDownloads(context: BrowserContext, deps: DownloadDeps): Downloads {
  const { session, folder, emit, changed } = deps;
  const taken = new Set<string>();
  const guids = new Map<string, string>();

  async function keep(download: Download): Promise<void> {
    const name = fileName(download.suggestedFilename());
    changed({ type: 'download_started', filename: name, url: download.url() });
    emit({ event: 'download', session, state: 'started', path: null, bytes: null });
    const failed = (error: string): void => {
      changed({ type: 'download_failed', filename: name, error });
      emit({ event: 'download', session, state: 'failed', path: null, bytes: null });
    };
    let tooLarge = false;
    let ended = false;
    const watch = async (): Promise<void> => {
      while (!ended && !tooLarge) {
        await new Promise((done) => setTimeout(done, lookMs));
        tooLarge = !ended && (await sizeSoFar(deps.partial, guids.get(download.url()))) > largestDownload;
      }
      if (tooLarge) await download.cancel().catch(() => {});
    };
    void watch();
    const temporary = await download.path().catch(() => null);
    ended = true;
    const size = temporary === null ? 0 : ((await stat(temporary).catch(() => null))?.size ?? 0);
    if (tooLarge || size > largestDownload) {
      await download.delete().catch(() => {});
      return failed(`It is larger than ${largestDownload} bytes and was stopped.`);
    }
    if (temporary === null)
      return failed((await download.failure().catch(() => null)) ?? 'It did not arrive completely.');
    const path = await freePath(folder, name, taken);
    await rename(temporary, path);
    changed({ type: 'download_completed', path, size_bytes: size });
    emit({ event: 'download', session, state: 'completed', path, bytes: size });
  }

  const each = (download: Download): void => {
    keep(download).catch((error: Error) => changed({ type: 'download_failed', error: error.message }));
  };
  const listen = (page: { on(event: 'download', listener: (download: Download) => void): unknown }): void =>
    void page.on('download', each);
  for (const page of context.pages()) listen(page);
  context.on('page', listen);
  return { began: (guid, url) => void guids.set(url, guid) };
}

/** Where nobody said which file it is, the largest one speaks for all. */
async function sizeSoFar(partial: string, guid: string | undefined): Promise<number> {
  const names = guid === undefined ? await readdir(partial).catch(() => []) : [guid];
  const sizes = await Promise.all(names.map((name) => stat(join(partial, name)).catch(() => null)));
  return Math.max(0, ...sizes.map((one) => one?.size ?? 0));
}

/** A page chooses the name: no folders, nothing hidden, nothing that cannot be a file's name. */
function fileName(suggested: string): string {
  const plain = suggested
    .replace(/[\u0000-\u001f\u007f<>:"/\\|?*\u202a-\u202e\u2066-\u2069]/g, '_')
    .replace(/^\.+/, '_');
  return plain.slice(-200) || 'download';
}

async function freePath(folder: string, name: string, taken: Set<string>): Promise<string> {
  const { name: stem, ext } = parse(name);
  for (let number = 0; ; number += 1) {
    const path = join(folder, number === 0 ? name : `${stem} (${number})${ext}`);
    if (taken.has(path) || (await stat(path).catch(() => null)) !== null) continue;
    taken.add(path);
    return path;
  }
}
