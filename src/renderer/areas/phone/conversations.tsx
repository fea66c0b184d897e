/** A number's text conversations, newest first, and the texts with one person. */
import { useQuery } from '@tanstack/react-query';
import { Ban } from 'lucide-react';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { Conversation } from '../../../contracts/phone/texts.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/copy.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, useNow } from '../../ui/now.tsx';
import { Status } from '../../ui/status.tsx';
import { isUnanswered } from './can-answer.ts';
import { unanswered } from './phone-status.ts';
import { numberWords } from './phone-words.ts';
import { Thread } from './thread.tsx';
import { useIsDemo, usePhoneServices } from './use-phone-services.ts';
import type { Go } from './within.ts';

export function Conversations({
  number,
  person,
  tight,
  go,
}: {
  number: PhoneNumber;
  /** Whose conversation is open. */
  person: string | undefined;
  /** There is room for one of the two. */
  tight: boolean;
  go: Go;
}) {
  const { queries } = usePhoneServices();
  const source = useQuery(queries.conversations(number.id));
  const nobody = source.data?.conversations.length === 0;
  const open = (one: string) => go({ number: number.id, with: one }, person !== undefined);
  const list = (
    <nav
      aria-label="Conversations"
      className={`min-w-0 ${tight ? '' : 'min-h-0 overflow-y-auto'} ${tight || nobody ? '' : 'border-r border-line'}`}
      onKeyDown={moveByArrows}
    >
      <ListStates
        source={source}
        skeleton={<SkeletonRows count={5} height={56} />}
        isEmpty={({ conversations }) => conversations.length === 0}
        empty={<Nobody number={number} onHandsets={() => go({ page: 'handsets' })} />}
      >
        {({ conversations, nextCursor }) => (
          <ul>
            {conversations.map((one) => (
              <Row key={one.with} one={one} selected={one.with === person} onOpen={() => open(one.with)} />
            ))}
            {nextCursor !== null && (
              <li className="p-3 text-meta text-muted">Older conversations return once those people write again.</li>
            )}
          </ul>
        )}
      </ListStates>
    </nav>
  );
  const one = source.data?.conversations.find((conversation) => conversation.with === person);
  const thread =
    person === undefined ? null : (
      <Thread
        key={person}
        number={number}
        person={person}
        conversation={one}
        known={source.data !== undefined}
        onConsent={() => go({ number: number.id, show: 'people' })}
        onDialled={(call) => go({ number: number.id, show: 'calls', call })}
      />
    );
  if (tight) return thread ?? list;
  if (nobody && thread === null) return list;
  return (
    <div className="grid min-h-0 min-w-0 grid-cols-[224px_minmax(0,1fr)] grid-rows-[minmax(0,1fr)]">
      {list}
      {thread ?? <p className="p-4 text-muted">Choose a conversation.</p>}
    </div>
  );
}

function Row({ one, selected, onOpen }: { one: Conversation; selected: boolean; onOpen: () => void }) {
  const { last } = one;
  const waits = isUnanswered(one, useNow());
  return (
    <li className="border-b border-line">
      <button
        type="button"
        data-row="true"
        data-conversation={one.with}
        aria-current={selected ? 'true' : undefined}
        onClick={onOpen}
        className={`flex min-h-14 w-full min-w-0 flex-col justify-center px-3 py-1.5 text-left hover:bg-raised ${selected ? 'bg-selected hover:bg-selected' : ''}`}
      >
        <span className="flex w-full min-w-0 items-baseline gap-2">
          <span className="min-w-0 flex-1 truncate font-medium tabular-nums">{one.name ?? numberWords(one.with)}</span>
          <span className="shrink-0 text-meta text-muted">
            <Ago at={last.at} />
          </span>
        </span>
        <span className="flex w-full min-w-0 items-center gap-1.5 text-meta text-muted">
          {one.optedOut && (
            <span className="inline-flex shrink-0 items-center gap-1">
              <Ban className="size-3" aria-hidden="true" />
              STOP ·
            </span>
          )}
          {waits && <Status look={unanswered} wire="the last text is theirs" />}
          <span className="min-w-0 truncate">
            {last.direction === 'out' && 'You: '}
            {last.text === '' && last.media.length > 0 ? 'a picture' : last.text}
          </span>
        </span>
      </button>
    </li>
  );
}

function Nobody({ number, onHandsets }: { number: PhoneNumber; onHandsets: () => void }) {
  const isDemo = useIsDemo();
  return (
    <div data-state="empty" className="flex max-w-[560px] flex-col items-start gap-2 p-4 text-muted">
      <p>Nobody has texted this number yet. People text first. Their texts and the bot’s answers appear here.</p>
      {isDemo ? (
        <Button onClick={onHandsets}>Text it from a handset</Button>
      ) : (
        <>
          <p>Give them the number:</p>
          <Command text={number.e164} />
        </>
      )}
    </div>
  );
}
