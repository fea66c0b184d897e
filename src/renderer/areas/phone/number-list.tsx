/** A person's numbers with their state in words; below them their own phone, and in the demo the handsets. */
import { useQuery } from '@tanstack/react-query';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import { PlaceRow, placeRowHeight } from '../../base/place-frame.tsx';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Status } from '../../ui/status.tsx';
import { nobodyAnswers, numberStatus } from './phone-status.ts';
import { numberWords } from './phone-words.ts';
import { useNobodyAnswers } from './use-nobody-answers.ts';
import { useIsDemo, usePhoneServices } from './use-phone-services.ts';
import type { Go } from './within.ts';

export function NumberList({
  numbers,
  notConfigured,
  selected,
  go,
  onGet,
}: {
  numbers: ListSource<readonly PhoneNumber[]>;
  notConfigured: boolean;
  selected: { readonly number: string | null; readonly page: string | null };
  go: Go;
  onGet: () => void;
}) {
  const isDemo = useIsDemo();
  if (notConfigured) return <p className="p-3 text-muted">No carrier is configured.</p>;
  const more = [
    { page: 'own', name: 'My own phone', says: 'answers approvals by text' },
    ...(isDemo ? [{ page: 'handsets', name: 'Handsets', says: 'of the simulated carrier' } as const] : []),
  ] as const;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
    <div onKeyDown={moveByArrows}>
      <h2 className="px-3 pt-2 text-meta text-muted">Numbers</h2>
      <ListStates
        source={numbers}
        skeleton={<SkeletonRows count={3} height={placeRowHeight} />}
        isEmpty={(list) => list.length === 0}
        empty={
          <Empty action={<Button onClick={onGet}>Get a number</Button>}>Phone numbers of your bots appear here.</Empty>
        }
      >
        {(list) => (
          <ul className="py-1">
            {list.map((one) => (
              <NumberRow
                key={one.id}
                number={one}
                selected={one.id === selected.number}
                onOpen={() => go({ number: one.id })}
              />
            ))}
          </ul>
        )}
      </ListStates>
      <h2 className="border-t border-line px-3 pt-2 text-meta text-muted">Phones</h2>
      <ul className="py-1">
        {more.map(({ page, name, says }) => (
          <PlaceRow
            key={page}
            mark={{ 'data-page': page }}
            selected={page === selected.page}
            onOpen={() => go({ page })}
          >
            <span className="font-medium">{name}</span>
            <span className="text-meta text-muted">{says}</span>
          </PlaceRow>
        ))}
      </ul>
    </div>
  );
}

function NumberRow({ number, selected, onOpen }: { number: PhoneNumber; selected: boolean; onOpen: () => void }) {
  const { queries } = usePhoneServices();
  const nameOf = useNameOfBot();
  const nobody = useNobodyAnswers(number);
  const { data } = useQuery({
    ...queries.registration(number.id, number.registered),
    enabled: number.smsState !== 'active',
  });
  return (
    <PlaceRow mark={{ 'data-number': number.id }} selected={selected} onOpen={onOpen}>
      <span className="w-full truncate font-medium tabular-nums">{numberWords(number.e164)}</span>
      <span className="flex w-full min-w-0 items-center gap-2 text-meta">
        <Status look={numberStatus(number, data)} wire={number.smsState} />
        {nobody === null ? (
          <span className="min-w-0 truncate text-muted">{nameOf(number.botId)}</span>
        ) : (
          <Status look={nobodyAnswers} wire={nobody} />
        )}
      </span>
    </PlaceRow>
  );
}
