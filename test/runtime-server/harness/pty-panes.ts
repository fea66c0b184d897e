/**
 * Panes for harness tests: real ptys and a real emulator in this process, without the pane host's socket and journal file.
 * What the harness needs of panes and no more; the pane host has its own tests.
 */
import headless from '@xterm/headless';
import { type IPty, spawn } from 'node-pty';
import type { HarnessPanes } from '../../../src/runtime-server/harness/adapter.ts';
import type { Launch } from '../../../src/runtime-server/harness/harness.ts';
import type { PaneFacts, PaneInfo, PaneListener } from '../../../src/runtime-server/panes/pane-engine.ts';
import { readFacts } from './screen-facts.ts';

interface LivePane {
  info: PaneInfo;
  pty: IPty;
  journal: Buffer[];
}

export interface PtyPanes extends HarnessPanes {
  start(id: string, launch: Launch): void;
  written(id: string): string;
  /** The engine is gone, or back. */
  readable(now: boolean): void;
  close(): void;
}

export function createPtyPanes(): PtyPanes {
  const panes = new Map<string, LivePane>();
  const listeners = new Set<PaneListener>();
  const writes = new Map<string, string>();
  const now = () => new Date().toISOString();
  let running = true;
  const engine = () => ({ running, error: running ? null : 'The pane host is gone.' });

  return {
    engine,
    get: (id) => panes.get(id)?.info ?? null,
    async write(id, data) {
      const text = typeof data === 'string' ? data : Buffer.from(data).toString('utf8');
      writes.set(id, (writes.get(id) ?? '') + text);
      panes.get(id)?.pty.write(text);
    },
    async read(id, offset, maxBytes) {
      if (!running) throw new Error('The pane host is gone.');
      const all = Buffer.concat(panes.get(id)?.journal ?? []);
      const bytes = all.subarray(offset, offset + maxBytes);
      return { start: offset, bytes, end: offset + bytes.length, live: panes.get(id)?.info.alive ?? false, at: now() };
    },
    async kill(id) {
      panes.get(id)?.pty.kill('SIGKILL');
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start(id, launch) {
      const [file, ...args] = launch.command;
      const { cols, rows, cwd } = launch;
      const pty = spawn(file, args, { cols, rows, cwd, env: { ...launch.env }, encoding: null });
      const terminal = new headless.Terminal({ cols, rows, scrollback: 1000, allowProposedApi: true });
      let offset = 0;
      let facts: PaneFacts = readFacts(terminal, { title: '', progress: null, offset: 0, revision: 0 });
      const seen = { title: '', progress: null as string | null };
      const pane: LivePane = {
        pty,
        journal: [],
        info: {
          id,
          labels: {},
          pid: pty.pid,
          alive: true,
          exitCode: null,
          exitSignal: null,
          endReason: null,
          startedAt: now(),
          endedAt: null,
          cols,
          rows,
          offset,
          facts,
        },
      };
      panes.set(id, pane);
      terminal.onTitleChange((title) => {
        seen.title = title;
      });
      for (const code of [9, 133, 777]) {
        terminal.parser.registerOscHandler(code, (text) => {
          if (code === 9 && text.startsWith('4;')) seen.progress = text.slice(2);
          for (const listener of listeners) listener.onOsc?.(id, { code, text, offset, at: now() });
          return true;
        });
      }
      terminal.onData((reply) => {
        if (pane.info.alive) pty.write(reply);
      });
      pty.onData((data) => {
        const bytes = Buffer.from(data as unknown as Uint8Array);
        offset += bytes.length;
        pane.journal.push(bytes);
        terminal.write(bytes, () => {
          facts = readFacts(terminal, { ...seen, offset, revision: facts.revision + 1 });
          pane.info = { ...pane.info, offset, facts };
          for (const listener of listeners) listener.onFacts?.(id, facts);
        });
      });
      pty.onExit(({ exitCode, signal }) => {
        pane.info = {
          ...pane.info,
          alive: false,
          exitCode: signal ? null : exitCode,
          exitSignal: signal ? `signal ${signal}` : null,
          endedAt: now(),
        };
        for (const listener of listeners) listener.onExit?.(id, pane.info);
      });
    },
    written: (id) => writes.get(id) ?? '',
    readable(next) {
      running = next;
      for (const listener of listeners) listener.onEngine?.(engine());
    },
    close() {
      for (const { pty, info } of panes.values()) if (info.alive) pty.kill('SIGKILL');
    },
  };
}
