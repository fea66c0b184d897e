/** One run: shown live while it runs, played back after it ended, with its steps beside it and the person's actions above it. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo, useRef, useState } from 'react';
import { hasEnded } from '../../../client/computer-use.ts';
import type { Toolset } from '../../../contracts/computer-use/members.ts';
import type { Run } from '../../../contracts/computer-use/run.ts';
import { readArtifact } from '../../../contracts/computer-use/run-routes.ts';
import type { Action } from '../../base/actions.ts';

import { useHere } from '../../base/computers.tsx';
import { onComputer } from '../../base/data/api.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { QuestionCard } from '../../base/question-card.tsx';
import { useAddActions } from '../../base/services.tsx';
import { useNarrow } from '../../base/use-narrow.ts';
import { isPending } from '../../ui/approval-words.ts';
import { Button } from '../../ui/button.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, Elapsed, useNow } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { computerUseStatus, Status } from '../../ui/status.tsx';
import { useAct } from '../../ui/use-act.ts';
import { Ways } from '../../ui/ways.tsx';
import { ControlBar } from './control-bar.tsx';
import { LiveView } from './live-view.tsx';
import { Replay } from './replay.tsx';
import { modeWords, pauseWords, runName, tookWords } from './run-words.ts';
import { entriesOf, picturesOf } from './steps.ts';
import { Timeline } from './timeline.tsx';
import { useHands } from './use-hands.ts';
import { useHandsServices } from './use-hands-services.ts';
import { useLiveView } from './use-live-view.ts';
import { useRun } from './use-run.ts';

export function RunPage({ id, onBack }: { id: string; onBack: () => void }) {
  const { computer } = useHandsServices();
  const here = useHere();
  const { run, events } = useRun(id);
  const entries = useMemo(() => entriesOf(events), [events]);
  const pictures = useMemo(() => picturesOf(entries), [entries]);
  const [chosen, setChosen] = useState<string | null>(null);
  const pictureOf = useCallback(
    (artifact: string) =>
      onComputer(readArtifact.path.replace(':runId', id).replace(':artifactId', artifact), computer),
    [id, computer],
  );
  const Part = useNarrow() ? 'h2' : 'h3';
  const ended = run.data !== undefined && hasEnded(run.data);
  const shown = chosen ?? pictures.at(-1)?.id ?? null;
  const video = run.data?.artifacts.find(({ kind }) => kind === 'video');
  return (
    <>
      <OpenBar
        back={`Back to the runs on ${here.name}`}
        onBack={onBack}
        title={run.data === undefined ? 'Run' : runName(run.data)}
      >
        <span role="status">
          {run.data !== undefined && <Status look={computerUseStatus[run.data.status]} wire={run.data.status} />}
        </span>
      </OpenBar>
      <ListStates fill source={run} skeleton={<SkeletonRows count={8} />} isEmpty={() => false} empty={null}>
        {(data) => (
          <div className="@container flex min-h-0 min-w-0 flex-1 flex-col">
            <div className="grid min-w-0 flex-1 content-start @min-[820px]:min-h-0 @min-[820px]:grid-cols-[minmax(0,1fr)_320px] @min-[820px]:grid-rows-[minmax(0,1fr)] @min-[820px]:content-stretch">
              <div className="flex min-w-0 flex-col gap-2 p-3 @min-[820px]:overflow-y-auto">
                <RunStage
                  run={data}
                  doing={entries.findLast(({ state }) => state === 'running')?.words ?? null}
                  replay={
                    ended ? (
                      <Replay
                        pictures={pictures}
                        video={video === undefined ? null : pictureOf(video.artifact_id)}
                        chosen={shown}
                        pictureOf={pictureOf}
                        onChoose={setChosen}
                      />
                    ) : null
                  }
                />
              </div>
              <aside
                data-steps="true"
                aria-label="About the run"
                className="min-w-0 border-line @max-[819px]:border-t @min-[820px]:border-l @min-[820px]:overflow-y-auto"
              >
                <RunFacts run={data} />
                <Part className="border-t border-line px-3 pt-2 pb-1 text-meta text-muted">Steps</Part>
                {entries.length === 0 ? (
                  <SkeletonRows count={3} />
                ) : (
                  <Timeline
                    entries={entries}
                    live={!ended}
                    chosen={ended ? shown : null}
                    pictureOf={pictureOf}
                    {...(ended ? { onChoose: setChosen } : {})}
                  />
                )}
              </aside>
            </div>
          </div>
        )}
      </ListStates>
    </>
  );
}

/** The screen, live or played back, below the bar that never moves. */
function RunStage({
  run,
  doing,
  replay,
}: {
  run: Run;
  /** What is under way. */
  doing: string | null;
  /** In place of the live view. */
  replay: ReactNode;
}) {
  const { api, keys, queries } = useHandsServices();
  const client = useQueryClient();
  const now = useNow();
  const ended = hasEnded(run);
  const [toolset, setToolset] = useState<Toolset>(run.target_scope === 'desktop' ? 'computer' : 'browser');
  const [round, setRound] = useState(0);
  const session = toolset === 'browser' ? run.session_id : undefined;
  const screen = useMemo(() => ({ id: 'this-device', session }), [session]);
  const { view, store } = useLiveView(ended ? null : screen, round);
  const hands = useHands(screen, view, store);
  const asked = useQuery(queries.approvals).data?.approvals.find(({ id }) => id === run.approval?.id);
  const stage = useRef<HTMLDivElement>(null);
  const moved = useCallback((next: Run) => client.setQueryData(keys.run(run.run_id), next), [client, keys, run.run_id]);
  const act = useAct(async (what: 'pause' | 'resume' | 'stop' | 'approve') => {
    const { computerUse } = api;
    const { run_id: id } = run;
    if (what === 'pause') moved(await computerUse.pauseRun(id));
    else if (what === 'resume') moved(await computerUse.resumeRun(id));
    else if (what === 'stop') moved(await computerUse.cancelRun(id));
    else moved(await computerUse.approve(id, { decision: 'approve', approval_id: run.approval?.id }));
  });
  const can = (allowed: boolean, what: Parameters<typeof act.run>[0]) =>
    allowed && !act.busy ? () => act.run(what) : null;
  const { status } = run;
  const pausable = status === 'running' || status === 'awaiting_approval';
  const bar = {
    paused: status === 'paused',
    mine: hands.mine,
    onPause: can(pausable, 'pause'),
    onResume: can(status === 'paused' && !hands.mine, 'resume'),
    onTake: !ended && status !== 'cancelling' ? () => void hands.take() : null,
    onRelease: () => void hands.release(),
    onApprove: can(status === 'awaiting_approval', 'approve'),
    onStop: can(!ended && status !== 'cancelling', 'stop'),
  };
  const keyed = useRef(bar);
  keyed.current = bar;
  const actions = useMemo<readonly Action[]>(
    () => [
      {
        id: 'pause-run',
        title: 'Pause or resume the run',
        group: 'Computers',
        changes: 'at once',
        keys: 'p',
        run: () => (keyed.current.paused ? keyed.current.onResume : keyed.current.onPause)?.(),
      },
      {
        id: 'take-over',
        title: 'Take over, or give control back',
        group: 'Computers',
        changes: 'at once',
        keys: 't',
        run: () => (keyed.current.mine ? keyed.current.onRelease : keyed.current.onTake)?.(),
      },
      {
        id: 'stop-run',
        title: 'Stop the run',
        group: 'Computers',
        changes: 'at once',
        keys: 'x',
        run: () => keyed.current.onStop?.(),
      },
    ],
    [],
  );
  useAddActions(actions);
  const leave = () => stage.current?.querySelector<HTMLElement>('[data-control="release"]')?.focus();
  return (
    <div ref={stage} className="flex min-w-0 flex-col gap-2">
      <ControlBar {...bar} />
      <p role="status" data-now="true" className="flex min-h-5 min-w-0 items-center gap-3 text-muted">
        <span className="min-w-0 flex-1 truncate">
          {saysNow(run, asked?.title ?? null, doing ?? view.next?.words ?? null, hands.mine)}
        </span>
      </p>
      {[act.failure, hands.failure].map((failure, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: two places that never change
        failure === null ? null : <Problem key={index} error={failure} />,
      )}
      {replay ?? (
        <>
          <LiveView
            view={view}
            toolset={toolset}
            mine={hands.mine}
            onCall={hands.send}
            onLeave={leave}
            onAgain={() => setRound((old) => old + 1)}
          />
          <div className="flex min-h-7 flex-wrap items-center gap-2">
            {hands.mine ? (
              <p id="leave-view" className="text-meta text-muted">
                Your clicks and typing in the picture go to the computer. Ctrl Shift L leaves the picture.
              </p>
            ) : null}
            {run.target_scope === 'auto' && (
              <Ways
                label="Screen"
                value={toolset}
                ways={[
                  { key: 'browser', word: 'Browser' },
                  { key: 'computer', word: 'Desktop' },
                ]}
                onChange={setToolset}
              />
            )}
          </div>
          {hands.mine && toolset === 'browser' && (
            <AddressBar onOpen={(url) => hands.send({ toolset, member: 'navigate', input: { url } })} />
          )}
        </>
      )}
      {ended && run.result?.text && (
        <section aria-label="Result" className="rounded-panel border border-line bg-panel p-3">
          <p className="max-h-60 overflow-y-auto break-words whitespace-pre-line">{run.result.text}</p>
        </section>
      )}
      {asked !== undefined && isPending(asked, now) && (
        <QuestionCard
          approval={asked}
          who={`The run “${runName(run)}”`}
          keys={{ what: 'the step', group: 'Computers' }}
        />
      )}
    </div>
  );
}

function AddressBar({ onOpen }: { onOpen: (url: string) => void }) {
  const [url, setUrl] = useState('');
  return (
    <form
      className="flex gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (url.trim() !== '') onOpen(url.trim());
      }}
    >
      <input
        value={url}
        aria-label="Address to open"
        placeholder="https://"
        inputMode="url"
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setUrl(event.target.value)}
        className="h-7 min-w-0 flex-1 rounded-control border border-line bg-window px-2 font-mono text-code pointer-coarse:h-10"
      />
      <Button type="submit">Open</Button>
    </form>
  );
}

