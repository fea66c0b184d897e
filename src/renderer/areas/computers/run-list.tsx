/** What ran and runs on the computer that is looked at, newest first. */
import { useQuery } from '@tanstack/react-query';
import { hasEnded } from '../../../client/computer-use.ts';
import type { Run } from '../../../contracts/computer-use/run.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, Elapsed } from '../../ui/now.tsx';
import { computerUseStatus, Status } from '../../ui/status.tsx';
import { modeWords, runName } from './run-words.ts';
import { useHandsServices } from './use-hands-services.ts';

const rowHeight = 48;

export function RunList({ onOpen, onStart }: { onOpen: (id: string) => void; onStart: () => void }) {
  const { queries } = useHandsServices();
  const runs = useQuery(queries.runs);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
    <div onKeyDown={moveByArrows} className="min-w-0">
      <ListStates
        source={runs}
        skeleton={<SkeletonRows count={6} height={rowHeight} />}
        isEmpty={(list) => list.length === 0}
        empty={
          <Empty action={<Button onClick={onStart}>Run something</Button>}>
            Runs will be here: steps that you write, or a task that a model does in the browser or on the desktop while
            you watch.
          </Empty>
        }
      >
        {(list) => (
          <ul>
            {list.map((run) => (
              <li key={run.run_id} className="border-b border-line">
                <RunRow run={run} onOpen={() => onOpen(run.run_id)} />
              </li>
            ))}
          </ul>
        )}
      </ListStates>
    </div>
  );
}

function RunRow({ run, onOpen }: { run: Run; onOpen: () => void }) {
  const { status, mode, usage, started_at: started } = run;
  return (
    <button
      type="button"
      data-row="true"
      data-run={run.run_id}
      onClick={onOpen}
      className="grid w-full grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 px-3 py-1 text-left hover:bg-raised sm:grid-cols-[minmax(0,1fr)_120px_96px_96px]"
      style={{ minHeight: rowHeight }}
    >
      <span className="min-w-0">
        <span className="block truncate font-medium">{runName(run)}</span>
        <span className="block truncate text-meta text-muted">
          {modeWords[mode].word}
          {run.error !== null && ` · ${run.error.message}`}
        </span>
      </span>
      <Status look={computerUseStatus[status]} wire={status} />
      <span className="text-meta text-muted tabular-nums max-sm:hidden">
        {usage.actions === 1 ? '1 action' : `${usage.actions} actions`}
      </span>
      <span className="text-right text-meta text-muted max-sm:hidden">
        {!hasEnded(run) && started !== null ? <Elapsed since={started} /> : <Ago at={run.created_at} />}
      </span>
    </button>
  );
}
