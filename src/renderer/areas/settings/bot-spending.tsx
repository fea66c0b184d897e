/** The bots' usage today and this month, their daily limits, which are held, and whether they wait for a reset automatically. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { BotHold, Spending, SpendLimit, Used } from '../../../contracts/factory/spending-routes.ts';
import { useBots } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { useOfferUndo } from '../../base/undo.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { FirstRows } from '../../ui/first-rows.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { localTimes } from '../../ui/local-times.ts';
import { costOf, money, tokensOf } from '../../ui/money.ts';
import { Problem } from '../../ui/problem.tsx';
import { Switch } from '../../ui/switch.tsx';
import { SelectField, TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { GoOn } from '../floor/go-on.tsx';
import { centsOf } from './money.ts';
import { About, Setting } from './parts.tsx';

/** Transcripts are read without an event; ms. */
const lookEvery = 30_000;

export function BotSpending() {
  const { queries } = useServices();
  const spending = useQuery({ ...queries.spending, staleTime: 0, refetchInterval: lookEvery });
  return (
    <>
      <Card title="Bots on this computer">
        <ListStates
          source={spending}
          skeleton={<SkeletonRows count={3} height={32} />}
          isEmpty={(data) => data.month.requests === 0 && data.holds.length === 0}
          empty={<Empty>No bot has used a model this month. Usage is read from the bots’ own transcripts.</Empty>}
        >
          {(data) => <Bots spending={data} />}
        </ListStates>
      </Card>
      <Card title="Daily limits">
        <ListStates source={spending} skeleton={<SkeletonRows count={2} />} isEmpty={() => false} empty={null}>
          {(data) => <Limits spending={data} />}
        </ListStates>
      </Card>
    </>
  );
}

function Bots({ spending }: { spending: Spending }) {
  const { bots, holds, unpricedModels } = spending;
  const used = bots.filter(({ month }) => month.requests > 0).sort((a, b) => b.month.cents - a.month.cents);
  return (
    <>
      <FirstRows rows={holds} first={10} what="held bots">
        {(shown) =>
          shown.map((hold) => (
            <Held
              key={hold.agentId}
              hold={hold}
              name={bots.find((bot) => bot.agentId === hold.agentId)?.address ?? ''}
            />
          ))
        }
      </FirstRows>
      <FirstRows rows={used} first={20} what="bots">
        {(shown) => shown.length > 0 && <UsedTable used={shown} />}
      </FirstRows>
      {unpricedModels.length > 0 && (
        <p className="border-t border-line px-3 py-2 text-meta text-muted">
          No price is known for {unpricedModels.join(', ')}: tokens are counted, cost is not. Add prices under{' '}
          <code>models.prices</code> in settings.json.
        </p>
      )}
    </>
  );
}

