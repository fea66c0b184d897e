/** The form of a run: steps that a person writes, or a task for a model, and their limits. */
import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import type { ExecuteRequest, RunMode, RunOptions, TargetScope } from '../../../contracts/computer-use/run.ts';
import { defaultSteps, maxSteps, runModes } from '../../../contracts/computer-use/run.ts';
import type { Action } from '../../base/actions.ts';

import { useHere } from '../../base/computers.tsx';
import { OpenBar } from '../../base/place-frame.tsx';
import { useAddActions } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Check } from '../../ui/choice.tsx';
import { Kbd } from '../../ui/kbd.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { AreaField, SelectField, TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useAttempt } from '../../ui/use-attempt.ts';
import { Ways } from '../../ui/ways.tsx';
import { type ActionDraft, actionOf, actionProblems, newAction } from './action-draft.ts';
import { ActionEditor, type Member, schemaOf } from './action-editor.tsx';
import { modeWords } from './run-words.ts';
import { useHandsServices } from './use-hands-services.ts';

const scopes: Readonly<Record<TargetScope, string>> = {
  auto: 'Browser and desktop',
  browser: 'Browser',
  desktop: 'Desktop',
};
const asks: Readonly<Record<NonNullable<RunOptions['approvals']>, string>> = {
  on_risk: 'Before anything risky',
  always: 'Before every step that changes something',
  never: 'Never: refuse instead of asking',
};

export function RunForm({ onBack, onStarted }: { onBack: () => void; onStarted: (runId: string) => void }) {
  const { queries } = useHandsServices();
  const here = useHere();
  const browser = useQuery(queries.toolset('browser'));
  const desktop = useQuery(queries.toolset('computer'));
  const members = useMemo<readonly Member[] | undefined>(
    () =>
      browser.data === undefined
        ? undefined
        : [browser.data, ...(desktop.data === undefined ? [] : [desktop.data])].flatMap(({ toolset, members: all }) =>
            all.filter(({ enabled }) => enabled).map((one) => ({ ...one, toolset })),
          ),
    [browser.data, desktop.data],
  );
  return (
    <>
      <OpenBar back={`Back to the runs on ${here.name}`} onBack={onBack} title={`Run something on ${here.name}`} />
      <ListStates
        source={{ ...browser, data: members, refetch: browser.refetch }}
        skeleton={<SkeletonRows count={8} />}
        isEmpty={() => false}
        empty={null}
      >
        {(all) => <Form members={all} onStarted={onStarted} />}
      </ListStates>
    </>
  );
}

/** How it is to run, as written. */
interface Wish {
  readonly scope: TargetScope;
  readonly approvals: NonNullable<RunOptions['approvals']>;
  readonly steps: string;
  readonly model: string;
  /** Of an open browser; empty: a new one. */
  readonly session: string;
  readonly record: boolean;
}
const plainWish: Wish = { scope: 'browser', approvals: 'on_risk', steps: '', model: '', session: '', record: false };

