/** One tool: its name and purpose, a form for its arguments, and its last call's result. */
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { ToolInfo } from '../../../contracts/tool-server/tools.ts';
import type { Action } from '../../base/actions.ts';

import { OpenBar } from '../../base/place-frame.tsx';
import { useAddActions } from '../../base/services.tsx';
import { follow } from '../../base/use-followed.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/copy.tsx';
import { formSchemaOf } from '../../ui/form-schema.ts';
import { Kbd } from '../../ui/kbd.tsx';
import { Empty, type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { firstTexts } from '../../ui/schema-fields.ts';
import { useAttempt } from '../../ui/use-attempt.ts';
import { argumentsOf } from './arguments.ts';
import { ArgumentsForm } from './arguments-form.tsx';
import { CallEnd } from './call-end.tsx';
import { Hints } from './hints.tsx';
import { safeName } from './queries.ts';
import type { ToolDraft } from './tool-calls.ts';
import { hintsOf, type ToolGroup, titleOf } from './tool-words.ts';
import { useToolServices } from './use-tool-services.ts';

const ofCall = { group: 'Tools', changes: 'at once' } as const;

export function ToolPage({
  name,
  tool,
  source,
  group,
  onBack,
  onServer,
}: {
  /** As the address has it. */
  name: string;
  /** Undefined: not known, or not known yet. */
  tool: ToolInfo | undefined;
  source: ListSource<readonly ToolInfo[]>;
  group: ToolGroup | null;
  onBack: () => void;
  onServer: (key: string) => void;
}) {
  return (
    <>
      <OpenBar
        back="Back to the tools"
        onBack={onBack}
        within={group === null ? undefined : { name: group.name, onOpen: () => onServer(group.key) }}
        title={name}
        code
      />
      <ListStates
        source={source}
        skeleton={<SkeletonRows count={8} />}
        isEmpty={() => tool === undefined}
        empty={
          <Empty action={<Button onClick={onBack}>Back to the tools</Button>}>
            No tool named {name}. Its server may be disabled or detached, or no longer offer it.
          </Empty>
        }
      >
        {() => tool !== undefined && <Body tool={tool} />}
      </ListStates>
    </>
  );
}

function Body({ tool }: { tool: ToolInfo }) {
  const { api, computer, toolCalls } = useToolServices();
  const key = `${computer ?? ''} ${tool.name}`;
  const schema = useMemo(() => formSchemaOf(tool.inputSchema), [tool.inputSchema]);
  const [draft, setDraft] = useState<ToolDraft>(
    () =>
      toolCalls.draftOf(key) ?? {
        texts: schema === null ? {} : firstTexts(schema),
        json: schema === null ? '{}' : null,
      },
  );
  const form = useRef<HTMLFormElement>(null);
  const { tried, begin, toFirstProblem } = useAttempt(form);
  const call = useSyncExternalStore(toolCalls.subscribe, () => toolCalls.callOf(key));
  const running = call?.state === 'running';
  const { problems, values } = argumentsOf(schema, draft);

  useEffect(() => toolCalls.keepDraft(key, draft), [toolCalls, key, draft]);
  useEffect(() => {
    // Where there is no keyboard, a field in focus would open the one on the screen.
    if (matchMedia('(pointer: coarse)').matches) return;
    form.current?.querySelector<HTMLElement>('[data-fields] :is(input, textarea, select), [data-call]')?.focus();
  }, []);

  const run = useCallback(() => {
    begin();
    if (values === null) return toFirstProblem();
    toolCalls.start(key, (signal, onProgress) =>
      follow(
        api.factory,
        (headers) =>
          api.tools.callTool({ params: { name: tool.name }, body: { arguments: values } }, { signal, headers }),
        onProgress,
      ),
    );
  }, [api, begin, key, toFirstProblem, tool.name, toolCalls, values]);

  const actions = useMemo<readonly Action[]>(
    () => [
      running
        ? { ...ofCall, id: 'cancel-call', title: 'Cancel the call', run: () => toolCalls.cancel(key) }
        : { ...ofCall, id: 'call-tool', title: `Call ${tool.name}`, keys: 'Ctrl Enter', run },
    ],
    [key, run, running, tool.name, toolCalls],
  );
  useAddActions(actions);

  const title = titleOf(tool);
  const shownTitle = title === undefined || title === tool.name ? null : title;
  return (
    <div className="@container flex min-w-0 flex-1 flex-col">
      <section aria-label="About this tool" className="flex shrink-0 flex-col gap-2 border-b border-line p-3">
        {(shownTitle !== null || hintsOf(tool).length > 0) && (
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            {shownTitle !== null && <span className="font-semibold">{shownTitle}</span>}
            <Hints tool={tool} />
          </div>
        )}
        {tool.description !== undefined && (
          <p className="max-h-40 max-w-[760px] overflow-y-auto break-words whitespace-pre-line text-muted">
            {tool.description}
          </p>
        )}
        <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-meta text-muted">
          <span className="inline-flex min-w-0 max-w-full items-center gap-1.5">
            Name <Command text={tool.name} />
          </span>
          {safeName(tool.name) !== tool.name && (
            <span className="inline-flex min-w-0 max-w-full items-center gap-1.5">
              Without dots <Command text={safeName(tool.name)} />
            </span>
          )}
        </div>
      </section>
      <div className="grid min-w-0 flex-1 content-start @min-[860px]:grid-cols-2">
        <form
          ref={form}
          className="flex min-w-0 flex-col gap-3 border-line p-3 @min-[860px]:border-r"
          onSubmit={(event) => {
            event.preventDefault();
            run();
          }}
          onKeyDown={(event) => {
            // Enter in a field must not call by accident.
            if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey && event.target instanceof HTMLInputElement) {
              event.preventDefault();
            }
          }}
        >
          <ArgumentsForm schema={schema} draft={draft} problems={tried ? problems : {}} onChange={setDraft} />
          <div className="flex flex-wrap items-center gap-2">
            <Button
              kind="primary"
              type="submit"
              data-call="true"
              // It keeps the focus while it runs.
              aria-disabled={running}
              aria-keyshortcuts="Control+Enter"
              className="aria-disabled:opacity-50"
            >
              {call === null || running ? 'Call' : 'Call again'}
              <span className="max-sm:hidden">
                <Kbd keys="Ctrl Enter" />
              </span>
            </Button>
            {running && (
              <Button
                onClick={() => {
                  form.current?.querySelector<HTMLElement>('[data-call]')?.focus();
                  toolCalls.cancel(key);
                }}
              >
                Cancel
              </Button>
            )}
          </div>
        </form>
        <CallEnd tool={tool} call={call} />
      </div>
    </div>
  );
}
