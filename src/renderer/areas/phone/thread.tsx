/** Texts with one person, oldest first, each with its parts and result; and the field for an answer. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Ban, Paperclip } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { Conversation, TextMessage } from '../../../contracts/phone/texts.ts';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { Button } from '../../ui/button.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Status } from '../../ui/status.tsx';
import { CallDialog } from './call-dialog.tsx';
import { OptOutDialog } from './consent-dialogs.tsx';
import { textStatus } from './phone-status.ts';
import { numberWords, readNumber } from './phone-words.ts';
import { TextComposer } from './text-composer.tsx';
import { usePhoneServices } from './use-phone-services.ts';

export function Thread({
  number,
  person,
  conversation,
  known,
  onConsent,
  onDialled,
}: {
  number: PhoneNumber;
  person: string;
  /** Undefined: there is none, or it is not known yet. */
  conversation: Conversation | undefined;
  /** Whether it is known who texted. */
  known: boolean;
  onConsent: () => void;
  onDialled: (callId: string) => void;
}) {
  const { queries } = usePhoneServices();
  const source = useInfiniteQuery(queries.texts(number.id, person));
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState<'call' | 'stop' | null>(null);
  const messages = source.data?.pages.flatMap((page) => page.messages).toReversed() ?? [];
  const last = messages.at(-1)?.id;
  // Keeps the newest text in view, unless the reader has scrolled up.
  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new message scrolls
  useEffect(() => {
    if (atEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [last]);
  return (
    <section
      aria-label={`Texts with ${conversation?.name ?? numberWords(person)}`}
      className="flex min-h-0 min-w-0 flex-1 flex-col"
    >
      <header className="flex min-h-9 shrink-0 flex-wrap items-center gap-x-3 border-b border-line px-3 py-1">
        <h2 className="min-w-0 flex-1 truncate font-semibold tabular-nums">
          {conversation?.name ?? numberWords(person)}
        </h2>
        {conversation?.optedOut === true && (
          <span className="inline-flex items-center gap-1.5 text-muted">
            <Ban className="size-3.5" aria-hidden="true" />
            Said STOP
          </span>
        )}
        {conversation?.mayCall === true && (
          <Button kind="quiet" onClick={() => setOpen('call')}>
            Call
          </Button>
        )}
        {conversation?.optedOut === false && readNumber(person) !== null && (
          <Button kind="quiet" onClick={() => setOpen('stop')}>
            Record a STOP
          </Button>
        )}
      </header>
      <div
        ref={box}
        role="log"
        aria-label="Messages"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          atEnd.current = scrollHeight - scrollTop - clientHeight < 40;
        }}
        className="min-h-0 flex-1 overflow-y-auto p-3"
      >
        <ListStates
          source={source}
          skeleton={<SkeletonRows count={4} height={52} />}
          isEmpty={() => messages.length === 0}
          empty={<Empty>No texts with them yet.</Empty>}
        >
          {() => (
            <>
              {source.hasNextPage && (
                <p className="pb-3 text-center">
                  <Button disabled={source.isFetchingNextPage} onClick={() => void source.fetchNextPage()}>
                    Older
                  </Button>
                </p>
              )}
              <ol className="flex flex-col gap-2">
                {messages.map((message) => (
                  <Message key={message.id} message={message} />
                ))}
              </ol>
            </>
          )}
        </ListStates>
      </div>
      <TextComposer number={number} person={person} conversation={conversation} known={known} />
      {open === 'stop' && <OptOutDialog number={number} who={person} onClose={() => setOpen(null)} />}
      {open === 'call' && (
        <CallDialog
          number={number}
          to={person}
          onClose={() => setOpen(null)}
          onConsent={onConsent}
          onDialled={onDialled}
        />
      )}
    </section>
  );
}

function Message({ message }: { message: TextMessage }) {
  const nameOf = useNameOfBot();
  const { direction, text, media, parts, status, reason, by, botId, at } = message;
  const out = direction === 'out';
  const who = by === 'person' ? 'you' : by === 'service' ? 'Gantry' : nameOf(botId ?? '', 'the bot');
  return (
    <li
      data-text={status}
      className={`flex max-w-[85%] min-w-0 flex-col gap-0.5 ${out ? 'items-end self-end' : 'items-start self-start'}`}
    >
      <div className={`max-w-full rounded-panel border border-line px-2.5 py-1.5 ${out ? 'bg-selected' : 'bg-panel'}`}>
        {text !== '' && <p className="break-words whitespace-pre-wrap">{text}</p>}
        {media.map((one) => (
          <a
            key={one.url}
            href={one.url}
            target="_blank"
            rel="noreferrer"
            className="flex items-center gap-1.5 rounded-control underline"
          >
            <Paperclip className="size-3.5 shrink-0" aria-hidden="true" />
            {one.contentType?.startsWith('image/') === false ? 'File' : 'Picture'}
            {one.size !== null && (
              <span className="text-meta text-muted tabular-nums">{Math.ceil(one.size / 1000)} kB</span>
            )}
          </a>
        ))}
      </div>
      <p
        className={`flex flex-wrap items-center gap-x-2 px-1 text-meta text-muted ${out ? 'justify-end text-right' : ''}`}
      >
        {(out || status === 'kept_back') && <Status look={textStatus[status]} wire={status} />}
        {reason !== null && reason !== text.trim().toUpperCase() && (
          <span className="min-w-0 break-words">{reason}</span>
        )}
        {out && <span>by {who}</span>}
        {parts > 1 && <span className="tabular-nums">{countWords(parts, 'part')}</span>}
        <Ago at={at} />
      </p>
    </li>
  );
}
