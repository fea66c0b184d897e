/** A month's spending, by computer, bot and model, and on hosted computers; the budget, and when to warn about it. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useState } from 'react';
import type { Budget, UsageLine } from '../../../contracts/usage/routes.ts';
import { useBots, useFloors } from '../../base/floors.tsx';
import { useNoComputer } from '../../base/no-computer.tsx';
import { useServices } from '../../base/services.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';

import { ShortId } from '../../ui/copy.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { BotSpending } from './bot-spending.tsx';
import { centsOf, money, monthName, monthPlus } from './money.ts';
import { UsageDaysCard } from './usage-days.tsx';

/** Computers report their spending without an event; ms. */
const usageEvery = 30_000;

export function UsagePage() {
  const { queries } = useServices();
  const unpaired = useNoComputer();
  /** Null: this one, which the server knows. */
  const [month, setMonth] = useState<string | null>(null);
  const usage = useQuery({ ...queries.usage(month), staleTime: 0, refetchInterval: usageEvery });
  const thisMonth = useQuery({ ...queries.usage(null), staleTime: 0 }).data?.month;
  const budget = useQuery({ ...queries.budget, staleTime: 0 });
  const shown = usage.data?.month ?? month;
  return (
    <>
      <Card
        title={shown === null ? 'Spending' : `Spending in ${monthName(shown)}`}
        aside={
          shown !== null && (
            <span className="flex items-center">
              <IconButton label="Previous month" onClick={() => setMonth(monthPlus(shown, -1))}>
                <ChevronLeft aria-hidden="true" />
              </IconButton>
              <IconButton
                label="Next month"
                disabled={shown === thisMonth}
                onClick={() => setMonth(monthPlus(shown, 1))}
              >
                <ChevronRight aria-hidden="true" />
              </IconButton>
            </span>
          )
        }
      >
        <ListStates
          source={usage}
          skeleton={<SkeletonRows count={4} height={32} />}
          isEmpty={(data) => data.lines.length === 0}
          empty={
            <Empty>
              Nothing was spent. Models used by bots and computer runs are counted here at list prices, along with
              hosted computers. A program that you pay for by subscription costs you nothing extra.
            </Empty>
          }
        >
          {(data) => (
            <>
              <Spent cents={data.spentCents} budget={shown === thisMonth ? budget.data : undefined} />
              <Lines lines={data.lines} />
            </>
          )}
        </ListStates>
      </Card>
      {!unpaired && (
        <>
          <UsageDaysCard />
          <BotSpending />
        </>
      )}
      <Card title="Monthly budget">
        <ListStates source={budget} skeleton={<SkeletonRows count={2} />} isEmpty={() => false} empty={null}>
          {(data) => <BudgetForm budget={data} />}
        </ListStates>
      </Card>
    </>
  );
}

function Spent({ cents, budget }: { cents: number; budget: Budget | undefined }) {
  const limit = budget?.budgetCents ?? null;
  const part = limit === null ? 0 : Math.min(1, cents / limit);
  return (
    <div className="flex flex-col gap-1.5 border-b border-line px-3 py-2.5">
      <p>
        <span className="text-title font-semibold tabular-nums">{money(cents)}</span>
        {limit !== null && (
          <span className="text-muted tabular-nums">
            {' '}
            of {money(limit)}, {Math.floor((cents / limit) * 100)} %
          </span>
        )}
      </p>
      {limit !== null && budget !== undefined && (
        <div className="relative h-1.5 rounded-full bg-raised" aria-hidden="true">
          <div
            className={`h-full rounded-full ${part >= 1 ? 'bg-ink' : 'bg-muted'}`}
            style={{ width: `${part * 100}%` }}
          />
          <div className="absolute -inset-y-0.5 w-px bg-ink" style={{ left: `${budget.alertPercent}%` }} />
        </div>
      )}
    </div>
  );
}

