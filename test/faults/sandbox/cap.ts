/**
 * Bots in sandboxes that eat memory, processes, disk and the processor, up to three times what they may have, all at once: in one piece, in many small
 * ones, as files in their `/tmp`, as the bot's own program. Beside them bots that eat nothing, and a program outside. Counted: limits that do not hold or
 * are not told within five seconds, bots that eat something and do not go on, and anything else that ended or no longer answers.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { freemem, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Agent, limitWords } from '../../../src/contracts/factory/agent.ts';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import { plainEnvironment, runProcess } from '../../../src/kit/process/run-process.ts';
import { createCapKeeper } from '../../../src/kit/sandbox/caps.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { type Product, scratchHome, startProduct } from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [{ name: 'sandbox.cap', run }];

/** What a bot may have: the figure takes at most three times as much for each that eats. */
const memory = 64;
const processes = 40;
/** Mebibytes. */
const disk = 64;
/** Cores: so few that a busy computer has them to give. */
const processor = 0.1;
/** What the launcher of a closed bot takes, where it counts. */
const launcher = 96;
const toldWithin = 5000;
const askEvery = 100;
/** Milliseconds in which all of them have eaten, on a busy computer. */
const eatsWithin = 90_000;
const at = 'the product, shells in `files` and every eighth in `closed`, all eating at once';

const kinds = ['memory', 'many', 'processes', 'itself', 'bomb', 'files', 'disk', 'processor'] as const;
type Kind = (typeof kinds)[number];
type Cap = NonNullable<Agent['caps']>[number];
const capOf: Readonly<Record<Kind, Cap['what']>> = {
  ...{ memory: 'memory', many: 'memory', itself: 'memory', files: 'memory' },
  ...{ processes: 'processes', bomb: 'processes', disk: 'disk', processor: 'processor' },
};
interface Eater {
  readonly slug: string;
  readonly kind: Kind;
  readonly memory: number;
  readonly isClosed: boolean;
  /** One that fills the disk has its own: what others add would count. */
  readonly folder: string;
  /** Where it says when it was stopped. */
  readonly stopped: string;
}

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const why = await missing();
  if (why !== null) return { value: null, unit: 'problems', n: 0, at, why };
  const count = quick ? 8 : 50;
  const { heldBy } = createCapKeeper(`gantry-cap-${process.pid}`);
  // A look counts what programs have, and files in a sandbox's /tmp are no program's.
  const played = kinds.filter(
    (kind) => !(kind === 'files' && heldBy.memory !== 'cgroup') && heldBy[capOf[kind]] !== 'nothing',
  );
  const place = scratchHome();
  const eaters = Array.from({ length: count }, (_, index): Eater => {
    const kind = played[index % played.length]!;
    const isClosed = index % 8 === 3;
    const slug = `eats${index + 1}`;
    const isWatchedTree = isClosed && heldBy.memory === 'watched';
    const folder = kind === 'disk' ? join(place.workspace, slug) : place.workspace;
    return {
      slug,
      kind,
      isClosed,
      memory: memory + (isWatchedTree ? launcher : 0),
      folder,
      stopped: join(folder, `stopped-${slug}`),
    };
  });
  const outside = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  const seen = { outsideEnded: false };
  outside.once('exit', () => {
    seen.outsideEnded = true;
  });
  let product: Product | null = null;
  try {
    mkdirSync(join(place.workspace, '.gantry', 'teams', 'cap'), { recursive: true });
    writeFileSync(join(place.workspace, '.gantry', 'teams', 'cap', 'team.yaml'), teamOf(eaters));
    for (const folder of new Set([place.workspace, ...eaters.map((one) => one.folder)])) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'eat.pl'), readFileSync(join(import.meta.dirname, 'cap', 'eat.pl')));
    }
    product = await startProduct(place);
    const before = await startAll(product, eaters);
    log(`${eaters.length} bots that eat, limits held by ${JSON.stringify(heldBy)}`);
    const { problems, slowestMs, leastFree, said } = await feed(product, eaters);
    problems.push(...(await others(product, before)));
    if (seen.outsideEnded) problems.push('a program outside of the sandboxes was ended');
    const notPlayed = kinds.filter((kind) => !played.includes(kind));
    const detail = { heldBy, slowestMs, leastFreeMiB: leastFree, said: said.slice(0, 6), notPlayed };
    return { value: problems.length, problems, unit: 'problems', n: eaters.length, at, detail };
  } finally {
    await product?.stop();
    outside.kill('SIGKILL');
    await place.remove();
  }
}