/** The one line that says how it is: what it does, what it waits for, how it ended. */
function saysNow(run: Run, question: string | null, now: string | null, mine: boolean): string {
  if (run.error !== null) return run.error.message;
  if (run.status === 'paused' && run.pause !== null) {
    return mine ? 'Paused while you have control' : pauseWords[run.pause.reason];
  }
  if (run.approval !== null) return `Waiting for you: ${question ?? 'a step needs approval'}`;
  if (run.status === 'running' && now !== null) return `Now: ${now}`;
  return '';
}

function RunFacts({ run }: { run: Run }) {
  const { usage, started_at: started, finished_at: finished } = run;
  return (
    <dl className="flex flex-col gap-1 px-3 py-2">
      <Fact name="Mode">{modeWords[run.mode].word}</Fact>
      <Fact name="Steps">
        <span className="tabular-nums">
          {run.steps} of {run.max_steps}
        </span>
      </Fact>
      <Fact name="Duration">
        {started === null ? (
          'not started'
        ) : finished === null ? (
          <Elapsed since={started} />
        ) : (
          <span className="tabular-nums">{tookWords(Date.parse(finished) - Date.parse(started))}</span>
        )}
      </Fact>
      <Fact name="Created">
        <Ago at={run.created_at} />
      </Fact>
      {usage.model !== null && (
        <Fact name="Model">
          {usage.model}
          {usage.cost_usd !== null && <> · ${usage.cost_usd.toFixed(4)}</>}
        </Fact>
      )}
      <Fact name="Id">
        <ShortId id={run.run_id} />
      </Fact>
    </dl>
  );
}
