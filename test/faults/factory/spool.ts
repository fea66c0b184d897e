/** A bot reports 1,000 times while its engine is killed: each report is taken, once, in order, within five seconds of the engine's return. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { runtimeMigrations } from '../../../src/host/runtime-migrations.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { keepReport } from '../../../src/kit/spool/bot-spool.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded, spread } from '../../support/bench/numbers.ts';
import {
  type BenchAgent,
  gantryCommand,
  type Product,
  type ScratchHome,
  scratchHome,
  shellTeam,
  startProduct,
  teamUp,
} from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [{ name: 'factory.spool', run: (options) => measured(options, reports) }];

const backWithinMs = 5_000;
/** Of the reports, those that the command line itself writes; a process each takes long. */
const byCommand = 10;

interface AtWork {
  readonly place: ScratchHome;
  readonly product: Product;
  readonly bot: ReturnType<typeof botOf>;
  readonly dagId: string;
}

/** `run` ends the product. */
export async function measured(
  options: FigureOptions,
  run: (at: AtWork, options: FigureOptions) => Promise<Measured>,
): Promise<Measured> {
  const place = scratchHome({ spool: shellTeam('spool', ['coder']) });
  try {
    return await run(await beginIn(place), options);
  } finally {
    await place.remove();
  }
}

async function beginIn(place: ScratchHome): Promise<AtWork> {
  mkdirSync(join(place.workspace, '.gantry', 'templates'), { recursive: true });
  const steps = [{ id: 'fix', executor: 'bot:coder', description: 'Fix it.' }];
  writeFileSync(join(place.workspace, '.gantry', 'templates', 'fix.json'), JSON.stringify({ steps }));
  const product = await startProduct(place);
  const [coder] = (await teamUp(product, 'spool')) as [BenchAgent];
  return { place, product, dagId: await stepAtWork(product), bot: botOf(place, coder.id) };
}

