/** What scheduling costs beyond the processes it schedules, and what a large board costs to read. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { besideFloor, machineBy } from '../../support/bench/floor.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { cpuMs } from '../../support/bench/processes.ts';
import { type Product, type ScratchHome, scratchHome, startProduct } from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [
  { name: 'factory.scheduler', run: scheduler },
  { name: 'factory.board', run: board },
];

interface Started {
  readonly dagId: string;
  readonly campaignId: string;
}

const waves = 10;

/** Ten waves of commands; each step waits for two of the wave before. */
function template(nodes: number, more: Readonly<Record<string, unknown>> = {}): unknown {
  const wide = nodes / waves;
  const steps = Array.from({ length: nodes }, (_, at) => {
    const wave = Math.floor(at / wide);
    const place = at % wide;
    const before = (offset: number) => `s${(wave - 1) * wide + ((place + offset) % wide)}`;
    const blocked = wave === 0 ? { ...more } : { blocked_by: wide < 2 ? [before(0)] : [before(0), before(1)] };
    return { id: `s${at}`, title: `Step ${at}`, command: `echo step ${at} of $GANTRY_DAG`, ...blocked };
  });
  return { steps };
}

async function withProduct<T>(
  templates: Readonly<Record<string, unknown>>,
  use: (product: Product) => Promise<T>,
): Promise<T> {
  const place: ScratchHome = scratchHome();
  mkdirSync(join(place.workspace, '.gantry', 'templates'), { recursive: true });
  for (const [id, value] of Object.entries(templates)) {
    writeFileSync(join(place.workspace, '.gantry', 'templates', `${id}.json`), JSON.stringify(value));
  }
  const product = await startProduct(place);
  try {
    return await use(product);
  } finally {
    await product.stop();
    await place.remove();
  }
}

async function scheduler({ quick, log }: FigureOptions): Promise<Measured> {
  const nodes = quick ? 200 : 1000;
  const rounds = quick ? 2 : 3;
  return withProduct({ warm: template(100), waves: template(nodes) }, async (product) => {
    const run = async (id: string) => {
      const body = { template: id, projectId: 'bench' };
      const { dagId } = await product.engine.call<Started>('POST', '/api/factory/runs', body);
      const began = performance.now();
      // Asked rarely and for little: what a screen reads is measured by the board.
      for (let open = true; open; ) {
        await delay(1000);
        const { campaigns } = await product.engine.call<{ campaigns: { status: string }[] }>(
          'GET',
          '/api/factory/campaigns',
        );
        open = campaigns[0]?.status !== 'finished';
      }
      return { dagId, seconds: (performance.now() - began) / 1000 };
    };
    const verify = async (dagId: string) => {
      const { status } = await product.engine.call<{ status: string }>('GET', `/api/factory/dags/${dagId}`);
      if (status !== 'done') throw new Error(`The run is ${status}.`);
    };
    await run('warm');
    const { found, floors } = await besideFloor('row', rounds, async (round) => {
      const before = cpuMs(product.pid);
      const { dagId, seconds } = await run('waves');
      const each = (cpuMs(product.pid) - before) / nodes;
      await verify(dagId);
      log(`round ${round + 1}: ${each.toFixed(2)} ms CPU a node, ${seconds.toFixed(1)} s`);
      return { each, seconds };
    });
    const machine = machineBy('row', floors);
    const raw = median(found.map(({ each }) => each));
    return {
      value: raw / machine.factor,
      unit: 'ms CPU a node',
      n: rounds,
      at: `CPU of the server's own process, children left out, over a run of ${nodes} shell steps in ${waves} waves, each with two parents and its log as proof; the start of each process by the server is included; as on the machine of the bound`,
      detail: { raw: rounded(raw), seconds: found.map(({ seconds }) => rounded(seconds)), ...machine.detail },
    };
  });
}

async function board({ quick, log }: FigureOptions): Promise<Measured> {
  const runs = 5;
  const nodes = quick ? 200 : 1000;
  const reads = quick ? 10 : 40;
  return withProduct({ held: template(nodes, { wait_gate: { kind: 'timer', minutes: 100_000 } }) }, async (product) => {
    let campaignId = '';
    for (let at = 0; at < runs; at += 1) {
      const body = { template: 'held', projectId: 'bench' };
      campaignId = (await product.engine.call<Started>('POST', '/api/factory/runs', body)).campaignId;
    }
    const path = `/api/factory/campaigns/${campaignId}/board`;
    const read = () => product.engine.call<{ waves: { nodes: unknown[] }[] }>('GET', path);
    for (let at = 0; at < reads; at += 1) await read();
    const before = cpuMs(product.pid);
    for (let at = 0; at < reads; at += 1) await read();
    const value = (cpuMs(product.pid) - before) / reads;
    const shown = (await read()).waves.reduce((sum, wave) => sum + wave.nodes.length, 0);
    if (shown !== runs * nodes) throw new Error(`The board shows ${shown} nodes.`);
    log(`${value.toFixed(1)} ms CPU a board`);
    return {
      value,
      unit: 'ms CPU',
      n: reads,
      at: `CPU of the server's own process for GET board of ${runs} runs of ${nodes} nodes at the engine, with the answer checked and sent`,
    };
  });
}
