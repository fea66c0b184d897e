/**
 * The conversation of a bot without a terminal, in place of its screen: what was said, thought and planned, each tool call with what it changed, and what a
 * person was asked. Loaded with the first such bot.
 */
import { createTwoFilesPatch } from 'diff';
import { ArrowUp, CircleCheck, CircleDashed, CircleDot } from 'lucide-react';
import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react';
import type {
  ConversationDiff,
  ConversationEntry,
  ConversationModes,
  ConversationTool,
} from '../../../contracts/factory/conversation-routes.ts';
import type { PlacedBot } from '../../base/data/places.ts';
import { isLive } from '../../base/is-live.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { SkeletonRows } from '../../ui/list-states.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { Pick } from '../../ui/pick.tsx';
import { Problem } from '../../ui/problem.tsx';
import { callStatus, Status } from '../../ui/status.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useConversation } from './use-conversation.ts';

/** Lines of an output or a diff before it scrolls. */
const maxLines = 16;
/** How near the end still counts as reading along, px. */
const nearEnd = 40;

export function BotConversation({
  agent,
  focusRequest,
  onFocus,
}: {
  agent: PlacedBot;
  /** Changes when the conversation should take the focus; 0 never does. */
  focusRequest: number;
  onFocus: () => void;
}) {
  const { read, readOlder } = useConversation(agent);
  const box = useRef<HTMLElement>(null);
  const going = useAct(readOlder);
  const entries = read.data?.entries;
  // The newest is at the end; a reader who scrolled up stays where they are.
  useLayoutEffect(() => {
    const element = box.current;
    if (entries === undefined || element === null || element.dataset.readingBack === 'true') return;
    element.scrollTop = element.scrollHeight;
  }, [entries]);
  const isShown = entries !== undefined;
  useEffect(() => {
    if (focusRequest === 0 || !isShown) return;
    // The dock moves a pane into place after it was shown, which would lose the focus again.
    const timer = setTimeout(() => box.current?.focus({ preventScroll: true }), 0);
    return () => clearTimeout(timer);
  }, [isShown, focusRequest]);
  if (read.data === undefined && read.error !== null)
    return (
      <div className="p-3">
        <Problem error={read.error} onRetry={() => void read.refetch()} />
      </div>
    );
  if (entries === undefined) return <SkeletonRows count={6} />;
  return (
    <section
      ref={box}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      aria-label={`Conversation of ${agent.name}`}
      className="absolute inset-0 overflow-y-auto bg-window"
      onFocus={onFocus}
      onScroll={({ currentTarget: at }) => {
        at.dataset.readingBack = String(at.scrollHeight - at.scrollTop - at.clientHeight > nearEnd);
      }}
    >
      <div className="mx-auto flex min-w-0 max-w-3xl flex-col gap-3 p-3">
        {read.data?.more === true && (
          <Button icon={ArrowUp} disabled={going.busy} onClick={going.run}>
            Show earlier
          </Button>
        )}
        {going.failure !== null && <Problem error={going.failure} />}
        {entries.length === 0 && (
          <p className="text-muted">
            {isLive(agent)
              ? `${agent.name} runs without a terminal. Its conversation appears here.`
              : `${agent.name} has not run yet. Start its team to talk to it.`}
          </p>
        )}
        {entries.map((entry) => (
          <Entry key={entry.seq} entry={entry} />
        ))}
        <Mode agent={agent} modes={read.data?.modes ?? null} onSet={() => void read.refetch()} />
      </div>
    </section>
  );
}

function Entry({ entry }: { entry: ConversationEntry }) {
  const { kind, text = '', tool, plan, question } = entry;
  if (tool !== undefined) return <Call tool={tool} />;
  if (plan !== undefined) return <Plan plan={plan} />;
  if (question !== undefined) return <Asked text={text} question={question} />;
  if (kind === 'user') return <Told text={text} />;
  if (kind === 'thought') {
    return (
      <details className="min-w-0 text-muted">
        <summary className="w-fit cursor-pointer text-meta">Thought</summary>
        <p className="mt-1 border-l-2 border-line pl-3 break-words whitespace-pre-wrap">{text}</p>
      </details>
    );
  }
  if (kind === 'note') return <p className="text-meta break-words text-muted">{text}</p>;
  return (
    <div className="min-w-0 break-words">
      <Markdown text={text} />
    </div>
  );
}

/** A message, with the line that names its sender above it. */
function Told({ text }: { text: string }) {
  const [, sender, rest] = /^From (.{1,300}?)(?: \(message [\w-]+\))?:?\n+(.*)$/s.exec(text) ?? [];
  return (
    <div className="min-w-0 max-w-full self-end rounded-panel border border-line bg-raised px-3 py-2">
      {sender !== undefined && <p className="text-meta text-muted">{sender === 'owner' ? 'You' : sender}</p>}
      <p className="break-words whitespace-pre-wrap">{rest ?? text}</p>
    </div>
  );
}

