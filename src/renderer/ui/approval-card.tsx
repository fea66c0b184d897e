/**
 * A question to a person: who asks, the exact command or diff, the risk, how long it can be answered, the two answers. Once it
 * is answered, by whomever, it is one line that says so. Must not know how an answer travels.
 */
import { ChevronRight, Triangle } from 'lucide-react';
import { memo, type ReactNode, type Ref, useId, useRef, useState } from 'react';
import type { Approval, ApprovalRisk } from '../../contracts/approvals/approval.ts';
import { visible, visibleLine } from '../../contracts/approvals/visible.ts';
import {
  answeredWords,
  answersOf,
  asksForTrust,
  asksForValues,
  isPending,
  saysAsker,
  showsDiff,
  sourceWords,
} from './approval-words.ts';
import { Button } from './button.tsx';
import { Kbd } from './kbd.tsx';
import { Ago, formatElapsed, useExact, useOfNow } from './now.tsx';
import { Problem } from './problem.tsx';
import { approvalStatus, Status } from './status.tsx';
import { TextView } from './text-view.tsx';
import { useLook } from './use-look.ts';

type Decision = 'approve' | 'reject';

const riskWords: Readonly<Record<ApprovalRisk, string>> = { low: 'low risk', medium: 'medium risk', high: 'high risk' };

/** Filled marks and a word show the degree: risk has no colour, because amber and red mean something else. */
function Risk({ risk }: { risk: ApprovalRisk }) {
  const filled = risk === 'low' ? 1 : risk === 'medium' ? 2 : 3;
  return (
    <span className={`inline-flex items-center gap-1 whitespace-nowrap ${risk === 'high' ? 'text-ink' : 'text-muted'}`}>
      <span className="inline-flex" aria-hidden="true">
        {[1, 2, 3].map((step) => (
          <Triangle key={step} className="size-2.5" fill={step <= filled ? 'currentColor' : 'none'} />
        ))}
      </span>
      {riskWords[risk]}
    </span>
  );
}

function Source({ approval }: { approval: Approval }) {
  const { source } = approval;
  const words = saysAsker(approval) ? null : sourceWords[source];
  return words === null ? null : <span title={source}>· {words} </span>;
}

function TimeLeft({ until }: { until: string }) {
  const left = useOfNow((now) => formatElapsed(Date.parse(until) - now));
  return (
    <span className="whitespace-nowrap text-muted tabular-nums" title={`Until ${useExact(until)}`}>
      {left} left
    </span>
  );
}

/** Where a command runs and with what: part of what is approved, and never a line of the command. */
function Details({ approval: { details = [], title } }: { approval: Approval }) {
  return details.map(({ name, text }) => (
    <div key={name} data-detail={name} className="flex min-w-0 flex-col gap-1">
      <p className="text-faint">{name}</p>
      <TextView text={visible(text)} label={`${name} of ${title}`} wrap maxLines={6} />
    </div>
  ));
}

/** What the asker says of it, apart from what it would do: a command cannot be worded as this. */
function Reason({ approval: { reason } }: { approval: Approval }) {
  if (reason === undefined) return null;
  return (
    <dl data-reason="true" className="flex min-w-0 flex-wrap gap-x-2 text-muted">
      <dt className="shrink-0 text-faint">Reason given</dt>
      <dd className="min-w-0 flex-1 break-words whitespace-pre-wrap">{visible(reason)}</dd>
    </dl>
  );
}

interface ApprovalCardProps {
  readonly approval: Approval;
  /** Who asks: a bot's address, a step. */
  readonly who: ReactNode;
  /** This session's user, so that an own answer reads "by you". */
  readonly me: string | undefined;
  readonly onAnswer: (decision: Decision, note: string) => Promise<void>;
  /** Offers to always allow it, with the note of the answer; absent where no rule can. */
  readonly onAlways?: ((note: string) => void) | undefined;
  /** The card that `a` and `r` answer. */
  readonly selected?: boolean;
  /** Of its title: one below that of what it stands in. */
  readonly heading?: 'h2' | 'h3';
  readonly ref?: Ref<HTMLElement>;
  readonly onFocus?: () => void;
}

