/** `gantry stop`: ends the Gantry that runs for this data folder; with `--all` its bots and their terminals too. */
import { existsSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../contracts/common/errors.ts';
import { dataFolder, placesIn } from '../../host/places.ts';
import { readSettings } from '../../host/settings.ts';
import { type Action, type Context, flag, type Input } from '../command.ts';
import { liveBots, stopLiveBots } from '../live-bots.ts';
import { findRunning, notRunning, type Running } from '../running.ts';
import { count } from '../words.ts';

/** A start reads the bots of the last one and brings a database up to date, ms. */
const startLimit = 60_000;
/** Servers end within 5 s; this leaves room for a slow computer, ms. */
const limit = 10_000;

export const stop: Action = async (context, input) => {
  const all = flag(input, 'all');
  const running = findRunning(context.env);
  if (running === null) {
    const left = existsSync(placesIn(dataFolder(context.env)).panesSocket);
    if (all && left) return stopLeftBots(context, input);
    const problem = notRunning(context.env, context.names);
    if (!left) throw problem;
    throw new AppError(
      problem.code,
      problem.fact,
      `Its bots may still be running. Stop them with: ${context.names.gantry} stop --all`,
    );
  }
  // One that stands is not started again while it is being stopped.
  if (!flag(input, 'dryRun')) rmSync(placesIn(dataFolder(context.env)).beat, { force: true });
  // A cloud of many has no runtime, and so no bots.
  const { factory, live } =
    running.listens === undefined ? await whenReady(context, running) : { factory: null, live: [] };
  const addresses = live.map((bot) => bot.address);
  if (flag(input, 'dryRun')) {
    const plan = { process: running.pid, bots: all ? addresses : [] };
    context.output.result(
      { dryRun: true, plan },
      () => `Would stop Gantry (process ${running.pid})${all ? ` and ${count(live.length, 'bot')}` : ''}.`,
    );
    return undefined;
  }
  const stopped = all && factory !== null ? await stopLiveBots(factory) : [];
  await endProcess(running);
  context.output.result({ stopped: { process: running.pid, bots: stopped }, running: all ? [] : addresses }, () =>
    [
      `Gantry has stopped${stopped.length === 0 ? '' : `, and ${count(stopped.length, 'bot')} with it`}.`,
      ...(all || live.length === 0
        ? []
        : [
            `${count(live.length, 'bot')} still running. To see them again: ${context.names.start}. To stop them: ${context.names.gantry} stop --all`,
          ]),
    ].join('\n'),
  );
  return undefined;
};

/** The runtime and its live bots. A Gantry that is still starting does not answer yet: it is waited for as long as it runs. */
async function whenReady(context: Context, { pid }: Running) {
  const end = performance.now() + startLimit;
  for (;;) {
    try {
      const { factory } = await context.connect();
      return { factory, live: await liveBots(factory) };
    } catch (error) {
      const starting = error instanceof AppError && error.code === 'transport';
      if (!starting || performance.now() > end || findRunning(context.env)?.pid !== pid) throw error;
      await sleep(100);
    }
  }
}

/** Bots whose Gantry was stopped or killed: it is started for a moment, because it knows them and records their end. */
async function stopLeftBots(context: Context, input: Input): Promise<undefined> {
  if (flag(input, 'dryRun')) {
    context.output.result(
      { dryRun: true, plan: { process: null, bots: null } },
      () => 'Would stop every bot left by a Gantry that no longer runs.',
    );
    return undefined;
  }
  const { startCombined } = await import('../../host/combined.ts');
  const settings = readSettings(context.env, { port: 0, enginePort: 0, peerPort: 0 });
  const servers = await startCombined({ env: context.env, settings, gantry: context.names.gantry });
  let bots: string[] = [];
  try {
    const { factory } = await context.connect();
    bots = (await liveBots(factory)).map((bot) => bot.address);
  } finally {
    await servers.close({ stopBots: true });
  }
  context.output.result({ stopped: { process: null, bots }, running: [] }, () =>
    bots.length === 0 ? 'No bot was live.' : `${count(bots.length, 'bot')} stopped: ${bots.join(', ')}`,
  );
  return undefined;
}

/** The pid is the lock holder's own; it is asked once, and waited for. */
async function endProcess({ pid }: Running): Promise<void> {
  process.kill(pid, 'SIGTERM');
  const end = performance.now() + limit;
  while (performance.now() < end) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await sleep(50);
  }
  throw new AppError(
    'timeout',
    `Gantry (process ${pid}) did not end within ${limit / 1000} s.`,
    `End it with: kill -9 ${pid}`,
  );
}