function Call({ tool }: { tool: ConversationTool }) {
  const { title, status, diffs = [], places = [], input, output } = tool;
  const inside = diffs.length > 0 || places.length > 0 || input !== undefined || output !== undefined;
  const head = (
    <>
      <Status look={callStatus[status]} wire={status} />
      <span className="min-w-0 flex-1 font-mono text-code break-words">{title}</span>
    </>
  );
  const frame = 'min-w-0 rounded-panel border border-line bg-panel';
  if (!inside) return <div className={`${frame} flex items-start gap-2 px-3 py-1.5`}>{head}</div>;
  return (
    <details className={frame} open={diffs.length > 0 || status === 'failed'}>
      <summary className="flex min-h-7 cursor-pointer items-start gap-2 px-3 py-1.5 pointer-coarse:min-h-10">
        {head}
      </summary>
      <div className="flex min-w-0 flex-col gap-2 border-t border-line p-2">
        {diffs.length === 0 && places.length > 0 && (
          <p className="font-mono text-code break-all text-muted">{places.join('\n')}</p>
        )}
        {diffs.map((diff) => (
          <TextView key={diff.path} text={patchOf(diff)} label={`Change of ${diff.path}`} diff maxLines={maxLines} />
        ))}
        {input !== undefined && diffs.length === 0 && (
          <Part name="Input">
            <TextView text={input} label={`Input of ${title}`} maxLines={maxLines} wrap />
          </Part>
        )}
        {output !== undefined && (
          <Part name="Output">
            <TextView text={output} label={`Output of ${title}`} maxLines={maxLines} wrap />
          </Part>
        )}
      </div>
    </details>
  );
}

function Part({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <p className="pb-0.5 text-meta text-muted">{name}</p>
      {children}
    </div>
  );
}

function patchOf({ path, before, after, cut }: ConversationDiff): string {
  const from = before === null ? '/dev/null' : path;
  const patch = createTwoFilesPatch(from, path, before ?? '', after, undefined, undefined, { maxEditLength: 4000 });
  const lines = patch ?? `--- ${from}\n+++ ${path}\n${after.replace(/^/gm, '+')}`;
  return `${lines.replace(/^=+\n/, '')}${cut === true ? '\n(The file is too long to be shown whole.)\n' : ''}`;
}

const stepIcons = { pending: CircleDashed, in_progress: CircleDot, completed: CircleCheck } as const;
const stepWords = { pending: 'Not begun', in_progress: 'In progress', completed: 'Completed' } as const;

function Plan({ plan }: { plan: NonNullable<ConversationEntry['plan']> }) {
  return (
    <ul aria-label="Plan" className="min-w-0 rounded-panel border border-line bg-panel px-3 py-2">
      {plan.map((step, index) => {
        const Icon = stepIcons[step.status];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps of a plan have no other identity
          <li key={index} className="flex items-start gap-2 py-0.5">
            <Icon className="mt-[3px] size-3.5 shrink-0 text-muted" aria-hidden="true" />
            <span className="sr-only">{stepWords[step.status]}: </span>
            <span className={`min-w-0 break-words ${step.status === 'completed' ? 'text-muted' : ''}`}>
              {step.text}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

const answers = {
  open: 'Waiting for you',
  approved: 'Approved',
  rejected: 'Rejected',
  withdrawn: 'Withdrawn',
} as const;

function Asked({ text, question }: { text: string; question: NonNullable<ConversationEntry['question']> }) {
  const by = question.approvalId === null ? ' by a rule' : '';
  return (
    <p className="text-meta break-words text-muted">
      <span className="text-ink">
        {answers[question.answer]}
        {question.answer === 'open' ? '' : by}
      </span>
      : {text}
    </p>
  );
}

/** The ways of working that the agent offers; the choice holds until it is changed. */
function Mode({ agent, modes, onSet }: { agent: PlacedBot; modes: ConversationModes | null; onSet: () => void }) {
  const { api } = useServices();
  const setting = useAct(async (mode: string) => {
    await api.factory.setAgentMode({ params: { id: agent.id }, body: { mode } });
    onSet();
  });
  if (modes === null) return null;
  return (
    <div className="flex flex-wrap items-center gap-2 text-meta text-muted">
      <span aria-hidden="true">Mode</span>
      <Pick label={`Mode of ${agent.name}`} value={modes.current} onChange={setting.run}>
        {modes.available.map(({ id, name }) => [id, name] as const)}
      </Pick>
      <span className="min-w-0">{modes.available.find(({ id }) => id === modes.current)?.description}</span>
      {setting.failure !== null && <Problem error={setting.failure} />}
    </div>
  );
}
