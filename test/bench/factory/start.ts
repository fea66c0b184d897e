/** How fast Gantry starts, and what it costs while nothing happens. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { type ProcessInfo, processes, pssMb, withDescendants } from '../../support/bench/processes.ts';
import { paneHostOf, type ScratchHome, scratchHome } from '../../support/bench/product.ts';
import { freePort } from '../../support/free-port.ts';

export const figures: readonly Figure[] = [
  { name: 'factory.start', run: start },
  { name: 'factory.start-memory', run: startMemory },
];

const root = new URL('../../..', import.meta.url).pathname;

const giveUpMs = 30_000;

interface Started {
  readonly seconds: number;
  /** npm's own process. */
  readonly npm: number;
  stop(): Promise<void>;
}

async function start({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 2 : 7;
  const place = scratchHome();
  const seconds: number[] = [];
  try {
    // The first start makes the data folder, the databases and file caches.
    for (let round = -1; round < rounds; round += 1) {
      const started = await npmStart(place);
      await started.stop();
      if (round < 0) continue;
      seconds.push(started.seconds);
      log(`round ${round + 1}: ${started.seconds.toFixed(2)} s`);
    }
  } finally {
    await place.remove();
  }
  return {
    value: median(seconds),
    unit: 's',
    n: rounds,
    at: 'npm start -- --headless on an installed, built clone with a data folder, until health on the web port answers ok with panes',
    detail: { max: rounded(Math.max(...seconds)), min: rounded(Math.min(...seconds)) },
  };
}

async function startMemory({ quick, log }: FigureOptions): Promise<Measured> {
  const seconds = quick ? 25 : 60;
  const place = scratchHome();
  try {
    const started = await npmStart(place);
    await delay(seconds * 1000);
    const ours = programs(started.npm, place.home);
    const parts = ours.map(({ pid, command }) => ({ command: command.slice(-80), mb: rounded(pssMb(pid), 1) }));
    for (const part of parts) log(`${part.mb} MB  ${part.command}`);
    await started.stop();
    return {
      value: parts.reduce((sum, part) => sum + part.mb, 0),
      unit: 'MB PSS',
      n: 1,
      at: `all processes of Gantry ${seconds} s after npm start -- --headless with no bot and no viewer; npm and its shell excluded`,
      detail: { processes: parts.map((part) => part.mb) },
    };
  } finally {
    await place.remove();
  }
}

/** What runs because of us: below npm without npm and its shell, and the pane host that has left them. */
function programs(npm: number, home: string): ProcessInfo[] {
  const all = processes();
  const host = paneHostOf(home);
  const tree = withDescendants(npm, all).filter(({ pid, command }) => pid !== npm && !/^(sh|npm)\b/.test(command));
  const pids = new Set([...tree.map(({ pid }) => pid), ...(host === null ? [] : [host])]);
  return all.filter(({ pid }) => pids.has(pid));
}

async function npmStart(place: ScratchHome): Promise<Started> {
  // `npm start` would first install or build, and that is no warm start.
  if (!existsSync(join(root, 'node_modules', '.gantry-installed')) || !existsSync(join(root, 'out', '.built'))) {
    throw new Error('This clone is not installed and built: run it as npm run bench, which sees to both.');
  }
  const port = await freePort();
  const begun = performance.now();
  const child = spawn(
    'npm',
    ['start', '--', '--headless', '--port', String(port), '--engine-port', '0', '--workspace', place.workspace],
    { cwd: root, env: { ...withoutNpm(), ...place.env }, stdio: ['ignore', 'ignore', 'pipe'], detached: true },
  );
  let errors = '';
  child.stderr.on('data', (text) => {
    errors = (errors + String(text)).slice(-2000);
  });
  const ended = once(child, 'exit');
  while (!(await isHealthy(port))) {
    if (performance.now() - begun > giveUpMs) {
      process.kill(-(child.pid as number), 'SIGTERM');
      throw new Error(`Gantry did not become healthy within ${giveUpMs / 1000} s.`);
    }
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}: ${errors}`);
    await delay(5);
  }
  return {
    seconds: (performance.now() - begun) / 1000,
    npm: child.pid as number,
    stop: async () => {
      process.kill(-(child.pid as number), 'SIGTERM');
      await ended;
    },
  };
}

/** A person's shell has none of the variables that `npm run` sets for us. */
function withoutNpm(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^INIT_CWD$/i.test(name)));
}

function isHealthy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request({ host: '127.0.0.1', port, path: '/api/factory/health' }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => {
        const healthy = /"ok":true/.test(text) && /"panes":true/.test(text);
        resolve(response.statusCode === 200 && healthy);
      });
    });
    call.on('error', () => resolve(false));
    call.end();
  });
}
