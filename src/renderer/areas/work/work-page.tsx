/** Work: campaigns at the left, the board or a run's graph in the middle, a step at the right; one stack in narrow windows. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { ArrowLeft, CalendarClock, Play } from 'lucide-react';
import { lazy, Suspense, useCallback, useRef, useState } from 'react';
import type { Board as BoardData } from '../../../contracts/factory/board.ts';
import type { NodeCard } from '../../../contracts/factory/node.ts';
import type { Flow } from '../../../contracts/factory/workflow.ts';
import { useServices } from '../../base/services.tsx';
import { useNarrow, useTight } from '../../base/use-narrow.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { later } from '../../ui/later.ts';
import { Empty, type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Board } from './board.tsx';
import { BoardHeader } from './board-header.tsx';
import { CampaignList } from './campaign-list.tsx';
import { CancelRunDialog } from './cancel-run-dialog.tsx';
import { NodePage } from './node-page.tsx';
import { RunBudgets } from './run-budgets.tsx';
import { RunTimes } from './run-times.tsx';
import type { WorkSearch } from './search.ts';
import { StartRunDialog } from './start-run-dialog.tsx';
import { useWorkActions } from './use-work-actions.ts';

const RunGraph = lazy(later(() => import('./run-graph.tsx').then((module) => ({ default: module.RunGraph }))));

export function WorkPage() {
  const { queries } = useServices();
  const search = useSearch({ from: '/work' });
  const navigate = useNavigate();
  const narrow = useNarrow();
  const tight = useTight();
  const page = useRef<HTMLDivElement>(null);
  const [cancelling, setCancelling] = useState(false);
  const campaigns = useQuery(queries.campaigns);
  const dagId = search.dag ?? null;
  const ofRun = (search.view === 'graph' || search.view === 'times') && dagId !== null;
  const flow = useQuery({ ...queries.flow(dagId ?? ''), enabled: ofRun });
  // A link may name only a run; then the run's campaign is shown. Otherwise the newest campaign is shown, if there is room for it.
  const campaignId =
    search.campaign ?? flow.data?.campaignId ?? (narrow ? null : (campaigns.data?.campaigns[0]?.id ?? null));
  const board = useQuery({ ...queries.board(campaignId ?? ''), enabled: campaignId !== null });
  const nodeId = search.node ?? null;
  const full = nodeId !== null && (search.full === '1' || tight);

  const go = useCallback(
    (change: WorkSearch) => void navigate({ to: '/work', search: (old) => ({ ...old, ...change }) }),
    [navigate],
  );
  const closeNode = useCallback(() => {
    go({ node: undefined, full: undefined });
    // The card that was open gets the focus back, where it is still drawn.
    requestAnimationFrame(() => page.current?.querySelector<HTMLElement>(`[data-id="${nodeId}"]`)?.focus());
  }, [go, nodeId]);
  const leaveCampaign = useCallback(
    () => go({ campaign: undefined, dag: undefined, view: undefined, filter: undefined }),
    [go],
  );

  const firstRun = board.data?.runs.at(-1)?.dagId;
  useWorkActions({ page, campaignId, nodeId, graphOf: dagId ?? firstRun, narrow, go, closeNode, leaveCampaign });

  const step =
    nodeId !== null && dagId !== null ? (
      <NodePage
        key={`${dagId} ${nodeId}`}
        dagId={dagId}
        nodeId={nodeId}
        full={full}
        onFull={tight ? null : (large) => go({ full: large ? '1' : undefined })}
        onClose={closeNode}
      />
    ) : null;
  const list = (
    <CampaignList
      selected={campaignId}
      onOpen={(campaign) =>
        go({ campaign: campaign.id, dag: undefined, node: undefined, view: undefined, full: undefined })
      }
      onStart={() => go({ start: '' })}
    />
  );
  const titled = board.data?.campaign.title ?? 'Work';

  return (
    <div ref={page} className="flex min-w-0 flex-1">
      {!narrow && (
        <aside aria-label="Campaigns of this workspace" className="flex w-60 shrink-0 flex-col border-r border-line">
          {list}
        </aside>
      )}
      <main className="flex min-h-0 min-w-0 flex-1 flex-col">
        {full ? (
          <>
            <h1 className="sr-only">{titled}</h1>
            {step}
          </>
        ) : (
          <>
            <WorkHeader
              title={narrow && campaignId === null ? 'Work' : titled}
              intent={board.data?.campaign.intent}
              onBack={narrow && campaignId !== null ? leaveCampaign : null}
              onStart={() => go({ start: '' })}
              // The step that is open beside the board has a primary action of its own.
              isPrimary={step === null}
            />
            {campaignId !== null ? (
              <Campaign
                board={board}
                flow={ofRun ? flow : null}
                selected={nodeId}
                onOpen={(node) => go({ dag: node.dagId, node: node.nodeId })}
                onCancel={() => setCancelling(true)}
                go={go}
              />
            ) : narrow ? (
              list
            ) : (
              <ListStates
                source={campaigns}
                skeleton={<SkeletonRows count={6} height={84} />}
                isEmpty={() => true}
                empty={<Empty>Choose a campaign to see its board, or start a run.</Empty>}
              >
                {() => null}
              </ListStates>
            )}
          </>
        )}
      </main>
      {!full && step !== null && (
        <aside aria-label="Inspector" className="flex w-[380px] shrink-0 flex-col border-l border-line">
          {step}
        </aside>
      )}
      {search.start !== undefined && (
        <StartRunDialog
          template={search.start === '' ? null : search.start}
          campaignId={search.campaign ?? null}
          onClose={() => go({ start: undefined })}
          onStarted={(run) =>
            go({
              start: undefined,
              campaign: run.campaignId,
              dag: run.dagId,
              node: undefined,
              view: undefined,
              full: undefined,
            })
          }
        />
      )}
      {cancelling && flow.data !== undefined && (
        <CancelRunDialog flow={flow.data} onClose={() => setCancelling(false)} />
      )}
    </div>
  );
}

function WorkHeader({
  title,
  intent,
  onBack,
  onStart,
  isPrimary,
}: {
  title: string;
  /** What the campaign is for, in whole. */
  intent: string | undefined;
  /** Null: the campaigns stand beside it, or nowhere else. */
  onBack: (() => void) | null;
  onStart: () => void;
  /** Whether starting a run is the one primary action in view. */
  isPrimary: boolean;
}) {
  return (
    <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line bg-panel px-3 pointer-coarse:h-12">
      {onBack !== null && (
        <IconButton label="Back to the campaigns" onClick={onBack}>
          <ArrowLeft aria-hidden="true" />
        </IconButton>
      )}
      <h1 className="min-w-0 flex-1 truncate text-title font-semibold" title={intent}>
        {title}
      </h1>
      <Link
        to="/work"
        search={{ schedules: '1' }}
        className="inline-flex h-7 shrink-0 items-center gap-1.5 rounded-control px-2.5 text-muted hover:bg-raised hover:text-ink pointer-coarse:h-10"
      >
        <CalendarClock className="size-3.5" aria-hidden="true" />
        Schedules
      </Link>
      <Button icon={Play} kind={isPrimary ? 'primary' : 'plain'} onClick={onStart} aria-keyshortcuts="s">
        Start a run
      </Button>
    </header>
  );
}

