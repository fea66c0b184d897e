/** Runs whose server is killed again and again: no attempt begins twice, and every run ends or says that it was interrupted. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { CallError } from '../../support/bench/http.ts';
import { type Product, type ScratchHome, scratchHome, startProduct } from '../../support/bench/product.ts';
import { runKillLoop, seededRandom } from '../../support/kill-loop.ts';

export const figures: readonly Figure[] = [{ name: 'factory.kill-run', run: killRun }];

interface Node {
  readonly nodeId: string;
  readonly status: string;
  readonly cause: string;
}
interface Flow {
  readonly dagId: string;
  readonly status: string;
  readonly nodes: readonly Node[];
}

const together = 20;
/** Three ways through, joined and parted: 12 steps, each of which says that it began. */
const steps = Array.from({ length: 12 }, (_, at) => {
  const wave = Math.floor(at / 3);
  const said = 'echo "$GANTRY_DAG $GANTRY_NODE $GANTRY_ATTEMPT" >> began';
  return {
    id: `s${at}`,
    command: `${said}; sleep 0.0${at % 3}${at % 7}`,
    ...(wave === 0 ? {} : { blocked_by: [`s${(wave - 1) * 3 + (at % 3)}`, `s${(wave - 1) * 3}`].filter(unique) }),
  };
});

function unique(value: string, at: number, all: readonly string[]): boolean {
  return all.indexOf(value) === at;
}

function isOpen(flow: Flow): boolean {
  return flow.status === 'running' || flow.status === 'needs_you';
}

async function killRun({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 4 : 20;
  const place = scratchHome();
  mkdirSync(join(place.workspace, '.gantry', 'templates'), { recursive: true });
  writeFileSync(join(place.workspace, '.gantry', 'templates', 'steps.json'), JSON.stringify({ steps }));
  const world = createWorld(place);
  try {
    const { problems, kills } = await runKillLoop<Product>({
      rounds,
      random: seededRandom(20),
      killAfter: [300, 1500],
      start: () => startProduct(place),
      drive: async (product, signal) => {
        while (!signal.aborted) {
          await world.keepRunning(product);
          await world.answer(product);
          await delay(50);
        }
      },
      check: async (product, round) => {
        const found = await world.check(product);
        log(`kill ${round + 1}: ${world.facts()}${found.length === 0 ? '' : `, ${found.length} problems`}`);
        return found;
      },
      end: async (product) => {
        world.problems.push(...(await world.finish(product)));
        await product.stop();
      },
    });
    const all = [...problems, ...world.problems];
    return {
      value: all.length,
      problems: all,
      unit: 'problems',
      n: kills,
      at: `${together} runs of ${steps.length} shell steps at once, the server killed by SIGKILL at random moments, interrupted steps retried by the owner: attempts that began twice, attempts nobody asked for, runs that neither ended nor said interrupted`,
      detail: { ...world.counts() },
    };
  } finally {
    await place.remove();
  }
}

function createWorld(place: ScratchHome) {
  const runs = new Set<string>();
  const ended = new Set<string>();
  /** Retries that were asked for, whether the answer came or not. */
  const retries = new Map<string, number>();
  const problems: string[] = [];
  let interrupted = 0;

  const flowOf = (product: Product, dagId: string) => product.engine.call<Flow>('GET', `/api/factory/dags/${dagId}`);

  async function keepRunning(product: Product): Promise<void> {
    for (let open = runs.size - ended.size; open < together; open += 1) {
      const body = { template: 'steps', projectId: 'faults' };
      const { dagId } = await product.engine.call<Flow>('POST', '/api/factory/runs', body);
      runs.add(dagId);
    }
  }

  /** The owner's part: what was interrupted is tried again. */
  async function answer(product: Product): Promise<void> {
    for (const dagId of runs) {
      if (ended.has(dagId)) continue;
      const flow = await flowOf(product, dagId);
      if (!isOpen(flow)) {
        ended.add(dagId);
        if (flow.status !== 'done') problems.push(`${dagId} is ${flow.status}`);
      }
      for (const node of flow.nodes) {
        if (node.status !== 'needs_you' || node.cause !== 'interrupted') continue;
        interrupted += 1;
        retries.set(node.nodeId, (retries.get(node.nodeId) ?? 0) + 1);
        await product.engine
          .call('POST', `/api/factory/nodes/${dagId}/${node.nodeId}/retry`, {})
          .catch((error: unknown) => {
            // Answered by a call whose answer a kill cut off.
            if (!(error instanceof CallError && error.status === 409)) throw error;
          });
      }
    }
  }

  async function check(product: Product): Promise<string[]> {
    const found: string[] = [];
    const { campaigns } = await product.engine.call<{ campaigns: { id: string }[] }>('GET', '/api/factory/campaigns');
    for (const { id } of campaigns) {
      // Also runs whose start was not answered: they are there whole or not at all.
      const board = await product.engine.call<{ runs: Flow[] }>('GET', `/api/factory/campaigns/${id}/board`);
      for (const run of board.runs) runs.add(run.dagId);
    }
    for (const dagId of runs) {
      if (ended.has(dagId)) continue;
      const flow = await flowOf(product, dagId);
      if (flow.nodes.length !== steps.length) found.push(`${dagId} has ${flow.nodes.length} steps`);
      const odd = flow.nodes.filter((node) => node.status === 'needs_you' && node.cause !== 'interrupted');
      found.push(...odd.map((node) => `${node.nodeId} of ${dagId} needs a person: ${node.cause}`));
      if (!isOpen(flow) && flow.status !== 'done') found.push(`${dagId} is ${flow.status}`);
    }
    return [...found, ...twice()];
  }

  /** What the steps themselves wrote down when they began. */
  function twice(): string[] {
    const file = join(place.workspace, 'began');
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    const seen = new Set<string>();
    const begun = new Map<string, number>();
    const found: string[] = [];
    for (const line of lines) {
      if (seen.has(line)) found.push(`began twice: ${line}`);
      seen.add(line);
      const nodeId = line.split(' ')[1] ?? '';
      begun.set(nodeId, (begun.get(nodeId) ?? 0) + 1);
    }
    for (const [nodeId, count] of begun) {
      const asked = 1 + (retries.get(nodeId) ?? 0);
      if (count > asked) found.push(`${nodeId} began ${count} times, asked for ${asked}`);
    }
    return found;
  }

  async function finish(product: Product): Promise<string[]> {
    const end = performance.now() + 90_000;
    while (ended.size < runs.size && performance.now() < end) {
      await answer(product);
      await delay(100);
    }
    const stuck = [...runs].filter((dagId) => !ended.has(dagId));
    return [...stuck.map((dagId) => `${dagId} never ended`), ...twice()];
  }

  const counts = () => ({ runs: runs.size, ended: ended.size, interrupted });
  return {
    keepRunning,
    answer,
    check,
    finish,
    problems,
    counts,
    facts: () => `${runs.size} runs, ${ended.size} ended, ${interrupted} steps were interrupted`,
  };
}