function Lines({ lines }: { lines: readonly UsageLine[] }) {
  const bots = useBots();
  const floors = useFloors();
  const botOf = (id: string | null) => bots.find((bot) => bot.id === id)?.address;
  const computerOf = (id: string | null) => floors.find((floor) => floor.place.id === id)?.place.name;
  const sorted = [...lines].sort((a, b) => b.cents - a.cents);
  return (
    <table
      aria-label="Spending by model, computer and phone number"
      className="w-full table-fixed border-collapse text-left"
    >
      <thead className="text-meta text-muted">
        <tr>
          <th className="px-3 py-1.5 font-normal">Item</th>
          <th className="w-1/4 px-3 py-1.5 font-normal max-sm:w-2/5">Bot</th>
          <th className="w-1/5 px-3 py-1.5 font-normal max-sm:hidden">Computer</th>
          <th className="w-32 px-3 py-1.5 text-right font-normal max-sm:hidden">Quantity</th>
          <th className="w-24 px-3 py-1.5 text-right font-normal">Spent</th>
        </tr>
      </thead>
      <tbody>
        {sorted.map((line) => (
          <tr key={`${line.kind} ${line.name} ${line.botId} ${line.computerId}`} className="border-t border-line">
            <td className="px-3 py-1.5">
              <Purpose line={line} />
              <p className="text-meta text-muted tabular-nums sm:hidden">{amount(line)}</p>
            </td>
            <td className="truncate px-3 py-1.5">
              <Named id={line.botId} name={line.botId?.startsWith(ofRuns) ? 'Computer runs' : botOf(line.botId)} />
            </td>
            <td className="truncate px-3 py-1.5 text-muted max-sm:hidden">
              <Named id={line.computerId} name={computerOf(line.computerId)} />
            </td>
            <td className="px-3 py-1.5 text-right text-muted tabular-nums max-sm:hidden">{amount(line)}</td>
            <td className="px-3 py-1.5 text-right tabular-nums">{money(line.cents)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Runs that use a computer have no bot, and report as one of this name. */
const ofRuns = 'computer-use:';

const purposes: Readonly<Record<Exclude<UsageLine['kind'], 'model'>, string>> = {
  computer_minute: 'Hosted computer minutes',
  computer_action: 'Hosted computer actions',
  phone_number: 'Phone number',
  phone_registration: 'Phone number registration',
  phone_text: 'Texts',
  phone_call: 'Calls',
};
const nouns: Readonly<Record<UsageLine['kind'], string>> = {
  model: 'request',
  computer_minute: 'minute',
  computer_action: 'action',
  phone_number: 'fee',
  phone_registration: 'fee',
  phone_text: 'text',
  phone_call: 'minute',
};

/** What it was spent on: a model by its name, a hosted computer or phone number by what is counted of it. */
function Purpose({ line: { kind, name } }: { line: UsageLine }) {
  if (kind === 'model') {
    return (
      <p className="truncate font-mono text-code" title={name}>
        {name}
      </p>
    );
  }
  const ofProject = kind === 'computer_minute' || kind === 'computer_action';
  return (
    <p title={ofProject ? `Project ${name}` : name}>
      {purposes[kind]}
      {!ofProject && <span className="block truncate text-meta text-muted">{name}</span>}
    </p>
  );
}

/** Minutes to a thousandth, as they are counted. */
function amount({ kind, quantity }: UsageLine): string {
  if (nouns[kind] === 'minute') return `${quantity.toFixed(3)} min`;
  return countWords(quantity, nouns[kind]);
}

/** By its name; one that is there no longer by its id. */
function Named({ id, name }: { id: string | null; name: string | undefined }) {
  if (name !== undefined) return <span title={name}>{name}</span>;
  return id === null ? <span className="text-faint">none</span> : <ShortId id={id} />;
}

function BudgetForm({ budget }: { budget: Budget }) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  /** Null: not touched since the last save, so the field follows the budget, also where another window changes it. */
  const [typed, setTyped] = useState<{ readonly amount: string; readonly percent: string } | null>(null);
  /** The budget that was last saved here. */
  const [saved, setSaved] = useState<Budget | null>(null);
  const { amount, percent } = typed ?? textsOf(budget);
  const cents = amount.trim() === '' ? null : centsOf(amount);
  const alert = /^\d{1,3}$/.test(percent.trim()) ? Number(percent) : 0;
  const problem = amount.trim() !== '' && cents === null ? 'Enter an amount such as 20 or 12.50.' : undefined;
  const percentProblem = alert < 1 || alert > 100 ? 'Enter a whole number from 1 to 100.' : undefined;
  const changed = cents !== budget.budgetCents || alert !== budget.alertPercent;
  const isSaved = !changed && saved?.budgetCents === budget.budgetCents && saved.alertPercent === budget.alertPercent;
  const { busy, failure, run } = useAct(async () => {
    const now = await api.usage.setBudget({ body: { budgetCents: cents, alertPercent: alert } });
    client.setQueryData(keys.budget, now);
    setSaved(now);
    // What was typed while the answer was on its way stays.
    setTyped((latest) => (latest === typed ? null : latest));
  });
  const ready = changed && problem === undefined && percentProblem === undefined && !busy;
  return (
    <form
      className="flex flex-col gap-3 p-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) run();
      }}
    >
      <p className="text-muted">
        Gantry notifies you once at the share below and once at the full budget. A budget stops nothing; daily limits
        do.
      </p>
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField
          label="Budget (USD)"
          description="Empty: no budget."
          problem={problem}
          value={amount}
          inputMode="decimal"
          onChange={(value) => setTyped({ amount: value, percent })}
        />
        <TextField
          label="Alert at (%)"
          description="Percent of the budget."
          problem={percentProblem}
          value={percent}
          inputMode="numeric"
          onChange={(value) => setTyped({ amount, percent: value })}
        />
      </div>
      {failure !== null && <Problem error={failure} />}
      <div className="flex items-center gap-3">
        <Button kind="primary" type="submit" disabled={!ready}>
          Save
        </Button>
        {/* Stands there empty as well: a screen reader says only what changes in it. */}
        <span role="status" className="text-muted">
          {isSaved && 'Saved.'}
        </span>
      </div>
    </form>
  );
}

const textsOf = ({ budgetCents, alertPercent }: Budget) => ({
  amount: budgetCents === null ? '' : String(budgetCents / 100),
  percent: String(alertPercent),
});
