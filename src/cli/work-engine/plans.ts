/** `gantry workspace plans`: list, show, draft, refine, run and discard. */
import { resolve } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import type { Plan } from '../../contracts/factory/work-engine/plans.ts';
import { largestTemplate } from '../../contracts/factory/workflow.ts';
import { readNamed } from '../../kit/files/within.ts';
import { type Action, type Context, flag, type Input, integer, optionalText, words } from '../command.ts';
import { table } from '../table.ts';
import { ago, count, inCell, oneLine } from '../words.ts';

export const plans: Action = async (context, input) => {
  const id = optionalText(input, 'plan');
  const title = optionalText(input, 'draft');
  if (title !== undefined) return draft(context, input, title);
  if (id === undefined) return list(context, input);
  if (flag(input, 'refine')) return refine(context, input, id);
  if (flag(input, 'run')) return run(context, input, id);
  if (flag(input, 'discard')) return discard(context, input, id);
  const { factory } = await context.connect();
  const plan = await factory.getPlan({ params: { id } });
  context.output.result(plan, () => inWords(context, plan));
  return undefined;
};

const dry = (input: Input) => flag(input, 'dryRun') || undefined;

async function list(context: Context, input: Input): Promise<undefined> {
  const { factory } = await context.connect();
  const state = flag(input, 'all') ? undefined : 'draft';
  const answer = await factory.listPlans({ query: { state } });
  context.output.result(answer, () => {
    if (answer.plans.length === 0) return 'No plans. Draft one: --draft <title> --file <template.json>';
    const rows = answer.plans.map((one) => [
      one.id,
      one.state,
      String(one.revision),
      String(one.steps),
      one.by,
      ago(one.updatedAt, context.now()),
      oneLine(one.title, 200),
    ]);
    return table(['plan', 'state', 'revision', 'steps', 'by', 'changed', 'title'], rows, context.output.width);
  });
  return undefined;
}

function inWords(context: Context, plan: Plan): string {
  const history = plan.history.map(
    (one) =>
      `  ${one.revision}  ${inCell(one.by)}, ${ago(one.at, context.now())}${one.note === null ? '' : `: ${inCell(one.note)}`}`,
  );
  const run = plan.dagId === null ? '' : `, run ${plan.dagId}`;
  const title = `${inCell(plan.title)} (${plan.state}${run})`;
  return [title, ...history, '', JSON.stringify(plan.template, null, 2)].join('\n');
}

/** The template in --file, or on stdin with `-`. */
async function templateOf(context: Context, input: Input): Promise<Record<string, unknown>> {
  const file = optionalText(input, 'file');
  if (file === undefined) throw new AppError('usage', 'A plan needs a template.', 'Give --file <template.json>, or -.');
  const text = file === '-' ? await stdin(context) : textOf(resolve(context.cwd, file));
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new AppError(
    'usage',
    `${file} holds no JSON object.`,
    'Give a template as `gantry workflows show --json` has it.',
  );
}

function textOf(path: string): string {
  const found = readNamed(path, largestTemplate);
  if (found.is === 'file') return found.bytes.toString('utf8');
  const why = found.is === 'absent' ? 'It is not there.' : found.why;
  throw new AppError('not_found', `${path} cannot be read. ${why}`, 'Check the path, or give - and send it on stdin.');
}

async function stdin(context: Context): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of context.terminal.stdin) pieces.push(Buffer.from(piece as Uint8Array));
  return Buffer.concat(pieces).toString('utf8');
}

async function draft(context: Context, input: Input, title: string): Promise<undefined> {
  const template = await templateOf(context, input);
  const { factory } = await context.connect();
  const answer = await factory.draftPlan({
    body: {
      title,
      intent: optionalText(input, 'intent'),
      template,
      note: optionalText(input, 'note'),
      dryRun: dry(input),
    },
  });
  context.output.result(answer, () =>
    'dryRun' in answer
      ? `Would draft a plan of ${count(answer.plan.steps, 'step')}.`
      : `${answer.id} is drafted, ${count(answer.steps, 'step')}.`,
  );
  return undefined;
}

async function refine(context: Context, input: Input, id: string): Promise<undefined> {
  const template = await templateOf(context, input);
  const { factory } = await context.connect();
  const revision = integer(input, 'revision', 1, 1_000_000) ?? (await factory.getPlan({ params: { id } })).revision;
  const body = { revision, template, note: optionalText(input, 'note'), dryRun: dry(input) };
  const answer = await factory.refinePlan({ params: { id }, body });
  context.output.result(answer, () => {
    if ('dryRun' in answer) return `Would become revision ${answer.plan.revision}.`;
    return `${answer.id} is at revision ${answer.revision}, ${count(answer.steps, 'step')}.`;
  });
  return undefined;
}

async function run(context: Context, input: Input, id: string): Promise<undefined> {
  const params = Object.fromEntries(
    words(input, 'param').map((one) => {
      const at = one.indexOf('=');
      if (at < 1) throw new AppError('usage', `--param ${JSON.stringify(one)} has no name.`, 'Write name=value.');
      return [one.slice(0, at), one.slice(at + 1)];
    }),
  );
  const { factory } = await context.connect();
  const answer = await factory.runPlan({
    params: { id },
    body: {
      params: Object.keys(params).length === 0 ? undefined : params,
      campaignId: optionalText(input, 'campaign'),
      projectId: optionalText(input, 'project'),
      team: optionalText(input, 'team'),
      preset: optionalText(input, 'preset'),
      dryRun: dry(input),
    },
  });
  context.output.result(answer, () => {
    if (!('dryRun' in answer))
      return `Run ${answer.dagId} has begun. ${context.names.gantry} workflows watch ${answer.dagId}`;
    const rows = answer.plan.nodes.map((node) => [node.stepId, node.executor, oneLine(node.title, 200)]);
    return table(['step', 'by', 'what'], rows, context.output.width);
  });
  return undefined;
}

async function discard(context: Context, input: Input, id: string): Promise<undefined> {
  const { factory } = await context.connect();
  const answer = await factory.discardPlan({ params: { id }, body: { dryRun: dry(input) } });
  context.output.result(answer, () => ('dryRun' in answer ? `Would discard ${id}.` : `${answer.id} is discarded.`));
  return undefined;
}
