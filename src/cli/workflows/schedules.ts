/** `gantry workflows schedule|schedules|unschedule`. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Occurrence, Schedule } from '../../contracts/factory/schedules-routes.ts';
import { type Action, type Context, flag, type Input, optionalText, text } from '../command.ts';
import type { FactoryClient } from '../connect.ts';
import { verb } from '../route-verb.ts';
import { facts, listed, table } from '../table.ts';
import { count, inCell, timeIn } from '../words.ts';
import { requestOf } from './runs.ts';

export const schedule = verb('createSchedule', {
  fields: { run: requestOf },
  words: (answer, { names, output }) => {
    if ('dryRun' in answer) {
      const { next, nodes, timezone } = answer.plan;
      const rows = nodes.map((one) => [one.executor, one.title]);
      const steps = table(['by', 'what'], rows, output.width);
      return `${steps}\nNothing was saved. The next times (${inCell(timezone)}):\n${next.map((at) => timeIn(at, timezone)).join('\n')}`;
    }
    const [next] = answer.next;
    const first =
      next === undefined ? '' : ` It first runs at ${timeIn(next, answer.timezone)} (${inCell(answer.timezone)}).`;
    return `Schedule ${answer.id} "${inCell(answer.title)}" is saved.${first}\nSee it: ${names.gantry} workflows schedules ${answer.id}`;
  },
});

export const schedules: Action = async (context, input) => {
  const { factory } = await context.connect();
  const name = optionalText(input, 'schedule');
  const changes = ['pause', 'resume', 'run'].filter((one) => flag(input, one));
  if (changes.length > 1) throw new AppError('usage', `Give one of --${changes.join(', --')}.`, 'Give one at a time.');
  const { schedules: all } = await factory.listSchedules({});
  if (name === undefined) {
    if (changes.length > 0) throw new AppError('usage', `--${changes[0]} needs a schedule.`, 'Name it by id or title.');
    context.output.result({ schedules: all }, () => inTable(context, all));
    return undefined;
  }
  const found = pick(all, name);
  const [change] = changes;
  if (change !== undefined) return act(context, input, factory, found, change);
  const { occurrences } = await factory.listOccurrences({ params: { id: found.id }, query: {} });
  context.output.result({ schedule: found, occurrences }, () => described(context, found, occurrences));
  return undefined;
};

async function act(context: Context, input: Input, factory: FactoryClient, found: Schedule, change: string) {
  if (flag(input, 'dryRun')) {
    const plan = { schedule: found.id, change };
    context.output.result(
      { dryRun: true, plan },
      () => `Nothing was changed: this would ${change} "${inCell(found.title)}".`,
    );
    return undefined;
  }
  if (change === 'run') {
    const due = optionalText(input, 'due');
    const run = await factory.runSchedule({
      params: { id: found.id },
      body: { due: due === undefined ? undefined : timeOf(due) },
    });
    const watch = `${context.names.gantry} workflows watch ${run.dagId}`;
    context.output.result(run, () => `Run ${run.dagId} has started.\nWatch it: ${watch}`);
    return undefined;
  }
  const paused = change === 'pause';
  const answer = await factory.changeSchedule({ params: { id: found.id }, body: { paused } });
  context.output.result(answer, () => `"${inCell(found.title)}" ${paused ? 'is paused' : 'is resumed'}.`);
  return undefined;
}

export const unschedule = verb('removeSchedule', {
  fields: {
    id: async (input, context) => {
      const { factory } = await context.connect();
      const { schedules: all } = await factory.listSchedules({});
      return pick(all, text(input, 'schedule')).id;
    },
  },
  words: (answer) =>
    'dryRun' in answer
      ? `Nothing was changed: "${inCell(answer.plan.removes.title)}" would be removed.`
      : `"${inCell(answer.removed.title)}" is removed. Its runs stay.`,
});

function inTable(context: Context, all: readonly Schedule[]): string {
  const none = `No schedules yet. Make one: ${context.names.gantry} workflows schedule <template> --cron "0 9 * * 1-5" --project <project>`;
  return listed(context, all, none, {
    schedule: (one) => one.id,
    title: (one) => one.title,
    when: (one) => one.cron ?? 'once',
    'time zone': (one) => one.timezone,
    next: (one) => (one.paused ? 'paused' : one.next[0] === undefined ? 'over' : timeIn(one.next[0], one.timezone)),
    last: (one) => (one.last === null ? '-' : `${one.last.state} ${timeIn(one.last.due, one.timezone)}`),
    missed: (one) => (one.missed === 0 ? '-' : String(one.missed)),
  });
}

function described(context: Context, one: Schedule, occurrences: readonly Occurrence[]): string {
  const head = facts([
    ['Schedule', `${one.title} (${one.id})`],
    ['Template', one.run.template],
    ['When', `${one.cron ?? `once, ${timeIn(one.at ?? '', one.timezone)}`} (${one.timezone})`],
    [
      'Next',
      one.paused
        ? 'paused'
        : one.next.length === 0
          ? 'never again'
          : one.next.map((at) => timeIn(at, one.timezone)).join(', '),
    ],
    ['Missed', one.missed === 0 ? null : `${count(one.missed, 'time')}; run one with --run --due <time>`],
    ['After a pause', one.runMissed ? 'one run for the times that were missed' : null],
  ]);
  if (occurrences.length === 0) return head;
  const rows = occurrences.map(({ due, state, dagId, reason }) => [due, state, dagId ?? reason ?? '-']);
  return `${head}\n${table(['time', 'what', 'run or reason'], rows, context.output.width)}`;
}

/** By id, or by a title that only one has. */
function pick(all: readonly Schedule[], name: string): Schedule {
  const found = all.filter((one) => one.id === name || one.title === name);
  if (found.length === 1 && found[0] !== undefined) return found[0];
  if (found.length > 1)
    throw new AppError('usage', `${found.length} schedules are called ${JSON.stringify(name)}.`, 'Name it by its id.');
  throw new AppError('not_found', `There is no schedule ${JSON.stringify(name)}.`, 'See: gantry workflows schedules');
}

function timeOf(text: string): string {
  const at = Date.parse(text);
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  throw new AppError('usage', `--due ${JSON.stringify(text)} is not a time.`, 'Give it as in the list.');
}
