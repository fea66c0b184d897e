/** The budgets of open runs as they stand: what of each is used, and which limit it has reached. Must not know steps or questions. */
import type { WorkBudget } from '../../../contracts/factory/workflow.ts';
import type { Store } from '../../../kit/store/store.ts';
import type { Used } from '../../usage/costs.ts';
import { type BudgetRow, spentBy, spentSince } from '../store/budgets.ts';

export interface Budget {
  readonly subject: string;
  budget: WorkBudget;
  portions: number;
  usedMs: number;
  spent: Used;
  /** `spent` is what was used until the last count. */
  isSummed: boolean;
  rejected: boolean;
  /** Which limit is reached, in words. */
  reached: string | null;
  /** Its step has ended: nobody is asked. */
  isOver: boolean;
  question: AbortController | null;
}

/** A step, which its own budget, that of its run and that of its campaign count. */
export interface Place {
  readonly dagId: string;
  readonly nodeId: string;
  readonly campaignId: string;
}

export type Accounts = ReturnType<typeof createAccounts>;

const nothing: Used = { microUsd: 0, tokens: 0, unpriced: 0 };

export function createAccounts(deps: {
  readonly store: Store;
  readonly workspace: string;
  /** It has reached a limit just now. */
  readonly reached: (one: Budget) => void;
  /** It is at no limit any more. */
  readonly relieved: (one: Budget) => void;
}) {
  const { store, workspace } = deps;
  const known = new Map<string, Budget>();
  const changed = new Set<Budget>();
  let counting: Promise<void> | null = null;
  /** The newest request that was counted; null: none was. */
  let countedTo: number | null = null;
  let closed = false;

  const of = ({ dagId, nodeId, campaignId }: Place): Budget[] =>
    [`step:${dagId}/${nodeId}`, `run:${dagId}`, `campaign:${campaignId}`].flatMap((one) => known.get(one) ?? []);

  function add(row: BudgetRow & { readonly isOver?: boolean }): Budget {
    const before = known.get(row.subject);
    before?.question?.abort();
    const { spent = nothing, isOver = false, isSummed = false } = before ?? {};
    const budget = { isOver, ...row, spent, isSummed, reached: null, question: null };
    known.set(row.subject, budget);
    return budget;
  }

  /** Adds what was used since the last time, and sums what is counted first; one at a time, and again for what changed meanwhile. */
  function count(budgets: Iterable<Budget>): Promise<void> {
    for (const one of budgets) changed.add(one);
    counting ??= (async () => {
      while (changed.size > 0 && !closed) {
        const some = [...changed];
        changed.clear();
        const unsummed = some.filter(({ isSummed }) => !isSummed);
        const { since, sums } = await store.read((tx) => ({
          since: spentSince(tx, workspace, countedTo),
          sums: unsummed.map(({ subject }) => spentBy(tx, workspace, subject)),
        }));
        countedTo = since.upTo;
        const grown = since.used.flatMap((one) => of(one).filter((budget) => use(budget, one)));
        unsummed.forEach((one, at) => {
          one.spent = sums[at] ?? nothing;
          one.isSummed = true;
        });
        for (const one of new Set([...some, ...grown])) if (known.get(one.subject) === one) judge(one);
      }
    })().finally(() => {
      counting = null;
    });
    return counting;
  }

  /** What is not summed yet gets it with its sum. */
  function use(one: Budget, { microUsd, tokens, unpriced }: Used): boolean {
    if (!one.isSummed) return false;
    one.spent = {
      microUsd: one.spent.microUsd + microUsd,
      tokens: one.spent.tokens + tokens,
      unpriced: one.spent.unpriced + unpriced,
    };
    return true;
  }

  function judge(one: Budget): void {
    const words = overOf(one);
    if (words === null) {
      if (one.reached !== null) relieve(one);
      return;
    }
    const isNew = one.reached === null;
    one.reached = words;
    if (isNew) deps.reached(one);
  }

  function relieve(one: Budget): void {
    one.reached = null;
    drop(one);
    deps.relieved(one);
  }

  function drop(one: Budget): void {
    one.question?.abort();
    one.question = null;
  }

  return {
    of,
    add,
    count,
    judge,
    relieve,
    drop,
    get: (subject: string) => known.get(subject),
    /** The one that stops a step; null: none. One that a person did not raise has the last word. */
    reachedOf(place: Place): Budget | null {
      const all = of(place).filter(({ reached }) => reached !== null);
      return all.find(({ rejected }) => rejected) ?? all[0] ?? null;
    },
    forget(subject: string): Budget | undefined {
      const one = known.get(subject);
      known.delete(subject);
      return one;
    },
    close() {
      closed = true;
      // The questions stay: the next runtime asks again with the same keys.
      for (const { question } of known.values()) question?.abort();
    },
  };
}

/** Which limit is reached, in a sentence; null: none. */
export function overOf({ budget, portions, spent, usedMs }: BudgetRow & { readonly spent: Used }): string | null {
  const { usd, tokens, minutes } = budget;
  if (usd !== undefined && spent.microUsd >= usd * portions * 1e6) {
    return `It used ${dollars(spent.microUsd / 1e6)} of ${dollars(usd * portions)}.`;
  }
  if (tokens !== undefined && spent.tokens >= tokens * portions) {
    return `It used ${spent.tokens} of ${tokens * portions} tokens.`;
  }
  if (minutes !== undefined && usedMs >= minutes * portions * 60_000) {
    return `It worked for ${Math.round(usedMs / 6000) / 10} of ${minutes * portions} minutes.`;
  }
  return null;
}

export function wordsOf({ usd, tokens, minutes }: WorkBudget, portions: number): string {
  return [
    usd === undefined ? '' : dollars(usd * portions),
    tokens === undefined ? '' : `${tokens * portions} tokens`,
    minutes === undefined ? '' : `${minutes * portions} minutes`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

function dollars(usd: number): string {
  return `$${usd < 0.1 ? usd.toFixed(4) : usd.toFixed(2)}`;
}
