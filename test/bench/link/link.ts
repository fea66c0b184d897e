/** What the link costs compared with a direct connection, and the effect of cutting it: a computer in a separate process. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createLinkAgent } from '../../../src/cloud-api/link/link.ts';
import { newToken } from '../../../src/kit/secrets/token-file.ts';
import { signingKey } from '../../../src/kit/signing/signature.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded, spread } from '../../support/bench/numbers.ts';
import { cpuMs } from '../../support/bench/processes.ts';
import { type CutProxy, startCutProxy } from '../../support/cut-proxy.ts';
import { seededRandom } from '../../support/kill-loop.ts';
import { startTestCloud, type TestCloud, untilLinked } from '../../support/link.ts';
import { startVictim, type Victim } from '../../support/victim.ts';

export const figures: readonly Figure[] = [
  { name: 'link.get', run: get },
  { name: 'link.stream', run: stream },
  { name: 'link.cuts', run: cuts },
];

const runtime = fileURLToPath(new URL('../../support/victims/link-runtime.ts', import.meta.url));
const computerId = 'computer_1';

interface World {
  readonly cloud: TestCloud;
  readonly wire: CutProxy;
  readonly victim: Victim;
  /** By name: how the computer's server is reached. */
  readonly ways: Readonly<Record<'direct' | 'link', Way>>;
  close(): Promise<void>;
}

interface Way {
  start(path: string, method?: string, body?: Buffer): Promise<IncomingMessage>;
}

/** Cloud and bench are this process, the computer another one; with `wire` its connection can be cut. */
async function setUp({ cut = false } = {}): Promise<World> {
  const cloud = await startTestCloud();
  const token = newToken();
  cloud.keys.set(computerId, signingKey(token));
  const wire = await startCutProxy({ target: { host: '127.0.0.1', port: cloud.port }, cutAfter: () => null });
  const url = `http://127.0.0.1:${cut ? wire.port : cloud.port}`;
  const victim = startVictim({ command: [process.execPath, runtime, url, computerId, token] });
  const port = Number(await victim.until((line) => /^\d+$/.test(line)));
  await untilLinked(cloud.dialIns, computerId);
  const agents = {
    direct: new Agent({ keepAlive: true, maxFreeSockets: 32, scheduling: 'lifo' }),
    link: createLinkAgent(cloud.dialIns, computerId),
  };
  const way = (name: keyof typeof agents): Way => ({
    start: (path, method = 'GET', body) =>
      new Promise((resolve, reject) => {
        const target = name === 'direct' ? { host: '127.0.0.1', port } : { host: 'engine' };
        const call = request({ ...target, agent: agents[name], path, method }, resolve);
        call.on('error', reject);
        call.end(body);
      }),
  });
  return {
    cloud,
    wire,
    victim,
    ways: { direct: way('direct'), link: way('link') },
    async close() {
      for (const agent of Object.values(agents)) agent.destroy();
      await victim.kill();
      await wire.close();
      await cloud.close();
    },
  };
}

async function read(response: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  return bytes;
}

