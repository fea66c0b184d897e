/**
 * Browser sessions of this computer: opened in the executor at their first call, opened again after their browser or the executor ended, each with a
 * separate profile. Must not know who calls.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import type { ExecutorProgram } from './executor-program.ts';

interface SessionOptions {
  readonly headless: boolean;
  readonly trace: boolean;
}

export interface Sessions {
  /**
   * Opens it where it is not; `options` are those of its first opening. Of those that a call opened, the one that was used longest ago is
   * closed where there is no room. Throws 429 `concurrency_limit` where none can be.
   */
  open(id: string, options: SessionOptions, by: 'call' | 'run'): Promise<void>;
  /** A call of it is under way until `work` has ended. */
  using<Result>(id: string, work: () => Promise<Result>): Promise<Result>;
  close(id: string, wipe: boolean): Promise<void>;
  isOpen(id: string): boolean;
  /** Its browser is gone: the next call opens it again. */
  lost(id: string | null): void;
  page(id: string): { readonly url: string; readonly title: string } | null;
  sawPage(id: string, page: { readonly url: string; readonly title: string }): void;
  /** Hosts that a person let this session reach. */
  letInto(id: string, host: string): void;
  wasLetInto(id: string, host: string): boolean;
  /** Text is typed into one of its credential fields: its pages and their recordings contain that from now on. */
  tookSecret(id: string): void;
  holdsSecret(id: string): boolean;
  /** Told after each opening. */
  onOpened(listener: (id: string) => void): void;
}

interface Known {
  options: SessionOptions;
  /** A run has opened it, and closes it. */
  ofRun: boolean;
  generation: number | null;
  opening: Promise<void> | null;
  page: { readonly url: string; readonly title: string } | null;
  readonly hosts: Set<string>;
  /** Of this browser, until another comes up. */
  secret: boolean;
}

/** Each is a separate browser. */
const maxOpen = 8;

export function createSessions({
  program,
  folder,
  proxy,
}: {
  readonly program: Pick<ExecutorProgram, 'request' | 'generation'>;
  readonly folder: string;
  readonly proxy: string | null;
}): Sessions {
  const known = new Map<string, Known>();
  /** Calls under way. */
  const calls = new Map<string, number>();
  const opened: ((id: string) => void)[] = [];
  const place = (kind: 'profiles' | 'downloads' | 'traces', id: string) => join(folder, kind, encodeURIComponent(id));

  const isCurrent = (one: Known | undefined) => one !== undefined && one.generation === program.generation;

  async function openNow(id: string, one: Known): Promise<void> {
    await program.request({
      do: 'open',
      session: id,
      profile: place('profiles', id),
      downloads: place('downloads', id),
      headless: one.options.headless,
      proxy,
      trace: one.options.trace ? place('traces', id) : null,
    });
    one.generation = program.generation;
    one.secret = false;
    for (const listener of opened) listener(id);
  }

  /** The first of `known`, which is kept in the order of their last calls. */
  const idlest = () =>
    [...known].find(
      ([id, one]) => isCurrent(one) && one.opening === null && !one.ofRun && (calls.get(id) ?? 0) === 0,
    )?.[0] ?? null;

  async function close(id: string, wipe: boolean): Promise<void> {
    const one = known.get(id);
    known.delete(id);
    if (isCurrent(one)) await program.request({ do: 'close', session: id, wipe });
  }

  return {
    async open(id, options, by) {
      let one = known.get(id);
      if (by === 'run' && one !== undefined) one.ofRun = true;
      if (isCurrent(one)) return;
      let room: Promise<void> | null = null;
      if (one === undefined || one.opening === null) {
        // With those that are coming up: as many calls at once would else be as many browsers.
        const open = [...known.values()].filter((other) => isCurrent(other) || other.opening !== null).length;
        const leaves = open >= maxOpen ? idlest() : null;
        // Its result does not matter: an executor that is gone has none open.
        if (leaves !== null) room = close(leaves, false).catch(() => {});
        else if (open >= maxOpen) {
          const fact = `${maxOpen} browser sessions are open already.`;
          throw new AppError('refused', fact, 'Close one, or use one of them.', {
            status: 429,
            wireCode: 'concurrency_limit',
          });
        }
      }
      if (one === undefined) {
        one = {
          options,
          ofRun: by === 'run',
          generation: null,
          opening: null,
          page: null,
          hosts: new Set(),
          secret: false,
        };
        known.set(id, one);
      }
      const opens = one;
      one.opening ??= Promise.resolve(room)
        .then(() => openNow(id, opens))
        .finally(() => {
          opens.opening = null;
        });
      try {
        await one.opening;
      } catch (error) {
        if (one.page === null && one.generation === null) known.delete(id);
        throw error;
      }
    },
    async close(id, wipe) {
      await close(id, wipe);
      if (!wipe) return;
      for (const kind of ['profiles', 'downloads', 'traces'] as const) {
        await rm(place(kind, id), { recursive: true, force: true });
      }
    },
    async using(id, work) {
      calls.set(id, (calls.get(id) ?? 0) + 1);
      try {
        return await work();
      } finally {
        const left = calls.get(id)! - 1;
        if (left > 0) calls.set(id, left);
        else calls.delete(id);
        const one = known.get(id);
        if (one !== undefined && known.delete(id)) known.set(id, one);
      }
    },
    isOpen: (id) => isCurrent(known.get(id)),
    lost(id) {
      for (const [name, one] of known) if (id === null || id === name) one.generation = null;
    },
    page: (id) => known.get(id)?.page ?? null,
    sawPage(id, page) {
      const one = known.get(id);
      if (one !== undefined) one.page = page;
    },
    letInto: (id, host) => known.get(id)?.hosts.add(host),
    wasLetInto: (id, host) => known.get(id)?.hosts.has(host) ?? false,
    tookSecret(id) {
      const one = known.get(id);
      if (one !== undefined) one.secret = true;
    },
    holdsSecret: (id) => known.get(id)?.secret ?? false,
    onOpened: (listener) => void opened.push(listener),
  };
}