async function missing(): Promise<string | null> {
  if (freemem() < 6 * 1024 ** 3)
    return `${Math.round(freemem() / 1024 ** 2)} of ${Math.round(totalmem() / 1024 ** 2)} MiB are free, which is less than it may take`;
  for (const command of [
    ['bwrap', '--ro-bind', '/', '/', 'true'],
    ['perl', '-MTime::HiRes', '-e', '1'],
  ] as const) {
    const ran = await runProcess({ command: [...command], env: plainEnvironment(), deadlineMs: 10_000 }).catch(
      () => null,
    );
    if (ran?.exitCode !== 0) return `${command[0]} does not work here`;
  }
  return null;
}

function teamOf(eaters: readonly Eater[]): string {
  const bots = eaters.map(({ slug, kind, isClosed, memory: most, folder }) => {
    const more = kind === 'disk' ? `, disk: ${disk}MiB` : kind === 'processor' ? `, processor: ${processor}` : '';
    const caps = `{ memory: ${most}MiB, processes: ${processes}${more} }`;
    return `  - { bot: ${slug}, role: worker, harness: shell, cwd: ${folder}, sandbox: ${isClosed ? 'closed' : 'files'}, caps: ${caps} }`;
  });
  const quiet = [
    '  - { bot: quiet, role: worker, harness: shell, sandbox: files, caps: { memory: 64MiB } }',
    '  - { bot: open, role: worker, harness: shell }',
  ];
  return `name: cap\nversion: 1\nbots:\n${[...bots, ...quiet].join('\n')}\n`;
}

const agentsOf = async ({ engine }: Product): Promise<readonly Agent[]> =>
  (await engine.call<{ agents: Agent[] }>('GET', '/api/factory/agents?team=cap')).agents;

async function startAll(product: Product, eaters: readonly Eater[]): Promise<readonly Agent[]> {
  await product.engine.call('POST', '/api/factory/teams/cap/up', {});
  const until = performance.now() + 5 * 60_000;
  for (;;) {
    const agents = await agentsOf(product);
    if (agents.length === eaters.length + 2 && agents.every(({ state }) => state === 'idle')) return agents;
    if (performance.now() > until) {
      const not = agents
        .filter(({ state }) => state !== 'idle')
        .map(({ slug, state, stateReason }) => `${slug} ${state} ${stateReason}`);
      throw new Error(`Not all bots became idle: ${not.slice(0, 5).join('; ')}`);
    }
    await delay(200);
  }
}

