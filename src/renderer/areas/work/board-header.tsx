/** Below a campaign's title: what is done and what waits, the choice of views, its runs. */
import { FileText, Hand } from 'lucide-react';
import { useMemo } from 'react';
import { fillPath } from '../../../client/call.ts';
import type { Board } from '../../../contracts/factory/board.ts';
import type { Flow } from '../../../contracts/factory/workflow.ts';
import { getRunReport } from '../../../contracts/factory/workflow-routes.ts';
import { usePendingApprovals } from '../../base/approvals.ts';
import { onComputer } from '../../base/data/api.ts';
import { useBots } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { goToRows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { DoneBar } from '../../ui/proven-bar.tsx';
import { runLook, Status } from '../../ui/status.tsx';
import { questionsOf } from './board-groups.ts';

type BoardView = 'board' | 'waves' | 'graph' | 'times';

const views: readonly { view: BoardView; name: string; letter: string }[] = [
  { view: 'board', name: 'Board', letter: 'b' },
  { view: 'waves', name: 'Waves', letter: 'w' },
  { view: 'graph', name: 'Graph', letter: 'd' },
  { view: 'times', name: 'Times', letter: 't' },
];

/** It shows one run, and not the whole campaign. */
const isOfRun = (view: BoardView): boolean => view === 'graph' || view === 'times';

export function BoardHeader({
  board,
  flow,
  view,
  dagId,
  filter,
  onView,
  onFilter,
  onCancel,
}: {
  board: Board | undefined;
  /** The run on screen; only in the graph and its times. */
  flow: Flow | undefined;
  view: BoardView;
  dagId: string | null;
  filter: string;
  onView: (view: BoardView, dagId?: string) => void;
  onFilter: (filter: string) => void;
  onCancel: () => void;
}) {
  const runs = board?.runs ?? [];
  const shownRun = runs.find((run) => run.dagId === dagId) ?? runs.at(-1);
  const asking = useAsking(board);
  const working = (board?.summary.now.length ?? 0) - asking;
  const need = (board?.campaign.needsYou ?? 0) + asking;
  const ofRun = isOfRun(view);
  return (
    <div className="flex min-h-10 shrink-0 flex-wrap items-center gap-x-4 gap-y-1 border-b border-line bg-panel px-3 py-1">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would bring its own border and legend */}
      <div role="group" aria-label="View" className="inline-flex rounded-control border border-line">
        {views.map((one) => (
          <button
            key={one.view}
            type="button"
            aria-pressed={view === one.view}
            disabled={isOfRun(one.view) && shownRun === undefined}
            title={`${one.name} (${one.letter})`}
            onClick={() => onView(one.view, isOfRun(one.view) ? shownRun?.dagId : undefined)}
            className="h-[26px] px-2.5 text-muted first:rounded-l-control last:rounded-r-control hover:text-ink disabled:opacity-50 aria-pressed:bg-selected aria-pressed:text-ink pointer-coarse:h-[38px]"
          >
            {one.name}
          </button>
        ))}
      </div>
      {board !== undefined && (
        <p className="flex flex-wrap items-center gap-x-4">
          <DoneBar done={board.summary.proven.k} total={board.summary.proven.n} wide />
          {need > 0 && !ofRun && (
            <span className="inline-flex items-center gap-1.5 text-need tabular-nums">
              <Hand className="size-3.5" aria-hidden="true" />
              {need} {need === 1 ? 'needs' : 'need'} you
            </span>
          )}
          {working > 0 && <span className="text-muted tabular-nums">{working} working</span>}
        </p>
      )}
      <span className="ml-auto flex min-w-0 flex-wrap items-center gap-2 max-sm:ml-0 max-sm:w-full">
        {/* Of several runs one is chosen first. */}
        {!ofRun && runs.length === 1 && shownRun !== undefined && <ReportLink dagId={shownRun.dagId} />}
        {ofRun && runs.length > 0 && (
          <>
            {shownRun !== undefined && (
              <Status
                look={runLook(flow?.status ?? shownRun.status, flow?.nodes ?? [])}
                wire={flow?.status ?? shownRun.status}
              />
            )}
            {runs.length > 1 && (
              <select
                aria-label="Run"
                value={shownRun?.dagId ?? ''}
                onChange={(event) => onView(view, event.target.value)}
                className="h-7 max-w-52 min-w-0 rounded-control border border-line bg-raised px-1.5 pointer-coarse:h-10"
              >
                {runs.map((run, index) => (
                  <option key={run.dagId} value={run.dagId}>
                    {index + 1}. {run.title}
                  </option>
                ))}
              </select>
            )}
            {shownRun !== undefined && <ReportLink dagId={shownRun.dagId} />}
            {(flow?.status === 'running' || flow?.status === 'needs_you') && (
              <Button kind="quiet" onClick={onCancel}>
                Cancel run
              </Button>
            )}
          </>
        )}
        {!ofRun && (
          <input
            type="search"
            data-filter="true"
            value={filter}
            onChange={(event) => onFilter(event.target.value)}
            onKeyDown={(event) => goToRows(event, '[data-node]')}
            aria-label="Filter steps"
            placeholder="Filter ( / )"
            className="h-7 w-40 min-w-0 rounded-control border border-line bg-window px-2 max-sm:flex-1 pointer-coarse:h-10"
          />
        )}
      </span>
    </div>
  );
}

/** Steps at work whose bot waits for an answer: on the board they need the person. */
function useAsking(board: Board | undefined): number {
  const approvals = usePendingApprovals();
  const bots = useBots();
  return useMemo(() => {
    const atWork = (board?.waves ?? []).flatMap(({ nodes }) =>
      nodes.filter(({ status }) => status === 'working' || status === 'checking'),
    );
    return questionsOf(atWork, approvals, bots).size;
  }, [board, approvals, bots]);
}

/** The run as one page to keep, print or send. */
function ReportLink({ dagId }: { dagId: string }) {
  const { computer } = useServices();
  return (
    <a
      href={onComputer(fillPath(getRunReport.path, { dagId }), computer)}
      target="_blank"
      rel="noreferrer"
      title="The run as one page to keep, print or send (opens in a new tab)"
      className="inline-flex h-7 items-center gap-1.5 rounded-control px-2.5 text-muted hover:bg-raised hover:text-ink pointer-coarse:h-10"
    >
      <FileText className="size-3.5" aria-hidden="true" />
      Report
    </a>
  );
}
