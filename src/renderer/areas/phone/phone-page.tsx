/** The phone: numbers by which people text and call bots, their texts and calls, and the carriers' requirements. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useCallback, useMemo, useRef, useState } from 'react';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { Action } from '../../base/actions.ts';
import { PlaceFrame } from '../../base/place-frame.tsx';
import { useAddActions } from '../../base/services.tsx';
import { useHasPhone } from '../../base/use-home-cloud.ts';
import { backAction, stepOut } from '../../base/way-back.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Command } from '../../ui/copy.tsx';
import { BuyDialog } from './buy-dialog.tsx';
import { CallPage } from './call-page.tsx';
import { HandsetsPage } from './handsets-page.tsx';
import { NumberList } from './number-list.tsx';
import { NumberPage } from './number-page.tsx';
import { OwnPhonePage } from './own-phone-page.tsx';
import { numberWords } from './phone-words.ts';
import { PortDialog } from './port-dialog.tsx';
import { wireCodeOf } from './queries.ts';
import { RegistrationPage } from './registration-page.tsx';
import type { PhoneSearch } from './search.ts';
import { useIsDemo, usePhoneServices } from './use-phone-services.ts';
import type { Go } from './within.ts';

const nowhere: PhoneSearch = {
  number: undefined,
  show: undefined,
  with: undefined,
  call: undefined,
  page: undefined,
  cursor: undefined,
  older: undefined,
};

export function PhonePage() {
  const { queries } = usePhoneServices();
  const search = useSearch({ from: '/phone' });
  const navigate = useNavigate();
  const page = useRef<HTMLDivElement>(null);
  const [getting, setGetting] = useState<'buy' | 'port' | null>(null);
  const isDemo = useIsDemo();
  const hasPhone = useHasPhone();
  const numbers = useQuery({ ...queries.numbers, enabled: hasPhone === true });
  // A cloud that this computer is linked to says it when it is asked.
  const missing = hasPhone === false || wireCodeOf(numbers.error) === 'phone_not_configured';

  const go = useCallback<Go>(
    (to, replace = false) => void navigate({ to: '/phone', search: (old) => ({ ...old, ...nowhere, ...to }), replace }),
    [navigate],
  );
  const { number, show, with: person, call, page: own } = search;
  /** One step out, with the focus where it was. */
  const back = useCallback(() => {
    const step = stepOut(page, go);
    if (call !== undefined) step({ number, show: 'calls' }, 'call', call);
    else if (person !== undefined) step({ number }, 'conversation', person);
    else if (show === 'register') step({ number }, 'register', 'true');
    else if (own === undefined) step({}, 'number', number);
    else step({}, 'page', own);
  }, [go, number, show, person, call, own]);
  const buy = useCallback(() => setGetting('buy'), []);
  const inside = number !== undefined || own !== undefined;

  const actions = useMemo<readonly Action[]>(() => {
    const out = backAction(page, inside ? back : null);
    if (missing) return [out];
    return [
      { id: 'get-number', title: 'Get a phone number', group: 'Phone', keys: 'n', run: buy },
      {
        id: 'port-number',
        title: 'Bring a phone number from another carrier',
        group: 'Phone',
        run: () => setGetting('port'),
      },
      ...(numbers.data ?? []).map(
        (one): Action => ({
          id: `open-number-${one.id}`,
          title: `Open ${numberWords(one.e164)}`,
          group: 'Phone',
          run: () => go({ number: one.id }),
        }),
      ),
      { id: 'own-phone', title: 'My own phone', group: 'Phone', run: () => go({ page: 'own' }) },
      ...(isDemo
        ? [
            {
              id: 'handsets',
              title: 'Demo handsets',
              group: 'Phone',
              run: () => go({ page: 'handsets' }),
            } as const,
          ]
        : []),
      out,
    ];
  }, [back, buy, numbers.data, go, inside, isDemo, missing]);
  useAddActions(actions);

  const within = {
    id: number ?? '',
    number: numbers.data?.find(({ id }) => id === number),
    source: numbers,
    go,
    onBack: back,
  };
  const got = (one: PhoneNumber): void => {
    setGetting(null);
    go({ number: one.id });
  };
  const open = missing ? null : own === 'own' ? (
    <OwnPhonePage numbers={numbers} onBack={back} />
  ) : own === 'handsets' ? (
    <HandsetsPage numbers={numbers.data ?? []} onBack={back} />
  ) : number === undefined ? null : call !== undefined ? (
    <CallPage key={call} {...within} call={call} />
  ) : show === 'register' ? (
    <RegistrationPage key={number} {...within} />
  ) : (
    <NumberPage key={number} {...within} search={search} />
  );
  return (
    <>
      <PlaceFrame
        title="Phone"
        page={page}
        action={
          !missing && (
            <Button icon={Plus} kind={inside ? 'plain' : 'primary'} onClick={buy} aria-keyshortcuts="n">
              Get a number
            </Button>
          )
        }
        list={
          <NumberList
            numbers={numbers}
            notConfigured={missing}
            selected={{ number: number ?? null, page: own ?? null }}
            go={go}
            onGet={buy}
          />
        }
        open={open}
      >
        {missing ? <NotConfigured /> : <Welcome count={numbers.data?.length ?? null} isDemo={isDemo} />}
      </PlaceFrame>
      {getting === 'buy' && (
        <BuyDialog onClose={() => setGetting(null)} onPort={() => setGetting('port')} onDone={got} />
      )}
      {getting === 'port' && <PortDialog onClose={() => setGetting(null)} onDone={got} />}
    </>
  );
}

