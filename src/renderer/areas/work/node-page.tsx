/** A node: its task, the reason for its state, its proofs, deliveries, open question and history. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Maximize2, Minimize2, X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { Approval } from '../../../contracts/approvals/approval.ts';
import { type NodePage as Page, taskNamedIn } from '../../../contracts/factory/node.ts';
import { leaseWords, type NodeLease } from '../../../contracts/factory/node-lease.ts';
import { Asker } from '../../base/asker.tsx';
import { useBots } from '../../base/floors.tsx';
import { QuestionCard } from '../../base/question-card.tsx';
import { useServices } from '../../base/services.tsx';
import { useDeliveryText } from '../../base/use-delivery-text.ts';
import { isPending } from '../../ui/approval-words.ts';
import { IconButton } from '../../ui/button.tsx';
import { ShortId, shortId } from '../../ui/copy.tsx';
import { DeliveryRow } from '../../ui/delivery-row.tsx';
import { Fact } from '../../ui/fact.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { Ago, useExact, useNow, useOfNow } from '../../ui/now.tsx';
import { nodeLook, Status } from '../../ui/status.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { WhyLine } from '../../ui/why-line.tsx';
import { causeWords, isQuestionOf } from './board-groups.ts';
import { assigneeWords } from './node-card.tsx';
import { NodeVerbs } from './node-verbs.tsx';
import { Proofs } from './proofs.tsx';

interface NodePageProps {
  readonly dagId: string;
  readonly nodeId: string;
  /** Takes the whole main part, so that proofs have room. */
  readonly full: boolean;
  /** Null where there is only one way to show it. */
  readonly onFull: ((full: boolean) => void) | null;
  readonly onClose: () => void;
}

const leaseEveryMs = 10_000;

export function NodePage({ dagId, nodeId, full, onFull, onClose }: NodePageProps) {
  const { queries } = useServices();
  const page = useQuery({
    ...queries.node(dagId, nodeId),
    // What renews a lease is no event.
    refetchInterval: ({ state }) => (state.data?.lease == null ? false : leaseEveryMs),
  });
  return (
    <section aria-label="Step" className="flex min-h-0 min-w-0 flex-1 flex-col bg-panel">
      <header className="flex h-10 shrink-0 items-center gap-1 border-b border-line pr-2 pl-3">
        <h2 className="min-w-0 flex-1 truncate text-title font-semibold" title={page.data?.card.title}>
          {page.data?.card.title ?? 'Step'}
        </h2>
        {onFull !== null && (
          <IconButton label={full ? 'Show beside the board' : 'Show full width'} onClick={() => onFull(!full)}>
            {full ? <Minimize2 aria-hidden="true" /> : <Maximize2 aria-hidden="true" />}
          </IconButton>
        )}
        <IconButton label="Close the step" shortcut="Esc" onClick={onClose}>
          <X aria-hidden="true" />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <ListStates source={page} skeleton={<SkeletonRows count={8} />} isEmpty={() => false} empty={null}>
          {(data) => <Body page={data} full={full} />}
        </ListStates>
      </div>
    </section>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="min-w-0">
      <h3 className="px-3 pb-1 font-semibold">{title}</h3>
      {children}
    </section>
  );
}

function Body({ page, full }: { page: Page; full: boolean }) {
  const { card } = page;
  return (
    <div className={`flex flex-col gap-4 py-3 ${full ? 'mx-auto max-w-[920px]' : ''}`}>
      <div className="flex flex-col gap-2">
        <Facts page={page} />
        <div className="px-3">
          <Why page={page} />
        </div>
        <NodeVerbs card={card} />
        <Question page={page} />
      </div>
      {page.spec !== '' && (
        // Its own headings say what each part is.
        <section aria-label="Task" className="min-w-0 px-3">
          <Markdown text={page.spec} />
        </section>
      )}
      {page.progressMd !== '' && (
        <Section title="Progress">
          <div className="px-3">
            <Markdown text={page.progressMd} />
          </div>
        </Section>
      )}
      <Section title="Proof">
        <Proofs page={page} roomy={full} />
      </Section>
      {page.output !== null && page.output !== '' && (
        <Section title="Output for later steps">
          <div className="px-3">
            <TextView text={page.output} label="Output" maxLines={full ? 24 : 8} />
          </div>
        </Section>
      )}
      <NodeDeliveries page={page} />
      <Section title="History">
        <History page={page} />
      </Section>
    </div>
  );
}

