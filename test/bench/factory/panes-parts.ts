/** Shared parts of the pane figures: a host as the product starts it, its connection, coloured text, CPU time of a process. */
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { programCommand } from '../../../src/kit/process/programs.ts';
import { type Event, hostFiles, type PaneSpecWire } from '../../../src/programs/pane-host/protocol.ts';
import { connectHost, type HostConnection } from '../../../src/runtime-server/panes/host-connection.ts';
import { hostToken, startHost } from '../../../src/runtime-server/panes/host-starter.ts';

export interface BenchHost {
  readonly connection: HostConnection;
  /** Replaced by each figure. */
  onEvent: (event: Event, tail: Uint8Array) => void;
  close(): Promise<void>;
}

export async function openHost(): Promise<BenchHost> {
  const home = mkdtempSync(join(tmpdir(), 'gantry-bench-'));
  const files = hostFiles(home);
  startHost({ files, home, command: programCommand('pane-host') });
  const bench: { onEvent: BenchHost['onEvent'] } = { onEvent: () => {} };
  const events = { event: (event: Event, tail: Uint8Array) => bench.onEvent(event, tail), lost: () => {} };
  const token = hostToken(files);
  let connection: HostConnection | undefined;
  for (let tries = 0; !connection; tries++) {
    await sleep(25);
    connection = await connectHost(files, token, events).catch((error) => {
      if (tries > 400) throw error;
      return undefined;
    });
  }
  const open = connection;
  return Object.assign(bench, {
    connection: open,
    async close() {
      await open.request({ op: 'stop', force: true });
      while (processLives(open.hostPid)) await sleep(20);
      rmSync(home, { recursive: true, force: true });
    },
  });
}

export function shellPane(id: string, script: string): PaneSpecWire {
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', LANG: 'C.UTF-8' };
  return { id, command: ['bash', '-c', script], cwd: tmpdir(), env, cols: 80, rows: 24, scrollback: 1000, labels: {} };
}

/** Log-like lines of which about half the bytes set colours (16, 256 and true colour); the same bytes every time. */
export function colourFile(bytes: number): string {
  const file = join(tmpdir(), `gantry-bench-colour-${bytes}.txt`);
  if (existsSync(file) && statSync(file).size === bytes) return file;
  const words = ['compile', 'agent', 'pane', 'ledger', 'ok', 'warn', 'src/index.ts', '12ms', 'passed', 'né', '→'];
  let seed = 1;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return (seed >>> 8) % below;
  };
  const colour = (): string => {
    if (random(3) === 0) return `\x1b[1;${31 + random(7)}m`;
    if (random(2) === 0) return `\x1b[38;5;${random(256)}m`;
    return `\x1b[38;2;${random(256)};${random(256)};${random(256)}m`;
  };
  const fd = openSync(file, 'w');
  for (let written = 0; written < bytes; ) {
    let block = '';
    while (block.length < 65_536) {
      const count = 4 + random(10);
      for (let index = 0; index < count; index++) block += `${colour()}${words[random(words.length)]}\x1b[0m `;
      block += '\n';
    }
    const buffer = Buffer.from(block);
    written += writeSync(fd, buffer, 0, Math.min(buffer.length, bytes - written));
  }
  closeSync(fd);
  return file;
}

/** Processor seconds of a process so far, its children's excluded (`/proc`, 100 ticks a second). */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function processLives(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}
