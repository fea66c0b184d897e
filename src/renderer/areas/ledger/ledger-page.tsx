/** The ledger: what happened, newest first, by kind, subject and actor; and whether its chain still holds. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowLeft, X } from 'lucide-react';
import { useCallback, useMemo, useRef, useState } from 'react';
import type { LedgerRow } from '../../../contracts/factory/work-engine/ledger.ts';
import { type Action, useAddActions } from '../../app/actions.ts';
import { useServices } from '../../app/services.tsx';
import { useTight } from '../../app/use-narrow.ts';
import { type LedgerRows, ledgerQuery, olderRows } from '../../data/ledger-rows.ts';
import { keys, type LedgerFilter } from '../../data/queries.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { VerifyLedger } from './verify-ledger.tsx';

const rowHeight = 28;

export function LedgerPage() {
  const { api } = useServices();
  const search = useSearch({ from: '/ledger' });
  const navigate = useNavigate();
  const tight = useTight();
  const page = useRef<HTMLDivElement>(null);
  const [verifying, setVerifying] = useState(0);
  const filter: LedgerFilter = useMemo(
    () => ({
      ...(search.type === undefined ? {} : { type: search.type }),
      ...(search.subject === undefined ? {} : { subject: search.subject }),
      ...(search.actor === undefined ? {} : { actor: search.actor }),
    }),
    [search.type, search.subject, search.actor],
  );
  const rows = useQuery(ledgerQuery(api.factory, filter));
  const go = useCallback(
    (change: Partial<typeof search>, replace = false) =>
      void navigate({ to: '/ledger', search: (old) => ({ ...old, ...change }), replace }),
    [navigate],
  );
  const here = rows.data?.rows.find((row) => row.id === search.row);
  // A link or a verdict may name a row that is not among those read yet.
  const apart = useQuery({
    queryKey: ['ledger-row', search.row],
    queryFn: ({ signal }) =>
      api.factory.queryLedger({ query: { before: String(Number(search.row) + 1), limit: 1 } }, { signal }),
    enabled: search.row !== undefined && rows.data !== undefined && here === undefined,
  });
  const chosen = here ?? apart.data?.rows.find((row) => row.id === search.row) ?? null;
  const close = useCallback(() => {
    go({ row: undefined });
    requestAnimationFrame(() => page.current?.querySelector<HTMLElement>('[data-row][aria-current]')?.focus());
  }, [go]);

  const actions = useMemo<readonly Action[]>(
    () => [
      { id: 'verify', title: 'Verify the ledger', group: 'Work', keys: 'v', run: () => setVerifying((n) => n + 1) },
      {
        id: 'filter',
        title: 'Filter the ledger by kind',
        group: 'View',
        keys: '/',
        run: () => page.current?.querySelector<HTMLElement>('[data-filter]')?.focus(),
      },
      {
        id: 'back',
        title: 'Back to the rows',
        group: 'View',
        keys: 'Esc',
        hidden: true,
        run: () => {
          if (search.row !== undefined) close();
          else page.current?.querySelector<HTMLElement>('[data-row]')?.focus();
        },
      },
    ],
    [close, search.row],
  );
  useAddActions(actions);

  const details = chosen !== null && <RowDetails row={chosen} onClose={close} tight={tight} onFilter={go} />;
  return (
    <div ref={page} className="flex min-w-0 flex-1">
      <main className="flex min-h-0 min-w-0 flex-1 flex-col">
        <header className="flex min-h-10 shrink-0 flex-wrap items-center gap-2 border-b border-line bg-panel px-3 py-1">
          <h1 className="text-title font-semibold">Ledger</h1>
          <Filter
            name="Kind"
            placeholder="kind ( / )"
            value={search.type}
            first
            onChange={(type) => go({ type }, true)}
          />
          <Filter
            name="Subject"
            placeholder="subject"
            value={search.subject}
            onChange={(subject) => go({ subject }, true)}
          />
          <Filter name="Actor" placeholder="actor" value={search.actor} onChange={(actor) => go({ actor }, true)} />
          <span className="ml-auto">
            <Button kind="primary" aria-keyshortcuts="v" onClick={() => setVerifying((n) => n + 1)}>
              Verify
            </Button>
          </span>
        </header>
        {verifying > 0 && <VerifyLedger key={verifying} onRow={(row) => go({ row })} onClose={() => setVerifying(0)} />}
        {tight && chosen !== null ? (
          details
        ) : (
          <ListStates
            source={rows}
            skeleton={<SkeletonRows count={12} />}
            isEmpty={(data) => data.rows.length === 0}
            empty={
              <Empty>
                {Object.keys(filter).length === 0
                  ? 'Everything that is sent, decided and proven will be here, each line sealed with the one before.'
                  : 'No row matches this filter.'}
              </Empty>
            }
            fill
          >
            {(data) => (
              <Rows data={data} filter={filter} selected={search.row ?? null} onOpen={(row) => go({ row: row.id })} />
            )}
          </ListStates>
        )}
      </main>
      {!tight && details !== false && (
        <aside aria-label="Inspector" className="flex w-[380px] shrink-0 flex-col border-l border-line">
          {details}
        </aside>
      )}
    </div>
  );
}

/** Who an actor is: "you", a bot's address, else the id as it stands. */
function useActorName(): (actor: string) => string {
  const { queries } = useServices();
  const me = useQuery(queries.session).data?.user;
  const agents = useQuery(queries.agents).data?.agents;
  return (actor) => (actor === me ? 'you' : (agents?.find((one) => one.id === actor)?.address ?? actor));
}

