/** The limits of a budget: dollars, tokens, minutes at work. Folded while none is typed. */
import type { WorkBudget } from '../../contracts/factory/workflow.ts';
import type { BudgetTexts } from './budget-form.ts';
import { TextField } from './text-field.tsx';

export function BudgetFields({
  title,
  says,
  texts,
  problems,
  standing,
  open = false,
  onChange,
}: {
  title: string;
  says: string;
  texts: BudgetTexts;
  problems: Partial<BudgetTexts>;
  /** What holds while nothing is typed: one limit replaces them all. */
  standing?: WorkBudget | undefined;
  /** Shown without having been unfolded. */
  open?: boolean;
  onChange: (texts: BudgetTexts) => void;
}) {
  const isTyped = Object.values(texts).some((text) => text !== '');
  const field = (name: keyof BudgetTexts) => ({
    value: texts[name],
    problem: problems[name],
    placeholder: (isTyped ? undefined : standing?.[name]?.toString()) ?? 'No limit',
    inputMode: name === 'tokens' ? ('numeric' as const) : ('decimal' as const),
    onChange: (typed: string) => onChange({ ...texts, [name]: typed }),
  });
  return (
    <details open={isTyped || open || undefined}>
      <summary className="w-fit rounded-control font-medium pointer-coarse:py-2">
        {title} <span className="font-normal text-meta text-muted">{says}</span>
      </summary>
      <fieldset aria-label={title} className="mt-2 grid gap-3 border-l border-line-strong pl-3 sm:grid-cols-3">
        <TextField label="Dollars" {...field('usd')} />
        <TextField label="Tokens" {...field('tokens')} />
        <TextField label="Minutes at work" {...field('minutes')} />
      </fieldset>
    </details>
  );
}
