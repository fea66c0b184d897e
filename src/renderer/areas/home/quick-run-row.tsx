/** One bot of a run that was started from a prompt: what it is on, how much it changed, and what becomes of it. */
import { lazy, Suspense, useState } from 'react';
import type { QuickBot, QuickOutcome } from '../../../contracts/factory/quick-run-routes.ts';
import { BotStatus } from '../../base/bot-status.tsx';
import { useBots } from '../../base/floors.tsx';
import { type Selection, Tick } from '../../base/selection.tsx';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { later } from '../../ui/later.ts';
import { Ago, Elapsed } from '../../ui/now.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { agentStatus, nodeLook, outcomeStatus, Status } from '../../ui/status.tsx';
import { diffWords, type QuickRow, siblingsOf, titleOf } from '../floor/runs/quick-rows.ts';
import { useOpenBot } from '../floor/use-open-bot.ts';

const EndRunDialog = lazy(
  later(() => import('../floor/runs/end-run-dialog.tsx').then((module) => ({ default: module.EndRunDialog }))),
);
const QuickDiffSheet = lazy(
  later(() => import('./quick-diff-sheet.tsx').then((module) => ({ default: module.QuickDiffSheet }))),
);
const SaveTeamDialog = lazy(
  later(() => import('./save-team-dialog.tsx').then((module) => ({ default: module.SaveTeamDialog }))),
);

const resting: ReadonlySet<string> = new Set(['idle', 'done', 'failed', 'blocked', 'offline']);

/** `ended`: it waits for its outcome, or has one. `selection`: null where no other can be ended with it. */
export function QuickRunRow({ row, ended, selection }: { row: QuickRow; ended: boolean; selection: Selection | null }) {
  const { run, bot, who } = row;
  const { computer } = useServices();
  const live = useBots().find(({ id, place }) => id === bot.agentId && (place.scope ?? null) === computer);
  const openBot = useOpenBot('home');
  const [asked, setAsked] = useState<QuickOutcome | 'save' | 'diff' | null>(null);
  const title = titleOf(row);
  const close = () => setAsked(null);
  const state = live?.state ?? bot.state;
  const diff = diffWords(bot.diff);
  const open = bot.outcome === null;
  /** It ended, or finished its turn without saying that all is done: the person decides. */
  const rests = ended || resting.has(state);
  // Beside others its title names it.
  const about = [run.bots.length > 1 ? '' : who, bot.lastLine ?? ''].filter(Boolean).join(' · ');
  const keep = siblingsOf(row).length > 0 ? 'Keep this one' : 'Keep';
  return (
    <li
      data-quick-run={bot.name}
      data-ticks={row.key}
      className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-1.5 last:border-b-0"
    >
      {selection !== null &&
        (open ? (
          <Tick selection={selection} id={row.key} label={title} />
        ) : (
          <span aria-hidden="true" className="size-4 shrink-0 pointer-coarse:size-6" />
        ))}
      <button
        type="button"
        data-row="true"
        onClick={() => (live === undefined || ended ? setAsked('diff') : openBot(live))}
        className="grid min-h-7 min-w-0 flex-1 basis-72 grid-cols-[6rem_minmax(0,1fr)_auto] items-center gap-x-3 rounded-control text-left hover:bg-raised pointer-coarse:min-h-10"
      >
        {bot.outcome !== null ? (
          <Status look={outcomeStatus[bot.outcome]} wire={bot.outcome} />
        ) : ended ? (
          // Its step asks for no proof: it is done when its bot says so.
          <Status look={nodeLook({ status: bot.status, cause: 'reported' })} wire={bot.status} />
        ) : live === undefined ? (
          <Status look={agentStatus[state]} wire={state} />
        ) : (
          <BotStatus bot={live} />
        )}
        <span className="truncate font-medium">{title}</span>
        <span className="flex gap-3 text-meta text-muted tabular-nums">
          {diff !== '' && <span>{diff}</span>}
          <span className="text-faint">
            {ended ? <Ago at={bot.outcomeAt ?? run.startedAt} /> : <Elapsed since={run.startedAt} />}
          </span>
        </span>
        {bot.setUp !== undefined ? (
          <SetUp {...bot.setUp} />
        ) : (
          about !== '' && <span className="col-span-2 col-start-2 truncate text-muted">{about}</span>
        )}
      </button>
      <span className="flex flex-wrap items-center gap-1">
        {open && !rests && (
          <Button kind="quiet" aria-label={`End: ${title}`} onClick={() => setAsked('kept')}>
            End
          </Button>
        )}
        {open && rests && (
          <>
            <Button aria-label={`Merge: ${title}`} onClick={() => setAsked('merged')}>
              Merge
            </Button>
            <Button aria-label={`${keep}: ${title}`} onClick={() => setAsked('kept')}>
              {keep}
            </Button>
            <Button kind="quiet" aria-label={`Discard: ${title}`} onClick={() => setAsked('discarded')}>
              Discard
            </Button>
          </>
        )}
        {run.savedAs === null && bot.outcome !== 'discarded' && (
          <Button kind="quiet" aria-label={`Save as a team: ${title}`} onClick={() => setAsked('save')}>
            Save as a team
          </Button>
        )}
      </span>
      <Suspense>
        {asked === 'save' && <SaveTeamDialog run={run} onClose={close} />}
        {asked === 'diff' && (
          <QuickDiffSheet
            row={row}
            title={title}
            onPane={live === undefined ? undefined : () => openBot(live)}
            onClose={close}
          />
        )}
        {asked !== null && asked !== 'save' && asked !== 'diff' && (
          <EndRunDialog row={row} title={title} first={asked} onClose={close} />
        )}
      </Suspense>
    </li>
  );
}

function SetUp({ done, total, what }: NonNullable<QuickBot['setUp']>) {
  return (
    <span className="col-span-2 col-start-2 flex min-w-0 items-center gap-2 text-muted">
      <span className="min-w-0 truncate" title={what}>
        Setting up its worktree: {what}
      </span>
      <ProgressBar done={done} total={total} label="Set-up of its worktree" />
      <span className="shrink-0 tabular-nums">
        {done} of {total} done
      </span>
    </span>
  );
}
