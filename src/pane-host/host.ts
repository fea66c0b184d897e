/**
 * All panes of one data folder, live and closed: starts, finds, ends and forgets them. The doors are elsewhere (server.ts).
 * It keeps no secrets and judges no state.
 */
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { createEmulator, type EmulatorParts, loadEmulatorParts } from './emulator.ts';
import { createFeed } from './feed.ts';
import { journalFiles, readFiles } from './journal.ts';
import { defaultScrollback, type KeptOsc, type LivePane, type PaneDrawing, startPane } from './pane.ts';
import { endTree, paneMark, startOf } from './process-tree.ts';
import type { HostError, InfoWire, PaneSpecWire } from './protocol.ts';
import type { StartPty } from './pty.ts';
import { closeRecord, type PaneRecord, readRecords, removeRecord, writeRecord } from './records.ts';

export interface HostListener {
  wanted(pane: string): boolean;
  created(info: InfoWire): void;
  tick(pane: LivePane): void;
  printed(pane: string): void;
  osc(pane: string, kept: KeptOsc): void;
  ended(info: InfoWire): void;
}

export interface Host {
  infos(): InfoWire[];
  live(): LivePane[];
  find(id: string): LivePane | undefined;
  create(spec: PaneSpecWire): Promise<InfoWire>;
  kill(id: string): Promise<void>;
  forget(id: string): void;
  draw(id: string): Promise<PaneDrawing>;
  capture(id: string, lines: number): Promise<{ text: string; at: string }>;
  scrollback(
    id: string,
    before: number | undefined,
    lines: number,
  ): Promise<{ ansi: string; first: number; lines: number; total: number }>;
  read(
    id: string,
    offset: number,
    max: number,
  ): { start: number; bytes: Uint8Array; end: number; live: boolean; at: string };
  /** Ends every pane; resolves when all are gone. */
  endAll(reason: string): Promise<void>;
}

export interface HostDeps {
  readonly folder: string;
  readonly loadPty: () => StartPty | Promise<StartPty>;
  readonly now: () => number;
  readonly listener: HostListener;
  readonly log: (line: string) => void;
}

/** A refusal that goes back to the caller as it is. */
export class HostRefusal extends Error {
  readonly wire: HostError;
  constructor(code: HostError['code'], fact: string, action: string) {
    super(fact);
    this.wire = { code, fact, action };
  }
}

/** How much of a closed pane's journal is parsed again to show it: more than its scrollback and quick to parse. */
const replayBytes = 2 * 1024 * 1024;
/** Bytes waiting for a program that does not read its input; a paste is far smaller. */
export const mostUnwritten = 4 * 1024 * 1024;
/** Letters that are safe as part of a file name on every system. */
const paneId = /^[A-Za-z0-9_-]{1,80}$/;