function UsedTable({ used }: { used: readonly Spending['bots'][number][] }) {
  return (
    <table aria-label="Usage by bot" className="w-full table-fixed border-collapse text-left">
      <thead className="text-meta text-muted">
        <tr>
          <th className="px-3 py-1.5 font-normal">Bot</th>
          <th className="w-1/3 px-3 py-1.5 text-right font-normal">Today</th>
          <th className="w-1/3 px-3 py-1.5 text-right font-normal">This month</th>
        </tr>
      </thead>
      <tbody>
        {used.map(({ agentId, address, today, month }) => (
          <tr key={agentId} className="border-t border-line">
            <td className="truncate px-3 py-1.5" title={address}>
              {address}
            </td>
            <UsedCell used={today} />
            <UsedCell used={month} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function UsedCell({ used }: { used: Used }) {
  return (
    <td className="px-3 py-1.5 text-right tabular-nums">
      {costOf(used)}
      <p className="text-meta text-muted">{tokensOf(used)}</p>
    </td>
  );
}

function Held({ hold, name }: { hold: BotHold; name: string }) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-3 py-2.5">
      <p className="min-w-52 flex-1 break-words">
        <span className="font-medium">{name}</span> is held.{' '}
        <span className="text-muted">{localTimes(hold.reason.replace(/^(budget|usage limit): /, ''))}</span>
      </p>
      <GoOn hold={hold} />
    </div>
  );
}

function Limits({ spending }: { spending: Spending }) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const waiting = useAct(async (on: boolean) => {
    await api.factory.setWaitOut({ body: { on } });
    await client.invalidateQueries({ queryKey: keys.spending });
  });
  return (
    <>
      <About>
        A bot that reaches a limit takes no more messages until you raise the limit, let the bot continue once, or the
        day (UTC) ends. Work in progress continues.
      </About>
      <FirstRows rows={spending.limits} first={20} what="limits">
        {(shown) => shown.map((limit) => <LimitRow key={limit.subject} limit={limit} />)}
      </FirstRows>
      <NewLimit taken={spending.limits.map(({ subject }) => subject)} />
      <div className="border-t border-line">
        <Setting
          name="Wait out usage limits"
          effect="A bot that its provider stops continues at the announced reset. Off: it waits for you."
        >
          <Switch
            label="Wait out usage limits"
            on={spending.waitOut}
            disabled={waiting.busy}
            onChange={(on) => waiting.run(on)}
          />
        </Setting>
        {waiting.failure !== null && <Problem error={waiting.failure} />}
      </div>
    </>
  );
}

function useSetLimit() {
  const { api, keys } = useServices();
  const client = useQueryClient();
  return async (subject: string, dailyCents: number | null) => {
    await api.factory.setSpendLimit({ body: { subject, dailyCents } });
    await Promise.all([
      client.invalidateQueries({ queryKey: keys.spending }),
      client.invalidateQueries({ queryKey: keys.agents }),
    ]);
  };
}

const subjectWords = (subject: string) => (subject === '*' ? 'All bots' : subject);

function LimitRow({ limit }: { limit: SpendLimit }) {
  const { subject, dailyCents, spentCents, reached } = limit;
  const [text, setText] = useState(String(dailyCents / 100));
  const setLimit = useSetLimit();
  const offerUndo = useOfferUndo();
  const setting = useAct(setLimit);
  const removing = useAct(async () => {
    await setLimit(subject, null);
    offerUndo(`Limit of ${subjectWords(subject)} removed`, () => setLimit(subject, dailyCents));
  });
  const cents = centsOf(text);
  return (
    <form
      className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-3 py-2.5"
      onSubmit={(event) => {
        event.preventDefault();
        if (cents !== null) setting.run(subject, cents);
      }}
    >
      <p className="min-w-40 flex-1">
        <span className="font-medium">{subjectWords(subject)}</span>{' '}
        <span className={reached ? 'text-need' : 'text-muted'}>
          {money(spentCents)} of {money(dailyCents)} today{reached && ', reached'}
        </span>
      </p>
      <input
        aria-label={`Daily limit of ${subjectWords(subject)} (USD)`}
        value={text}
        inputMode="decimal"
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
        className="h-7 w-20 rounded-control border border-line bg-raised px-1.5 text-right pointer-coarse:h-10"
      />
      <Button type="submit" disabled={cents === null || cents === dailyCents || setting.busy}>
        Change
      </Button>
      <Button kind="quiet" disabled={removing.busy} onClick={() => removing.run()}>
        Remove
      </Button>
      {(setting.failure ?? removing.failure) !== null && <Problem error={setting.failure ?? removing.failure} />}
    </form>
  );
}

function NewLimit({ taken }: { taken: readonly string[] }) {
  const { queries } = useServices();
  const bots = useBots();
  const teams = useQuery(queries.teams).data?.teams ?? [];
  const free = ['*', ...teams.map(({ name }) => name), ...bots.map(({ address }) => address)].filter(
    (subject) => !taken.includes(subject),
  );
  const [chosen, setChosen] = useState('*');
  const [text, setText] = useState('');
  const setting = useAct(useSetLimit());
  const subject = free.includes(chosen) ? chosen : free[0];
  const cents = centsOf(text);
  const problem = text.trim() !== '' && cents === null ? 'Enter an amount such as 5 or 12.50.' : undefined;
  if (subject === undefined) return null;
  return (
    <form
      className="flex flex-col gap-3 p-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (cents === null) return;
        setting.run(subject, cents);
        setText('');
      }}
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <SelectField label="Applies to" value={subject} onChange={setChosen}>
          {free.map((one) => (
            <option key={one} value={one}>
              {subjectWords(one)}
            </option>
          ))}
        </SelectField>
        <TextField label="Daily limit (USD)" problem={problem} value={text} inputMode="decimal" onChange={setText} />
      </div>
      {setting.failure !== null && <Problem error={setting.failure} />}
      <div>
        <Button type="submit" disabled={cents === null || setting.busy}>
          Set a limit
        </Button>
      </div>
    </form>
  );
}
