/** `gantry stop`: ends the Gantry that runs for this data folder; with `--all` its bots and their terminals too. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../contracts/common/errors.ts';
import { type Action, flag } from '../command.ts';
import { liveBots, stopLiveBots } from '../live-bots.ts';
import { findRunning, notRunning, type Running } from '../running.ts';
import { count } from '../words.ts';

/** Servers end within 5 s; this leaves room for a slow computer, ms. */
const limit = 10_000;

export const stop: Action = async (context, input) => {
  const all = flag(input, 'all');
  const running = findRunning(context.env);
  if (running === null) throw notRunning(context.env, context.names);
  const { factory } = await context.connect();
  const live = await liveBots(factory);
  const addresses = live.map((bot) => bot.address);
  if (flag(input, 'dryRun')) {
    const plan = { process: running.pid, bots: all ? addresses : [] };
    context.output.result(
      { dryRun: true, plan },
      () => `Would stop Gantry (process ${running.pid})${all ? ` and ${count(live.length, 'bot')}` : ''}.`,
    );
    return undefined;
  }
  const stopped = all ? await stopLiveBots(factory) : [];
  await endProcess(running);
  context.output.result({ stopped: { process: running.pid, bots: stopped }, running: all ? [] : addresses }, () =>
    [
      `Gantry has stopped${stopped.length === 0 ? '' : `, and ${count(stopped.length, 'bot')} with it`}.`,
      ...(all || live.length === 0
        ? []
        : [
            `${count(live.length, 'bot')} still running. See again: ${context.names.start}. Stop: ${context.names.gantry} stop --all`,
          ]),
    ].join('\n'),
  );
  return undefined;
};

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
