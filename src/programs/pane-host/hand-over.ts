/**
 * The two ends of a hand-over of live panes to another host, in three phases. The new host is started with the terminals as its open files, takes
 * over every pane and reports it; only then do socket and lock change hands; and only when the new host can be reached and says that it now begins to
 * read does the old host end. If anything fails before that, the old host keeps serving, and nobody has read a byte. It knows nothing of requests.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { HandedPane } from './pane.ts';

/** The heir's terminals come after its three streams and the channel to the old host. */
const firstTerminal = 4;
/** Taking up 200 panes takes a second; a busy computer may need much longer, and the programs wait. */
const takeUpMs = 30_000;
const serveMs = 10_000;
const lastWordMs = 1000;

type FromHeir =
  | { readonly heir: 'ready'; readonly panes: number }
  | { readonly heir: 'serves' }
  /** The last word: a host of before that does not know it is gone by then. */
  | { readonly heir: 'begins' };
type ToHeir = { readonly host: 'serve' } | { readonly host: 'begin' };

interface Manifest {
  readonly version: 1;
  /** In the order of the heir's terminals. */
  readonly panes: readonly { readonly file: string; readonly sha256: string }[];
}

interface HeirProcess {
  readonly pid: number;
  /** Socket and lock are free: it takes them. Resolves when it can be reached. */
  serve(): Promise<void>;
  /** It may read the terminals. Resolves when it is about to; rejects only while it has read nothing and never will. */
  begin(): Promise<void>;
  /** Resolves when it is gone and the terminals belong only to this host again. */
  giveUp(): Promise<void>;
}

/** Resolves when the heir has taken up every pane. Rejects with the reason; nothing of the heir is left then. */
export async function startHeir(options: {
  readonly command: readonly string[];
  readonly folder: string;
  readonly panes: readonly (HandedPane & { readonly fd: number })[];
}): Promise<HeirProcess> {
  const [program = '', ...args] = options.command;
  const folder = mkdtempSync(join(options.folder, 'hand-over-'));
  const panes = options.panes.map(({ fd: _, ...pane }, index) => {
    const text = JSON.stringify({ ...pane, screen: { ...pane.screen, frozen: base64(pane.screen.frozen) } });
    const file = `${index}.json`;
    writeFileSync(join(folder, file), text, { mode: 0o600 });
    return { file, sha256: sha256(text) };
  });
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ version: 1, panes } satisfies Manifest), {
    mode: 0o600,
  });
  const child = spawn(program, [...args, '--adopt', folder], {
    detached: true,
    stdio: ['ignore', 2, 2, 'ipc', ...options.panes.map(({ fd }) => fd)],
    windowsHide: true,
  });
  const gone = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? `exit code ${code}`}`));
  });
  const giveUp = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { panes: taken } = await told(child, gone, 'ready', takeUpMs);
    if (taken !== panes.length) throw new Error(`it took up ${taken} of ${panes.length} panes`);
  } catch (error) {
    await giveUp();
    throw error;
  }
  return {
    pid: child.pid ?? 0,
    giveUp,
    async serve() {
      child.send({ host: 'serve' } satisfies ToHeir);
      await told(child, gone, 'serves', serveMs);
    },
    async begin() {
      child.send({ host: 'begin' } satisfies ToHeir, () => {});
      await told(child, gone, 'begins', serveMs).catch(async (error: unknown) => {
        // Nothing is taken back from one that could still begin.
        await giveUp();
        throw error;
      });
    },
  };
}

function told<W extends FromHeir['heir']>(
  child: ChildProcess,
  gone: Promise<string>,
  word: W,
  ms: number,
): Promise<Extract<FromHeir, { heir: W }>> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`it did not answer within ${ms / 1000} s`));
    // This process may have been stopped itself, so pending messages are read first.
    const timer = setTimeout(() => setImmediate(() => setImmediate(late)), ms);
    const stop = (): void => {
      clearTimeout(timer);
      child.off('message', look);
    };
    const look = (message: unknown): void => {
      if ((message as FromHeir).heir !== word) return;
      stop();
      resolve(message as Extract<FromHeir, { heir: W }>);
    };
    child.on('message', look);
    void gone.then(async (why) => {
      // Its last word may come after its end.
      if (child.connected) await Promise.race([once(child, 'disconnect'), pause(lastWordMs)]);
      stop();
      reject(new Error(why));
    });
  });
}

/** The panes that are handed to this process. Throws when not every one is whole. */
export function readHanded(folder: string): (HandedPane & { readonly fd: number })[] {
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  if (manifest.version !== 1) throw new Error('the panes were handed over by a later version');
  return manifest.panes.map(({ file, sha256: sum }, index) => {
    const text = readFileSync(join(folder, file), 'utf8');
    if (sha256(text) !== sum) throw new Error(`${file} is damaged`);
    const pane = JSON.parse(text) as HandedPane & { screen: { frozen: unknown } };
    const { frozen } = pane.screen as { frozen: string | null };
    const screen = { ...pane.screen, frozen: frozen === null ? null : Buffer.from(frozen, 'base64') };
    return { ...pane, screen, fd: firstTerminal + index };
  });
}

/**
 * The new host's side, once it has taken over the panes. `take` gets socket and lock; `begin` reads the terminals. If the old host is gone without a
 * word, its programs exist only here: the new host continues if nobody else serves, which `take` reports.
 */
export function followOldHost(options: {
  readonly folder: string;
  readonly panes: number;
  readonly take: () => Promise<boolean>;
  readonly begin: () => void;
  readonly leave: (why: string) => void;
}): void {
  const tell = (word: FromHeir, told: () => void = () => {}): void => void process.send?.(word, told);
  let taking: Promise<boolean> | null = null;
  let begun = false;
  const begin = (): void => {
    if (begun) return;
    begun = true;
    rmSync(options.folder, { recursive: true, force: true });
    options.begin();
    if (process.connected) process.disconnect();
  };
  const take = (): Promise<boolean> => {
    taking ??= options.take().catch(() => false);
    return taking;
  };
  process.on('message', (message) => {
    const { host } = message as ToHeir;
    // Once this word has left nobody takes the panes back. Where it cannot leave, the old host is gone.
    if (host === 'begin') tell({ heir: 'begins' }, begin);
    else if (host === 'serve') {
      void take().then((taken) =>
        taken ? tell({ heir: 'serves' }) : options.leave('socket and lock could not be taken'),
      );
    }
  });
  process.once('disconnect', () => {
    if (begun) return;
    void take().then((taken) => (taken ? begin() : options.leave('the host before it is gone, and another serves')));
  });
  tell({ heir: 'ready', panes: options.panes });
}

function base64(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