export const ApprovalCard = memo(function ApprovalCard(props: ApprovalCardProps) {
  const { approval, me, onAnswer } = props;
  const [failure, setFailure] = useState<unknown>(null);
  const [busy, setBusy] = useState<Decision | null>(null);
  const answered = useOfNow((now) => answeredWords(approval, me, now));

  async function answer(decision: Decision, note: string): Promise<void> {
    if (busy !== null || !isPending(approval, Date.now())) return;
    setBusy(decision);
    setFailure(null);
    try {
      await onAnswer(decision, note);
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(null);
    }
  }

  const problem = failure !== null && <Problem error={failure} />;
  return answered === null ? (
    <PendingCard {...props} busy={busy} onDecide={(decision, note) => void answer(decision, note)} problem={problem} />
  ) : (
    <AnsweredLine {...props} answered={answered} problem={problem} />
  );
});

function PendingCard({
  approval,
  who,
  selected = false,
  heading: Heading = 'h3',
  ref,
  onFocus,
  onAlways,
  busy,
  onDecide,
  problem,
}: ApprovalCardProps & {
  busy: Decision | null;
  onDecide: (decision: Decision, note: string) => void;
  problem: ReactNode;
}) {
  const id = useId();
  const card = useRef<HTMLElement>(null);
  const { looked, early, again, pointed } = useLook(card, selected);
  return (
    <article
      ref={(element) => {
        card.current = element;
        if (typeof ref === 'function') ref(element);
        else if (ref != null) ref.current = element;
      }}
      tabIndex={-1}
      aria-labelledby={id}
      aria-current={selected ? 'true' : undefined}
      data-approval={approval.id}
      data-keys={looked ? 'answer' : early ? 'early' : 'wait'}
      onPointerDownCapture={pointed}
      data-row="true"
      onFocus={onFocus}
      className="@container flex min-w-0 flex-col gap-2 rounded-panel border border-line bg-panel p-3 aria-[current]:border-accent"
    >
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 text-meta">
        <Status look={approvalStatus(approval, 0)} wire={approval.state} />
        <Risk risk={approval.risk} />
        <span className="ml-auto">
          <TimeLeft until={approval.expiresAt} />
        </span>
      </header>
      <div className="min-w-0">
        <Heading id={id} className="text-title font-semibold break-words">
          {visibleLine(approval.title)}
        </Heading>
        <p className="break-words text-muted">
          {who} <Source approval={approval} />· <Ago at={approval.requestedAt} />
        </p>
      </div>
      <TextView
        text={visible(approval.summary)}
        label={`What ${approval.title} would do`}
        diff={showsDiff(approval)}
        // Nobody approves what lies beyond the edge; in a diff the signs must keep their column.
        wrap={!showsDiff(approval)}
        maxLines={14}
      />
      <Details approval={approval} />
      <Reason approval={approval} />
      {problem}
      <p role="status" className="text-meta text-muted empty:hidden">
        {early && !looked && 'Too soon: read it first, then answer after a short pause.'}
      </p>
      <AnswerForm
        approval={approval}
        titleId={id}
        selected={selected}
        looked={looked}
        busy={busy}
        onAlways={onAlways}
        onDecide={(decision, note) => (looked ? onDecide(decision, note) : again())}
      />
    </article>
  );
}

