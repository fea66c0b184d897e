/** Notifications that need no answer: messages and finished work, newest first, each with a link to its subject. */
import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { eventRegistry } from '../../../contracts/events/registry.ts';
import type { Notification } from '../../../contracts/notifications/routes.ts';
import { firstRows, marksOf, type NewsPage, newsOf, portions } from '../../base/data/news.ts';
import { groupRows, saysAll } from '../../base/found-rows.ts';
import { SelectionBar, Tick, useSelection } from '../../base/selection.tsx';
import { useServices } from '../../base/services.tsx';
import { useOfferUndo } from '../../base/undo.ts';
import { useNotifications } from '../../base/use-news.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { isOfMail, MailDialog, type OfMail } from './mail-dialog.tsx';
import { placeOf } from './news-place.ts';

/** Of most rows, until they are measured. */
const defaultHeight = 46;
/** So near the end of what is known more is read. */
const readAhead = 20;

export function News({
  text,
  byKind,
}: {
  /** Only those that say all of its words. */
  text: string;
  byKind: boolean;
}) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const offerUndo = useOfferUndo();
  const navigate = useNavigate();
  const notifications = useNotifications();
  const [failure, setFailure] = useState<unknown>(null);
  const [all, setAll] = useState(false);
  const [mail, setMail] = useState<OfMail | null>(null);
  const { rows, total, unread, questions } = newsOf(notifications.data ?? { pages: [] });
  const found = rows.filter((one) => saysAll([one.title, one.body, kindOf(one)], text));
  const groups = groupRows(found, byKind ? kindOf : null);
  const ordered = groups.flatMap((group) => group.rows);
  const shown = all ? ordered : ordered.slice(0, firstRows);
  const count = text === '' ? total : found.length;
  const selection = useSelection(shown.map(({ id }) => id));
  const seen = portions(questions)[0]?.join(' ') ?? '';

  async function change(work: () => Promise<unknown>): Promise<void> {
    setFailure(null);
    try {
      await work();
    } catch (error) {
      setFailure(error);
    }
    await client.invalidateQueries({ queryKey: keys.notifications });
  }

  const read = (portions: readonly string[][]) =>
    change(async () => {
      for (const ids of portions) await api.notifications.readNotifications({ body: { ids } });
    });

  const readAll = (list: readonly Notification[]) =>
    change(async () => {
      const marked: string[] = [];
      for (const ids of marksOf(list)) marked.push((await api.notifications.readNotifications({ body: { ids } })).at);
      offerUndo('Marked as read', async () => {
        for (const at of marked) await api.notifications.readNotifications({ body: { undo: at } });
        await client.invalidateQueries({ queryKey: keys.notifications });
      });
    });

  // The questions above are shown in full, so opening the inbox counts as having seen them.
  useEffect(() => {
    if (seen === '') return;
    api.notifications.readNotifications({ body: { ids: seen.split(' ') } }).then(
      () => client.invalidateQueries({ queryKey: keys.notifications }),
      // They stay unread: nothing that a person would have to know.
      () => {},
    );
  }, [seen, api, client, keys]);

  // What is searched for may stand among older ones, which are read first.
  const { hasNextPage, isFetching, fetchNextPage } = notifications;
  const reading = (text !== '' || byKind) && hasNextPage;
  useEffect(() => {
    if (reading && !isFetching) void fetchNextPage();
  }, [reading, isFetching, fetchNextPage]);

  // Older ones are not read again and again where nobody looks at them.
  useEffect(
    () => () => {
      client.setQueryData<InfiniteData<NewsPage, string | undefined>>(
        keys.notifications,
        (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) },
      );
    },
    [client, keys],
  );

  /** Those that begin a group, with its name. */
  const headings = new Map(groups.flatMap(({ name, rows: [first] }) => (name === '' || !first ? [] : [[first, name]])));
  const rowOf = (one: Notification) => (
    <>
      {headings.has(one) && <h3 className="pt-2 text-meta text-muted">{headings.get(one)}</h3>}
      <div data-ticks={one.id} className="flex items-center gap-2">
        {found.length > 1 && <Tick selection={selection} id={one.id} label={one.title} />}
        <NewsRow
          one={one}
          onOpen={() => {
            if (one.readAt === null) void read([[one.id]]);
            if (isOfMail(one)) setMail(one);
            else void navigate({ href: placeOf(one) });
          }}
        />
      </div>
    </>
  );

  return (
    <section aria-label="Notifications" className="flex flex-col">
      <div className="flex min-h-7 items-center gap-2 pb-1">
        <h2 className="flex gap-2 font-semibold">
          Notifications
          <span className="font-normal text-muted tabular-nums">
            {total === 0 ? '' : `${total}${unread === 0 ? '' : `, ${unread} unread`}`}
          </span>
        </h2>
        {shown.some(({ readAt }) => readAt === null) && (
          <span className="ml-auto">
            <Button kind="quiet" onClick={() => void readAll(shown)}>
              Mark shown as read
            </Button>
          </span>
        )}
      </div>
      {failure !== null && <Problem error={failure} />}
      {mail !== null && <MailDialog news={mail} onClose={() => setMail(null)} />}
      <ListStates
        source={notifications}
        skeleton={<SkeletonRows count={3} height={defaultHeight} />}
        isEmpty={() => total === 0}
        empty={<Empty>Finished runs, bots that need you, messages and spending appear here as they happen.</Empty>}
      >
        {() =>
          found.length === 0 ? (
            <p className="px-[13px] text-muted">{reading ? 'Searching older ones…' : 'No notification matches.'}</p>
          ) : all ? (
            <AllRows
              rows={ordered}
              rowOf={rowOf}
              more={hasNextPage && !isFetching}
              onMore={() => void fetchNextPage()}
            />
          ) : (
            <>
              <ul>
                {shown.map((one) => (
                  <li key={one.id}>{rowOf(one)}</li>
                ))}
              </ul>
              {count > shown.length && (
                <Button kind="quiet" onClick={() => setAll(true)}>
                  Show {count - shown.length} more
                </Button>
              )}
            </>
          )
        }
      </ListStates>
      <SelectionBar selection={selection} label="Selected notifications">
        <Button
          onClick={() => {
            void readAll(shown.filter(({ id }) => selection.chosen.includes(id)));
            selection.clear();
          }}
        >
          Mark as read
        </Button>
      </SelectionBar>
    </section>
  );
}

