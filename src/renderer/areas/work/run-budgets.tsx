/** What a run, its steps and its campaign have used of their budgets. Empty for a run without budgets. */
import { useQuery } from '@tanstack/react-query';
import { Hand } from 'lucide-react';
import type { BudgetState } from '../../../contracts/factory/budget-routes.ts';
import type { BudgetsOf } from '../../base/data/keys.ts';
import { useServices } from '../../base/services.tsx';
import { compactNumber, money } from '../../ui/money.ts';

const kinds = { run: 'Run', step: 'Step', campaign: 'Campaign' } as const;

/** Money and tokens are spent between the events of a run. */
const everyMs = 5000;

export function RunBudgets({ of, live }: { of: BudgetsOf; live: boolean }) {
  const { queries } = useServices();
  const budgets = useQuery({
    ...queries.budgets(of),
    refetchInterval: ({ state }) => (live && (state.data?.budgets.length ?? 0) > 0 ? everyMs : false),
  });
  const all = budgets.data?.budgets ?? [];
  if (all.length === 0) return null;
  return (
    <ul
      aria-label="Budgets"
      className="flex shrink-0 flex-wrap gap-x-6 gap-y-1 border-b border-line bg-panel px-3 py-1.5"
    >
      {all.map((one) => (
        <Row key={one.subject} budget={one} />
      ))}
    </ul>
  );
}

function Row({ budget: { subject, title, reached, ...state } }: { budget: BudgetState }) {
  const kind = subject.split(':')[0] as keyof typeof kinds;
  return (
    <li className="flex min-w-0 flex-wrap items-center gap-x-3 tabular-nums">
      <span className="truncate text-muted">{kind === 'step' ? `Step: ${title}` : `${kinds[kind]} budget`}</span>
      {amountsOf(state).map(({ text, isReached }) => (
        <span key={text} className={isReached ? 'text-need' : ''}>
          {text}
        </span>
      ))}
      {state.budget.usd !== undefined && state.used.unpriced > 0 && (
        <span className="text-muted">
          {state.used.unpriced} {state.used.unpriced === 1 ? 'request' : 'requests'} without a known price
        </span>
      )}
      {reached !== null && (
        <span className="inline-flex items-center gap-1 text-need">
          <Hand className="size-3.5" aria-hidden="true" />
          Used up
        </span>
      )}
    </li>
  );
}

/** `$1.20 of $5.00`, a text for each limit. */
function amountsOf({ budget, portions, used }: Pick<BudgetState, 'budget' | 'portions' | 'used'>) {
  const { usd, tokens, minutes } = budget;
  const amount = (limit: number | undefined, of: number, words: (n: number) => string, unit = '') =>
    limit === undefined
      ? []
      : [{ text: `${words(of)} of ${words(limit * portions)}${unit}`, isReached: of >= limit * portions }];
  return [
    ...amount(usd, used.usd, (n) => money(n * 100)),
    ...amount(tokens, used.tokens, compactNumber, ' tokens'),
    ...amount(minutes, used.minutes, (n) => String(Math.round(n * 100) / 100), ' min'),
  ];
}
