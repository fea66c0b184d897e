/** Adopts a conversation that was begun outside Gantry as a bot: the choice, then the plan, then the act. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { KeptSession } from '../../../contracts/factory/adopt-routes.ts';
import { useServices } from '../../base/services.tsx';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { PlanDialog } from '../../ui/plan-dialog.tsx';

const title = 'Adopt a conversation';

export function AdoptDialog({ onClose, onAdopted }: { onClose: () => void; onAdopted: (address: string) => void }) {
  const [picked, setPicked] = useState<KeptSession | null>(null);
  return picked === null ? (
    <PickDialog onClose={onClose} onPick={setPicked} />
  ) : (
    <AdoptPlan session={picked} onClose={onClose} onAdopted={onAdopted} />
  );
}

function PickDialog({ onClose, onPick }: { onClose: () => void; onPick: (session: KeptSession) => void }) {
  const { api, computer } = useServices();
  const [filter, setFilter] = useState('');
  const sessions = useQuery({
    queryKey: ['plan', computer, 'sessions'],
    queryFn: ({ signal }) => api.factory.listKeptSessions({ query: {} }, { signal }),
    gcTime: 0,
    staleTime: 0,
  });
  const matching = (list: readonly KeptSession[]) => {
    const words = filter.toLowerCase();
    return list.filter(({ harness, id, cwd, title }) =>
      `${harness} ${id} ${cwd} ${title}`.toLowerCase().includes(words),
    );
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={title}
      description="Conversations that agent programs on this computer have saved. The one you adopt continues as a bot."
    >
      <input
        type="search"
        value={filter}
        onChange={(event) => setFilter(event.target.value)}
        aria-label="Filter conversations"
        placeholder="Filter by words, folder or program"
        className="mb-2 h-7 w-full rounded-control border border-line bg-window px-2 pointer-coarse:h-10"
      />
      <ListStates
        source={sessions}
        skeleton={<SkeletonRows count={6} height={46} />}
        isEmpty={(data) => matching(data.sessions).length === 0}
        empty={
          <Empty>
            {filter === ''
              ? 'No saved conversations. Those that you begin with an agent program in a terminal appear here.'
              : `No conversation matches “${filter}”.`}
          </Empty>
        }
      >
        {(data) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the buttons inside
          <div onKeyDown={moveByArrows}>
            <ul aria-label="Conversations">
              {matching(data.sessions).map((session) => (
                <li key={`${session.harness} ${session.id}`}>
                  <SessionRow session={session} onPick={() => onPick(session)} />
                </li>
              ))}
            </ul>
          </div>
        )}
      </ListStates>
    </Dialog>
  );
}

function SessionRow({ session, onPick }: { session: KeptSession; onPick: () => void }) {
  const { harness, cwd, lastUsed, openBy } = session;
  const open = openWords(session);
  return (
    <button
      type="button"
      data-row="true"
      onClick={onPick}
      // Somebody talks with it already.
      disabled={openBy?.bot != null}
      className="flex w-full flex-col rounded-control px-2 py-1.5 text-left hover:bg-raised disabled:opacity-60"
    >
      <span className="w-full truncate">{session.title}</span>
      <span className="flex w-full min-w-0 gap-2 text-meta text-muted">
        <span className="shrink-0">{harness}</span>
        <span className="min-w-0 truncate font-mono" title={cwd}>
          {cwd}
        </span>
        <span className="ml-auto shrink-0">{open ?? <Ago at={lastUsed} />}</span>
      </span>
    </button>
  );
}

function openWords({ openBy }: KeptSession): string | null {
  if (openBy === null) return null;
  if (openBy.bot !== null) return `runs as ${openBy.bot}`;
  return openBy.sure ? `open in process ${openBy.pid}` : `may be open in process ${openBy.pid}`;
}

function AdoptPlan({
  session,
  onClose,
  onAdopted,
}: {
  session: KeptSession;
  onClose: () => void;
  onAdopted: (address: string) => void;
}) {
  const { api, computer, keys } = useServices();
  const client = useQueryClient();
  const { harness, id, openBy } = session;
  const body = { harness, id, ...(openBy !== null && { takeOver: true }) };
  return (
    <PlanDialog
      title={title}
      description={session.title}
      planKey={[computer, 'adopt', harness, id]}
      readPlan={(signal) => api.factory.adoptKeptSession({ body: { ...body, dryRun: true } }, { signal })}
      label={({ ends }) => (ends === null ? 'Adopt' : 'End and adopt')}
      idle="Adopt"
      busyLabel="Adopting"
      danger={openBy !== null}
      act={async () => {
        const answer = await api.factory.adoptKeptSession({ body });
        await client.invalidateQueries({ queryKey: keys.teams });
        void client.invalidateQueries({ queryKey: keys.agents });
        onAdopted(answer.bot);
      }}
      onClose={onClose}
      shown={({ bot, file, lines, ends }) => (
        <div className="flex flex-col gap-2">
          {ends !== null && (
            <p className="text-fail">
              Process {ends} {openBy?.sure === true ? 'has' : 'may have'} this conversation open. Gantry ends it first,
              and its current work is lost.
            </p>
          )}
          <p className="text-muted">
            It continues as <span className="font-mono text-code text-ink">{bot}</span>, in its folder. Gantry adds this
            to <span className="break-words font-mono text-code">{file}</span>:
          </p>
          <pre className="overflow-x-auto whitespace-pre-wrap break-all rounded-control bg-raised p-2 font-mono text-code">
            {lines.trimEnd()}
          </pre>
        </div>
      )}
    />
  );
}
