/** `gantry workflows budget`, and the budget of a run that is started. */
import { AppError } from '../../contracts/common/errors.ts';
import type { BudgetState } from '../../contracts/factory/budget-routes.ts';
import type { WorkBudget } from '../../contracts/factory/workflow.ts';
import { type Action, type Context, flag, type Input, integer, optionalText, text } from '../command.ts';
import { table } from '../table.ts';
import { inCell } from '../words.ts';

/** `usd`: the option with the dollars. Undefined: none was given. */
function budgetOf(
  input: Input,
  { usd, tokens, minutes }: { readonly usd: string; readonly tokens: string; readonly minutes: string },
): WorkBudget | undefined {
  const dollars = optionalText(input, usd);
  if (dollars !== undefined && !(Number(dollars) > 0)) {
    throw new AppError('usage', `${JSON.stringify(dollars)} is not an amount of dollars.`, 'For example: 2.50');
  }
  const budget = {
    ...(dollars !== undefined && { usd: Number(dollars) }),
    ...present('tokens', integer(input, tokens, 1, 1e12)),
    ...present('minutes', integer(input, minutes, 1, 525_600)),
  };
  return Object.keys(budget).length === 0 ? undefined : budget;
}

const present = (name: 'tokens' | 'minutes', value: number | undefined) =>
  value === undefined ? {} : { [name]: value };

/** As the commands that start a run name them. */
export const runBudget = (input: Input): WorkBudget | undefined =>
  budgetOf(input, { usd: 'budget', tokens: 'budgetTokens', minutes: 'budgetMinutes' });

export const budget: Action = async (context, input) => {
  const id = text(input, 'run-or-campaign');
  const step = optionalText(input, 'step');
  const given = budgetOf(input, { usd: 'usd', tokens: 'tokens', minutes: 'minutes' });
  const none = flag(input, 'none');
  if (given !== undefined && none) {
    throw new AppError('usage', 'A budget and --none were given.', 'Give one of them.');
  }
  const isRun = id.startsWith('dag_');
  const { factory } = await context.connect();
  if (given === undefined && !none) {
    const answer = await factory.listWorkBudgets({ query: isRun ? { run: id } : { campaign: id } });
    context.output.result(answer, () => budgetTable(context, answer.budgets));
    return undefined;
  }
  let subject = isRun ? `run:${id}` : `campaign:${id}`;
  if (isRun && step !== undefined) {
    const { card } = await factory.getNode({ params: { dagId: id, nodeId: step } });
    subject = `step:${id}/${card.nodeId}`;
  }
  const dryRun = flag(input, 'dryRun') || undefined;
  const answer = await factory.setWorkBudget({ body: { subject, budget: given ?? null, dryRun } });
  context.output.result(answer, () => {
    if (!('dryRun' in answer)) return budgetTable(context, answer.budgets);
    const { from, to } = answer.plan;
    return `Nothing was changed: the budget would go from ${amount(from)} to ${amount(to)}.`;
  });
  return undefined;
};

function budgetTable(context: Context, budgets: readonly BudgetState[]): string {
  if (budgets.length === 0) return 'It has no budget.';
  const rows = budgets.map(({ subject, title, budget, portions, used, reached }) => [
    subject.split(':')[0] ?? '',
    inCell(title),
    budget.usd === undefined
      ? `$${used.usd.toFixed(2)}`
      : `$${used.usd.toFixed(2)} of $${(budget.usd * portions).toFixed(2)}`,
    budget.tokens === undefined ? String(used.tokens) : `${used.tokens} of ${budget.tokens * portions}`,
    budget.minutes === undefined ? '-' : `${used.minutes} of ${budget.minutes * portions}`,
    reached === null ? '' : 'reached',
  ]);
  return table(['of', 'title', 'money', 'tokens', 'minutes', ''], rows, context.output.width);
}

function amount(budget: WorkBudget | null): string {
  if (budget === null) return 'none';
  const { usd, tokens, minutes } = budget;
  return [
    usd === undefined ? '' : `$${usd}`,
    tokens === undefined ? '' : `${tokens} tokens`,
    minutes === undefined ? '' : `${minutes} minutes`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}
