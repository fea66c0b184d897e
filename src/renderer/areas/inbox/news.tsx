/** What happened and needs no answer: messages and finished things, newest first, each with the way to what it is about. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { Notification } from '../../../contracts/notifications/routes.ts';
import { useServices } from '../../app/services.tsx';
import { useNotifications } from '../../app/use-news.ts';
import { newsOf } from '../../data/news.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';

/** Before more is asked for: below stands what was answered. */
const firstRows = 8;

export function News() {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const navigate = useNavigate();
  const notifications = useNotifications();
  const [failure, setFailure] = useState<unknown>(null);
  const [all, setAll] = useState(false);
  const unread = notifications.data === undefined ? 0 : newsOf(notifications.data).unread;
  const questions = notifications.data === undefined ? '' : newsOf(notifications.data).questions.join(' ');

  /** `id` null: all of them. */
  async function read(id: string | null): Promise<void> {
    setFailure(null);
    try {
      if (id === null) await api.notifications.readNotifications({ body: { all: true } });
      else await api.notifications.readNotifications({ body: { ids: [id] } });
    } catch (error) {
      setFailure(error);
    }
    await client.invalidateQueries({ queryKey: keys.notifications });
  }

  // Questions stand above with all they ask: whoever looks at the inbox has seen them.
  useEffect(() => {
    if (questions === '') return;
    api.notifications.readNotifications({ body: { ids: questions.split(' ') } }).then(
      () => client.invalidateQueries({ queryKey: keys.notifications }),
      // They stay unread: nothing that a person would have to know.
      () => {},
    );
  }, [questions, api, client, keys]);

  return (
    <section aria-label="Notifications" className="flex flex-col">
      <div className="flex min-h-7 items-center gap-2 pb-1">
        <h2 className="flex gap-2 font-semibold">
          Notifications
          <span className="font-normal text-muted tabular-nums">{unread === 0 ? '' : `${unread} unread`}</span>
        </h2>
        {unread > 0 && (
          <span className="ml-auto">
            <Button kind="quiet" onClick={() => void read(null)}>
              Mark all read
            </Button>
          </span>
        )}
      </div>
      {failure !== null && <Problem error={failure} />}
      <ListStates
        source={notifications}
        skeleton={<SkeletonRows count={3} height={46} />}
        isEmpty={(data) => newsOf(data).rows.length === 0}
        empty={<Empty>Runs that end, bots that need you, messages and spending will be here as they happen.</Empty>}
      >
        {(data) => {
          const { rows } = newsOf(data);
          return (
            <>
              <ul>
                {(all ? rows : rows.slice(0, firstRows)).map((one) => (
                  <NewsRow
                    key={one.id}
                    one={one}
                    onOpen={() => {
                      if (one.readAt === null) void read(one.id);
                      void navigate({ href: one.url });
                    }}
                  />
                ))}
              </ul>
              {!all && rows.length > firstRows && (
                <Button kind="quiet" onClick={() => setAll(true)}>
                  Show {rows.length - firstRows} more
                </Button>
              )}
            </>
          );
        }}
      </ListStates>
    </section>
  );
}

function NewsRow({ one, onOpen }: { one: Notification; onOpen: () => void }) {
  const unread = one.readAt === null;
  return (
    <li>
      <button
        type="button"
        data-row="true"
        data-unread={unread ? 'true' : undefined}
        onClick={onOpen}
        title={one.event}
        className="-mx-2 grid w-[calc(100%+1rem)] grid-cols-[6px_1fr_auto] items-baseline gap-x-[7px] rounded-control px-2 py-1 text-left hover:bg-raised pointer-coarse:min-h-10"
      >
        <span className={`size-1.5 self-center rounded-full ${unread ? 'bg-accent' : ''}`}>
          {unread && <span className="sr-only">Unread: </span>}
        </span>
        <span className={`min-w-0 truncate ${unread ? 'font-medium' : 'text-muted'}`}>{one.title}</span>
        <span className="text-meta text-faint">
          <Ago at={one.at} />
        </span>
        {one.body !== '' && <span className="col-start-2 min-w-0 truncate text-meta text-muted">{one.body}</span>}
      </button>
    </li>
  );
}
