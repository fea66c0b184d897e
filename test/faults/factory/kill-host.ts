/**
 * The pane host killed −9 again and again under messages and output, and live panes handed over again and again: every pane must come
 * back under its id with its text, every conversation must be gone on with, no message may be typed twice, no program may stay behind.
 *
 * Witnesses outside: a file that the shells append to for each message, the transcripts of the agents, and a note of each start.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processLives, startOf } from '../../../src/programs/pane-host/process-tree.ts';
import { hostFiles } from '../../../src/programs/pane-host/protocol.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import {
  agentsOf,
  type Product,
  type ScratchHome,
  scratchHome,
  startProduct,
  teamUp,
} from '../../support/bench/product.ts';
import { seededRandom } from '../../support/kill-loop.ts';
import { installStandInClaude } from '../../support/stand-in-claude/install.ts';
import { handOvers } from './kill-host/hand-overs.ts';

export const figures: readonly Figure[] = [{ name: 'factory.kill-host', run: killHost }];

interface Sent {
  readonly word: string;
  readonly to: string;
  id: string | null;
}
interface Delivery {
  readonly id: string;
  readonly state: string;
  readonly at: string;
}
interface Shown {
  readonly id: string;
  readonly slug: string;
  readonly state: string;
  readonly stateReason: string | null;
  readonly pane: { readonly id: string } | null;
}

const shells = ['one', 'two', 'three'];
const agents = ['dev', 'web'];
/** What was taken so shortly before a kill may have died with the program before it acted on it, ms. */
const tooLate = 700;

async function killHost({ quick, log }: FigureOptions): Promise<Measured> {
  const kills = quick ? 3 : 20;
  const times = quick ? 2 : 10;
  const panes = quick ? 12 : 50;
  const killed = await killRounds(kills, log);
  const handed = await handOvers({ panes, times, log });
  const problems = [...killed.problems, ...handed.problems];
  return {
    value: problems.length,
    problems,
    unit: 'panes, texts and conversations lost, doubles, programs left behind',
    n: kills + times,
    at: `the pane host killed by SIGKILL ${kills} times under messages and output, its bots resumed; ${panes} live panes that count handed over ${times} times`,
    detail: { ...killed.counts, handedBytes: handed.bytes },
  };
}

async function killRounds(kills: number, log: (line: string) => void) {
  const bots = [
    ...shells.map((slug) => `  - { bot: ${slug}, harness: shell }`),
    ...agents.map((slug) => `  - { bot: ${slug}, harness: claude, env: { STARTS: STARTS_FILE, STAYS: "1" } }`),
    `  - { bot: flood, harness: custom, command: "sh -c 'while :; do echo flood; sleep 0.005; done'" }`,
  ];
  const place = scratchHome({ faults: `name: faults\nversion: 1\nbots:\n${bots.join('\n')}\n` });
  const noted = join(place.home, '..', 'starts');
  const teamFile = join(place.workspace, '.gantry', 'teams', 'faults', 'team.yaml');
  writeFileSync(teamFile, readFileSync(teamFile, 'utf8').replaceAll('STARTS_FILE', `"${noted}"`));
  writeFileSync(noted, '');
  const bin = installStandInClaude(join(place.home, '..', 'bin'));
  const env = { ...place.env, PATH: `${bin}:${process.env.PATH}` };
  const random = seededRandom(77);
  const problems: string[] = [];
  const sent: Sent[] = [];
  const killedAt: number[] = [];
  const product = await startWith({ ...place, env });
  try {
    await teamUp(product, 'faults').catch(() => {});
    const first = await settle(product, problems, 'start');
    const paneOf = new Map(first.map((agent) => [agent.slug, agent.pane?.id]));
    const sending: Promise<void>[] = [];
    for (let round = 1; round <= kills; round++) {
      for (const slug of [...shells, ...agents]) {
        const word = `word-${round}-${slug}-end`;
        const one: Sent = { word, to: `${slug}@faults`, id: null };
        sent.push(one);
        const text = shells.includes(slug) ? `echo ${word} | tee -a messages.txt` : word;
        sending.push(
          product.engine.call<Delivery>('POST', '/api/factory/send', { to: one.to, text }).then(
            ({ id }) => {
              one.id = id;
            },
            () => {},
          ),
        );
      }
      await delay(300 + random() * 900);
      const seen = await marks(product, first);
      // Longer than a crash may lose.
      await delay(40);
      const pid = hostPid(place);
      process.kill(pid, 'SIGKILL');
      killedAt.push(Date.now());
      await Promise.race([Promise.all(sending), delay(12_000)]);
      const shown = await settle(product, problems, `kill ${round}`, pid, place);
      for (const agent of shown) {
        if (agent.pane?.id !== paneOf.get(agent.slug)) problems.push(`kill ${round}: ${agent.slug} has another pane`);
        const text = await capture(product, agent.id);
        for (const mark of seen.get(agent.id) ?? []) {
          if (!text.includes(mark)) problems.push(`kill ${round}: ${agent.slug} lost ${mark}`);
        }
      }
      problems.push(...left(noted).map((problem) => `kill ${round}: ${problem}`));
      log(`kill ${round}: ${problems.length} problems`);
    }
    await Promise.all(sending);
    const counts = await verdict(product, place, noted, sent, killedAt, problems);
    return { problems, counts: { kills, ...counts } };
  } finally {
    await product.stop();
    await place.remove();
  }
}

