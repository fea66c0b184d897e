/**
 * All panes of one data folder, live and closed: starts, finds, ends and forgets them. The listener is in server.ts. It keeps no secrets and judges
 * no state.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createClosedPanes } from './closed-panes.ts';
import { type EmulatorParts, loadEmulatorParts } from './emulator.ts';
import { createFeed } from './feed.ts';
import {
  defaultScrollback,
  type HandedPane,
  type LivePane,
  type PaneDrawing,
  type PanePast,
  type RecordedOsc,
  startPane,
} from './pane.ts';
import { endTree, paneMark, startOf } from './process-tree.ts';
import { type Answers, hostEnded, type InfoWire, type PaneSpecWire, type Revival } from './protocol.ts';
import type { AdoptPty, PtySink, StartPty } from './pty.ts';
import { closeRecord, type PaneRecord, readRecords, writeRecord } from './records.ts';
import { checkStart, HostRefusal } from './start-check.ts';

interface HostListener {
  wanted(pane: string): boolean;
  /** Whether somebody looks at its screen. */
  watched(pane: string): boolean;
  created(info: InfoWire): void;
  tick(pane: LivePane): void;
  printed(pane: string): void;
  osc(pane: string, kept: RecordedOsc): void;
  ended(info: InfoWire): void;
}

export interface Host {
  infos(): InfoWire[];
  live(): LivePane[];
  find(id: string): LivePane | undefined;
  /** `revival`: under the id of a closed pane, with its text above. */
  create(spec: PaneSpecWire, revival?: Revival): Promise<InfoWire>;
  kill(id: string): Promise<void>;
  forget(id: string): void;
  draw(id: string): Promise<PaneDrawing>;
  capture(id: string, lines: number): Promise<{ text: string; at: string }>;
  scrollback(id: string, before: number | undefined, lines: number): Promise<Answers['scrollback'] & { ansi: string }>;
  read(
    id: string,
    offset: number,
    max: number,
  ): { start: number; bytes: Uint8Array; end: number; live: boolean; at: string };
  /** Puts to sleep one pane that nobody has needed for so long; answers whether there was one. */
  sleepOne(idleMs: number): boolean;
  /** Stops all live panes at a byte. If one cannot stop, throws, and all continue. */
  prepare(): Promise<(HandedPane & { readonly fd: number })[]>;
  /** After `prepare`, or in the host that took the panes up: terminals are read from now on. */
  goOn(): void;
  /** Ends every pane; resolves when all are gone. */
  endAll(reason: string): Promise<void>;
}

export interface HostDeps {
  readonly folder: string;
  readonly loadPty: () => StartPty | Promise<StartPty>;
  readonly now: () => number;
  readonly listener: HostListener;
  readonly log: (line: string) => void;
  /** Live panes of the host before, each with its terminal. They stand still until `goOn`. */
  readonly handed?: {
    readonly panes: readonly (HandedPane & { readonly fd: number })[];
    readonly parts: EmulatorParts;
    readonly adoptPty: AdoptPty;
  };
}

/** Bytes waiting for a program that does not read its input; a paste is far smaller. */
export const maxUnwritten = 4 * 1024 * 1024;
type PaneSize = { readonly cols: number; readonly rows: number };

