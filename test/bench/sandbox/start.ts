/**
 * What a closed sandbox costs a bot: how much later it can take a message, and how much more memory there is for it, its way out and its share of the
 * proxy included. The same shell outside of one takes turns with it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded, spread } from '../../support/bench/numbers.ts';
import { processes, pssMb, withDescendants } from '../../support/bench/processes.ts';
import {
  agentsOf,
  type Product,
  paneHostOf,
  type ScratchHome,
  scratchHome,
  startBuilt,
  teamUp,
} from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [
  { name: 'sandbox.cost.start', run: start },
  { name: 'sandbox.cost.memory', run: memory },
];

const modes = ['none', 'closed'] as const;
type Mode = (typeof modes)[number];
const lookMs = 3;
const bots = 8;

async function start({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 4 : 20;
  return within(1, async (product) => {
    const took: Record<Mode, number[]> = { none: [], closed: [] };
    for (let round = -1; round < rounds; round += 1) {
      for (const mode of round % 2 === 0 ? modes : modes.toReversed()) {
        const ms = await startOf(product, mode);
        if (round >= 0) took[mode].push(ms);
      }
    }
    const [none, closed] = [median(took.none), median(took.closed)];
    log(`${rounded(none)} ms until a shell can take a message, ${rounded(closed)} ms in a closed sandbox`);
    return {
      value: closed - none,
      unit: 'ms later that a bot in a closed sandbox can take a message, p50',
      n: rounds,
      at: 'a shell, from `teams up` until it is idle; the built product, which runs already',
      detail: { none: spread(took.none), closed: spread(took.closed), unit: 'ms' },
    };
  });
}

async function startOf(product: Product, mode: Mode): Promise<number> {
  const before = performance.now();
  await product.engine.call('POST', `/api/factory/teams/${mode}/up`, {});
  await until(product, mode, 'idle');
  const ms = performance.now() - before;
  await product.engine.call('POST', `/api/factory/teams/${mode}/down`, {});
  await until(product, mode, 'offline');
  return ms;
}

async function until(product: Product, team: string, state: string): Promise<void> {
  const end = performance.now() + 60_000;
  for (;;) {
    const agents = await agentsOf(product.engine, team);
    if (agents.length > 0 && agents.every((agent) => agent.state === state)) return;
    if (performance.now() > end) throw new Error(`The team ${team} is not ${state}: ${JSON.stringify(agents)}`);
    await delay(lookMs);
  }
}

async function memory({ log }: FigureOptions): Promise<Measured> {
  return within(bots, async (product, { home }) => {
    const host = paneHostOf(home);
    if (host === null) throw new Error('There is no pane host.');
    const used = () => {
      const all = processes();
      const proxies = withDescendants(product.pid, all).filter(({ command }) => command.includes('sandbox-proxy'));
      const programs = withDescendants(host, all).filter(({ pid }) => pid !== host);
      return [...programs, ...proxies].reduce((sum, { pid }) => sum + pssMb(pid), 0);
    };
    const before = used();
    await teamUp(product, 'none');
    const none = used() - before;
    await teamUp(product, 'closed');
    const closed = used() - before - none;
    log(
      `${rounded(none / bots)} MB for each of ${bots} shells, ${rounded(closed / bots)} MB for each in a closed sandbox`,
    );
    return {
      value: (closed - none) / bots,
      unit: 'MB of memory (PSS) more for a bot in a closed sandbox, with its share of the proxy',
      n: bots,
      at: `${bots} shells outside of sandboxes and ${bots} in closed ones, all idle, under one pane host`,
      detail: { none: rounded(none / bots), closed: rounded(closed / bots), unit: 'MB a bot' },
    };
  });
}

async function within(
  count: number,
  measure: (product: Product, place: ScratchHome) => Promise<Measured>,
): Promise<Measured> {
  const place = scratchHome();
  for (const mode of modes) {
    const folder = join(place.workspace, '.gantry', 'teams', mode);
    mkdirSync(folder, { recursive: true });
    const lines = Array.from(
      { length: count },
      (_, index) => `  - { bot: bot${index + 1}, role: worker, harness: shell, sandbox: ${mode} }`,
    );
    writeFileSync(join(folder, 'team.yaml'), `name: ${mode}\nversion: 1\nbots:\n${lines.join('\n')}\n`);
  }
  let product: Product | null = null;
  try {
    product = await startBuilt(place);
    return await measure(product, place);
  } finally {
    await product?.stop();
    await place.remove();
  }
}