/** In a box of their own, of which those in sight are drawn; older ones are read as its end comes near. */
function AllRows({
  rows,
  rowOf,
  more,
  onMore,
}: {
  rows: readonly Notification[];
  rowOf: (one: Notification) => ReactNode;
  /** Whether there are older ones that can be asked for now. */
  more: boolean;
  onMore: () => void;
}) {
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => defaultHeight,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 8,
  });
  const items = virtual.getVirtualItems();
  const atEnd = (items.at(-1)?.index ?? 0) + readAhead >= rows.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each page that came may not be enough
  useEffect(() => {
    if (atEnd && more) onMore();
  }, [atEnd, more]);
  return (
    <div ref={scroll} data-scroll="true" className="-mx-2 max-h-[70dvh] overflow-y-auto px-2">
      <ul className="relative" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const one = rows[item.index];
          return (
            one !== undefined && (
              <li
                key={item.key}
                data-index={item.index}
                ref={virtual.measureElement}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {rowOf(one)}
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}

/** What kind of event it tells of, in words. */
const kindOf = ({ event }: Notification): string => kinds.get(event) ?? event;
const kinds = new Map(eventRegistry.map(({ type, title }) => [type as string, title]));

function NewsRow({ one, onOpen }: { one: Notification; onOpen: () => void }) {
  const unread = one.readAt === null;
  return (
    <button
      type="button"
      data-row="true"
      data-unread={unread ? 'true' : undefined}
      onClick={onOpen}
      title={one.event}
      className="-mr-2 grid min-w-0 flex-1 grid-cols-[6px_1fr_auto] items-baseline gap-x-[7px] rounded-control px-2 py-1 text-left hover:bg-raised pointer-coarse:min-h-10"
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
  );
}
