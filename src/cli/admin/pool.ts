/** `gantry admin pool`: how many hosted computers may be awake at once, and when they sleep. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Pool } from '../../contracts/hosted-computers/admin.ts';
import { maxIdleSeconds } from '../../contracts/hosted-computers/computer.ts';
import { type Input, integer, optionalText } from '../command.ts';
import { inCell } from '../words.ts';
import { byAction } from './action.ts';
import { adminVerb } from './connect.ts';

const minuteSeconds = 60;

const ls = adminVerb('adminGetPool', { words });

function idleOf(input: Input): number | undefined {
  const minutes = integer(input, 'idleMinutes', 1, maxIdleSeconds / minuteSeconds);
  if (minutes !== undefined) return minutes * minuteSeconds;
  if (optionalText(input, 'running') !== undefined) return undefined;
  throw new AppError('usage', 'There is nothing to set.', 'Give --running or --idle-minutes.');
}

const set = adminVerb('adminSetPool', {
  fields: { idleSeconds: idleOf },
  words: (answer) => ('dryRun' in answer ? `Would become: ${limits(answer.plan)}` : words(answer)),
});

export const pool = byAction({ ls, set });

function limits({ running, idleSeconds }: Pick<Pool, 'running' | 'idleSeconds'>): string {
  const minutes = idleSeconds / minuteSeconds;
  return `at most ${running} hosted computers awake, each for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} after its last call.`;
}

const walls: Readonly<Record<Pool['driver']['wall'], string>> = {
  namespace: 'namespaces on its machine’s kernel',
  gvisor: 'the kernel of gVisor',
  vm: 'a virtual machine',
};

function words({ driver, ...pool }: Pool): string {
  const { refused, wall, sleepKeeps, warm } = driver;
  const kept = sleepKeeps === 'memory' ? 'everything that is open' : 'only its files';
  const able =
    refused === null
      ? `can make computers, each in ${walls[wall]}. One that sleeps keeps ${kept}.`
      : `cannot make computers: ${inCell(refused)}`;
  const ready =
    warm === null ? '' : `\nKept warm for the next creates: ${warm.desktop} of desktop, ${warm.shell} of shell.`;
  return `${pool.awake} awake; ${limits(pool)}\nThe driver ${inCell(driver.name)} ${able}${able.endsWith('.') ? '' : '.'}${ready}`;
}