function Facts({ page: { card, lease, history } }: { page: Page }) {
  const task = card.assignee === 'queue' ? taskOf(card.detail, history) : null;
  return (
    <dl className="flex flex-col gap-1 px-3">
      <Fact name="State">
        <Status look={nodeLook(card)} wire={card.status} />
        {card.attempt > 1 && <span className="ml-2 text-muted tabular-nums">attempt {card.attempt}</span>}
      </Fact>
      <Fact name="Done by">{assigneeWords(card.assignee)}</Fact>
      {task !== null && (
        <Fact name="Task">
          <Link to="/queue" search={{ task }} title={task} className="rounded-control text-accent underline">
            {shortId(task)}
          </Link>
        </Fact>
      )}
      {lease !== null && <Lease lease={lease} />}
      {card.gate !== null && (
        <Fact name="Gate">
          {card.gate.kind}, {card.gate.state}
          {card.gate.description !== '' && <span className="text-muted">: {card.gate.description}</span>}
        </Fact>
      )}
      <Fact name="Id">
        <ShortId id={card.nodeId} />
      </Fact>
    </dl>
  );
}

/** The newest one: a retry has a task of its own. */
function taskOf(detail: string | null, history: Page['history']): string | null {
  const named = [detail, ...history.map((move) => move.detail).toReversed()].map(taskNamedIn);
  return named.find((id) => id !== null) ?? null;
}

function Lease({ lease }: { lease: NodeLease }) {
  const last = useOfNow((now) => leaseWords(lease, now).last);
  const next = useOfNow((now) => leaseWords(lease, now).next);
  return (
    <Fact name="Lease">
      <span className="tabular-nums" title={`${lease.renewedBy}, ${useExact(lease.renewedAt)}`}>
        {last}
      </span>{' '}
      <span className="text-muted tabular-nums">{next}</span>
    </Fact>
  );
}

/** The engine's own sentence; until it is there, what the card says. */
function Why({ page: { card } }: { page: Page }) {
  const { queries } = useServices();
  const why = useQuery(queries.why(card.nodeId, card.dagId));
  const sentence = why.data?.sentence ?? causeWords(card);
  return sentence === null ? null : <WhyLine sentence={sentence} />;
}

/** From the list of approvals, which events keep true. */
function Question({ page: { card } }: { page: Page }) {
  const { queries } = useServices();
  const approvals = useQuery(queries.approvals).data?.approvals ?? [];
  const bots = useBots();
  const [opened] = useState(() => Date.now());
  const addressOf = (id: string) => bots.find((bot) => bot.id === id)?.address;
  // What its bot asked before this page was opened may have been about an earlier step.
  const isRecent = ({ nodeId, state, resolvedAt }: Approval) =>
    nodeId !== undefined || state === 'pending' || Date.parse(resolvedAt ?? '') >= opened;
  const own = approvals.filter((one) => isQuestionOf(card, one, addressOf) && isRecent(one));
  const now = useNow();
  const first = own.find((one) => isPending(one, now));
  if (own.length === 0) return null;
  return (
    <div className="flex flex-col gap-2 px-3">
      {own.map((approval) => (
        <QuestionCard
          key={approval.id}
          approval={approval}
          who={<Asker approval={approval} showNode={false} />}
          selected={approval === first}
          keys={approval === first ? { what: 'the step', group: 'Work' } : undefined}
        />
      ))}
    </div>
  );
}

function NodeDeliveries({ page }: { page: Page }) {
  const { queries } = useServices();
  const agents = useQuery(queries.agents).data?.agents;
  const textOf = useDeliveryText(page.deliveries);
  if (page.deliveries.length === 0) return null;
  return (
    <Section title="Deliveries">
      <ul>
        {page.deliveries.map((delivery) => {
          const agent = agents?.find((one) => one.address === delivery.to || one.id === delivery.to);
          return (
            <DeliveryRow
              key={delivery.id}
              delivery={delivery}
              harness={agent?.binding.harness}
              text={textOf(delivery)}
              toName={agent?.address}
            />
          );
        })}
      </ul>
    </Section>
  );
}

function History({ page }: { page: Page }) {
  if (page.history.length === 0) return <Empty>Changes to this step appear here.</Empty>;
  return (
    <ol className="flex flex-col">
      {page.history.toReversed().map((move) => (
        <li
          key={move.receiptId}
          className="flex gap-2 px-3 py-1 text-meta"
          title={`ledger ${move.receiptId}, by ${move.actor}`}
        >
          <span className="w-24 shrink-0">
            <Status look={nodeLook(move)} wire={`${move.status}: ${move.cause}`} />
          </span>
          <span className="min-w-0 flex-1 break-words text-muted">{causeWords(move)}</span>
          <span className="w-16 shrink-0 text-right text-faint">
            <Ago at={move.at} />
          </span>
        </li>
      ))}
    </ol>
  );
}
