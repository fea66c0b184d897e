/**
 * A task in a container beside the container alone, in turns on one engine: from handing in `true` until its result is there, with `gantry start` and
 * a worker; and what a plain program needs to make, start, await and remove a container of the same image.
 */
import { randomUUID } from 'node:crypto';
import { openEngine } from '../../../src/kit/docker/engine.ts';
import { commandRunner } from '../../../src/programs/worker/command.ts';
import { openContainers } from '../../../src/programs/worker/containers.ts';
import { findSandbox } from '../../../src/programs/worker/sandbox.ts';
import { startWorker } from '../../../src/programs/worker/worker.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { scratchHome, startProduct } from '../../support/bench/product.ts';
import { importImage, noDaemon, startDaemon } from '../../support/docker/daemon.ts';

export const figures: readonly Figure[] = [{ name: 'work-queue.image', run }];

const unit = 'ms';
const image = 'gantry-bench/shell:1';
const command = ['/bin/sh', '-c', 'true'];

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const at = 'gantry start, a worker, and a Docker daemon of its own; containers without network';
  const why = noDaemon();
  if (why !== null) return { value: null, unit, n: 0, at, why };
  const undo: (() => unknown)[] = [];
  try {
    const daemon = await startDaemon();
    undo.unshift(() => daemon.close());
    await importImage(daemon, image, ['sh']);
    const place = scratchHome();
    undo.unshift(() => place.remove());
    const product = await startProduct(place);
    undo.unshift(() => product.stop());
    const wish = { name: 'work', scopes: ['work'] };
    const { secret } = await product.web.call<{ secret: string }>('POST', '/api/v1/keys', wish);
    const limits = { pull: 'never', maxImage: 1_000, network: false, memory: 256, cpus: 1, processes: 64 } as const;
    const containers = await openContainers({
      ...limits,
      socket: daemon.socket,
      images: ['*'],
      now: Date.now,
      note: log,
    });
    undo.unshift(() => containers.close());
    const sandbox = await findSandbox({ wanted: false, network: false, path: '' });
    const worker = startWorker({
      url: product.origin,
      key: secret,
      workerId: `bench-${randomUUID()}`,
      can: { labels: {}, images: containers.images },
      run: commandRunner(sandbox, log, containers),
      random: Math.random,
    });
    undo.unshift(async () => {
      worker.drain();
      await worker.ended;
    });
    const { asks, follows } = await openEngine({ socket: daemon.socket });
    const alone = async () => {
      const container = await asks.createContainer({
        Image: image,
        Entrypoint: command,
        HostConfig: { NetworkMode: 'none' },
      });
      await container.start();
      await follows.getContainer(container.id).wait();
      await container.remove();
    };
    const asTask = async () => {
      const task = { payload: { command: 'true' }, sandbox_image: image };
      const { id } = await product.web.call<{ id: string }>('POST', '/beta/work', task);
      const waited = await product.web.call<{ outcome: string }>('GET', `/beta/work/${id}/wait?seconds=30`);
      if (waited.outcome !== 'met') throw new Error(`The task ended as ${JSON.stringify(waited)}.`);
    };
    const rounds = quick ? 5 : 21;
    const [tasks, plain]: [number[], number[]] = [[], []];
    for (let round = -1; round < rounds; round += 1) {
      const parts: [number[], () => Promise<void>][] = [
        [tasks, asTask],
        [plain, alone],
      ];
      // In turns, and who goes first changes; the first round only warms up.
      for (const [times, work] of round % 2 === 0 ? parts : parts.toReversed()) {
        const from = performance.now();
        await work();
        if (round >= 0) times.push(performance.now() - from);
      }
    }
    const extra = tasks.map((ms, round) => ms - (plain[round] ?? 0));
    const detail = { task: rounded(median(tasks)), alone: rounded(median(plain)) };
    return { value: median(extra), unit, n: rounds, at, detail };
  } finally {
    for (const step of undo) await step();
  }
}
