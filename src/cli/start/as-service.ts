/**
 * A start by the operating system (`gantry install`): nobody is at the terminal, the environment is bare, and the teams that were up when the
 * computer went down are started again. Must not know units.
 */
import { parseEnv } from 'node:util';
import { AppError } from '../../contracts/common/errors.ts';
import type { Combined } from '../../host/combined.ts';
import { placesIn } from '../../host/places.ts';
import { readPrivateFile } from '../../kit/secrets/token-file.ts';
import { type Context, type Input, optionalText } from '../command.ts';
import { connect } from '../connect.ts';
import { asAppError } from '../output.ts';
import { count } from '../words.ts';
import { waitingLine } from './waiting.ts';

/** The same context where it is no such start. */
export function asService(context: Context, input: Input): Context {
  const home = optionalText(input, 'service');
  if (home === undefined) return context;
  // systemd listens to this process, not to its bots.
  const { NOTIFY_SOCKET: _, WATCHDOG_USEC: __, WATCHDOG_PID: ___, ...own } = context.env;
  const env = { ...own, ...variablesIn(placesIn(home).serviceEnv), GANTRY_HOME: home };
  return { ...context, env, connect: () => connect(env, context.names) };
}

/** Keys of models and the like, which the person's own shell has and a service has not. */
function variablesIn(file: string): Record<string, string | undefined> {
  try {
    return { ...parseEnv(readPrivateFile(file)) };
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return {};
    throw error;
  }
}

/** No address with a code: what a service prints is kept in a journal. A team that does not come up keeps no other from it. */
export async function settleIn(context: Context, servers: Combined, bringUp: boolean): Promise<void> {
  context.output.line(`Gantry is ready. Open it with: ${context.names.gantry} open`);
  for (const line of waitingLine(servers.waiting(), context.names.gantry)) context.output.note(line.trim());
  const teams = bringUp ? await servers.teamsUp() : [];
  if (teams.length === 0) return;
  const { factory } = await context.connect();
  for (const name of teams) {
    try {
      const planned = await factory.teamUp({ params: { name }, body: { dryRun: true } });
      const starts = planned.plan.filter((step) => step.action === 'spawn');
      if (starts.length === 0) continue;
      await factory.teamUp({ params: { name }, body: {} });
      context.output.line(`Team ${name} is up again: ${count(starts.length, 'bot')} started.`);
    } catch (error) {
      const { fact, action } = asAppError(error);
      context.output.note(`Team ${name} was up and could not be started again: ${fact} ${action}`);
    }
  }
}
