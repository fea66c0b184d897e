/** `gantry admin pool`: how many hosted computers may be awake at once, and when they sleep. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Pool } from '../../contracts/hosted-computers/admin.ts';
import { longestIdle } from '../../contracts/hosted-computers/computer.ts';
import { type Action, flag, integer } from '../command.ts';
import { inCell } from '../words.ts';
import { actionOf } from './action.ts';
import { connectAdmin } from './connect.ts';

const mostRunning = 10_000;
const minuteSeconds = 60;

export const pool: Action = async (context, input) => {
  const action = actionOf(input, ['ls', 'set'] as const);
  const admin = connectAdmin(context, input);
  if (action === 'ls') {
    const answer = await admin.adminGetPool();
    context.output.result(answer, () => words(answer));
    return undefined;
  }
  const minutes = integer(input, 'idleMinutes', 1, longestIdle / minuteSeconds);
  const body = {
    running: integer(input, 'running', 0, mostRunning),
    idleSeconds: minutes === undefined ? undefined : minutes * minuteSeconds,
    dryRun: flag(input, 'dryRun') || undefined,
  };
  if (body.running === undefined && body.idleSeconds === undefined) {
    throw new AppError('usage', 'Nothing is to be set.', 'Give --running or --idle-minutes.');
  }
  const answer = await admin.adminSetPool({ body });
  context.output.result(answer, () => ('dryRun' in answer ? `Would be: ${limits(answer.plan)}` : `${words(answer)}`));
  return undefined;
};

function limits({ running, idleSeconds }: Pick<Pool, 'running' | 'idleSeconds'>): string {
  const minutes = idleSeconds / minuteSeconds;
  return `at most ${running} hosted computers awake, each for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} after its last call.`;
}

function words(pool: Pool): string {
  const able = pool.driver.refused === null ? 'can make computers' : `makes none: ${inCell(pool.driver.refused)}`;
  return `${pool.awake} awake; ${limits(pool)}\nThe driver ${inCell(pool.driver.name)} ${able}${able.endsWith('.') ? '' : '.'}`;
}