export function createHost(deps: HostDeps): Host {
  const { folder, listener, log } = deps;
  const panes = new Map<string, LivePane>();
  const closed = new Map<string, PaneRecord>();
  const records = new Map<string, PaneRecord>();
  const ending = new Map<string, Promise<void>>();
  const feed = createFeed();
  let parts: Promise<EmulatorParts> | undefined;
  let pty: Promise<StartPty> | undefined;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  adopt();

  /** Ids are unique in a data folder, and a computer may have several of those. */
  function markOf(id: string): string {
    return join(folder, id);
  }

  /** Panes of an earlier host: their terminals went with it. What is left of their programs is ended. */
  function adopt(): void {
    for (const found of readRecords(folder, (path) => log(`passed over ${path}: not a whole record`))) {
      let record = found;
      if (record.info.alive) {
        record = closeRecord(folder, record, 'the pane host ended');
        writeRecord(folder, record);
        const started = process.platform === 'win32' ? null : record.processStart;
        void endTree({ pid: record.info.pid, started }, markOf(record.info.id));
      }
      closed.set(record.info.id, record);
    }
  }

  function save(pane: LivePane): void {
    const { id } = pane.spec;
    const before = records.get(id);
    const record: PaneRecord = {
      version: 1,
      info: pane.info(),
      processStart: before?.processStart ?? startOf(pane.pty.pid),
      scrollback: pane.spec.scrollback ?? defaultScrollback,
      resizes: [...pane.resizes],
    };
    records.set(id, record);
    try {
      writeRecord(folder, record);
    } catch (error) {
      log(`${id}: its record cannot be written: ${(error as Error).message}`);
    }
  }

  const events = {
    wanted: (pane: LivePane) => listener.wanted(pane.spec.id),
    tick: (pane: LivePane) => listener.tick(pane),
    printed: (pane: LivePane) => listener.printed(pane.spec.id),
    osc: (pane: LivePane, kept: KeptOsc) => listener.osc(pane.spec.id, kept),
    resized: (pane: LivePane) => save(pane),
    fault: (pane: LivePane, what: string) => log(`${pane.spec.id}: ${what}`),
    ended(pane: LivePane) {
      const { id } = pane.spec;
      save(pane);
      closed.set(id, records.get(id)!);
      records.delete(id);
      panes.delete(id);
      listener.ended(pane.info());
      pane.dispose();
    },
  };

  function recordOf(id: string): PaneRecord {
    const record = closed.get(id);
    if (!record)
      throw new HostRefusal('not_found', `There is no pane ${id}.`, 'List the panes and use an id from there.');
    return record;
  }

  /** A closed pane's text, parsed again at the sizes it had. */
  async function replay<T>(id: string, look: (emulator: ReturnType<typeof createEmulator>) => T): Promise<T> {
    const record = recordOf(id);
    parts ??= loadEmulatorParts();
    const first = record.resizes[0] ?? { cols: record.info.cols, rows: record.info.rows };
    const silent = { onReply: () => {}, onOsc: () => {} };
    const emulator = createEmulator(await parts, {
      ...silent,
      cols: first.cols,
      rows: first.rows,
      scrollback: record.scrollback,
    });
    const { start, bytes } = readFiles(
      journalFiles(folder, id),
      Math.max(0, record.info.offset - replayBytes),
      replayBytes,
    );
    let at = 0;
    for (const size of [...record.resizes.slice(1), null]) {
      const until = size ? Math.min(Math.max(size.offset - start, at), bytes.length) : bytes.length;
      emulator.write(bytes.subarray(at, until));
      if (size) emulator.resize(size.cols, size.rows);
      at = until;
    }
    try {
      return look(emulator);
    } finally {
      emulator.dispose();
    }
  }

  const host: Host = {
    infos: () => [
      ...[...closed.values()].map((record) => record.info),
      ...[...panes.values()].map((pane) => pane.info()),
    ],
    live: () => [...panes.values()],
    find: (id) => panes.get(id),
    async create(spec) {
      check(spec);
      pty ??= Promise.resolve(deps.loadPty());
      parts ??= loadEmulatorParts();
      const [startPty, loaded] = await Promise.all([pty, parts]);
      if (panes.has(spec.id) || closed.has(spec.id)) {
        throw new HostRefusal('usage', `A pane ${spec.id} exists already.`, 'Choose a new id for each pane.');
      }
      const marked = { ...spec, env: { ...spec.env, [paneMark]: markOf(spec.id) } };
      const pane = startPane({ folder, startPty, parts: loaded, feed, now: deps.now, events }, marked);
      panes.set(spec.id, pane);
      save(pane);
      const info = pane.info();
      listener.created(info);
      return info;
    },
    kill(id) {
      const running = ending.get(id);
      if (running) return running;
      const pane = panes.get(id);
      const root = pane
        ? { pid: pane.pty.pid, started: records.get(id)?.processStart ?? null }
        : { pid: recordOf(id).info.pid, started: recordOf(id).processStart };
      pane?.willEnd('killed');
      const work = endTree(root, markOf(id)).then(async (left) => {
        if (left > 0)
          throw new HostRefusal('internal', `${left} processes of pane ${id} would not end.`, 'End them by hand.');
        await pane?.closed;
      });
      ending.set(id, work);
      const done = (): void => void ending.delete(id);
      work.then(done, done);
      return work;
    },
    forget(id) {
      if (panes.has(id)) throw new HostRefusal('refused', `Pane ${id} is still running.`, 'Kill it first.');
      if (!closed.delete(id)) return;
      removeRecord(folder, id);
    },
    async draw(id) {
      const pane = panes.get(id);
      if (pane) return pane.draw();
      return replay(id, (emulator) => {
        const { info } = recordOf(id);
        const { cols, rows } = info;
        const screen = {
          revision: info.facts.revision,
          at: info.endedAt ?? info.startedAt,
          cols,
          rows,
          cursor: emulator.cursor(),
        };
        return { screen, ansi: emulator.screen() };
      });
    },
    async capture(id, lines) {
      const pane = panes.get(id);
      if (pane) return pane.capture(lines);
      const at = recordOf(id).info.endedAt ?? '';
      return replay(id, (emulator) => ({ text: emulator.lastLines(lines), at }));
    },
    async scrollback(id, before, lines) {
      const pane = panes.get(id);
      if (pane) return pane.scrollback(before, lines);
      return replay(id, (emulator) => emulator.scrollback(before, lines));
    },
    read(id, offset, max) {
      const pane = panes.get(id);
      if (pane) {
        const { end } = pane.journal;
        return { ...pane.journal.read(offset, max), end, live: pane.alive, at: pane.printedAt() };
      }
      const { info } = recordOf(id);
      const at = info.endedAt ?? info.startedAt;
      return {
        ...readFiles(journalFiles(folder, id), Math.min(offset, info.offset), max),
        end: info.offset,
        live: false,
        at,
      };
    },
    async endAll(reason) {
      for (const pane of panes.values()) pane.willEnd(reason);
      await Promise.allSettled([...panes.keys()].map((id) => host.kill(id)));
    },
  };
  return host;
}

/** What would otherwise be a line of the kernel's in the pane and an exit code is said before anything starts. */
function check(spec: PaneSpecWire): void {
  const [file] = spec.command;
  if (!paneId.test(spec.id))
    throw new HostRefusal('usage', `"${spec.id}" is not an id for a pane.`, 'Use letters, digits, _ and -.');
  if (!file) throw new HostRefusal('usage', 'The command is empty.', 'Name a program.');
  if (!existsSync(spec.cwd) || !statSync(spec.cwd).isDirectory()) {
    throw new HostRefusal(
      'usage',
      `${spec.cwd} is not a folder.`,
      'Name a folder that exists as the working directory.',
    );
  }
  if (process.platform !== 'win32' && !findProgram(file, spec)) {
    throw new HostRefusal('usage', `The program ${file} was not found.`, 'Install it, or name it by its full path.');
  }
}

function findProgram(file: string, spec: PaneSpecWire): string | null {
  const places = file.includes('/')
    ? [isAbsolute(file) ? file : resolve(spec.cwd, file)]
    : (spec.env.PATH ?? '/usr/bin:/bin').split(delimiter).map((folder) => join(folder || '.', file));
  return places.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
