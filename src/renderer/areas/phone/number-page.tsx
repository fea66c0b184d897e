/** One number: its texts in the middle, its registration and port at the right; its calls, consents and opt-outs. */
import { useQuery } from '@tanstack/react-query';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { useTight } from '../../base/use-narrow.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { NotThere } from '../../ui/list-states.tsx';
import { Status } from '../../ui/status.tsx';
import { Trouble } from '../../ui/trouble.tsx';
import { Ways } from '../../ui/ways.tsx';
import { AboutNumber } from './about-number.tsx';
import { CallList } from './call-list.tsx';
import { Conversations } from './conversations.tsx';
import { People } from './people.tsx';
import { numberStatus } from './phone-status.ts';
import { numberWords } from './phone-words.ts';
import { PortCard } from './port-card.tsx';
import { RegistrationCard } from './registration-card.tsx';
import type { PhoneSearch } from './search.ts';
import { TransferTargets } from './transfer-targets.tsx';
import { useNobodyAnswers } from './use-nobody-answers.ts';
import { usePhoneServices } from './use-phone-services.ts';
import type { Go, WithinNumber } from './within.ts';

export function NumberPage({ id, number, source, go, onBack, search }: WithinNumber & { search: PhoneSearch }) {
  const { queries } = usePhoneServices();
  const registration = useQuery({ ...queries.registration(id, number?.registered), enabled: number !== undefined });
  return (
    <>
      <OpenBar
        back={search.with === undefined ? 'Back to all numbers' : 'Back to the conversations'}
        onBack={onBack}
        title={number === undefined ? 'Number' : numberWords(number.e164)}
      >
        <span role="status">
          {number !== undefined && <Status look={numberStatus(number, registration.data)} wire={number.smsState} />}
        </span>
      </OpenBar>
      {number === undefined ? (
        <NoNumber source={source} onBack={onBack} />
      ) : (
        <Body number={number} go={go} search={search} />
      )}
    </>
  );
}

/** In place of what belongs to a number that is not there, or not there yet. */
export function NoNumber({ source, onBack }: Pick<WithinNumber, 'source' | 'onBack'>) {
  return (
    <NotThere source={source} label="Show all numbers" onBack={onBack}>
      This number was not found. It may have been released.
    </NotThere>
  );
}

function Body({ number, go, search }: { number: PhoneNumber; go: Go; search: PhoneSearch }) {
  const tight = useTight();
  const { id } = number;
  const part = search.show === 'calls' || search.show === 'people' ? search.show : 'texts';
  const reads = part === 'texts' && search.with !== undefined;
  const nobody = useNobodyAnswers(number);
  const scrolls = tight ? '' : 'min-h-0 overflow-y-auto';
  return (
    <>
      <div className="flex h-10 shrink-0 items-center border-b border-line bg-panel px-3 pointer-coarse:h-12">
        <Ways
          label="View"
          start
          value={part}
          ways={[
            { key: 'texts', word: 'Texts' },
            { key: 'calls', word: 'Calls' },
            { key: 'people', word: 'Consent' },
          ]}
          onChange={(next) => go({ number: id, ...(next === 'texts' ? {} : { show: next }) }, true)}
        />
      </div>
      <div
        className={`min-w-0 flex-1 ${tight ? 'flex flex-col' : 'grid min-h-0 grid-cols-[minmax(0,1fr)_340px] grid-rows-[minmax(0,1fr)]'} ${reads ? 'min-h-0' : ''}`}
      >
        {part === 'texts' ? (
          <Conversations number={number} person={search.with} tight={tight} go={go} />
        ) : (
          // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
          <div className={`min-w-0 ${scrolls}`} onKeyDown={moveByArrows} data-scroll="true">
            {part === 'calls' ? (
              <CallList number={number} go={go} />
            ) : (
              <People number={number} search={search} go={go} />
            )}
          </div>
        )}
        {!(tight && reads) && (
          <aside
            aria-label="About the number"
            className={`flex min-w-0 flex-col gap-3 border-line p-3 *:shrink-0 ${tight ? 'border-t' : 'border-l'} ${scrolls}`}
          >
            {number.problem !== null && (
              <Trouble of="number" needsPerson={false}>
                {number.problem}
              </Trouble>
            )}
            {nobody !== null && (
              <Trouble of="number" needsPerson>
                {nobody}
              </Trouble>
            )}
            {number.port !== null && <PortCard number={number} given={number.port} />}
            <RegistrationCard number={number} onOpen={() => go({ number: id, show: 'register' })} />
            {part === 'calls' && <TransferTargets botId={number.botId} />}
            <AboutNumber number={number} onGone={() => go({})} />
          </aside>
        )}
      </div>
    </>
  );
}
