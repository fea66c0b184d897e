/**
 * The runtime killed −9 in the middle of runs and of turns of toolset calls, which are sent again after it is back: no action without
 * its row in the audit, none done twice. The witness is a page that counts its clicks.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { CallError } from '../../support/bench/http.ts';
import { type Product, scratchHome, startProduct } from '../../support/bench/product.ts';
import { freePort } from '../../support/free-port.ts';
import { runKillLoop, seededRandom } from '../../support/kill-loop.ts';
import { clicksToldByRuns, readAudit } from './kill/records.ts';
import { type CountingSite, columns, middleOf, rows, startCountingSite } from './kill/site.ts';
import { clickProblems, toldProblems } from './kill/verdicts.ts';

export const figures: readonly Figure[] = [{ name: 'computer-use.kill', run }];

const buttons = columns * rows;
/** A click that was on its way when its runtime was killed still arrives within this. Milliseconds. */
const settleMs = 1500;
const clicksMs = 90_000;
/** Clicks of a turn before its kill. */
const maxTold = 60;

/** What was asked of the runtime in all its lives. */
interface Asked {
  readonly runs: string[];
  readonly turns: string[];
  /** Clicks of turns that were answered as done: `<turn> <button>`. */
  readonly told: Set<string>;
  /** Calls that got no answer: sent again. */
  pending: { readonly turn: string; readonly button: number } | null;
  resent: number;
  interrupted: number;
}

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 4 : 20;
  const random = seededRandom(20_261_122);
  const place = scratchHome();
  const site = await startCountingSite();
  mkdirSync(join(place.workspace, '.gantry'), { recursive: true });
  const rule = `rules:\n  - when: { tool: browser, host: '127.0.0.1:${site.port}' }\n    then: allow\n`;
  writeFileSync(join(place.workspace, '.gantry', 'policy.yaml'), rule);
  const ports = { port: await freePort(), enginePort: await freePort() };
  const asked: Asked = { runs: [], turns: [], told: new Set(), pending: null, resent: 0, interrupted: 0 };
  try {
    const loop = await runKillLoop<Product>({
      rounds,
      random,
      // In a turn right after an answer: what is still to be kept by then is lost.
      killAfter: (round) => (isTurn(round) ? [0, 6] : [100, 4000]),
      start: () => startProduct(place, ports),
      drive: (product, signal, round) =>
        isTurn(round) ? driveTurn(product, site, asked, signal) : driveRuns(product, site, asked, signal),
      underWay: (round) =>
        isTurn(round) ? more(asked.told, 1 + Math.floor(random() * maxTold)) : more(site.clicks, 1),
      check: async (product, round) => {
        await delay(settleMs);
        const problems = [...(await runProblems(product, asked)), ...(await resend(product, site, asked))];
        log(`${round + 1} kills, ${site.clicks.size} clicks, ${asked.interrupted} runs interrupted`);
        return problems;
      },
      end: (product) => product.stop(),
    });
    const file = join(place.home, 'runtime.db');
    const audit = readAudit(file);
    const told = [...asked.told, ...clicksToldByRuns(file)];
    const problems = [...loop.problems, ...clickProblems(site.clicks, audit), ...toldProblems(told, audit)];
    if (told.length === 0) throw new Error('Nothing was told as done in any round: nothing was proven.');
    const count = (outcome: string) => audit.filter((row) => row.outcome === outcome).length;
    return {
      value: problems.length,
      problems,
      unit: 'actions without a row, done twice, or told wrongly',
      n: loop.kills,
      at: "the server's process killed −9 by turns in direct runs, and within 6 ms after an answer in turns of toolset calls, which are sent again after it; a local page counts its clicks in Chromium without a window",
      detail: {
        kills: loop.kills,
        clicks: site.clicks.size,
        runs: asked.runs.length,
        interrupted: asked.interrupted,
        turns: asked.turns.length,
        told: told.length,
        resent: asked.resent,
        done: count('done'),
        unknown: count('unknown'),
      },
    };
  } finally {
    await site.close();
    await place.remove();
  }
}

const isTurn = (round: number) => round % 2 === 1;