async function startWith(place: ScratchHome): Promise<Product> {
  // One that dies every few seconds is what is wanted here.
  const { mkdirSync } = await import('node:fs');
  mkdirSync(place.home, { recursive: true, mode: 0o700 });
  writeFileSync(join(place.home, 'settings.json'), JSON.stringify({ panes: { hostRestarts: 1000 } }), { mode: 0o600 });
  return startProduct(place);
}

const hostPid = (place: ScratchHome): number => JSON.parse(readFileSync(hostFiles(place.home).lock, 'utf8')).pid;

/** Waits until a new host serves and every bot is back. */
async function settle(
  product: Product,
  problems: string[],
  when: string,
  old?: number,
  place?: ScratchHome,
): Promise<Shown[]> {
  let shown: Shown[] = [];
  for (let tries = 0; tries < 1200; tries++) {
    const served = place === undefined || (existsSync(hostFiles(place.home).lock) && hostPid(place) !== old);
    shown = (await agentsOf(product.engine, 'faults')) as unknown as Shown[];
    const up = (agent: Shown) =>
      agent.pane !== null &&
      (agent.slug === 'flood' ? agent.state !== 'offline' : ['idle', 'working'].includes(agent.state)) &&
      !agent.stateReason?.includes('being started');
    if (served && shown.length > 0 && shown.every(up)) return shown;
    await delay(25);
  }
  problems.push(
    `${when}: not back: ${JSON.stringify(shown.map(({ slug, state, stateReason }) => [slug, state, stateReason]))}`,
  );
  return shown;
}

async function capture(product: Product, id: string): Promise<string> {
  return (await product.engine.call<{ text: string }>('GET', `/api/factory/agents/${id}/capture?lines=1000`)).text;
}

/** What stands on the shells' screens now. */
async function marks(product: Product, bots: readonly Shown[]): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const { id, slug } of bots) {
    if (!shells.includes(slug)) continue;
    const text = await capture(product, id).catch(() => '');
    found.set(id, [...new Set(text.match(/^word-\d+-[a-z]+-end$/gm) ?? [])]);
  }
  return found;
}

/** Agents whose conversation another process goes on with. */
function left(noted: string): string[] {
  const starts = readStarts(noted);
  const last = new Map(starts.map(({ pid, id }) => [id, pid]));
  return starts
    .filter(({ pid, id }) => last.get(id) !== pid && processLives(pid, startOf(pid)))
    .map(({ pid, id }) => `process ${pid} still works on conversation ${id}`);
}

function readStarts(noted: string): { pid: number; how: string; id: string }[] {
  const lines = readFileSync(noted, 'utf8').trim().split('\n').filter(Boolean);
  return lines.map((line) => {
    const [pid = '', how = '', id = ''] = line.split(' ');
    return { pid: Number(pid), how, id };
  });
}

async function verdict(
  product: Product,
  place: ScratchHome,
  noted: string,
  sent: readonly Sent[],
  killedAt: readonly number[],
  problems: string[],
) {
  let deliveries = new Map<string, Delivery>();
  for (let tries = 0; tries < 400; tries++) {
    const answer = await product.engine.call<{ deliveries: Delivery[] }>('GET', '/api/factory/deliveries?limit=200');
    deliveries = new Map(answer.deliveries.map((one) => [one.id, one]));
    if (![...deliveries.values()].some(({ state }) => state === 'queued' || state === 'accepted')) break;
    await delay(100);
  }
  // What is typed a second time would be there by now; nobody says that it is not.
  await delay(1000);
  const messages = existsSync(join(place.workspace, 'messages.txt'))
    ? readFileSync(join(place.workspace, 'messages.txt'), 'utf8')
    : '';
  const starts = readStarts(noted);
  const ids = [...new Set(starts.map(({ id }) => id))];
  const said = ids.map((id) => {
    const file = join(
      place.home,
      '..',
      '.claude',
      'projects',
      place.workspace.replace(/[^A-Za-z0-9]/g, '-'),
      `${id}.jsonl`,
    );
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  });
  const states: Record<string, number> = {};
  for (const { word, to, id } of sent) {
    const delivery = id === null ? undefined : deliveries.get(id);
    const state = delivery?.state ?? 'unknown';
    states[state] = (states[state] ?? 0) + 1;
    const times = [messages, ...said].reduce((sum, text) => sum + text.split(word).length - 1, 0);
    if (times > 1) problems.push(`${word} to ${to} came ${times} times`);
    if (state === 'queued' || state === 'accepted') problems.push(`${word} to ${to} is still ${state}`);
    if (state === 'failed') problems.push(`${word} to ${to} failed`);
    const at = delivery ? Date.parse(delivery.at) : 0;
    const early = killedAt.every((kill) => kill < at || kill - at > tooLate);
    if (state === 'verified' && times === 0 && early) problems.push(`${word} to ${to} is verified and never came`);
  }
  // A conversation that had begun is gone on with, never left for a new one.
  const begun = new Set<string>();
  for (const { how, id } of starts) {
    if (how === 'resumed') begun.add(id);
  }
  if (begun.size < agents.length) problems.push(`only ${begun.size} conversations were gone on with`);
  const kept = said.filter((text) => text !== '').length;
  if (kept > agents.length) problems.push(`${kept} conversations hold messages of ${agents.length} agents`);
  return { ...states, starts: starts.length, resumed: starts.filter(({ how }) => how === 'resumed').length };
}
