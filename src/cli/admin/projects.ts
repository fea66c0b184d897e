/** `gantry admin projects` and `gantry admin prices`: what may cost money, how much, and for whom. */
import { AppError } from '../../contracts/common/errors.ts';
import type { AdminProject } from '../../contracts/identity/admin.ts';
import { type Action, type Context, flag, type Input, optionalText, text } from '../command.ts';
import { table } from '../table.ts';
import { oneLine } from '../words.ts';
import { actionOf, word } from './action.ts';
import { type AdminClient, connectAdmin } from './connect.ts';

export const projects: Action = async (context, input) => {
  const action = actionOf(input, ['ls', 'create', 'set'] as const);
  const admin = connectAdmin(context, input);
  if (action === 'ls') return listProjects(context, admin);
  const id = word(input, 'project');
  const body = {
    name: optionalText(input, 'name'),
    hostedDriverEnabled: onOrOff(input, 'hostedDriver', '--hosted-driver'),
    spendCapCents: centsOrNone(input, 'spendCapCents', '--spend-cap-cents'),
    dryRun: flag(input, 'dryRun') || undefined,
  };
  const answer =
    action === 'create'
      ? await admin.adminCreateProject({ body: { id, userId: text(input, 'user'), ...body } })
      : await admin.adminChangeProject({ params: { id }, body });
  context.output.result(answer, () => {
    const after = 'dryRun' in answer ? (answer.plan as unknown as AdminProject) : answer;
    return `${'dryRun' in answer ? 'Would be: ' : ''}${line(after)}`;
  });
  return undefined;
};

async function listProjects(context: Context, admin: AdminClient): Promise<undefined> {
  const answer = await admin.adminListProjects();
  context.output.result(answer, () => {
    if (answer.projects.length === 0) return 'There are no projects.';
    const rows = answer.projects.map((one) => [
      one.id,
      one.userId,
      one.hostedDriverEnabled ? 'on' : 'off',
      one.spendCapCents === null ? 'none' : String(one.spendCapCents),
      oneLine(one.name, 60),
    ]);
    const head = ['id', 'user', 'hosted driver', 'spend cap in cents', 'name'];
    return table(head, rows, context.terminal.stdout.columns ?? 0);
  });
  return undefined;
}

function line({ id, name, userId, hostedDriverEnabled, spendCapCents }: AdminProject): string {
  const cap = spendCapCents === null ? 'no spend cap' : `a spend cap of ${spendCapCents} cents`;
  const title = name === id ? id : `${id} (${oneLine(name, 60)})`;
  return `${title} of ${userId}: hosted driver ${hostedDriverEnabled ? 'on' : 'off'}, ${cap}.`;
}

export const prices: Action = async (context, input) => {
  const action = actionOf(input, ['ls', 'set'] as const);
  const admin = connectAdmin(context, input);
  if (action === 'ls') {
    const answer = await admin.adminListPrices();
    context.output.result(answer, () => {
      if (answer.prices.length === 0) return 'No price is set.';
      const rows = answer.prices.map(({ name, cents, updatedAt }) => [name, String(cents), updatedAt]);
      return table(['name', 'cents', 'set at'], rows, context.terminal.stdout.columns ?? 0);
    });
    return undefined;
  }
  const name = word(input, 'name');
  const given = word(input, 'cents');
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(given)) {
    throw new AppError(
      'usage',
      `${JSON.stringify(given)} is no price.`,
      'Give cents, such as 2.5; six decimals at most.',
    );
  }
  const body = { cents: Number(given), dryRun: flag(input, 'dryRun') || undefined };
  const answer = await admin.adminSetPrice({ params: { name }, body });
  context.output.result(answer, () =>
    'dryRun' in answer ? `Would set ${name} to ${given} cents.` : `${name} costs ${answer.cents} cents.`,
  );
  return undefined;
};

function onOrOff(input: Input, name: string, option: string): boolean | undefined {
  const value = optionalText(input, name);
  if (value === undefined) return undefined;
  if (value === 'on' || value === 'off') return value === 'on';
  throw new AppError('usage', `${option} is ${JSON.stringify(value)}.`, 'Give on or off.');
}

function centsOrNone(input: Input, name: string, option: string): number | null | undefined {
  const value = optionalText(input, name);
  if (value === undefined) return undefined;
  if (value === 'none') return null;
  if (/^\d{1,12}$/.test(value)) return Number(value);
  throw new AppError('usage', `${option} is ${JSON.stringify(value)}.`, 'Give whole cents, or none.');
}
