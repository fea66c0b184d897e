/**
 * The runtime killed −9 again and again under writes, typing and streams, and streams cut on their way: nothing acknowledged
 * may be lost, nothing may be missing from a resumed stream, nothing may happen twice.
 *
 * Witnesses outside the runtime: a file that one bot's shell appends to for each message, and a file that another bot's `cat`
 * writes what is typed to. Witnesses inside: deliveries, ledger, the event stream, the transcript and screens, followed across
 * every kill and cut.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { createCaller } from '../../support/bench/http.ts';
import {
  type BenchAgent,
  type Product,
  type ScratchHome,
  scratchHome,
  shellTeam,
  startProduct,
  teamUp,
} from '../../support/bench/product.ts';
import { type CutProxy, startCutProxy } from '../../support/cut-proxy.ts';
import { freePort } from '../../support/free-port.ts';
import { runKillLoop, seededRandom } from '../../support/kill-loop.ts';
import { drive, resend } from './kill-runtime/drive.ts';
import { followEvents, followScreens, followTranscript } from './kill-runtime/followers.ts';
import { type Delivery, newRecord } from './kill-runtime/record.ts';
import {
  eventProblems,
  ledgerProblems,
  lostDeliveries,
  messageProblems,
  settledDeliveries,
  typedProblems,
} from './kill-runtime/verdicts.ts';

export const figures: readonly Figure[] = [{ name: 'factory.kill-runtime', run: killRuntime }];

const seed = 20_260_102;

async function killRuntime(options: FigureOptions): Promise<Measured> {
  const place = scratchHome({ faults: shellTeam('faults', ['sink', 'typist']) });
  const random = seededRandom(seed);
  const ports = { port: await freePort(), enginePort: await freePort() };
  const target = { host: '127.0.0.1', port: ports.port };
  const proxy = await startCutProxy({ target, cutAfter: () => Math.round(500 + random() * 20_000) });
  try {
    return await run({ ...options, place, ports, proxy, random });
  } finally {
    await proxy.close();
    await place.remove();
  }
}

interface RunOptions extends FigureOptions {
  readonly place: ScratchHome;
  readonly ports: { readonly port: number; readonly enginePort: number };
  readonly proxy: CutProxy;
  readonly random: () => number;
}

async function run({ quick, log, place, ports, proxy, random }: RunOptions): Promise<Measured> {
  const kills = quick ? 5 : 50;
  const cuts = quick ? 30 : 300;
  const record = newRecord();
  const messagesFile = join(place.workspace, 'messages.txt');
  const typedFile = join(place.workspace, 'typed.txt');
  for (const file of [messagesFile, typedFile]) writeFileSync(file, '');

  let product = await startProduct(place, ports);
  const typist = (await teamUp(product, 'faults')).find(({ slug }) => slug === 'typist') as BenchAgent;
  await product.web.call('POST', `/api/factory/agents/${typist.id}/input`, {
    text: `cat >> ${typedFile}`,
    keys: ['Enter'],
  });
  // Nothing shows when `cat` reads: it prints nothing.
  await delay(300);
  // Ports and token outlive every restart, and so do these callers.
  const direct = createCaller(product.origin, product.token);
  const cutting = createCaller(product.origin, product.token, proxy.port);
  const events = followEvents(cutting);
  const transcript = followTranscript(direct, typist.id);
  const screens = [1, 2, 3].map(() => followScreens(cutting, typist.id));

  const driving = (signal: AbortSignal) =>
    drive({ product, signal, record, messagesFile, typist: typist.id, proxy, random });
  let started = true;
  const loop = await runKillLoop<Product>({
    rounds: kills,
    random,
    killAfter: [100, 800],
    start: async () => {
      if (!started) product = await startProduct(place, ports);
      started = false;
      return product;
    },
    drive: (_, signal) => driving(signal),
    check: async (_, round) => {
      await resend(product, record, messagesFile);
      const problems = await lostDeliveries(direct, record);
      if ((round + 1) % 10 === 0) {
        log(`${round + 1} kills, ${proxy.cuts()} cuts, ${record.acknowledged.size} sends, ${record.typed.size} inputs`);
      }
      return problems;
    },
    end: async () => {
      const stop = new AbortController();
      const more = driving(stop.signal);
      while (proxy.cuts() < cuts) await delay(20);
      stop.abort();
      await more;
    },
  });

  const deliveries = await settledDeliveries(direct);
  // An event that comes twice would be there by now.
  await delay(500);
  const followed = await events.close();
  const problems = [
    ...loop.problems,
    ...(await Promise.all(screens.map((screen) => screen.close()))).flat(),
    ...messageProblems(readFileSync(messagesFile, 'utf8'), record, deliveries),
    ...typedProblems('typed file', readFileSync(typedFile, 'utf8'), record),
    ...typedProblems('transcript', await transcript.close(), record),
    ...(await eventProblems(direct, followed)),
  ];
  direct.close();
  cutting.close();
  await product.stop();
  problems.push(...(await ledgerProblems(join(place.home, 'runtime.db'), record)));

  return {
    value: problems.length,
    problems,
    unit: 'acknowledged rows lost, gaps and doubles',
    n: loop.kills,
    at: "the server's process killed −9 under sends, typing and streams; streams through a cutting proxy at the web port; bots live on in the pane host",
    detail: {
      kills: loop.kills,
      cuts: proxy.cuts(),
      sends: record.acknowledged.size,
      inputs: record.typed.size,
      events: followed.length,
      deliveries: countStates(deliveries.values()),
      seed,
    },
  };
}

function countStates(deliveries: Iterable<Delivery>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { state } of deliveries) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