/** The steps of one campaign: its board, or one of its runs as a graph. */
function Campaign({
  board,
  flow,
  selected,
  onOpen,
  onCancel,
  go,
}: {
  board: ListSource<BoardData>;
  /** The run of which the graph or the times are shown; null: the board is shown. */
  flow: ListSource<Flow> | null;
  /** Id of the step that is open. */
  selected: string | null;
  onOpen: (node: NodeCard) => void;
  onCancel: () => void;
  /** Changes the address. */
  go: (change: WorkSearch) => void;
}) {
  const { dag, view, filter = '' } = useSearch({ from: '/work' });
  const navigate = useNavigate();
  const narrow = useNarrow();
  return (
    <>
      <BoardHeader
        board={board.data}
        flow={flow?.data}
        view={flow === null ? (view === 'waves' ? 'waves' : 'board') : view === 'times' ? 'times' : 'graph'}
        dagId={dag ?? null}
        filter={filter}
        onView={(next, run) => go({ view: next === 'board' ? undefined : next, dag: run ?? dag })}
        onFilter={(typed) =>
          void navigate({
            to: '/work',
            search: (old) => ({ ...old, filter: typed === '' ? undefined : typed }),
            replace: true,
          })
        }
        onCancel={onCancel}
      />
      {board.data !== undefined && (
        <RunBudgets
          of={flow?.data === undefined ? { campaign: board.data.campaign.id } : { run: flow.data.dagId }}
          live={board.data.campaign.status === 'active'}
        />
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the cards inside */}
      <div className="flex min-h-0 min-w-0 flex-1 flex-col" onKeyDown={moveByArrows}>
        {flow !== null && dag !== undefined && view === 'times' ? (
          <RunTimes dagId={dag} />
        ) : flow !== null ? (
          <ListStates
            source={flow}
            skeleton={<SkeletonRows count={5} height={72} />}
            isEmpty={(data) => data.nodes.length === 0}
            empty={<Empty>This run has no steps.</Empty>}
            fill
          >
            {(data) => (
              <Suspense fallback={<SkeletonRows count={5} height={72} />}>
                <RunGraph flow={data} selected={selected} onOpen={onOpen} direction={narrow ? 'down' : 'right'} />
              </Suspense>
            )}
          </ListStates>
        ) : (
          <ListStates
            source={board}
            skeleton={<SkeletonRows count={6} height={84} />}
            isEmpty={() => false}
            empty={null}
            fill
          >
            {(data) => (
              <Board board={data} waves={view === 'waves'} filter={filter} selected={selected} onOpen={onOpen} />
            )}
          </ListStates>
        )}
      </div>
    </>
  );
}
