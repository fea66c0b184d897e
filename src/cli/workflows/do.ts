/** `gantry do`: starts a run from a prompt, lists those runs, and ends the work of their bots. */
import { resolve } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import {
  type QuickBot,
  type QuickOutcome,
  type QuickRun,
  type QuickWho,
  quickPrograms,
} from '../../contracts/factory/quick-run-routes.ts';
import { type Action, type Context, flag, type Input, integer, optionalText, words } from '../command.ts';
import type { FactoryClient } from '../connect.ts';
import { byOption } from '../route-verb.ts';
import { listed, table } from '../table.ts';
import { givenSandbox } from '../verbs/ask-sandbox.ts';
import { ago, count, inCell, oneLine, spoken } from '../words.ts';
import { runBudget } from './budgets.ts';
import { exitOf, follow, rests } from './runs.ts';

const start: Action = async (context, input) => {
  const prompt = words(input, 'prompt').join(' ').trim();
  const given = whoOf(input);
  if (prompt === '') {
    throw new AppError(
      'usage',
      'There is no prompt.',
      `Say what to do: ${context.names.gantry} do "fix the flaky test"`,
    );
  }
  const budget = runBudget(input);
  const sandbox = givenSandbox(input);
  const { factory } = await context.connect();
  const who = given.length > 0 ? given : [await firstSignedIn(factory)];
  const title = optionalText(input, 'title');
  const answer = await factory.startQuickRun({
    body: {
      repository: resolve(context.cwd, optionalText(input, 'repo') ?? '.'),
      prompt,
      who,
      ...(title === undefined ? {} : { title }),
      budget,
      ...(sandbox === undefined ? {} : { sandbox }),
      dryRun: flag(input, 'dryRun'),
    },
  });
  if ('dryRun' in answer) {
    const { plan } = answer;
    context.output.result(answer, () => {
      const rows = plan.bots.map((bot) => [bot.name, bot.harness ?? 'hosted', bot.model ?? '-', bot.sandbox]);
      const where = `${plan.repository} at ${plan.baseBranch ?? plan.baseCommit.slice(0, 12)}`;
      return `${table(['bot', 'program', 'model', 'sandbox'], rows, context.output.width)}\nNothing was started: these would work in ${inCell(where)}.`;
    });
    return 0;
  }
  if (!flag(input, 'wait')) {
    context.output.result(answer, () => started(context, answer));
    return 0;
  }
  context.output.note(started(context, answer));
  const flow = await follow(context, factory, answer.id, integer(input, 'for', 0, 86_400));
  const run = await factory.getQuickRun({ params: { id: answer.id } });
  context.output.result(run, () => `${botTable(context, run.bots)}\n${rests(context, flow)}${nextFor(context, run)}`);
  return exitOf[flow.status];
};

/** Each `--agent` is a program of this computer, each `--model` a hosted bot. */
function whoOf(input: Input): QuickWho[] {
  const programs = words(input, 'agent').map((name): QuickWho => {
    const harness = quickPrograms.find((one) => one === name);
    if (harness !== undefined) return { harness };
    const fact = `${JSON.stringify(oneLine(name, 60))} is not an agent program.`;
    throw new AppError('usage', fact, `Use ${quickPrograms.join(', ')}, after the prompt.`);
  });
  return [...programs, ...words(input, 'model').map((model) => ({ model }))];
}

async function firstSignedIn(factory: FactoryClient): Promise<QuickWho> {
  const { programs } = await factory.quickRunChoices({});
  const first = programs.find((one) => one.installed && one.signedIn !== false);
  if (first !== undefined) return { harness: first.harness };
  const fix = programs.find((one) => one.installed)?.fix ?? programs[0]?.fix;
  const action = `Name a hosted model with --model${fix == null ? '' : `, or run: ${fix}`}`;
  throw new AppError('usage', 'No agent program is signed in on this computer.', action);
}