/** Asked when it is left or Enter is pressed, not with every letter: each is a question to the server. */
function Filter({
  name,
  placeholder,
  value,
  first = false,
  onChange,
}: {
  name: string;
  placeholder: string;
  value: string | undefined;
  first?: boolean;
  onChange: (value: string | undefined) => void;
}) {
  const take = (text: string): void => {
    const next = text.trim() === '' ? undefined : text.trim();
    if (next !== value) onChange(next);
  };
  return (
    <input
      key={value ?? ''}
      type="search"
      data-filter={first ? 'true' : undefined}
      defaultValue={value ?? ''}
      aria-label={name}
      placeholder={placeholder}
      spellCheck={false}
      onBlur={(event) => take(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') take(event.currentTarget.value);
      }}
      className={`h-7 min-w-0 rounded-control border border-line bg-window px-2 font-mono text-code max-sm:flex-1 max-sm:basis-24 pointer-coarse:h-10 ${first ? 'w-44' : 'w-36'}`}
    />
  );
}

function Rows({
  data,
  filter,
  selected,
  onOpen,
}: {
  data: LedgerRows;
  filter: LedgerFilter;
  selected: string | null;
  onOpen: (row: LedgerRow) => void;
}) {
  const { api } = useServices();
  const client = useQueryClient();
  const nameOf = useActorName();
  const scroll = useRef<HTMLDivElement>(null);
  const [reading, setReading] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const virtual = useVirtualizer({
    count: data.rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => data.rows[index]?.id ?? index,
    overscan: 20,
  });

  async function readOlder(): Promise<void> {
    if (reading) return;
    setReading(true);
    setFailure(null);
    try {
      const known = await olderRows(api.factory, filter, data);
      client.setQueryData<LedgerRows>(keys.ledger(filter), (now) =>
        // What came in meanwhile stays on top.
        now === undefined
          ? known
          : { ...now, rows: [...now.rows, ...known.rows.slice(data.rows.length)], more: known.more },
      );
    } catch (error) {
      setFailure(error);
    }
    setReading(false);
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
    <div ref={scroll} className="min-h-0 flex-1 overflow-y-auto" onKeyDown={moveByArrows}>
      <ol aria-label="Rows" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = data.rows[item.index];
          if (row === undefined) return null;
          return (
            <li
              key={row.id}
              className="absolute inset-x-0 top-0"
              style={{ height: rowHeight, transform: `translateY(${item.start}px)` }}
            >
              <button
                type="button"
                data-row="true"
                data-ledger={row.id}
                aria-current={row.id === selected ? 'true' : undefined}
                onClick={() => onOpen(row)}
                className="grid h-full w-full grid-cols-[56px_minmax(96px,180px)_minmax(0,1fr)_72px] items-center gap-3 px-3 text-left hover:bg-raised aria-[current]:bg-selected sm:grid-cols-[56px_180px_minmax(0,1fr)_minmax(0,160px)_84px]"
              >
                <span className="text-right font-mono text-meta text-faint tabular-nums">{row.id}</span>
                <span className={`truncate ${row.body === null ? 'text-fail' : ''}`}>{row.type}</span>
                <span className="truncate font-mono text-meta text-muted">{row.subject}</span>
                <span className="truncate text-meta text-muted max-sm:hidden" title={row.actor}>
                  {nameOf(row.actor)}
                </span>
                <span className="truncate text-right text-meta text-faint">
                  <Ago at={row.at} />
                </span>
              </button>
            </li>
          );
        })}
      </ol>
      <div className="flex items-center gap-3 p-3 text-meta text-muted">
        {data.more ? (
          <Button onClick={() => void readOlder()} disabled={reading}>
            {reading ? 'Reading' : 'Older rows'}
          </Button>
        ) : (
          'This is the beginning.'
        )}
        {failure !== null && <Problem error={failure} />}
      </div>
    </div>
  );
}

function RowDetails({
  row,
  tight,
  onClose,
  onFilter,
}: {
  row: LedgerRow;
  tight: boolean;
  onClose: () => void;
  onFilter: (change: { subject: string }) => void;
}) {
  const nameOf = useActorName();
  return (
    <section aria-label={`Row ${row.id}`} className="flex min-h-0 flex-1 flex-col bg-panel">
      <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line pr-2 pl-3">
        {tight && (
          <IconButton label="Back to the rows" onClick={onClose}>
            <ArrowLeft aria-hidden="true" />
          </IconButton>
        )}
        <h2 className="min-w-0 flex-1 truncate text-title font-semibold">
          {row.type} <span className="font-normal text-muted tabular-nums">{row.id}</span>
        </h2>
        {!tight && (
          <IconButton label="Close the row" shortcut="Esc" onClick={onClose}>
            <X aria-hidden="true" />
          </IconButton>
        )}
      </header>
      <div className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-3">
        <dl className="flex flex-col gap-1">
          <Fact name="When">
            <Ago at={row.at} /> <span className="text-muted">{row.at}</span>
          </Fact>
          <Fact name="Subject">
            <span className="font-mono text-code">{row.subject}</span>
          </Fact>
          <Fact name="Actor">
            <span title={row.actor}>{nameOf(row.actor)}</span> <span className="text-muted">via {row.surface}</span>
          </Fact>
          <Fact name="Hash">
            <ShortId id={row.hash} />
          </Fact>
        </dl>
        <div>
          <Button onClick={() => onFilter({ subject: row.subject })}>All rows of this subject</Button>
        </div>
        {row.body === null ? (
          <p className="text-fail">What stands here cannot be read. Verify names the row and what is wrong with it.</p>
        ) : (
          <TextView text={JSON.stringify(row.body, null, 2)} label="Body" maxLines={40} />
        )}
      </div>
    </section>
  );
}
