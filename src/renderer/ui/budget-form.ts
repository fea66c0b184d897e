/** A budget as it is typed, what is wrong with it, and the budget. Pure. */
import type { WorkBudget } from '../../contracts/factory/workflow.ts';

export interface BudgetTexts {
  readonly usd: string;
  readonly tokens: string;
  readonly minutes: string;
}

export const noBudget: BudgetTexts = { usd: '', tokens: '', minutes: '' };

const limits = { usd: 1_000_000, tokens: 1e12, minutes: 525_600 } as const;

/** By field; empty if all is well. An empty field is no limit. */
export function budgetProblems(texts: BudgetTexts): Partial<BudgetTexts> {
  const problem = (name: keyof BudgetTexts, isWhole: boolean) => {
    const text = texts[name].trim();
    const value = Number(text);
    const isFine = value > 0 && value <= limits[name] && (!isWhole || Number.isInteger(value));
    if (text === '' || isFine) return {};
    return { [name]: isWhole ? 'Enter a whole number above 0.' : 'Enter a number above 0, such as 2.50.' };
  };
  return { ...problem('usd', false), ...problem('tokens', true), ...problem('minutes', false) };
}

/** Undefined: no limit was typed. */
export function budgetOf(texts: BudgetTexts): WorkBudget | undefined {
  const given = (Object.keys(limits) as (keyof BudgetTexts)[]).filter((name) => texts[name].trim() !== '');
  return given.length === 0 ? undefined : Object.fromEntries(given.map((name) => [name, Number(texts[name])]));
}