async function get({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 4 : 10;
  const calls = quick ? 300 : 1000;
  const world = await setUp();
  const found = { direct: [] as number[], link: [] as number[] };
  try {
    for (let round = -1; round < rounds; round += 1) {
      // In turn, and each first as often as the other: what else the machine does falls on both.
      for (const name of round % 2 === 0 ? (['direct', 'link'] as const) : (['link', 'direct'] as const)) {
        const samples: number[] = [];
        for (let call = 0; call < calls; call += 1) {
          const begun = performance.now();
          await read(await world.ways[name].start('/ping'));
          samples.push(performance.now() - begun);
        }
        // The first round only warms up.
        if (round >= 0) found[name].push(...samples);
        log(`round ${round} ${name}: p50 ${median(samples).toFixed(3)} ms`);
      }
    }
  } finally {
    await world.close();
  }
  return {
    value: median(found.link) - median(found.direct),
    unit: 'ms beyond direct, p50',
    n: rounds * calls,
    at: 'node:http with a kept connection, one caller; cloud and computer are two processes on one machine; direct: a TCP connection to the same server, in turn in the same run',
    peer: { name: 'direct', value: rounded(median(found.direct), 3) },
    own: rounded(median(found.link), 3),
    detail: { direct: spread(found.direct), link: spread(found.link) },
  };
}

async function stream({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 3 : 9;
  const megabytes = 64;
  const world = await setUp();
  /** Of each round: MiB/s, and milliseconds of CPU that both processes used. */
  const speeds = { direct: [] as number[], link: [] as number[] };
  const cpu = { direct: [] as number[], link: [] as number[] };
  const cpuSoFar = () => cpuMs(process.pid) + cpuMs(world.victim.child.pid as number);
  try {
    for (let round = -1; round < rounds; round += 1) {
      for (const name of round % 2 === 0 ? (['direct', 'link'] as const) : (['link', 'direct'] as const)) {
        const before = cpuSoFar();
        const begun = performance.now();
        const bytes = await read(await world.ways[name].start(`/big?${megabytes}`));
        if (bytes !== megabytes * 1024 * 1024) throw new Error(`${bytes} bytes came instead of ${megabytes} MiB.`);
        const speed = (megabytes / (performance.now() - begun)) * 1000;
        const used = cpuSoFar() - before;
        if (round >= 0) {
          speeds[name].push(speed);
          cpu[name].push(used);
        }
        log(`round ${round} ${name}: ${speed.toFixed(0)} MiB/s, ${used.toFixed(0)} ms of CPU`);
      }
    }
  } finally {
    await world.close();
  }
  return {
    value: median(speeds.link) / median(speeds.direct),
    unit: '× direct',
    n: rounds,
    at: `a download of ${megabytes} MiB from the computer, MiB/s; cloud and computer are two processes on one machine; direct: a TCP connection to the same server, in turn in the same run`,
    peer: { name: 'direct', value: rounded(median(speeds.direct), 0) },
    own: rounded(median(speeds.link), 0),
    detail: {
      direct: speeds.direct.map(Math.round),
      link: speeds.link.map(Math.round),
      // Other load on the machine moves this less: what direct costs, as a part of what the link costs.
      byCpu: rounded(median(cpu.direct) / median(cpu.link), 2),
      cpuMsAMiB: { direct: rounded(median(cpu.direct) / megabytes, 2), link: rounded(median(cpu.link) / megabytes, 2) },
    },
  };
}

/** Longer than anything here takes, the way back included. */
const settleMs = 15_000;

async function cuts({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 10 : 30;
  const world = await setUp({ cut: true });
  const { cloud, wire, victim } = world;
  const random = seededRandom(30);
  const uncaught: string[] = [];
  const note = (error: unknown) => void uncaught.push(String(error instanceof Error ? error.stack : error));
  process.on('uncaughtException', note).on('unhandledRejection', note);
  const counts = { answered: 0, failed: 0, never: 0 };
  let stop = false;
  const settle = async (work: Promise<unknown>) => {
    const timer = new AbortController();
    const late = delay(settleMs, 'never' as const, { signal: timer.signal }).catch(() => 'never' as const);
    const how = await Promise.race([
      work.then(
        () => 'answered' as const,
        () => 'failed' as const,
      ),
      late,
    ]);
    timer.abort();
    counts[how] += 1;
    // No answer comes between two links, so ask again, as a page does.
    if (how === 'failed') await delay(5);
  };
  const forEver = async (work: () => Promise<unknown>) => {
    while (!stop) await settle(work());
  };
  const { link } = world.ways;
  const upload = Buffer.alloc(256 * 1024, 97);
  try {
    const load = [
      ...Array.from({ length: 16 }, () => forEver(() => link.start('/ping').then(read))),
      ...Array.from({ length: 2 }, () => forEver(() => link.start('/stream').then(read))),
      ...Array.from({ length: 2 }, () => forEver(() => link.start('/up', 'POST', upload).then(read))),
      forEver(() => link.start('/big?8').then(read)),
    ];
    for (let cut = 0; cut < rounds; cut += 1) {
      await delay(60 + random() * 120);
      wire.cutAll();
      await untilLinked(cloud.dialIns, computerId, false);
      await untilLinked(cloud.dialIns, computerId);
      log(`cut ${cut + 1}: ${JSON.stringify(counts)}`);
    }
    stop = true;
    wire.cutAll();
    await Promise.all(load);
    victim.child.stdin?.write('report\n');
    const there = JSON.parse(await victim.until((line) => line.startsWith('['))) as string[];
    for (const fault of [...uncaught, ...there]) log(fault);
    return {
      value: uncaught.length + there.length + counts.never,
      unit: 'uncaught exceptions and requests that never settled',
      n: rounds,
      at: 'the TCP connection of the link reset at random moments under 16 loops of GET, 2 streams, 2 loops of 256 KiB uploads and one of 8 MiB downloads; cloud and computer are two processes, each counts what nobody caught',
      detail: { ...counts, uncaughtHere: uncaught.length, uncaughtThere: there.length, cuts: wire.cuts() },
    };
  } finally {
    stop = true;
    process.off('uncaughtException', note).off('unhandledRejection', note);
    await world.close();
  }
}