/** Lets all of them eat, and follows what is told of each. */
async function feed(product: Product, eaters: readonly Eater[]) {
  const { engine } = product;
  const problems: string[] = [];
  const said: string[] = [];
  /** When it was told of each, and in which words. */
  const told = new Map<string, { readonly at: number; readonly words: string }>();
  let leastFree = freemem();
  const began = Date.now();
  await Promise.all(
    eaters.map(({ slug, kind, memory: most, stopped }) => {
      const limit = { memory: most, processes, disk, processor }[capOf[kind]];
      const eat = `perl eat.pl ${kind} ${stopped} ${limit}`;
      // What was written in memory stays after its writer was ended, and may end the one that waits for it too: the shell tells then.
      const andTell = `: > /tmp/eaten; [ -e ${stopped} ] || echo ended $(date +%s.%N) > ${stopped}`;
      const text = kind === 'itself' ? `exec ${eat}` : kind === 'files' ? `${eat}; ${andTell}` : eat;
      return engine.call('POST', `/api/factory/agents/${slug}@cap/input`, { text, keys: ['Enter'] });
    }),
  );
  const until = performance.now() + eatsWithin;
  while (told.size < eaters.length && performance.now() < until) {
    const agents = await agentsOf(product);
    leastFree = Math.min(leastFree, freemem());
    for (const { slug, kind } of eaters) {
      const agent = agents.find((one) => one.slug === slug);
      const words = agent === undefined || told.has(slug) ? null : wordsOf(agent, kind, began);
      if (words !== null) told.set(slug, { at: Date.now(), words });
    }
    await delay(askEvery);
  }
  // What is told of a bot may come before it said itself that it was stopped.
  const saysOf = eaters.filter(({ kind }) => kind !== 'itself');
  while (saysOf.some(({ stopped }) => !existsSync(stopped)) && performance.now() < until) await delay(askEvery);
  let slowestMs = 0;
  for (const { slug, kind, stopped } of eaters) {
    const told1 = told.get(slug);
    const how = existsSync(stopped) ? readFileSync(stopped, 'utf8').trim() : '';
    if (how.startsWith('not held')) problems.push(`${slug}, ${kind}: it was not held`);
    if (told1 === undefined)
      problems.push(`${slug}, ${kind}: nothing was told (${how || 'it did not say that it was stopped'})`);
    else {
      said.push(told1.words);
      // A bot that ended itself cannot say when; its end is told by its state.
      const stoppedAt = how === '' ? Number.NaN : Number(how.split(' ').at(-1)) * 1000;
      const lateMs = kind === 'itself' ? 0 : Math.round(told1.at - stoppedAt);
      slowestMs = Math.max(slowestMs, lateMs || 0);
      if (Number.isNaN(lateMs))
        problems.push(`${slug}, ${kind}: it never said that it was stopped, and was told of: ${told1.words}`);
      else if (lateMs > toldWithin) problems.push(`${slug}, ${kind}: told after ${lateMs} ms: ${told1.words}`);
    }
  }
  return { problems, said: [...new Set(said)], slowestMs, leastFree: Math.round(leastFree / 1024 ** 2) };
}

/** What a person reads of it, or null until there is something. `began`: when it was let eat; what its shell reached as it started does not count. */
function wordsOf({ state, stateReason, caps = [] }: Agent, kind: Kind, began: number): string | null {
  if (kind === 'itself')
    return state === 'failed' && stateReason?.includes('MiB of memory') === true ? stateReason : null;
  const cap = caps.find(({ what, hits, last }) => what === capOf[kind] && hits > 0 && Date.parse(last ?? '') >= began);
  return cap === undefined ? null : limitWords(cap);
}

/** Every bot that did not eat itself up still takes a message and shows its answer. */
async function others(product: Product, before: readonly Agent[]): Promise<string[]> {
  const { engine } = product;
  const agents = await agentsOf(product);
  const problems: string[] = [];
  for (const { slug, id } of before) {
    const now = agents.find((one) => one.id === id);
    if (now === undefined || now.state === 'failed' || now.state === 'offline') {
      // Those that ate themselves up were told of.
      if (now?.stateReason?.includes('MiB of memory') !== true)
        problems.push(`${slug} ended: ${now?.stateReason ?? 'it is gone'}`);
      continue;
    }
    const word = `goes-on-${slug}`;
    const { id: delivery } = await engine.call<Delivery>('POST', '/api/factory/send', {
      to: `${slug}@cap`,
      text: `echo ${word}`,
    });
    if (!(await isDelivered(product, delivery))) problems.push(`${slug} takes no message any more`);
  }
  return problems;
}

async function isDelivered({ engine }: Product, id: string): Promise<boolean> {
  const until = performance.now() + 60_000;
  while (performance.now() < until) {
    const { deliveries } = await engine.call<{ deliveries: Delivery[] }>('GET', '/api/factory/deliveries?limit=200');
    const found = deliveries.find((one) => one.id === id);
    if (found?.state === 'verified') return true;
    if (found?.state === 'failed') return false;
    await delay(askEvery);
  }
  return false;
}
