/** Finds a number for sale and buys it for a bot, after showing the server's plan and cost. */
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { z } from 'zod';
import type { buyNumber, OfferedNumber, PhoneNumber } from '../../../contracts/phone/number.ts';
import type { NumberType } from '../../../contracts/phone/values.ts';
import { useBots } from '../../base/floors.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Field } from '../../ui/schema-form.tsx';
import { useAct } from '../../ui/use-act.ts';
import { BotField, holderOf, useOnlyBot } from './bot-field.tsx';
import { costWords, kindWords, numberWords } from './phone-words.ts';
import { wireCodeOf } from './queries.ts';
import { usePhoneServices, usePutNumber } from './use-phone-services.ts';

interface Wanted {
  readonly type: NumberType;
  readonly country: 'US' | 'CA';
  readonly areaCode: string;
  readonly locality: string;
}

type NumberPlan = z.output<(typeof buyNumber)['answers'][200]>['plan'];

const line = 'h-7 pointer-coarse:h-10';

export function BuyDialog({
  onClose,
  onPort,
  onDone,
}: {
  onClose: () => void;
  /** They have a number already. */
  onPort: () => void;
  onDone: (number: PhoneNumber) => void;
}) {
  const { api } = usePhoneServices();
  const put = usePutNumber();
  const client = useQueryClient();
  const bots = useBots();
  const only = useOnlyBot();
  const [wanted, setWanted] = useState<Wanted>({ type: 'local', country: 'US', areaCode: '', locality: '' });
  const [chosen, setChosen] = useState<OfferedNumber | null>(null);
  const [picked, setPicked] = useState<string | null>(null);
  const bot = bots.find(({ id }) => id === (picked ?? only));
  /** One key for one wish: pressed again after a cut, it is the same number. */
  const wish = useRef({ of: '', key: '' });
  const searchKey = ['phone', 'search', wanted.type, wanted.country, wanted.areaCode, wanted.locality.trim()];
  const offered = useQuery({
    queryKey: searchKey,
    queryFn: ({ signal }) => api.phone.numbers.searchPhoneNumbers({ query: queryOf(wanted) }, { signal }),
    enabled: /^(\d{3})?$/.test(wanted.areaCode),
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0,
  });
  const body = chosen === null || bot === undefined ? null : { e164: chosen.e164, ...holderOf(bot) };
  const plan = useQuery({
    queryKey: ['plan', 'buy-number', body?.e164, body?.botId],
    queryFn: async ({ signal }) => {
      const answer = await api.phone.numbers.buyPhoneNumber({ body: { ...body!, dryRun: true } }, { signal });
      return 'dryRun' in answer ? answer.plan : null;
    },
    enabled: body !== null,
    staleTime: 0,
    gcTime: 0,
  });
  const ready = body !== null && plan.data !== undefined && plan.data !== null;
  const buy = useAct(async () => {
    if (body === null) return;
    const of = JSON.stringify(body);
    if (wish.current.of !== of) wish.current = { of, key: crypto.randomUUID() };
    try {
      const answer = await api.phone.numbers.buyPhoneNumber({ body }, { idempotencyKey: wish.current.key });
      if ('dryRun' in answer) return;
      put(answer.number);
      onDone(answer.number);
    } catch (error) {
      // Somebody else was faster: it is for sale no more.
      if (wireCodeOf(error) === 'number_taken') {
        setChosen(null);
        void client.invalidateQueries({ queryKey: searchKey });
      }
      throw error;
    }
  });
  const want = (change: Partial<Wanted>) => {
    setWanted((old) => ({ ...old, ...change }));
    setChosen(null);
  };
  return (
    <ActDialog
      title="Get a number"
      description="People text and call it, and one of your bots answers."
      label={ready ? `Buy for ${costWords(plan.data?.monthlyCost ?? null)}` : 'Buy'}
      busyLabel="Buying"
      act={buy}
      ready={ready}
      wants={wantsOf(chosen !== null, bot !== undefined, bots.length > 0)}
      onClose={onClose}
    >
      <form className="flex flex-col gap-3" onSubmit={(event) => event.preventDefault()}>
        <WantedFields wanted={wanted} onChange={want} />
        <Offers source={offered} stale={offered.isPlaceholderData} chosen={chosen} onChoose={setChosen} />
        <BotField value={bot?.id ?? ''} onChange={setPicked} />
        {body !== null && (plan.error !== null ? <Problem error={plan.error} /> : <Plan plan={plan.data ?? null} />)}
        <p className="text-muted">
          Have a number elsewhere?{' '}
          <button type="button" onClick={onPort} className="rounded-control text-accent underline">
            Bring it here
          </button>
        </p>
      </form>
    </ActDialog>
  );
}