/** What it costs a verb to keep its report first, while the engine lives. */
export async function verb({ product, bot, dagId }: AtWork, { quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 5 : 25;
  const costs = verbCosts(bot, dagId, rounds);
  await product.stop();
  log(`a verb: ${rounded(median(costs.before))} ms without a spool, ${rounded(median(costs.now))} ms with it`);
  return {
    value: rounded(median(costs.now) - median(costs.before)),
    unit: 'ms that a verb of a bot takes longer with its spool, p50',
    n: rounds,
    at: '`gantry workspace progress` of a bot, with and without a spool by turns; the built product',
    detail: { with: spread(costs.now), without: spread(costs.before), unit: 'ms' },
  };
}

async function reports(
  { place, product: first, bot, dagId }: AtWork,
  { quick, log }: FigureOptions,
): Promise<Measured> {
  const count = quick ? 100 : 1_000;
  await first.kill();
  const token = readFileSync(bot.env.GANTRY_TOKEN_FILE, 'utf8').trim();
  for (let number = 1; number <= count; number += 1) {
    const text = `report ${number}`;
    if (number % (count / byCommand) === 0) bot.gantry('workspace', 'progress', dagId, 'fix', text);
    else {
      const params = { dagId, nodeId: 'fix' };
      keepReport(bot.env.GANTRY_SPOOL, token, { op: 'progressNode', params, body: { text } }, Date.now());
    }
  }
  log(`${reportsIn(bot).length} reports are kept`);

  const begun = performance.now();
  const product = await startProduct(place);
  const ready = performance.now() - begun;
  while (reportsIn(bot).length > 0 && performance.now() - begun < 60_000) await delay(20);
  const left = reportsIn(bot).length;
  const afterReady = performance.now() - begun - ready;
  await product.stop();
  const { texts, takingMs } = await takenIn(place);
  const wanted = Array.from({ length: count }, (_, index) => `report ${index + 1}`);
  const problems = [
    ...problemsOf(wanted, texts),
    ...(left === 0 ? [] : [`${left} reports were never taken`]),
    ...(takingMs + afterReady <= backWithinMs
      ? []
      : [`the reports were taken ${takingMs + afterReady} ms after the return`]),
  ];
  return {
    value: problems.length,
    problems,
    unit: 'reports lost, doubled or out of order, and times that are too long',
    n: count,
    at: `a bot's reports written while the engine was killed −9, ${byCommand} of them by the command line, the others by what it writes with`,
    detail: {
      takingMs,
      afterReadyMs: rounded(afterReady),
      startMs: rounded(ready),
    },
  };
}

async function stepAtWork(product: Product): Promise<string> {
  const { engine } = product;
  const { dagId } = await engine.call<{ dagId: string }>('POST', '/api/factory/runs', {
    template: 'fix',
    projectId: 'p',
  });
  for (let tries = 0; tries < 600; tries += 1) {
    const { card } = await engine.call<{ card: { status: string } }>('GET', `/api/factory/nodes/${dagId}/fix`);
    if (card.status === 'working') return dagId;
    await delay(25);
  }
  throw new Error('The bot never got its step.');
}

function botOf(place: ScratchHome, agentId: string) {
  const folder = join(place.home, 'run', 'bots', agentId);
  const env = {
    ...place.env,
    GANTRY_URL_FILE: join(place.home, 'run', 'url'),
    GANTRY_TOKEN_FILE: join(folder, 'token'),
    GANTRY_SPOOL: join(folder, 'spool'),
  };
  return {
    env,
    gantry(...words: readonly string[]): void {
      runVerb(env, words);
    },
  };
}

function runVerb(env: Readonly<Record<string, string>>, words: readonly string[]): void {
  const [program, ...argv] = gantryCommand;
  execFileSync(program, [...argv, ...words], { env: { ...process.env, ...env }, stdio: 'ignore' });
}

/** Alternating, so that what else the machine does meets both. */
function verbCosts(bot: ReturnType<typeof botOf>, dagId: string, rounds: number) {
  const { GANTRY_SPOOL: _, ...without } = bot.env;
  const costs = { before: [] as number[], now: [] as number[] };
  const verb = ['workspace', 'progress', dagId, 'fix', 'warm'];
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, env] of [['before', without] as const, ['now', bot.env] as const]) {
      const since = performance.now();
      runVerb(env, verb);
      if (round >= 0) costs[name].push(performance.now() - since);
    }
  }
  return costs;
}

const reportsIn = (bot: ReturnType<typeof botOf>) =>
  readdirSync(bot.env.GANTRY_SPOOL).filter((name) => /^\d{12}\.json$/.test(name));

/** What the ledger says was reported, in its order, and how long it took to take it. */
async function takenIn(place: ScratchHome): Promise<{ texts: string[]; takingMs: number }> {
  const file = join(place.home, 'runtime.db');
  const store = await openStore({ file, migrations: runtimeMigrations, clock: systemClock });
  try {
    const rows = await store.read((tx) =>
      tx.all<{ body: string; at: number }>("SELECT body, at FROM ledger WHERE type = 'node.progress' ORDER BY seq"),
    );
    const reports = rows
      .map(({ body, at }) => ({ text: (JSON.parse(body) as { text: string }).text, at }))
      .filter(({ text }) => text.startsWith('report '));
    const [first, last] = [reports.at(0)?.at ?? 0, reports.at(-1)?.at ?? 0];
    return { texts: reports.map(({ text }) => text), takingMs: last - first };
  } finally {
    await store.close();
  }
}

function problemsOf(wanted: readonly string[], texts: readonly string[]): string[] {
  const lost = wanted.filter((text) => !texts.includes(text)).map((text) => `${text} was lost`);
  const doubled = texts.filter((text, index) => texts.indexOf(text) !== index).map((text) => `${text} was taken twice`);
  const misplaced =
    lost.length === 0 && doubled.length === 0 && texts.some((text, index) => text !== wanted[index])
      ? ['the reports were taken out of order']
      : [];
  return [...lost, ...doubled, ...misplaced];
}