export function createHost(deps: HostDeps): Host {
  const { folder, listener, log } = deps;
  const panes = new Map<string, LivePane>();
  const records = new Map<string, PaneRecord>();
  const ending = new Map<string, Promise<void>>();
  const feed = createFeed();
  let parts: Promise<EmulatorParts> | undefined;
  let pty: Promise<StartPty> | undefined;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stopped = new Set<LivePane>();
  const closed = createClosedPanes(folder, loadParts);
  takeRecords();

  function loadParts(): Promise<EmulatorParts> {
    parts ??= loadEmulatorParts();
    return parts;
  }

  /** Ids are unique in a data folder, and a computer may have several of those. */
  function markOf(id: string): string {
    return join(folder, id);
  }

  /** Panes of an earlier host: their terminals went with it. What is left of their programs is ended. */
  function takeRecords(): void {
    const handed = new Set(deps.handed?.panes.map((pane) => pane.spec.id));
    for (const found of readRecords(folder, (path) => log(`passed over ${path}: not a whole record`))) {
      let record = found;
      const { id, alive, pid } = record.info;
      if (alive && handed.has(id)) {
        records.set(id, record);
        continue;
      }
      if (alive) {
        record = closeRecord(folder, record, hostEnded);
        writeRecord(folder, record);
        const started = process.platform === 'win32' ? null : record.processStart;
        // A new pane with the same id waits: two programs must not continue one conversation.
        underWay(
          id,
          endTree({ pid, started }, markOf(id)).then(() => {}),
        );
      }
      closed.add(record);
    }
  }

  function underWay(id: string, work: Promise<void>): Promise<void> {
    ending.set(id, work);
    const done = (): void => void ending.delete(id);
    work.then(done, done);
    return work;
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
    osc: (pane: LivePane, kept: RecordedOsc) => listener.osc(pane.spec.id, kept),
    resized: (pane: LivePane) => save(pane),
    fault: (pane: LivePane, what: string) => log(`${pane.spec.id}: ${what}`),
    ended(pane: LivePane) {
      const { id } = pane.spec;
      save(pane);
      closed.add(records.get(id)!);
      records.delete(id);
      panes.delete(id);
      listener.ended(pane.info());
      pane.dispose();
    },
  };

  const paneDeps = (loaded: EmulatorParts) => ({ folder, parts: loaded, feed, now: deps.now, events });

  /** Before the first request: everything it needs is there. */
  function takeHanded({ panes: list, parts: loaded, adoptPty }: NonNullable<HostDeps['handed']>): void {
    parts = Promise.resolve(loaded);
    for (const { spec, fd, pid, ...rest } of list) {
      const id = spec.id;
      const started = records.get(id)?.processStart ?? startOf(pid);
      const openPty = (sink: PtySink) => {
        const pty = adoptPty({ fd, pid, started }, sink);
        pty.hold?.();
        return pty;
      };
      const { cols, rows } = rest;
      const pane = startPane({ ...paneDeps(loaded), openPty }, { ...spec, env: {}, cols, rows }, rest);
      panes.set(id, pane);
      stopped.add(pane);
      save(pane);
    }
  }
  if (deps.handed) takeHanded(deps.handed);

  const host: Host = {
    infos: () => [...closed.all().map((record) => record.info), ...[...panes.values()].map((pane) => pane.info())],
    live: () => [...panes.values()],
    find: (id) => panes.get(id),
    async create(spec, revival) {
      checkStart(spec);
      pty ??= Promise.resolve(deps.loadPty());
      const [startPty, loaded] = await Promise.all([pty, loadParts()]);
      // What is left of its last program is ended first.
      if (revival) await ending.get(spec.id);
      const before = revival ? closed.find(spec.id) : undefined;
      if (panes.has(spec.id) || (closed.find(spec.id) && !before)) {
        throw new HostRefusal('usage', `A pane ${spec.id} already exists.`, 'Choose a new id for each pane.');
      }
      const marked = { ...spec, env: { ...spec.env, [paneMark]: markOf(spec.id) } };
      const again = before && revival ? past(before, revival) : undefined;
      const own = { ...marked, ...again?.size };
      const { command, cwd, env, cols, rows } = own;
      const pane = startPane(
        { ...paneDeps(loaded), openPty: (sink) => startPty({ command, cwd, env, cols, rows }, sink) },
        own,
        again?.past,
      );
      closed.takeOut(spec.id);
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
        : { pid: closed.recordOf(id).info.pid, started: closed.recordOf(id).processStart };
      pane?.willEnd('killed');
      const work = endTree(root, markOf(id)).then(async (left) => {
        if (left > 0)
          throw new HostRefusal('internal', `${left} processes of pane ${id} would not end.`, 'End them by hand.');
        await pane?.closed;
      });
      return underWay(id, work);
    },
    forget(id) {
      if (panes.has(id)) throw new HostRefusal('refused', `Pane ${id} is still running.`, 'Kill it first.');
      closed.forget(id);
    },
    async draw(id) {
      const pane = panes.get(id);
      if (pane) return pane.draw();
      return closed.draw(id);
    },
    async capture(id, lines) {
      const pane = panes.get(id);
      if (pane) return pane.capture(lines);
      return closed.capture(id, lines);
    },
    async scrollback(id, before, lines) {
      const pane = panes.get(id);
      if (pane) return pane.scrollback(before, lines);
      return closed.scrollback(id, before, lines);
    },
    read(id, offset, max) {
      const pane = panes.get(id);
      if (pane) {
        const { end } = pane.journal;
        return { ...pane.journal.read(offset, max), end, live: pane.alive, at: pane.printedAt() };
      }
      return closed.read(id, offset, max);
    },
    sleepOne(idleMs) {
      const since = performance.now() - idleMs;
      for (const pane of panes.values()) {
        if (pane.asleep || pane.usedAt > since || listener.watched(pane.spec.id)) continue;
        if (pane.sleep()) return true;
      }
      return false;
    },
    async prepare() {
      if (ending.size > 0) throw new Error('a pane is just being ended');
      try {
        const handed = [];
        for (const pane of panes.values()) {
          stopped.add(pane);
          const fd = pane.pty.fd ?? -1;
          handed.push({ ...(await pane.prepare()), fd });
          if (!pane.alive) throw new Error(`pane ${pane.spec.id} ended meanwhile`);
        }
        return handed;
      } catch (error) {
        host.goOn();
        throw error;
      }
    },
    goOn() {
      for (const pane of stopped) pane.goOn();
      stopped.clear();
    },
    async endAll(reason) {
      for (const pane of panes.values()) pane.willEnd(reason);
      await Promise.allSettled([...panes.keys()].map((id) => host.kill(id)));
    },
  };
  return host;
}

/** The text of its last life, and the size that its viewers gave it. */
function past(record: PaneRecord, { words, offset, revision }: Revival): { past: PanePast; size: PaneSize } {
  const { cols, rows } = record.info;
  const start = record.info.offset;
  const seen = Math.max(record.info.facts.revision, revision);
  const screen = { offset: start, revision: seen, frozen: null, drawing: null };
  const lost = Math.max(0, offset - start);
  return { past: { offset: start, resizes: record.resizes, screen, words, lost }, size: { cols, rows } };
}
