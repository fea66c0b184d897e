/** `gantry workspace plans`: list, show, draft, refine, run and discard. */
import { resolve } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { largestTemplate } from '../../contracts/factory/workflow.ts';
import { readNamed } from '../../kit/files/within.ts';
import { type Context, flag, type Input, integer, optionalText, text, words } from '../command.ts';
import { byOption, verb } from '../route-verb.ts';
import { listed, table } from '../table.ts';
import { ago, count, inCell, oneLine } from '../words.ts';

const list = verb('listPlans', {
  fields: { state: (input) => (flag(input, 'all') ? undefined : 'draft') },
  words: (answer, context) =>
    listed(context, answer.plans, 'No plans. Draft one: --draft <title> --file <template.json>', {
      plan: (one) => one.id,
      state: (one) => one.state,
      revision: (one) => String(one.revision),
      steps: (one) => String(one.steps),
      by: (one) => one.by,
      changed: (one) => ago(one.updatedAt, context.now()),
      title: (one) => oneLine(one.title, 200),
    }),
});

const show = verb('getPlan', {
  fields: { id: 'plan' },
  words: (plan, { now }) => {
    const history = plan.history.map(
      (one) =>
        `  ${one.revision}  ${inCell(one.by)}, ${ago(one.at, now())}${one.note === null ? '' : `: ${inCell(one.note)}`}`,
    );
    const run = plan.dagId === null ? '' : `, run ${plan.dagId}`;
    const title = `${inCell(plan.title)} (${plan.state}${run})`;
    return [title, ...history, '', JSON.stringify(plan.template, null, 2)].join('\n');
  },
});

/** The template in --file, or on stdin with `-`. */
async function templateOf(input: Input, context: Context): Promise<Record<string, unknown>> {
  const file = optionalText(input, 'file');
  if (file === undefined) throw new AppError('usage', 'A plan needs a template.', 'Give --file <template.json>, or -.');
  const written = file === '-' ? await stdin(context) : textOf(resolve(context.cwd, file));
  try {
    const value: unknown = JSON.parse(written);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new AppError(
    'usage',
    `${file} is not a JSON object.`,
    'Give a template as `gantry workflows show --json` has it.',
  );
}

function textOf(path: string): string {
  const found = readNamed(path, largestTemplate);
  if (found.is === 'file') return found.bytes.toString('utf8');
  const why = found.is === 'absent' ? 'It does not exist.' : found.why;
  throw new AppError('not_found', `${path} cannot be read. ${why}`, 'Check the path, or give - and send it on stdin.');
}

async function stdin(context: Context): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of context.terminal.stdin) pieces.push(Buffer.from(piece as Uint8Array));
  return Buffer.concat(pieces).toString('utf8');
}

const draft = verb('draftPlan', {
  fields: { title: 'draft', template: templateOf },
  words: (answer) =>
    'dryRun' in answer
      ? `Would draft a plan of ${count(answer.plan.steps, 'step')}.`
      : `${answer.id} is drafted, ${count(answer.steps, 'step')}.`,
});

async function revisionOf(input: Input, context: Context): Promise<number> {
  const given = integer(input, 'revision', 1, 1_000_000);
  if (given !== undefined) return given;
  const { factory } = await context.connect();
  return (await factory.getPlan({ params: { id: text(input, 'plan') } })).revision;
}

const refine = verb('refinePlan', {
  fields: { id: 'plan', template: templateOf, revision: revisionOf },
  words: (answer) =>
    'dryRun' in answer
      ? `Would become revision ${answer.plan.revision}.`
      : `${answer.id} is at revision ${answer.revision}, ${count(answer.steps, 'step')}.`,
});

function paramsOf(input: Input): Record<string, string> | undefined {
  const given = words(input, 'param').map((one) => {
    const at = one.indexOf('=');
    if (at < 1) throw new AppError('usage', `--param ${JSON.stringify(one)} has no name.`, 'Write name=value.');
    return [one.slice(0, at), one.slice(at + 1)];
  });
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

const run = verb('runPlan', {
  fields: { id: 'plan', params: paramsOf, campaignId: 'campaign', projectId: 'project' },
  words: (answer, { names, output }) => {
    if (!('dryRun' in answer))
      return `Run ${answer.dagId} has started. Watch it: ${names.gantry} workflows watch ${answer.dagId}`;
    const rows = answer.plan.nodes.map((node) => [node.stepId, node.executor, oneLine(node.title, 200)]);
    return table(['step', 'by', 'what'], rows, output.width);
  },
});

const discard = verb('discardPlan', {
  fields: { id: 'plan' },
  words: (answer, _context, input) =>
    'dryRun' in answer ? `Would discard ${text(input, 'plan')}.` : `${answer.id} is discarded.`,
});

export const plans = byOption({ draft, plan: byOption({ refine, run, discard }, show) }, list);