function Form({ members, onStarted }: { members: readonly Member[]; onStarted: (runId: string) => void }) {
  const { api } = useHandsServices();
  const [mode, setMode] = useState<RunMode>('direct');
  const [task, setTask] = useState('');
  const [wish, setWish] = useState(plainWish);
  const { scope, approvals, steps, model, session, record } = wish;
  const [actions, setActions] = useState<readonly ActionDraft[]>(() => {
    const first = members.find(({ toolset, name }) => toolset === 'browser' && name === 'navigate');
    return first === undefined ? [] : [newAction(0, 'browser', 'navigate', first.input_schema)];
  });
  const { tried, form, begin, toFirstProblem } = useAttempt();
  const problems = actions.map(({ toolset, member, texts }) =>
    actionProblems(schemaOf(members, toolset, member), texts),
  );
  const stepsProblem =
    steps.trim() !== '' && !(/^\d{1,3}$/.test(steps.trim()) && Number(steps) >= 1 && Number(steps) <= maxSteps)
      ? `Enter a whole number from 1 to ${maxSteps}.`
      : undefined;
  const taskProblem = mode !== 'direct' && task.trim() === '' ? 'Required.' : undefined;
  const wrong =
    stepsProblem !== undefined ||
    taskProblem !== undefined ||
    (mode === 'direct' && (actions.length === 0 || problems.some((one) => Object.keys(one).length > 0)));

  const start = useAct(async () => {
    begin();
    if (wrong) return toFirstProblem();
    const run = await api.computerUse.execute(request());
    onStarted(run.run_id);
  });
  function request(): ExecuteRequest {
    const options: RunOptions = {
      approvals,
      ...(steps.trim() === '' ? {} : { max_steps: Number(steps) }),
      ...(model.trim() === '' || mode === 'direct' ? {} : { model: model.trim() }),
      ...(record ? { record } : {}),
    };
    const shared = { target_scope: scope, options, ...(session === '' ? {} : { session_id: session }) };
    if (mode !== 'direct') return { mode, task: task.trim(), ...shared };
    const written = actions.map((one) => actionOf(one, schemaOf(members, one.toolset, one.member)));
    return { mode, actions: written, ...shared, ...(task.trim() === '' ? {} : { metadata: { name: task.trim() } }) };
  }
  const run = useRef(start.run);
  run.current = start.run;
  const keyed = useMemo<readonly Action[]>(
    () => [
      {
        id: 'begin-run',
        title: 'Start the run',
        group: 'Computers',
        changes: 'at once',
        keys: 'Ctrl Enter',
        run: () => run.current(),
      },
    ],
    [],
  );
  useAddActions(keyed);
  return (
    <form
      ref={form}
      className="grid min-w-0 max-w-[1080px] content-start gap-4 p-3 @container"
      onSubmit={(event) => {
        event.preventDefault();
        start.run();
      }}
      onKeyDown={(event) => {
        // Enter in a field must not start it by accident.
        if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey && event.target instanceof HTMLInputElement) {
          event.preventDefault();
        }
      }}
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <div className="[&>fieldset]:ml-0">
          <Ways
            label="Mode"
            value={mode}
            ways={runModes.map((key) => ({ key, word: modeWords[key].word }))}
            onChange={setMode}
          />
        </div>
        <p className="text-muted">{modeWords[mode].says}</p>
      </div>
      {mode === 'direct' ? (
        <>
          <TextField
            label="Name"
            description="The run’s name in the list."
            value={task}
            maxLength={200}
            onChange={setTask}
          />
          <ActionEditor
            members={members.filter(
              ({ toolset }) => scope === 'auto' || toolset === (scope === 'desktop' ? 'computer' : 'browser'),
            )}
            all={members}
            actions={actions}
            problems={tried ? problems : []}
            none={tried && actions.length === 0}
            onChange={setActions}
          />
        </>
      ) : (
        <AreaField
          label="Task"
          required
          problem={tried ? taskProblem : undefined}
          description="Say what to do and how to tell that it is done."
          value={task}
          rows={4}
          maxLength={20_000}
          onChange={setTask}
          className="field-sizing-content max-h-80 min-h-24 py-1.5"
        />
      )}
      <WishFields
        mode={mode}
        wish={wish}
        stepsProblem={stepsProblem}
        onChange={(change) => setWish({ ...wish, ...change })}
      />
      {start.failure !== null && <Problem error={start.failure} />}
      <div>
        <Button kind="primary" type="submit" disabled={start.busy} aria-keyshortcuts="Control+Enter">
          {start.busy ? 'Starting' : 'Start'}
          <span className="max-sm:hidden">
            <Kbd keys="Ctrl Enter" />
          </span>
        </Button>
      </div>
    </form>
  );
}

function WishFields({
  mode,
  wish: { scope, approvals, steps, model, session, record },
  stepsProblem,
  onChange,
}: {
  mode: RunMode;
  wish: Wish;
  stepsProblem: string | undefined;
  onChange: (change: Partial<Wish>) => void;
}) {
  const { queries } = useHandsServices();
  const sessions = useQuery(queries.browserSessions).data?.filter(({ status }) => status === 'open') ?? [];
  return (
    <div className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
      <SelectField label="Runs in" value={scope} options={scopes} onChange={(scope) => onChange({ scope })} />
      <SelectField
        label="Asks for approval"
        value={approvals}
        options={asks}
        onChange={(approvals) => onChange({ approvals })}
      />
      <TextField
        label="Step limit"
        problem={stepsProblem}
        description={mode === 'direct' ? 'Empty: all of them.' : `Empty: ${defaultSteps}.`}
        value={steps}
        inputMode="numeric"
        onChange={(steps) => onChange({ steps })}
      />
      {mode !== 'direct' && (
        <TextField
          label="Model"
          description="Empty: the model from the settings."
          value={model}
          spellCheck={false}
          onChange={(model) => onChange({ model })}
          className="font-mono text-code"
        />
      )}
      <SelectField
        label="Browser"
        value={session}
        options={Object.fromEntries([
          ['', 'A new browser'],
          ...sessions.map((one) => [one.session_id, one.browser?.title || one.browser?.url || one.session_id]),
        ])}
        onChange={(session) => onChange({ session })}
      />
      <Check
        on={record}
        onChange={(record) => onChange({ record })}
        className="self-start sm:mt-7 pointer-coarse:min-h-10"
      >
        Record a video
      </Check>
    </div>
  );
}
