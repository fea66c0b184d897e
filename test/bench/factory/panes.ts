/** Figures of panes, measured at the host's socket with the host as the product runs it. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { quantile } from '../../support/bench/numbers.ts';
import { type BenchHost, colourFile, cpuSeconds, openHost, shellPane } from './panes-parts.ts';

const megabytes = 100;

export const figures: readonly Figure[] = [
  { name: 'factory.pane-colour', run: paneColour },
  { name: 'factory.key-to-screen', run: keyToScreen },
];

async function paneColour({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 1 : 5;
  const file = colourFile(megabytes * 1_000_000);
  const at = `pane host socket, journal on, one watcher, ${megabytes} MB of coloured text, 80x24, 1000 lines`;
  const unit = '× tmux, MB per CPU s';
  const version = spawnSync('tmux', ['-V'], { encoding: 'utf8' });
  if (version.status !== 0) return { value: null, unit, n: 0, at, why: 'tmux is not installed' };
  const own: number[] = [];
  const peer: number[] = [];
  for (let round = 0; round < rounds; round++) {
    own.push(await ownRound(file));
    peer.push(await tmuxRound(file));
    log(`round ${round + 1}: ${own.at(-1)?.toFixed(1)} against ${peer.at(-1)?.toFixed(1)} MB per CPU s`);
  }
  const ratios = own.map((value, round) => value / (peer[round] ?? Number.NaN));
  return {
    value: quantile(ratios, 0.5),
    unit,
    n: rounds,
    at,
    peer: { name: version.stdout.trim(), value: round1(quantile(peer, 0.5)) },
    own: round1(quantile(own, 0.5)),
    detail: { ratios: ratios.map((ratio) => Number(ratio.toFixed(2))) },
  };
}

async function ownRound(file: string): Promise<number> {
  const host = await openHost();
  try {
    const { connection } = host;
    let screens = 0;
    let end: (() => void) | undefined;
    host.onEvent = (event) => {
      if (event.ev === 'screen') screens++;
      if (event.ev === 'facts' && event.facts.offset >= megabytes * 1_000_000) end?.();
    };
    await connection.request({ op: 'observe', seen: {} });
    const script = `stty -onlcr -echo; read -r go; cat ${file}; sleep 60`;
    await connection.request({ op: 'create', spec: shellPane('flood', script) });
    await connection.request({ op: 'watch', pane: 'flood' });
    await sleep(500);
    const before = cpuSeconds(connection.hostPid);
    const printed = new Promise<void>((resolve) => {
      end = resolve;
    });
    await connection.request({ op: 'write', pane: 'flood' }, Buffer.from('\n'));
    await printed;
    await connection.request({ op: 'screen', pane: 'flood' });
    const spent = cpuSeconds(connection.hostPid) - before;
    if (screens < 2) throw new Error('The watcher saw no screens: the measurement is void.');
    return megabytes / spent;
  } finally {
    await host.close();
  }
}

/** The same program in a private tmux server with the same size and history; measured until its text can be captured. */
async function tmuxRound(file: string): Promise<number> {
  const name = `gantry-bench-${process.pid}`;
  const tmux = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync('tmux', ['-L', name, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`tmux ${args[0]} failed: ${stderr}`);
    return stdout.trim();
  };
  const script = `stty -onlcr -echo; read -r go; cat ${file}; tmux -L ${name} wait-for -S finished; sleep 60`;
  // The limit holds for panes made after it was set.
  tmux(
    'start-server',
    ';',
    'set-option',
    '-g',
    'history-limit',
    '1000',
    ';',
    'new-session',
    '-d',
    '-s',
    'bench',
    '-x',
    '80',
    '-y',
    '24',
    script,
  );
  try {
    const server = Number(tmux('display-message', '-p', '#{pid}'));
    await sleep(500);
    const before = cpuSeconds(server);
    tmux('send-keys', '-t', 'bench', 'Enter');
    await once(spawn('tmux', ['-L', name, 'wait-for', 'finished']), 'exit');
    tmux('capture-pane', '-p', '-e', '-t', 'bench');
    return megabytes / (cpuSeconds(server) - before);
  } finally {
    tmux('kill-server');
  }
}

async function keyToScreen({ quick }: FigureOptions): Promise<Measured> {
  const keys = quick ? 60 : 400;
  const host = await openHost();
  try {
    const times = await typeKeys(host, keys);
    return {
      value: quantile(times, 0.5),
      unit: 'ms p50',
      n: keys,
      at: 'pane host socket, idle pane with cat, from the key sent to the screen that shows it, one key every 45 ms',
      detail: {
        p90: round2(quantile(times, 0.9)),
        p99: round2(quantile(times, 0.99)),
        max: round2(Math.max(...times)),
      },
    };
  } finally {
    await host.close();
  }
}

async function typeKeys(host: BenchHost, keys: number): Promise<number[]> {
  const { connection } = host;
  let seen: ((column: number) => void) | undefined;
  host.onEvent = (event) => {
    if (event.ev === 'screen') seen?.(event.screen.cursor.y * event.screen.cols + event.screen.cursor.x);
  };
  await connection.request({ op: 'create', spec: shellPane('echo', 'cat') });
  await connection.request({ op: 'watch', pane: 'echo' });
  await sleep(500);
  const times: number[] = [];
  for (let key = 0; key < keys; key++) {
    const start = performance.now();
    const shown = new Promise<void>((resolve) => {
      seen = () => {
        times.push(performance.now() - start);
        seen = undefined;
        resolve();
      };
    });
    // A new line now and then: a terminal in line mode takes 4095 bytes.
    await connection.request({ op: 'write', pane: 'echo' }, Buffer.from(key % 60 === 59 ? '\r' : 'x'));
    await shown;
    await sleep(45);
  }
  return times;
}

function round1(value: number): number {
  return Number(value.toFixed(1));
}
function round2(value: number): number {
  return Number(value.toFixed(2));
}