function WantedFields({ wanted, onChange }: { wanted: Wanted; onChange: (change: Partial<Wanted>) => void }) {
  return (
    <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">
      <Field label="Kind">
        {(ids) => (
          <select
            {...ids}
            value={wanted.type}
            onChange={(event) => onChange({ type: event.target.value as NumberType })}
            className={`${ids.className} ${line}`}
          >
            <option value="local">Local</option>
            <option value="toll_free">Toll-free</option>
          </select>
        )}
      </Field>
      <Field label="Country">
        {(ids) => (
          <select
            {...ids}
            value={wanted.country}
            onChange={(event) => onChange({ country: event.target.value as Wanted['country'] })}
            className={`${ids.className} ${line}`}
          >
            <option value="US">United States</option>
            <option value="CA">Canada</option>
          </select>
        )}
      </Field>
      <Field label="Area code" problem={/^\d{0,3}$/.test(wanted.areaCode) ? undefined : 'Enter three digits.'}>
        {(ids) => (
          <input
            {...ids}
            data-first="true"
            value={wanted.areaCode}
            inputMode="numeric"
            autoComplete="off"
            placeholder="any"
            maxLength={3}
            onChange={(event) => onChange({ areaCode: event.target.value.trim() })}
            className={`${ids.className} ${line} tabular-nums`}
          />
        )}
      </Field>
      <CityField onChange={(locality) => onChange({ locality })} />
    </div>
  );
}

function Offers({
  source,
  stale,
  chosen,
  onChoose,
}: {
  source: ListSource<{ readonly numbers: readonly OfferedNumber[] }>;
  /** They are of an earlier search, until those of the new one are there. */
  stale: boolean;
  chosen: OfferedNumber | null;
  onChoose: (number: OfferedNumber) => void;
}) {
  return (
    <fieldset className="min-w-0">
      <legend className="pb-1 font-medium">Available numbers</legend>
      <div className="h-[196px] overflow-y-auto rounded-control border border-line bg-window">
        <ListStates
          source={source}
          skeleton={<SkeletonRows count={7} />}
          isEmpty={({ numbers }) => numbers.length === 0}
          empty={
            <p data-state="empty" className="p-3 text-muted">
              No numbers match. Try another area code or city.
            </p>
          }
        >
          {({ numbers }) => (
            <ul className={stale ? 'opacity-60' : ''}>
              {numbers.map((one) => (
                <li key={one.e164}>
                  <label className="flex min-h-7 items-center gap-2 px-2 hover:bg-raised has-checked:bg-selected pointer-coarse:min-h-10">
                    <input
                      type="radio"
                      name="number"
                      data-offered={one.e164}
                      checked={chosen?.e164 === one.e164}
                      onChange={() => onChoose(one)}
                      className="size-3.5 shrink-0 accent-accent"
                    />
                    <span className="tabular-nums">{numberWords(one.e164)}</span>
                    <span className="min-w-0 flex-1 truncate text-meta text-muted">{kindWords(one)}</span>
                    <span className="text-meta whitespace-nowrap text-muted tabular-nums">
                      {costWords(one.monthlyCost)}
                    </span>
                  </label>
                </li>
              ))}
            </ul>
          )}
        </ListStates>
      </div>
    </fieldset>
  );
}

/** What the server says that buying would do; null: it is being asked. */
function Plan({ plan }: { plan: NumberPlan | null }) {
  return (
    <section aria-label="Plan" data-plan="buy" className="rounded-control border border-line bg-window p-2">
      {plan === null ? (
        <SkeletonRows count={1} height={40} />
      ) : (
        <>
          <p>
            <span className="font-medium tabular-nums">{numberWords(plan.e164)}</span> for{' '}
            <span className="font-medium tabular-nums">{costWords(plan.monthlyCost)}</span>.
          </p>
          <p className="text-muted tabular-nums">
            It will be {plan.numbers} of the {plan.limit} numbers in your plan. Calls work at once, texts once it is
            registered.
          </p>
        </>
      )}
    </section>
  );
}

/** What is missing before it can be bought; null: nothing of the person's. */
function wantsOf(hasNumber: boolean, hasBot: boolean, areBots: boolean): string | null {
  if (!areBots) return 'A number needs a bot. Start a team on the Floor first.';
  if (hasNumber) return hasBot ? null : 'Choose the bot that answers.';
  return hasBot ? 'Choose a number.' : 'Choose a number and the bot that answers.';
}

/** Asked for once it is written: each letter would be a search at the carrier. */
function CityField({ onChange }: { onChange: (city: string) => void }) {
  const [text, setText] = useState('');
  return (
    <Field label="City">
      {(ids) => (
        <input
          {...ids}
          value={text}
          autoComplete="off"
          placeholder="any"
          maxLength={100}
          onChange={(event) => setText(event.target.value)}
          onBlur={() => onChange(text)}
          onKeyDown={(event) => event.key === 'Enter' && onChange(text)}
          className={`${ids.className} ${line}`}
        />
      )}
    </Field>
  );
}

function queryOf({ type, country, areaCode, locality }: Wanted) {
  const city = locality.trim();
  return {
    type,
    country,
    limit: 20,
    ...(areaCode === '' ? {} : { areaCode }),
    ...(city === '' ? {} : { locality: city }),
  };
}
