/** Consents to calls, STOP and START, and open invites: a record that cannot be changed. */
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { OptOutEntry } from '../../../contracts/phone/texts.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { PagedList } from '../../ui/pages.tsx';
import { ConsentDialog, OptOutDialog } from './consent-dialogs.tsx';
import { Invites } from './invites.tsx';
import { numberWords, sourceWords } from './phone-words.ts';
import type { PhoneSearch } from './search.ts';
import { usePhoneServices } from './use-phone-services.ts';
import type { Go } from './within.ts';

const optOutSources: Readonly<Record<OptOutEntry['source'], string>> = {
  text: 'by text',
  carrier: 'reported by the carrier',
  owner: 'recorded by you',
};

const skeleton = <SkeletonRows count={3} height={44} />;

export function People({ number, search, go }: { number: PhoneNumber; search: PhoneSearch; go: Go }) {
  const { queries } = usePhoneServices();
  const { id } = number;
  const { cursor, older } = search;
  const consents = useQuery(queries.consents(id, cursor));
  const optOuts = useQuery(queries.optOuts(id, older));
  const [open, setOpen] = useState<'consent' | 'opt-out' | null>(null);
  const turn = (to: Pick<PhoneSearch, 'cursor' | 'older'>) => go({ number: id, show: 'people', cursor, older, ...to });
  return (
    <>
      <Group
        title="Agreed to be called"
        says="Consent allows calls but no texts. STOP overrides it."
        action={
          <Button icon={Plus} onClick={() => setOpen('consent')}>
            Record consent
          </Button>
        }
      >
        <PagedList
          source={consents}
          noun="consents"
          rowsOf={(page) => page.consents}
          cursor={cursor}
          onCursor={(to) => turn({ cursor: to })}
          skeleton={skeleton}
          empty={<Empty>Nobody has agreed yet. People who text or call first need no consent.</Empty>}
        >
          {(rows) => (
            <ul>
              {rows.map((one) => (
                <Entry key={one.id} entry={one} data="consent">
                  {sourceWords(one.source)}
                </Entry>
              ))}
            </ul>
          )}
        </PagedList>
      </Group>
      <Group
        title="STOP and START"
        says="STOP blocks texts and calls until they send START."
        action={
          <Button icon={Plus} onClick={() => setOpen('opt-out')}>
            Record a STOP
          </Button>
        }
      >
        <PagedList
          source={optOuts}
          noun="STOP and START"
          rowsOf={(page) => page.entries}
          cursor={older}
          onCursor={(to) => turn({ older: to })}
          skeleton={skeleton}
          empty={<Empty>Nobody has said STOP to this number.</Empty>}
        >
          {(rows) => (
            <ul>
              {rows.map((one) => (
                <Entry key={`${one.e164} ${one.at} ${one.action}`} entry={one} data={one.action}>
                  <span className="font-medium text-ink">{one.action === 'stop' ? 'STOP' : 'START'}</span>{' '}
                  {optOutSources[one.source]}
                </Entry>
              ))}
            </ul>
          )}
        </PagedList>
      </Group>
      <Group title="Invites" says="A page on which one person can agree, once, to be called.">
        <Invites number={number} />
      </Group>
      {open === 'consent' && <ConsentDialog number={number} onClose={() => setOpen(null)} />}
      {open === 'opt-out' && <OptOutDialog number={number} onClose={() => setOpen(null)} />}
    </>
  );
}

function Group({
  title,
  says,
  action,
  children,
}: {
  title: string;
  says: string;
  action?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section aria-label={title} className="border-b border-line">
      <header className="flex min-h-10 flex-wrap items-center gap-x-3 gap-y-1 bg-panel px-3 py-1.5">
        <h2 className="font-semibold max-sm:flex-1">{title}</h2>
        <p className="min-w-0 flex-1 basis-40 text-meta text-muted max-sm:order-last max-sm:basis-full">{says}</p>
        {action}
      </header>
      {children}
    </section>
  );
}

function Entry({
  entry: { e164, at, evidence },
  data,
  children,
}: {
  entry: { readonly e164: string; readonly at: string; readonly evidence: string | null };
  data: string;
  children: ReactNode;
}) {
  return (
    <li data-entry={data} className="border-t border-line px-3 py-1.5">
      <p className="flex flex-wrap items-baseline gap-x-3">
        <span className="font-medium tabular-nums">{numberWords(e164)}</span>
        <span className="min-w-0 flex-1 break-words text-muted">{children}</span>
        <span className="text-meta text-muted">
          <Ago at={at} />
        </span>
      </p>
      {evidence !== null && <p className="text-meta break-words whitespace-pre-wrap text-muted">{evidence}</p>}
    </li>
  );
}
