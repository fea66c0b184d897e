/**
 * Memory of many idle panes: shells with full scrollback that nobody watches. The host's share is counted as the kernel does it (PSS: shared pages
 * divided by their sharers); the shells' own memory is left out on both sides.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { type BenchHost, openHost, shellPane } from './panes-parts.ts';

export const figures: readonly Figure[] = [{ name: 'factory.panes-200', run: idlePanes }];

const scrollback = 1000;
/** As a person starts teams: one after the other, the first asleep before the last begins. */
const together = 20;
/** Lines of different lengths and colours, more than the scrollback keeps; then the shell waits at its prompt. */
const fill = `i=0; while [ $i -lt ${scrollback + 100} ]; do i=$((i+1)); printf '\\033[3%dmline %d\\033[0m of the text that a shell has printed, %s\\n' $((i % 8)) $i "$PWD $((i * 7919 % 10007))"; done; PS1='$ ' exec bash --norc -i`;

async function idlePanes({ quick, log }: FigureOptions): Promise<Measured> {
  const count = quick ? 40 : 200;
  const unit = 'MB of PSS beyond the shells';
  const at = `${count} panes of 80x24 with 1000 lines of scrollback each, begun ${together} at a time, idle and asleep; pane host with its journals against one tmux server`;
  const host = await openHost();
  let own: number;
  let wakes: number;
  try {
    const { connection } = host;
    await connection.request({ op: 'settings', sleepAfterMs: 500 });
    await connection.request({ op: 'observe', seen: {} });
    const ids = Array.from({ length: count }, (_, index) => `idle-${index}`);
    for (let at = 0; at < count; at += together) {
      const some = ids.slice(at, at + together);
      for (const id of some) await connection.request({ op: 'create', spec: shellPane(id, fill) });
      await allIdle(host, some);
      await sleep(2000);
    }
    own = await settled(() => pss(connection.hostPid));
    // They must be panes still: one answers with all of its text.
    const before = performance.now();
    const { tail } = await connection.request({ op: 'capture', pane: ids[0] ?? '', lines: 900 });
    wakes = performance.now() - before;
    if (!Buffer.from(tail).toString().includes(`line ${scrollback} of the text`))
      throw new Error('A pane lost its text.');
    log(`asleep ${own.toFixed(1)} MB, one woken in ${wakes.toFixed(0)} ms`);
  } finally {
    await host.close();
  }
  const peer = tmux(count);
  return {
    value: Number(own.toFixed(1)),
    unit,
    n: count,
    at,
    ...(peer === null ? {} : { peer: { name: peer.name, value: Number(peer.mb.toFixed(1)) } }),
    own: Number(own.toFixed(1)),
    detail: { wakeMs: Number(wakes.toFixed(1)) },
  };
}

async function allIdle(host: BenchHost, ids: readonly string[]): Promise<void> {
  const waiting = new Set(ids);
  for (let tries = 0; waiting.size > 0; tries++) {
    if (tries > 600) throw new Error(`${waiting.size} shells did not come to their prompt.`);
    for (const id of [...waiting]) {
      const { tail } = await host.connection.request({ op: 'capture', pane: id, lines: 1 });
      if (Buffer.from(tail).toString().startsWith('$')) waiting.delete(id);
    }
    await sleep(100);
  }
}

/** The same shells in a private server with the same history. */
function tmux(count: number): { name: string; mb: number } | null {
  const version = spawnSync('tmux', ['-V'], { encoding: 'utf8' });
  if (version.status !== 0) return null;
  const name = `gantry-bench-${process.pid}`;
  const run = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync('tmux', ['-L', name, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`tmux ${args[0]} failed: ${stderr}`);
    return stdout.trim();
  };
  const size = ['-x', '80', '-y', '24'];
  run(
    'start-server',
    ';',
    'set-option',
    '-g',
    'history-limit',
    `${scrollback}`,
    ';',
    'new-session',
    '-d',
    '-s',
    's0',
    ...size,
    fill,
  );
  try {
    for (let index = 1; index < count; index++) run('new-session', '-d', '-s', `s${index}`, ...size, fill);
    const server = Number(run('display-message', '-p', '#{pid}'));
    for (let index = 0; index < count; index++) {
      for (let tries = 0; !run('capture-pane', '-p', '-t', `s${index}`).trimEnd().endsWith('$'); tries++) {
        if (tries > 300) throw new Error('A shell in tmux did not come to its prompt.');
        spawnSync('sleep', ['0.1']);
      }
    }
    return { name: version.stdout.trim(), mb: pss(server) };
  } finally {
    run('kill-server');
  }
}

/** When it has stopped falling. */
async function settled(measure: () => number): Promise<number> {
  let best = measure();
  let since = performance.now();
  // Longer than the pause between two looks of the host.
  while (performance.now() - since < 6000) {
    await sleep(500);
    const now = measure();
    if (now < best - 0.5) {
      best = now;
      since = performance.now();
    }
  }
  return measure();
}

function pss(pid: number): number {
  const line = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
  return Number(line?.[1]) / 1024;
}
