/** Computers: runs on the person's own ones, watched live or played back, and the hosted ones of their project. */

import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Play } from 'lucide-react';
import { useCallback, useMemo, useRef } from 'react';
import { hasEnded } from '../../../client/computer-use.ts';
import type { Action } from '../../base/actions.ts';
import { useHere } from '../../base/computers.tsx';
import { PairFirst, useNoComputer } from '../../base/no-computer.tsx';
import { PlaceFrame } from '../../base/place-frame.tsx';
import { useAddActions, useServices } from '../../base/services.tsx';
import { backAction, stepOut } from '../../base/way-back.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, Elapsed } from '../../ui/now.tsx';
import { RunRow, runRowHeight } from '../../ui/run-row.tsx';
import { computerUseStatus, Status } from '../../ui/status.tsx';
import { ComputerList, type Go } from './computer-list.tsx';
import { HostedPage } from './hosted-page.tsx';
import { PoolPage } from './pool-page.tsx';
import { RunForm } from './run-form.tsx';
import { RunPage } from './run-page.tsx';
import { modeWords, runName } from './run-words.ts';
import { useHandsServices } from './use-hands-services.ts';

export function ComputersPage() {
  const { computer } = useServices();
  const here = useHere();
  const unpaired = useNoComputer();
  const { hosted, pool, run, start } = useSearch({ from: '/computers' });
  const navigate = useNavigate();
  const page = useRef<HTMLDivElement>(null);
  const go = useCallback<Go>(
    (change) =>
      void navigate({
        to: '/computers',
        search: (old) => ({ ...old, hosted: undefined, pool: undefined, run: undefined, start: undefined, ...change }),
      }),
    [navigate],
  );
  /** One step out, with the focus where it was. */
  const back = useCallback(() => {
    const step = stepOut(page, go);
    if (run !== undefined) step({}, 'run', run);
    else if (pool !== undefined) step({}, 'pool', pool);
    else step({}, 'hosted', hosted);
  }, [go, run, pool, hosted]);
  const begin = useCallback(() => go({ start: '1' }), [go]);
  const inside = run !== undefined || hosted !== undefined || pool !== undefined || start !== undefined;
  const actions = useMemo<readonly Action[]>(() => {
    const startAction: Action = {
      id: 'start-computer-run',
      title: `Run something on ${here.name}`,
      group: 'Computers',
      keys: 'n',
      run: begin,
    };
    return [...(unpaired ? [] : [startAction]), backAction(page, inside ? back : null)];
  }, [back, begin, here.name, inside, unpaired]);
  useAddActions(actions);

  const list = <ComputerList hosted={hosted ?? null} pool={pool !== undefined} go={go} />;
  const main =
    hosted !== undefined ? (
      <HostedPage key={hosted} id={hosted} onBack={back} />
    ) : pool !== undefined ? (
      <PoolPage onBack={back} />
    ) : start !== undefined && !unpaired ? (
      <RunForm key={`${computer}`} onBack={back} onStarted={(id) => go({ run: id })} />
    ) : run !== undefined ? (
      <RunPage key={`${computer} ${run}`} id={run} onBack={back} />
    ) : null;
  return (
    <PlaceFrame title="Computers" page={page} list={list} open={main}>
      <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line bg-panel px-3 max-sm:border-t pointer-coarse:h-12">
        <h2 className="min-w-0 flex-1 truncate font-semibold">
          {unpaired ? 'Runs on your own computers' : `Runs on ${here.name}`}
        </h2>
        {!unpaired && (
          <Button icon={Play} kind="primary" onClick={begin} aria-keyshortcuts="n">
            Run something
          </Button>
        )}
      </header>
      {unpaired ? (
        <div className="flex max-w-[560px] flex-col items-start gap-3 p-6">
          <PairFirst />
        </div>
      ) : (
        <RunList onOpen={(id) => go({ run: id })} onStart={begin} />
      )}
    </PlaceFrame>
  );
}

/** Past and present runs on the selected computer, newest first. */
function RunList({ onOpen, onStart }: { onOpen: (id: string) => void; onStart: () => void }) {
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