/** What the place is for; said while nothing is open. */
function Welcome({ count, isDemo }: { count: number | null; isDemo: boolean }) {
  if (count === null) return null;
  return (
    <section
      aria-label="How it works"
      className="flex max-w-[640px] flex-col gap-3 p-4 max-sm:border-t max-sm:border-line"
    >
      <p>{count === 0 ? 'A number lets people text and call one of your bots.' : 'Open a number to see who wrote.'}</p>
      <ol className="flex list-decimal flex-col gap-1 pl-5 text-muted">
        <li>Get a number. You see its monthly cost before you buy it.</li>
        <li>Register it. Carriers want to know who sends texts and why. Calls work without registration.</li>
        <li>People text it first, and the bot answers in its own thread. STOP always wins.</li>
      </ol>
      {isDemo && (
        <p className="text-muted">
          In this demo, people are <strong className="font-medium text-ink">handsets</strong> that you control. Open
          them in the list.
        </p>
      )}
    </section>
  );
}

/** What numbers require first: the demo phone, or a carrier's account. */
function NotConfigured() {
  return (
    <div data-state="empty" className="flex max-w-[680px] flex-col gap-3 p-4 max-sm:border-t max-sm:border-line">
      <p>
        Bots can have phone numbers that people text and call. Numbers come from a carrier, and none is configured at
        this computer’s home.
      </p>
      <Card title="Try it without a carrier">
        <div className="flex flex-col items-start gap-2 p-3">
          <p className="text-muted">
            A simulated carrier and handsets on this page show everything: buying, registration, texts, STOP, calls and
            transfers. Nothing is real and nothing costs money. Stop Gantry, then run:
          </p>
          <Command text="npx gantry start --demo-phone" />
        </div>
      </Card>
      <Card title="Use a real carrier">
        <div className="flex flex-col items-start gap-2 p-3">
          <p className="text-muted">
            You need a Telnyx account. Set these where Gantry starts (at its cloud, if it is paired with one), then
            restart it:
          </p>
          <ul className="flex max-w-full flex-col gap-1">
            {settings.map(([name, says]) => (
              <li key={name} className="flex min-w-0 flex-wrap items-baseline gap-x-2">
                <code className="font-mono text-code wrap-anywhere">{name}</code>
                <span className="text-meta text-muted">{says}</span>
              </li>
            ))}
          </ul>
          <p className="text-muted">
            Buying a number also needs a plan that includes numbers: Plus 3, Super 5, Ultra 10.
          </p>
        </div>
      </Card>
    </div>
  );
}

const settings = [
  ['GANTRY_TELNYX_API_KEY', 'an API key of the account'],
  ['GANTRY_TELNYX_PUBLIC_KEY', 'the key that its webhooks are signed with'],
  ['GANTRY_TELNYX_CONNECTION_ID', 'the Call Control application that calls go through'],
] as const;
