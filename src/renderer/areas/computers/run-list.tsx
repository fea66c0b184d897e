/** Past and present runs on the selected computer, newest first. */
import { useQuery } from '@tanstack/react-query';
import { hasEnded } from '../../../client/computer-use.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, Elapsed } from '../../ui/now.tsx';
import { RunRow, runRowHeight } from '../../ui/run-row.tsx';
import { computerUseStatus, Status } from '../../ui/status.tsx';
import { modeWords, runName } from './run-words.ts';
import { useHandsServices } from './use-hands-services.ts';

export function RunList({ onOpen, onStart }: { onOpen: (id: string) => void; onStart: () => void }) {
  const { queries } = useHandsServices();
  const runs = useQuery(queries.runs);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
    <div onKeyDown={moveByArrows} className="min-w-0">
      <ListStates
        source={runs}
        skeleton={<SkeletonRows count={6} height={runRowHeight} />}
        isEmpty={(list) => list.length === 0}
        empty={
          <Empty action={<Button onClick={onStart}>Run something</Button>}>
            Runs appear here: steps that you write, or a task that a model does in the browser or on the desktop while
            you watch.
          </Empty>
        }
      >
        {(list) => (
          <ul>
            {list.map((run) => (
              <RunRow
                key={run.run_id}
                id={run.run_id}
                name={runName(run)}
                about={`${modeWords[run.mode].word}${run.error === null ? '' : ` · ${run.error.message}`}`}
                status={<Status look={computerUseStatus[run.status]} wire={run.status} />}
                count={countWords(run.usage.actions, 'action')}
                when={
                  !hasEnded(run) && run.started_at !== null ? (
                    <Elapsed since={run.started_at} />
                  ) : (
                    <Ago at={run.created_at} />
                  )
                }
                onOpen={onOpen}
              />
            ))}
          </ul>
        )}
      </ListStates>
    </div>
  );
}