/** A browser that comes up takes a loaded machine longer than all that is measured here. */
async function more(clicks: { readonly size: number }, count: number): Promise<void> {
  const wanted = clicks.size + count;
  for (const end = performance.now() + clicksMs; clicks.size < wanted; await delay(1)) {
    if (performance.now() > end) throw new Error(`There were not ${count} clicks within ${clicksMs} ms.`);
  }
}

async function driveRuns(product: Product, site: CountingSite, asked: Asked, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const name = `run_kill_${asked.runs.length}`;
    asked.runs.push(name);
    const clicks = Array.from({ length: buttons }, (_, button) => ({
      toolset: 'browser',
      member: 'left_click',
      input: { target: { type: 'coordinate', ...middleOf(button) } },
    }));
    const open = { toolset: 'browser', member: 'navigate', input: { url: site.page(name) } };
    await product.web.call('POST', '/computer-use/execute?wait=true', {
      mode: 'direct',
      run_id: name,
      target_scope: 'browser',
      actions: [open, ...clicks],
      options: { max_steps: buttons + 1 },
    });
  }
}

async function driveTurn(product: Product, site: CountingSite, asked: Asked, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const turn = `turn_kill_${asked.turns.length}`;
    asked.turns.push(turn);
    await openPage(product, site, turn);
    for (let button = 0; button < buttons && !signal.aborted; button += 1) {
      asked.pending = { turn, button };
      const { is_error, error } = await clickOnce(product, turn, button);
      if (is_error) throw new Error(`${turn} ${button} ended as ${error?.code}: ${error?.message}`);
      asked.told.add(`${turn} ${button}`);
      asked.pending = null;
    }
  }
}

const call = (product: Product, body: Record<string, unknown>) =>
  product.web.call<{ is_error: boolean; error?: { code: string; message: string } }>(
    'POST',
    '/api/v1/computers/this-device/toolset',
    {
      toolset: 'browser',
      ...body,
    },
  );

/** Clicks on another page than this one would count against the audit. */
async function openPage(product: Product, site: CountingSite, turn: string): Promise<void> {
  const { is_error, error } = await call(product, { member: 'navigate', input: { url: site.page(turn) } });
  if (is_error) throw new Error(`The page of ${turn} was not opened: ${error?.message}`);
}

function clickOnce(product: Product, turn: string, button: number) {
  const input = { target: { type: 'coordinate', ...middleOf(button) } };
  return call(product, { member: 'left_click', input, turn_id: turn, call_index: button });
}

/** The call that got no answer, on the page that it was meant for: done now, or known to have been begun. */
async function resend(product: Product, site: CountingSite, asked: Asked): Promise<string[]> {
  const { pending } = asked;
  asked.pending = null;
  if (pending === null) return [];
  asked.resent += 1;
  await openPage(product, site, pending.turn);
  const { turn, button } = pending;
  const answers: string[] = [];
  for (let times = 0; times < 2; times += 1) {
    const { is_error, error } = await clickOnce(product, turn, button);
    if (is_error && error?.code !== 'unknown_end')
      return [`${turn} ${button}, sent again, ended as ${error?.code}: ${error?.message}`];
    if (!is_error) asked.told.add(`${turn} ${button}`);
    answers.push(error?.code ?? 'done');
  }
  return answers[0] === answers[1] ? [] : [`${turn} ${button}, sent again twice, ended as ${answers.join(' and ')}`];
}

async function runProblems(product: Product, asked: Asked): Promise<string[]> {
  const problems: string[] = [];
  let interrupted = 0;
  for (const name of asked.runs) {
    const reply = await product.web
      .call<{ status: string }>('GET', `/computer-use/runs/${name}`)
      // Killed before its row was durable: then nothing of it may have been done, which the audit says.
      .catch((error: unknown) => {
        if (error instanceof CallError && error.status === 404) return { status: 'none' };
        throw error;
      });
    if (reply.status === 'interrupted') interrupted += 1;
    else if (!['completed', 'none'].includes(reply.status)) problems.push(`${name} is ${reply.status} after a restart`);
  }
  asked.interrupted = interrupted;
  return problems;
}