function started({ names }: Context, run: QuickRun): string {
  const bots = run.bots
    .map(({ address, sandbox }) => (sandbox === 'none' ? address : `${address} (${sandbox})`))
    .join(', ');
  return `Run ${run.id} has started: ${bots}.\nWatch it: ${names.gantry} workflows watch ${run.id}`;
}

const botTable = (context: Context, bots: readonly QuickBot[]) =>
  table(
    ['bot', 'status', 'changes', 'outcome', 'last line'],
    bots.map((bot) => [bot.name, spoken(bot.status), changes(bot), bot.outcome ?? '-', oneLine(lastOf(bot), 120)]),
    context.output.width,
  );

const lastOf = ({ lastLine, setUp }: QuickBot): string =>
  setUp === undefined
    ? (lastLine ?? '')
    : `setting up its worktree, ${setUp.done} of ${setUp.total} done: ${setUp.what}`;

function changes({ diff }: QuickBot): string {
  return diff === null ? '-' : `${count(diff.files, 'file')} +${diff.added} -${diff.removed}`;
}

function nextFor({ names }: Context, { id, bots }: QuickRun): string {
  const open = bots.find((bot) => bot.outcome === null && (bot.diff?.files ?? 0) > 0);
  if (open === undefined) return '';
  const which = bots.length === 1 ? '' : ` --bot ${open.name}`;
  return `\nSee it: ${names.gantry} agents diff ${open.address}\nMerge it: ${names.gantry} do --merge ${id}${which}`;
}

const list: Action = async (context) => {
  const { factory } = await context.connect();
  const answer = await factory.listQuickRuns({ query: { limit: 50 } });
  const rows = answer.runs.flatMap((run) => run.bots.map((bot) => ({ run, bot })));
  const none = `No runs yet. Start one: ${context.names.gantry} do "fix the flaky test"`;
  context.output.result(answer, () =>
    listed(context, rows, none, {
      run: ({ run }) => run.id,
      bot: ({ bot }) => bot.name,
      status: ({ bot }) => spoken(bot.status),
      changes: ({ bot }) => changes(bot),
      outcome: ({ bot }) => bot.outcome ?? '-',
      started: ({ run }) => ago(run.startedAt, context.now()),
      title: ({ run }) => oneLine(run.title, 120),
    }),
  );
  return 0;
};

const ended: Record<QuickOutcome, string> = {
  merged: 'is merged',
  kept: 'is kept on its branch',
  discarded: 'is discarded',
};

function end(outcome: QuickOutcome, option: string): Action {
  return async (context, input) => {
    const id = optionalText(input, option) ?? '';
    const { factory } = await context.connect();
    const run = await factory.getQuickRun({ params: { id } });
    const names = run.bots.map((bot) => bot.name);
    const bot = optionalText(input, 'bot') ?? (names.length === 1 ? names[0] : undefined);
    if (bot === undefined) {
      throw new AppError('usage', 'The run has several bots.', `Name one with --bot: ${names.join(', ')}.`);
    }
    const dryRun = flag(input, 'dryRun');
    const answer = await factory.endQuickRun({ params: { id }, body: { bot, outcome, dryRun } });
    context.output.result(answer, () => {
      if ('run' in answer) {
        const after = answer.run.bots.find(({ name }) => name === bot);
        return `The work of ${inCell(bot)} ${ended[outcome]}${outcome === 'discarded' ? wayBack(after) : ''}.`;
      }
      return `Would:\n${answer.plan.steps.map((step) => `  ${oneLine(step, 300)}`).join('\n')}`;
    });
    return 0;
  };
}

const wayBack = (bot: QuickBot | undefined) =>
  bot?.branch == null ? '; it had changed nothing' : '; --keep brings its branch back';

export const doIt = byOption(
  { list, merge: end('merged', 'merge'), keep: end('kept', 'keep'), discard: end('discarded', 'discard') },
  start,
);
