/** Threads in sentences: who wrote to whom last, the first words, and whether an answer is missing; one opens its messages. */
import { useQuery } from '@tanstack/react-query';
import { ArrowLeft, MessageCircleQuestionMark } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { Agent } from '../../../contracts/factory/agent.ts';
import { isUnanswered, lastWords, partyWords, type Thread } from '../../../contracts/factory/delivery.ts';
import { useServices } from '../../base/services.tsx';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { IconButton } from '../../ui/button.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';

export function Threads({ agents }: { agents: readonly Agent[] }) {
  const { queries } = useServices();
  const threads = useQuery(queries.threads);
  const [open, setOpen] = useState<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const left = useRef<string | null>(null);
  // Back at the list, the row that was open has the focus again.
  useEffect(() => {
    if (open === null && left.current !== null) {
      list.current?.querySelector<HTMLElement>(`[data-thread="${left.current}"]`)?.focus();
      left.current = null;
    }
  }, [open]);
  const thread = threads.data?.threads.find(({ id }) => id === open);
  if (thread !== undefined) {
    const close = (): void => {
      left.current = thread.id;
      setOpen(null);
    };
    return <Conversation thread={thread} onBack={close} />;
  }
  return (
    <ListStates
      source={threads}
      skeleton={<SkeletonRows count={4} height={56} />}
      isEmpty={(data) => data.threads.length === 0}
      empty={
        <Empty>
          Conversations appear here: by text message, through a connector, and those you open with{' '}
          <code>gantry orchestration threads --create</code>.
        </Empty>
      }
      fill
    >
      {(data) => (
        <>
          <ul ref={list} aria-label="Threads" className="min-h-0 flex-1 overflow-y-auto" onKeyDown={moveByArrows}>
            {data.threads.map((one) => (
              <li key={one.id}>
                <button
                  type="button"
                  data-row="true"
                  data-thread={one.id}
                  onClick={() => setOpen(one.id)}
                  className="flex w-full min-w-0 flex-col gap-0.5 border-b border-line px-3 py-1.5 text-left hover:bg-raised"
                >
                  <span className="flex w-full items-baseline gap-2">
                    <span className="min-w-0 flex-1 truncate font-medium">{one.title}</span>
                    <span className="shrink-0 text-meta text-faint">
                      <Ago at={one.lastMessageAt} />
                    </span>
                  </span>
                  <span className="w-full truncate text-meta text-muted">
                    {lastWords(one) ?? `No messages yet${botOf(one, agents)}`}
                  </span>
                  {isUnanswered(one) && <Unanswered />}
                </button>
              </li>
            ))}
          </ul>
          {data.nextCursor !== null && (
            <p className="border-t border-line px-3 py-2 text-meta text-muted">
              Older ones: <code>gantry orchestration threads --cursor</code>
            </p>
          )}
        </>
      )}
    </ListStates>
  );
}

function botOf({ botId }: Thread, agents: readonly Agent[]): string {
  const bot = agents.find(({ id }) => id === botId);
  return bot === undefined ? '' : ` with ${bot.name}`;
}

function Unanswered() {
  return (
    <span className="inline-flex items-center gap-1 text-meta text-muted">
      <MessageCircleQuestionMark className="size-3.5" aria-hidden="true" />
      Unanswered
    </span>
  );
}

/** Messages come newest first; a person reads downwards. */
function Conversation({ thread, onBack }: { thread: Thread; onBack: () => void }) {
  const { queries } = useServices();
  const messages = useQuery(queries.messagesOf(thread.id));
  const back = useRef<HTMLButtonElement>(null);
  useEffect(() => back.current?.focus(), []);
  return (
    <section aria-label={thread.title} className="flex min-h-0 flex-1 flex-col">
      <header className="flex items-center gap-1 border-b border-line py-1 pr-3 pl-1">
        <IconButton ref={back} label="Back to the threads" onClick={onBack}>
          <ArrowLeft aria-hidden="true" />
        </IconButton>
        <h2 className="min-w-0 flex-1 truncate font-semibold">{thread.title}</h2>
        {isUnanswered(thread) && <Unanswered />}
      </header>
      <ListStates
        source={messages}
        skeleton={<SkeletonRows count={4} height={44} />}
        isEmpty={(data) => data.messages.length === 0}
        empty={<Empty>No messages in this thread yet.</Empty>}
        fill
      >
        {(data) => (
          <ol className="min-h-0 flex-1 overflow-y-auto py-1">
            {data.nextCursor !== null && (
              <li className="px-3 py-1 text-meta text-muted">The newest {data.messages.length} messages.</li>
            )}
            {data.messages.toReversed().map((one) => (
              <li key={one.id} className="px-3 py-1.5">
                <p className="flex gap-2 text-meta text-muted">
                  <span className="min-w-0 flex-1 truncate">
                    {partyWords(one.from)} → {partyWords(one.to)}
                  </span>
                  <Ago at={one.at} />
                </p>
                <p className="wrap-anywhere whitespace-pre-wrap">{one.text}</p>
              </li>
            ))}
          </ol>
        )}
      </ListStates>
    </section>
  );
}
