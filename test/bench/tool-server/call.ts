/**
 * What one call of a tool costs the runtime that runs it, with credential, policy and all: against the barest server of Express and
 * against the official SDK's server. Each server is a program of its own, loaded from this one. The call is `time.now` without arguments, as
 * most callers make it. `detail.tools` has the other native tools that need no yes: CPU of a call, of its bare work in a program that does
 * nothing else (the same read, write or listing by Node), and what is above.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { cpus, freemem, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { modernVersion } from '../../../src/contracts/tool-server/mcp.ts';
import { type Load, load, type Target } from '../../support/bench/converse.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, quantile, rounded, spread } from '../../support/bench/numbers.ts';
import { scratchHome, startBuilt } from '../../support/bench/product.ts';
import { callOfTime, callOfTool } from '../../support/mcp/call-of-time.ts';
import { startVictim } from '../../support/victim.ts';

export const figures: readonly Figure[] = [
  { name: 'tool-server.call', run: (options) => against(express, options) },
  { name: 'tool-server.call-sdk', run: (options) => against(sdk, options) },
  { name: 'tool-server.call-p99', run: p99 },
];

interface Peer {
  readonly name: string;
  readonly script: string;
}

const express: Peer = { name: 'express 5.3.0, bare echo', script: 'express-echo.ts' };
const sdk: Peer = { name: '@modelcontextprotocol/server 2.4.0, 20 tools', script: 'mcp-sdk-server.ts' };

const connections = 10;
/** The compiler has seen all of it before anything counts. */
const warmUp = 30_000;
const at = `gantry start, time.now {} over /mcp/server of the engine, ${modernVersion}, the owner's token, ${connections} kept connections from another process; CPU of the server's process, user and system`;

/** `call`: the bytes of a call of another tool. */
interface Engine extends Target {
  readonly call: (name: string, args: object) => string;
}

async function withEngine<T>(use: (target: Engine) => Promise<T>): Promise<T> {
  const place = scratchHome();
  try {
    const product = await startBuilt(place);
    try {
      const port = Number(new URL(product.engineUrl).port);
      const call = (name: string, args: object) => callOfTool(port, name, args, product.token);
      return await use({ port, pid: product.pid, text: callOfTime(port, product.token), call });
    } finally {
      await product.stop();
    }
  } finally {
    await place.remove();
  }
}

async function withPeer<T>({ script }: Peer, use: (target: Target) => Promise<T>): Promise<T> {
  const path = fileURLToPath(new URL(`../../support/victims/${script}`, import.meta.url));
  const victim = startVictim({ command: [process.execPath, path], env: { NODE_ENV: 'production' } });
  try {
    const { port, pid } = JSON.parse(await victim.until((line) => line.startsWith('{'))) as {
      port: number;
      pid: number;
    };
    return await use({ port, pid, text: callOfTime(port) });
  } finally {
    await victim.kill();
  }
}

const microsEach = ({ cpuMs, sent }: Load) => (cpuMs / sent) * 1000;

/** What a call costs while nobody else is busy: a loaded processor makes the same work dearer, by a third at times, and never cheaper. */
const quiet = (micros: readonly number[]) => quantile(micros, 0.25);

/** Our CPU a call over the peer's, by turns. */
function against(peer: Peer, { quick, log }: FigureOptions): Promise<Measured> {
  // Of three, one that the machine disturbed moves the middle by a tenth.
  const rounds = 7;
  const calls = quick ? 3_000 : 10_000;
  return withEngine((ours) =>
    withPeer(peer, async (theirs) => {
      for (const target of [ours, theirs]) await load(target, warmUp, connections);
      const own: number[] = [];
      const other: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        // Each first as often as the other: what else the machine does falls on both.
        const order = round % 2 === 0 ? [ours, theirs] : [theirs, ours];
        for (const target of order)
          (target === ours ? own : other).push(microsEach(await load(target, calls, connections)));
        log(`round ${round + 1}: ${rounded(own.at(-1)!, 1)} µs, ${peer.name} ${rounded(other.at(-1)!, 1)} µs`);
      }
      return {
        value: quiet(own) / quiet(other),
        unit: `× the CPU of ${peer.name}`,
        n: rounds * calls,
        at,
        own: rounded(quiet(own), 1),
        peer: { name: peer.name, value: rounded(quiet(other), 1) },
        detail: {
          own: spread(own),
          peer: spread(other),
          unit: 'µs a call',
          ...(peer === express ? { tools: await everyTool(ours, quick) } : {}),
        },
      };
    }),
  );
}

/** Of each tool, µs of CPU: a call, the same work without Gantry, and what is above it. */
async function everyTool(engine: Engine, quick: boolean): Promise<Record<string, object>> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-'));
  const file = join(folder, 'bench.txt');
  const content = 'words of a file\n'.repeat(64);
  writeFileSync(file, content);
  const tools: readonly (readonly [string, object, () => unknown])[] = [
    ['file.write', { path: 'bench.txt', content }, () => writeFile(file, content)],
    ['file.read', { path: 'bench.txt' }, () => readFile(file, 'utf8')],
    ['file.exists', { path: 'bench.txt' }, () => stat(file)],
    ['file.list', {}, () => readdir(folder, { withFileTypes: true })],
    ['system.info', {}, () => [release(), cpus(), totalmem(), freemem()]],
    ['system.env', {}, () => ({ ...process.env })],
    ['time.now', { timezone: 'UTC' }, () => new Date().toISOString()],
  ];
  const calls = quick ? 500 : 3_000;
  const found: Record<string, object> = {};
  try {
    for (const [name, args, work] of tools) {
      const text = engine.call(name, args);
      await load({ ...engine, text }, calls / 5, connections);
      const call = microsEach(await load({ ...engine, text }, calls, connections));
      const before = process.cpuUsage();
      for (let count = 0; count < calls; count += 1) await work();
      const used = process.cpuUsage(before);
      const bare = (used.user + used.system) / calls;
      found[name] = { call: rounded(call, 1), work: rounded(bare, 1), above: rounded(call - bare, 1) };
    }
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function p99({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 3 : 7;
  const calls = quick ? 3_000 : 10_000;
  return withEngine(async (ours) => {
    await load(ours, warmUp, connections);
    const samples: number[] = [];
    const middle: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const { latenciesMs } = await load(ours, calls, connections);
      samples.push(quantile(latenciesMs, 0.99));
      middle.push(median(latenciesMs));
      log(`round ${round + 1}: p50 ${rounded(middle.at(-1)!)} ms, p99 ${rounded(samples.at(-1)!)} ms`);
    }
    return {
      value: median(samples),
      unit: 'ms, 99 of 100 calls',
      n: rounds * calls,
      at,
      detail: {
        p50: rounded(median(middle)),
        best: rounded(Math.min(...samples)),
        worst: rounded(Math.max(...samples)),
      },
    };
  });
}
