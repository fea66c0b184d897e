/** The ledger, newest first, by kind, subject and actor; and whether its chain is intact. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { BadgeCheck, CircleX, X } from 'lucide-react';
import { useCallback, useMemo, useRef, useState } from 'react';
import type { Action } from '../../base/actions.ts';
import type { LedgerFilter } from '../../base/data/keys.ts';
import { useAddActions, useServices } from '../../base/services.tsx';
import { useFollowed } from '../../base/use-followed.ts';
import { useTight } from '../../base/use-narrow.ts';
import { backAction, filterAction, focusIn } from '../../base/way-back.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { WorkProgressLine } from '../../ui/work-progress.tsx';
import { LedgerList } from './ledger-list.tsx';
import { ledgerQuery } from './queries.ts';
import { RowDetails } from './row-details.tsx';

export function LedgerPage() {
  const { api, computer, keys } = useServices();
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
  const rows = useQuery(ledgerQuery(api.factory, keys, filter));
  const go = useCallback(
    (change: Partial<typeof search>, replace = false) =>
      void navigate({ to: '/ledger', search: (old) => ({ ...old, ...change }), replace }),
    [navigate],
  );
  const here = rows.data?.rows.find((row) => row.id === search.row);
  // A link or a verdict may name a row that is not among those read yet.
  const apart = useQuery({
    queryKey: ['ledger-row', computer, search.row],
    queryFn: ({ signal }) =>
      api.factory.queryLedger({ query: { before: String(Number(search.row) + 1), limit: 1 } }, { signal }),
    enabled: search.row !== undefined && rows.data !== undefined && here === undefined,
  });
  const chosen = here ?? apart.data?.rows.find((row) => row.id === search.row) ?? null;
  const close = useCallback(() => {
    go({ row: undefined });
    requestAnimationFrame(() => focusIn(page, '[data-row][aria-current]'));
  }, [go]);

  const actions = useMemo<readonly Action[]>(
    () => [
      { id: 'verify', title: 'Verify the ledger', group: 'Work', keys: 'v', run: () => setVerifying((n) => n + 1) },
      filterAction(page, 'Filter the ledger by kind'),
      backAction(page, search.row === undefined ? null : close, 'Back to the rows'),
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
          <div className="flex min-w-0 gap-2 max-sm:order-last max-sm:w-full">
            <Filter name="Kind" placeholder="kind" value={search.type} first onChange={(type) => go({ type }, true)} />
            <Filter
              name="Subject"
              placeholder="subject"
              value={search.subject}
              onChange={(subject) => go({ subject }, true)}
            />
            <Filter name="Actor" placeholder="actor" value={search.actor} onChange={(actor) => go({ actor }, true)} />
          </div>
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
                  ? 'Everything that is sent, decided and proven appears here, each row chained to the one before.'
                  : 'No row matches this filter.'}
              </Empty>
            }
            fill
          >
            {(data) => (
              <LedgerList
                data={data}
                filter={filter}
                selected={search.row ?? null}
                onOpen={(row) => go({ row: row.id })}
              />
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
      className={`h-7 min-w-0 rounded-control border border-line bg-window px-2 font-mono text-code max-sm:flex-1 pointer-coarse:h-10 ${first ? 'w-44' : 'w-36'}`}
    />
  );
}

/** The verdict on the whole ledger: it is intact, or which row is in question and what to do. */
function VerifyLedger({ onRow, onClose }: { onRow: (id: string) => void; onClose: () => void }) {
  const { api, computer } = useServices();
  const { progress, follow } = useFollowed();
  const verdict = useQuery({
    queryKey: ['verify', computer],
    queryFn: ({ signal }) => follow((headers) => api.factory.verifyLedger({}, { signal, headers })),
    gcTime: 0,
    staleTime: 0,
  });
  const { data, error } = verdict;
  if (error !== null) return <Problem error={error} />;
  return (
    <section
      aria-label="Verdict"
      aria-live="polite"
      // How far it is is no news to read out each time.
      aria-busy={data === undefined}
      data-verdict={data === undefined ? 'reading' : data.ok ? 'sound' : data.problem}
      className="flex shrink-0 items-start gap-2 border-b border-line bg-panel px-3 py-2"
    >
      {data === undefined ? (
        progress === null ? (
          <p className="text-muted">Checking every row against the one before …</p>
        ) : (
          <WorkProgressLine progress={progress} />
        )
      ) : data.ok ? (
        <p className="flex flex-wrap items-center gap-x-2">
          <BadgeCheck className="size-4 text-proven" aria-hidden="true" />
          <span className="text-proven">The ledger is intact</span>
          <span className="text-muted tabular-nums">
            {data.rows.toLocaleString()} rows, head {data.head.id} <ShortId id={data.head.hash} />
            {data.heads > 0 && `, compared with ${data.heads} exported heads`}
          </span>
        </p>
      ) : (
        <div className="flex min-w-0 flex-col items-start gap-1">
          <p className="flex gap-2 text-fail">
            <CircleX className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
            <span className="min-w-0 break-words">{data.fact}</span>
          </p>
          <p className="pl-6 break-words text-muted">{data.action}</p>
          <span className="pl-6">
            <Button onClick={() => onRow(data.id)}>Show row {data.id}</Button>
          </span>
        </div>
      )}
      <span className="ml-auto">
        <IconButton label="Close the verdict" onClick={onClose}>
          <X aria-hidden="true" />
        </IconButton>
      </span>
    </section>
  );
}