/** `onDecide` also takes what comes too soon, whichever way it is pressed: by a key, a click or from the palette. */
function AnswerForm({
  approval,
  titleId,
  selected,
  looked,
  busy,
  onAlways,
  onDecide,
}: Pick<ApprovalCardProps, 'approval' | 'onAlways'> & {
  /** Of the question's title, by which a screen reader tells its answers from those of others. */
  titleId: string;
  selected: boolean;
  /** It can have been read. */
  looked: boolean;
  busy: Decision | null;
  onDecide: (decision: Decision, note: string) => void;
}) {
  const [note, setNote] = useState('');
  const { approve, reject } = answersOf(approval);
  const decide = (decision: Decision) => onDecide(decision, note);
  return (
    <form
      className="flex flex-wrap items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        decide('approve');
      }}
      onKeyDown={(event) => {
        // Enter in the note must not answer by accident.
        if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return;
        event.preventDefault();
        if (event.ctrlKey || event.metaKey) decide('approve');
      }}
    >
      {/* A screen of a program takes a choice and no words. */}
      {!asksForTrust(approval) && (
        <input
          value={note}
          data-note="true"
          onChange={(event) => setNote(event.target.value)}
          aria-label={`Note for the answer to ${approval.title}`}
          placeholder={asksForValues(approval) ? 'Value, or name: value; name: value' : 'Note (optional)'}
          maxLength={2000}
          className="h-7 min-w-0 grow basis-40 rounded-control border border-line bg-window px-2 pointer-coarse:h-10"
        />
      )}
      <span className="ml-auto flex flex-wrap gap-2 @max-sm:w-full @max-sm:[&>*]:flex-1">
        {onAlways !== undefined && (
          <Button
            kind="quiet"
            className="@max-sm:order-last @max-sm:basis-full"
            disabled={busy !== null}
            aria-describedby={titleId}
            onClick={() => onAlways(note)}
          >
            Always allow…
          </Button>
        )}
        <Button
          data-decide="reject"
          disabled={busy !== null}
          aria-disabled={looked ? undefined : true}
          aria-keyshortcuts="r"
          aria-describedby={titleId}
          onClick={() => decide('reject')}
        >
          {reject[busy === 'reject' ? 1 : 0]}
          <span className="max-sm:hidden" aria-hidden="true">
            <Kbd keys="r" />
          </span>
        </Button>
        <Button
          kind={selected ? 'primary' : 'plain'}
          data-decide="approve"
          disabled={busy !== null}
          aria-disabled={looked ? undefined : true}
          aria-keyshortcuts="a"
          aria-describedby={titleId}
          onClick={() => decide('approve')}
        >
          {approve[busy === 'approve' ? 1 : 0]}
          <span className="max-sm:hidden" aria-hidden="true">
            <Kbd keys="a" />
          </span>
        </Button>
      </span>
    </form>
  );
}

function AnsweredLine({
  approval,
  who,
  answered,
  problem,
}: ApprovalCardProps & { answered: string; problem: ReactNode }) {
  return (
    <article data-approval={approval.id} data-answered="true" className="min-w-0">
      {problem}
      <details className="group rounded-control">
        <summary
          data-row="true"
          className="-mx-2 flex min-h-7 list-none flex-wrap items-center gap-x-2 rounded-control px-2 py-0.5 hover:bg-raised pointer-coarse:min-h-10"
        >
          {/* Its words begin where those of a card do. */}
          <ChevronRight className="-mr-[7px] size-3 shrink-0 text-faint group-open:rotate-90" aria-hidden="true" />
          <span className="min-w-0 flex-1 basis-40 truncate">
            {visibleLine(approval.title)}{' '}
            <span className="font-mono text-code text-muted">{visible(approval.summary).split('\n', 1)[0]}</span>
          </span>
          <span className="min-w-0 text-muted max-sm:pl-[13px]" title={approval.decision ?? approval.state}>
            {answered}
          </span>
          <span className="shrink-0 text-meta text-faint">
            <Ago at={approval.resolvedAt ?? approval.expiresAt} />
          </span>
        </summary>
        <div className="flex flex-col gap-2 px-[13px] pt-1 pb-3">
          <p className="break-words text-muted">
            {who} <Source approval={approval} />
            {approval.note !== null && <> · note: “{approval.note}”</>}
          </p>
          <TextView
            text={visible(approval.summary)}
            label={`What ${approval.title} was about`}
            diff={showsDiff(approval)}
            wrap={!showsDiff(approval)}
          />
          <Details approval={approval} />
          <Reason approval={approval} />
        </div>
      </details>
    </article>
  );
}
