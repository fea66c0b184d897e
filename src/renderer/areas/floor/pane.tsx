/** One bot's pane: a line with its name and state, its terminal, and the reason in words when nothing moves. */
import { useQuery } from '@tanstack/react-query';
import { ArrowDownToLine, Copy, Maximize2, Minimize2, Monitor, Search, Unplug } from 'lucide-react';
import { lazy, memo, Suspense, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { toast } from 'sonner';
import { AppError } from '../../../contracts/common/errors.ts';
import type { Engine } from '../../../contracts/factory/agent.ts';
import type { Action } from '../../base/actions.ts';
import { useQuestionsOf } from '../../base/approvals.ts';
import { BotStatus } from '../../base/bot-status.tsx';
import { useComputerName, useRunsOn } from '../../base/computers.tsx';
import type { Place, PlacedBot } from '../../base/data/places.ts';
import { hasConversation } from '../../base/is-live.ts';
import { needsPerson } from '../../base/needs-person.ts';
import { useAddActions, useServices } from '../../base/services.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { deliveryParties } from '../../ui/delivery-row.tsx';
import { describeProblem } from '../../ui/describe-problem.ts';
import { later } from '../../ui/later.ts';
import { Ago } from '../../ui/now.tsx';
import { FindBar } from './find-bar.tsx';
import type { Said } from './marks.ts';
import { PaneQuestions } from './pane-questions.tsx';
import type { ScreenSize } from './pane-size.ts';
import { type PaneHandle, PaneTerminal } from './pane-terminal.tsx';
import type { PaneLink } from './screens.ts';

const BotConversation = lazy(
  later(() => import('./conversation.tsx').then((module) => ({ default: module.BotConversation }))),
);
const PathsDialog = lazy(
  later(() => import('./changes/paths-dialog.tsx').then((module) => ({ default: module.PathsDialog }))),
);

interface PaneProps {
  readonly agent: PlacedBot;
  /** What it is called among all that are there. */
  readonly name: string;
  readonly active: boolean;
  readonly focusRequest: number;
  readonly onFocus: () => void;
  readonly onDetach: () => void;
  /** Absent where a pane fills the window anyway. */
  readonly fullScreen?: { readonly on: boolean; toggle(): void };
}

/** Drawn again only when its own bot changes: there are many, and each has many states. */
export const Pane = memo(function Pane(props: PaneProps) {
  const { agent, name, active, onFocus } = props;
  const { queries } = useServices();
  const own = useQuery({ ...queries.agents, enabled: !agent.place.away }).data?.engine;
  const engine = agent.runner === 'local' ? own : undefined;
  const { link, setLink, seenAt } = usePaneLink();
  const [size, setSize] = useState<ScreenSize | null>(null);
  const onInputError = useCallback(
    (error: unknown) => {
      const problem = describeProblem(error);
      toast.error(`Could not type into ${name}: ${problem.fact}`, { description: problem.action });
    },
    [name],
  );
  const onReadError = useCallback(
    (error: unknown) => {
      const problem = describeProblem(error);
      toast.error(`Could not read what ${name} printed: ${problem.fact}`, { description: problem.action });
    },
    [name],
  );
  const [handle, setHandle] = useState<PaneHandle | null>(null);
  const [scrolled, setScrolled] = useState(false);
  const [finding, setFinding] = useState(false);
  const find = useCallback(() => setFinding(true), []);
  const toEnd = useCallback(() => {
    setFinding(false);
    handle?.toEnd();
    handle?.focus();
  }, [handle]);
  const [choosingPath, setChoosingPath] = useState(false);
  const choosePath = useCallback(() => setChoosingPath(true), []);
  const copy = useCopyAsText(agent.id, name);
  const said = useSaid(agent.id, active);
  usePaneActions({ handle: active ? handle : null, find: finding ? toEnd : find, copy, choosePath });
  const questions = useQuestionsOf(agent.id);
  const paneId = agent.pane?.id ?? null;
  const where = useRunsOn(agent);
  const away = where.away || (engine !== undefined && !engine.running);
  const watchRequest = useWatchAgain(link, paneId !== null && !away && !agent.stale);
  const old =
    paneId !== null &&
    (away || agent.stale || link.kind === 'gone' || link.kind === 'reconnecting' || link.kind === 'failed');
  const asking = questions.length > 0 || (needsPerson(agent) && !away);
  return (
    <section
      aria-label={`Pane of ${name}`}
      data-asking={asking ? 'true' : undefined}
      className="relative flex h-full min-w-0 flex-col bg-terminal"
    >
      <PaneHeader
        agent={agent}
        name={name}
        onDetach={props.onDetach}
        fullScreen={props.fullScreen}
        finding={finding}
        onFind={finding ? toEnd : find}
        onCopy={copy}
        size={paneId === null ? null : size}
        seenAt={old ? seenAt : null}
      />
      <PaneNotice agent={agent} where={where} seenAt={seenAt} engine={engine} link={paneId === null ? null : link} />
      <div className={`relative min-h-0 flex-1 ${old ? 'opacity-60' : ''}`}>
        {paneId === null ? (
          hasConversation(agent) ? (
            <Suspense>
              <BotConversation key={agent.id} agent={agent} focusRequest={props.focusRequest} onFocus={onFocus} />
            </Suspense>
          ) : (
            <LastLines key={agent.id} agent={agent} />
          )
        ) : (
          <div className="absolute inset-0 py-1.5">
            <div className="relative h-full">
              <PaneTerminal
                key={paneId}
                bot={agent}
                label={`Terminal of ${name}`}
                active={active}
                focusRequest={props.focusRequest}
                watchRequest={watchRequest}
                onLink={setLink}
                onSize={setSize}
                onFocus={onFocus}
                onInputError={onInputError}
                onReadError={onReadError}
                onHandle={setHandle}
                onScrolled={setScrolled}
                said={said}
                onFind={find}
              />
            </div>
          </div>
        )}
        {finding && handle !== null && (
          <FindBar
            name={name}
            pane={handle}
            onClose={toEnd}
            onTwice={() => {
              toEnd();
              handle.press('C-f');
            }}
          />
        )}
        {scrolled && (
          <span className="absolute right-4 bottom-2 z-10">
            <Button icon={ArrowDownToLine} onClick={toEnd}>
              Back to live
            </Button>
          </span>
        )}
      </div>
      {choosingPath && handle !== null && (
        <Suspense>
          <PathsDialog name={name} pane={handle} onClose={() => setChoosingPath(false)} />
        </Suspense>
      )}
      <PaneQuestions questions={questions} name={name} active={active} onFocus={onFocus} />
      {asking && <div className="pointer-events-none absolute inset-0 z-10 border-2 border-need" aria-hidden="true" />}
    </section>
  );
});

/** What the keyboard and the palette do in the pane that a person works in; nothing without one. */
function usePaneActions({
  handle,
  find,
  copy,
  choosePath,
}: {
  handle: PaneHandle | null;
  find: () => void;
  copy: () => void;
  choosePath: () => void;
}): void {
  const actions = useMemo<readonly Action[]>(
    () =>
      handle === null
        ? []
        : (
            [
              { id: 'find', title: 'Find in the pane', keys: 'Ctrl Shift F', run: find },
              { id: 'mark-up', title: 'Go to the message above', keys: 'Ctrl Shift ↑', run: () => handle.jump(-1) },
              { id: 'mark-down', title: 'Go to the message below', keys: 'Ctrl Shift ↓', run: () => handle.jump(1) },
              { id: 'copy-pane', title: 'Copy the pane as text', run: copy },
              { id: 'open-path', title: 'Open a file that the pane names', keys: 'Ctrl Shift O', run: choosePath },
            ] as const
          ).map((action) => ({ ...action, group: 'Pane', changes: false })),
    [handle, find, copy, choosePath],
  );
  useAddActions(actions);
}

/** The contract's most, and more than a pane keeps. */
const allLines = 2000;

/** Puts on the clipboard what the pane shows and what it printed above, with wrapped lines whole again. */
function useCopyAsText(id: string, name: string): () => void {
  const { api } = useServices();
  return useCallback(() => {
    api.factory
      .captureAgent({ params: { id }, query: { lines: allLines } })
      .then(({ text }) => navigator.clipboard.writeText(`${text.trimEnd()}\n`))
      .then(
        () => toast(`Copied what ${name} printed`),
        (error: unknown) => {
          if (!(error instanceof AppError)) return toast.error('The browser does not let this page copy.');
          const problem = describeProblem(error);
          return toast.error(problem.fact, { description: problem.action });
        },
      );
  }, [api, id, name]);
}

/** What was delivered to the bot, for the marks of its pane; read for the pane that a person works in. */
function useSaid(id: string, active: boolean): readonly Said[] {
  const { queries } = useServices();
  const deliveries = useQuery({ ...queries.deliveriesOf(id), enabled: active }).data?.deliveries;
  return useMemo(
    () =>
      (deliveries ?? []).flatMap((one) =>
        one.firstWords === undefined
          ? []
          : { words: one.firstWords, title: `${deliveryParties(one)}: ${one.firstWords}` },
      ),
    [deliveries],
  );
}

/** How the pane is read, and until when its screen was seen. */
function usePaneLink() {
  const [link, setLink] = useState<PaneLink>({ kind: 'connecting' });
  const [seenAt, setSeenAt] = useState<string | null>(null);
  const seen = useRef(false);
  const take = useCallback((next: PaneLink) => {
    const sees = next.kind === 'live' || next.kind === 'sampled';
    if (seen.current && !sees) setSeenAt(new Date().toISOString());
    seen.current = sees;
    setLink(next);
  }, []);
  return { link, setLink: take, seenAt };
}

/** How long after a pane could not be read it is tried again, in ms, while the list of bots says that it lives. */
const watchAgainAfter = 1500;

/** Grows when a pane whose stream ended should be watched again: the pane host came back, or it was a passing fault. */
function useWatchAgain(link: PaneLink, alive: boolean): number {
  const [count, setCount] = useState(0);
  const ended = link.kind === 'gone' || link.kind === 'failed';
  useEffect(() => {
    if (!ended || !alive) return;
    const timer = setInterval(() => setCount((before) => before + 1), watchAgainAfter);
    return () => clearInterval(timer);
  }, [ended, alive]);
  return count;
}

const PaneHeader = memo(function PaneHeader({
  agent,
  name,
  size,
  seenAt,
  finding,
  onFind,
  onCopy,
  onDetach,
  fullScreen,
}: Pick<PaneProps, 'agent' | 'name' | 'onDetach' | 'fullScreen'> & {
  size: ScreenSize | null;
  seenAt: string | null;
  finding: boolean;
  onFind: () => void;
  onCopy: () => void;
}) {
  const computer = useComputerName(agent);
  const { away } = useRunsOn(agent);
  return (
    <header className="flex h-8 shrink-0 items-center gap-2 border-b border-line bg-panel pr-1 pl-3 text-meta text-muted">
      <BotStatus bot={agent} away={away} />
      {agent.stateReason !== null && !away && (
        <span className="min-w-0 truncate text-ink" title={agent.stateReason}>
          {agent.stateReason === 'unclear' ? 'its screen is unclear, so nothing is typed' : agent.stateReason}
        </span>
      )}
      {agent.queueDepth > 0 && <span className="shrink-0 tabular-nums">{agent.queueDepth} queued</span>}
      <span className="ml-auto shrink-0">{agent.binding.harness ?? agent.binding.type}</span>
      {computer !== null && (
        <span className="inline-flex max-w-32 shrink-0 items-center gap-1 text-ink" title={`Runs on ${computer}`}>
          <Monitor className="size-3.5 shrink-0 text-muted" aria-hidden="true" />
          <span className="truncate">{computer}</span>
        </span>
      )}
      {seenAt !== null && (
        <span className="shrink-0">
          seen <Ago at={seenAt} />
        </span>
      )}
      {size !== null && (
        <span
          className="hidden shrink-0 tabular-nums sm:inline"
          title={size.ours ? 'Fits this window' : 'Set by another viewer; type here to fit it to this window'}
        >
          {size.cols}×{size.rows}
          {!size.ours && ' · set elsewhere'}
        </span>
      )}
      <span className="flex shrink-0 items-center">
        <IconButton
          label={`Find in ${name}`}
          shortcut="Ctrl F"
          aria-pressed={finding}
          disabled={agent.pane === null}
          onClick={onFind}
        >
          <Search aria-hidden="true" />
        </IconButton>
        <IconButton label={`Copy what ${name} printed as text`} disabled={agent.pane === null} onClick={onCopy}>
          <Copy aria-hidden="true" />
        </IconButton>
        {fullScreen !== undefined && (
          <IconButton
            label={fullScreen.on ? `Exit full screen of ${name}` : `Full screen of ${name}`}
            aria-pressed={fullScreen.on}
            onClick={() => fullScreen.toggle()}
          >
            {fullScreen.on ? <Minimize2 aria-hidden="true" /> : <Maximize2 aria-hidden="true" />}
          </IconButton>
        )}
        <IconButton label={`Detach ${name}; the bot keeps running`} onClick={onDetach}>
          <Unplug aria-hidden="true" />
        </IconButton>
      </span>
    </header>
  );
});

/** Why the screen below may be old. Nothing is said while it is live. */
function PaneNotice({
  agent,
  where,
  seenAt,
  engine,
  link,
}: {
  agent: PlacedBot;
  where: Place;
  seenAt: string | null;
  engine: Engine | undefined;
  link: PaneLink | null;
}) {
  let text: string | null = null;
  if (where.away) {
    text = `${where.name} is away. ${seenAt === null ? 'Its screen appears when it is back.' : 'This is the last known screen; typing has no effect.'}`;
  } else if (engine !== undefined && !engine.running) {
    text = `Panes are unavailable: ${(engine.error ?? 'the pane host does not answer').replace(/\.$/, '')}. This is the last known screen.`;
  } else if (agent.stale) text = 'This is the last known screen.';
  else if (link?.kind === 'gone')
    text = link.reason === null ? 'The pane is closed.' : `The pane is closed: ${link.reason}`;
  else if (link?.kind === 'reconnecting') text = `${describeProblem(link.error).fact} It reconnects automatically.`;
  else if (link?.kind === 'failed') {
    const problem = describeProblem(link.error);
    text = `${problem.fact} ${problem.action}`;
  }
  if (text === null) return null;
  return (
    <p role="status" className="shrink-0 border-b border-line bg-raised px-3 py-1 text-meta">
      {text}
    </p>
  );
}

const lastRows = 200;

/** A bot without a live pane: the last lines it printed, from its journal. */
function LastLines({ agent }: { agent: PlacedBot }) {
  const { api } = useServices();
  const capture = useQuery({
    queryKey: ['capture', agent.id, agent.state],
    queryFn: ({ signal }) =>
      api.factory.captureAgent({ params: { id: agent.id }, query: { lines: lastRows } }, { signal }),
  });
  const box = useRef<HTMLElement>(null);
  const text = capture.data?.text;
  // The newest line is at the end; a reader who scrolled up stays where they are.
  useLayoutEffect(() => {
    const element = box.current;
    if (text === undefined || element === null || element.dataset.readingBack === 'true') return;
    element.scrollTop = element.scrollHeight;
  }, [text]);
  if (capture.data === undefined) {
    return (
      <p className="p-3 text-muted">
        {capture.isPending
          ? 'Reading its last lines…'
          : `${agent.name} has not run yet. Start its team to give it a pane.`}
      </p>
    );
  }
  return (
    <section
      ref={box}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      aria-label={`Last lines of ${agent.name}`}
      className="absolute inset-0 overflow-auto p-3"
      onScroll={({ currentTarget: at }) => {
        at.dataset.readingBack = String(at.scrollHeight - at.scrollTop - at.clientHeight > 40);
      }}
    >
      <p className="mb-2 text-meta text-muted">
        Not running. Last lines, <Ago at={capture.data.at} />:
      </p>
      <pre className="font-mono text-code break-words whitespace-pre-wrap text-muted">{capture.data.text}</pre>
    </section>
  );
}
