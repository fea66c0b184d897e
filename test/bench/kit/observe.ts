/**
 * What telemetry costs where Gantry works hardest: processor time of a call of a tool, of a cycle of the work queue, and of a pane at full speed, with
 * an endpoint of OpenTelemetry that takes everything and without one. Two servers of the same build take turns, so that what else the machine does
 * meets both.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { load } from '../../support/bench/converse.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { cpuMs } from '../../support/bench/processes.ts';
import {
  type BenchAgent,
  type Product,
  paneHostOf,
  type ScratchHome,
  scratchHome,
  shellTeam,
  startBuilt,
  startProduct,
  teamUp,
} from '../../support/bench/product.ts';
import { callOfTime } from '../../support/mcp/call-of-time.ts';
import { startVictim, type Victim } from '../../support/victim.ts';

export const figures: readonly Figure[] = [{ name: 'kit.observe', run }];

const driver = fileURLToPath(new URL('../../support/victims/queue-driver.ts', import.meta.url));
const connections = 10;
const paneMegabytes = 20;

/** A server under measurement, and the three works that it is given. */
interface Side {
  readonly name: 'on' | 'off';
  readonly work: Readonly<Record<Work, (count: number) => Promise<number>>>;
  end(): Promise<void>;
}

const works = ['tools/call', 'queue cycle', 'pane'] as const;
type Work = (typeof works)[number];

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 5 : 15;
  const counts: Readonly<Record<Work, number>> = { 'tools/call': 3_000, 'queue cycle': 1_000, pane: 1 };
  const warm: Readonly<Record<Work, number>> = { 'tools/call': 30_000, 'queue cycle': 4_000, pane: 1 };
  const collector = await startCollector();
  const sides: Side[] = [];
  try {
    sides.push(await open('off', {}, true));
    sides.push(await open('on', { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, false));
    const found: Record<string, { off: number; on: number; dearer: number }> = {};
    for (const work of works) {
      for (const side of sides) await side.work[work](warm[work]);
      const ratios: number[] = [];
      const costs = { on: [] as number[], off: [] as number[] };
      for (let round = 0; round < rounds; round += 1) {
        const order = round % 2 === 0 ? sides : sides.toReversed();
        for (const side of order) costs[side.name].push(await side.work[work](counts[work]));
        ratios.push((costs.on.at(-1) as number) / (costs.off.at(-1) as number));
      }
      const dearer = (median(ratios) - 1) * 100;
      found[work] = {
        off: rounded(median(costs.off), 1),
        on: rounded(median(costs.on), 1),
        dearer: rounded(dearer, 1),
      };
      log(`${work}: ${found[work].off} µs without, ${found[work].on} µs with telemetry, ${found[work].dearer} % more`);
    }
    return {
      value: Math.max(...Object.values(found).map(({ dearer }) => dearer)),
      unit: '% more processor time with telemetry, of the work that it costs most',
      n: rounds,
      at: `two gantry start of one build by turns, a collector on loopback that takes everything; time.now over MCP on ${connections} kept connections, enqueue → lease → ack over HTTP, ${paneMegabytes} MB through a shell's pane (runtime and pane host)`,
      detail: {
        ...found,
        spansTaken: collector.requests() > 0 ? 'yes' : 'no',
        unit: 'µs of CPU; of the pane, a megabyte',
      },
    };
  } finally {
    for (const side of sides) await side.end();
    collector.server.close();
    collector.server.closeAllConnections();
  }
}

async function startCollector(): Promise<{ server: Server; url: string; requests: () => number }> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume();
    request.on('end', () => response.end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

async function open(name: Side['name'], env: Readonly<Record<string, string>>, first: boolean): Promise<Side> {
  const made = scratchHome({ bench: shellTeam('bench', ['printer']) });
  const place: ScratchHome = { ...made, env: { ...made.env, ...env } };
  // Only the first has to look whether the build is fresh.
  const product = await (first ? startBuilt(place) : startProduct(place));
  const { secret } = await product.web.call<{ secret: string }>('POST', '/api/v1/keys', {
    name: 'b',
    scopes: ['work'],
  });
  const queue = startVictim({ command: [process.execPath, driver, product.origin, secret, '8', '0'] });
  await queue.until((line) => line === 'ready');
  const [printer] = (await teamUp(product, 'bench')) as [BenchAgent];
  const target = {
    port: Number(new URL(product.engineUrl).port),
    pid: product.pid,
    text: callOfTime(Number(new URL(product.engineUrl).port), product.token),
  };
  let told = 0;
  return {
    name,
    work: {
      'tools/call': async (count) => {
        const { cpuMs: used, sent } = await load(target, count, connections);
        return (used * 1000) / sent;
      },
      'queue cycle': async (count) => {
        told += 1;
        const before = cpuMs(product.pid);
        await cycles(queue, count, String(told));
        return ((cpuMs(product.pid) - before) * 1000) / count;
      },
      pane() {
        told += 1;
        return print(product, place, printer.id, told);
      },
    },
    async end() {
      await queue.kill();
      await product.stop();
      await place.remove();
    },
  };
}

async function cycles(queue: Victim, count: number, word: string): Promise<void> {
  queue.child.stdin?.write(`cycle ${count} ${word}\n`);
  await queue.until((line) => line === `done ${word}`);
}

/** µs of CPU a megabyte that a shell prints as fast as its pane takes it. */
async function print(product: Product, place: ScratchHome, agentId: string, number: number): Promise<number> {
  const host = paneHostOf(place.home);
  const used = () => cpuMs(product.pid) + (host === null ? 0 : cpuMs(host));
  const before = used();
  const text = `head -c ${paneMegabytes}000000 /dev/zero | tr '\\0' 'x' | fold -w 78; echo printed-$((${number}))`;
  await product.engine.call('POST', `/api/factory/agents/${agentId}/input`, { text, keys: ['Enter'] });
  for (let tries = 0; tries < 1200; tries += 1) {
    const { text: screen } = await product.engine.call<{ text: string }>(
      'GET',
      `/api/factory/agents/${agentId}/capture?lines=5`,
    );
    if (screen.includes(`printed-${number}`)) return ((used() - before) * 1000) / paneMegabytes;
    await delay(50);
  }
  throw new Error('The shell did not print to its end within a minute.');
}
