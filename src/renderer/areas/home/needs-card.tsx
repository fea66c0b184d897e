/** Everything that needs the person now: the questions, answered here, then what needs them elsewhere; each longest waiting first. */
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { usePendingApprovals, useSplitApprovals } from '../../base/approvals.ts';
import type { PlacedBot } from '../../base/data/places.ts';
import { useFloors } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { useWaiting } from '../../base/use-waiting.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { FirstRows } from '../../ui/first-rows.tsx';
import { later } from '../../ui/later.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Elapsed, useNow } from '../../ui/now.tsx';
import { Status } from '../../ui/status.tsx';
import { useOpenBot } from '../floor/use-open-bot.ts';
import type { Need } from './need.ts';
import { botNeeds, inOrder, lostNeeds, stepNeeds } from './need-rows.ts';
import { usePartNeeds } from './part-needs.ts';
import { useLead } from './use-lead.ts';

/** With the first question: until then nothing shows a command or a diff. */
const QuestionCard = lazy(
  later(() => import('../../base/question-card.tsx').then((module) => ({ default: module.QuestionCard }))),
);

/** `quiet`: nothing is said while nothing waits. */
export function NeedsCard({ bots, quiet = false }: { bots: readonly PlacedBot[]; quiet?: boolean }) {
  const { queries } = useServices();
  const agents = useQuery(queries.agents);
  const needs = useNeeds(bots);
  // It has a card of its own, above.
  const yesWaits = useQuery(queries.trust).data?.files.some((file) => !file.refused) === true;
  const { pending, shown: questions } = useQuestions();
  const [chosen, setChosen] = useState<string | null>(null);
  const selected = pending.find(({ id }) => id === chosen)?.id ?? pending[0]?.id;
  const count = needs.length + pending.length;
  if (quiet && count === 0 && questions.length === 0) return null;
  return (
    <Card title="Needs you" aside={count === 0 ? undefined : <span className="tabular-nums">{count}</span>}>
      {questions.length > 0 && (
        <FirstRows rows={questions} first={3} what="questions">
          {(first) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the cards inside
            <div className="flex flex-col gap-3 p-3" onKeyDown={moveByArrows}>
              <Suspense fallback={<SkeletonRows count={first.length} height={160} />}>
                {first.map((approval) => (
                  <QuestionCard
                    key={approval.id}
                    approval={approval}
                    keys={{ what: 'the question', group: 'Inbox' }}
                    selected={approval.id === selected}
                    onFocus={() => setChosen(approval.id)}
                  />
                ))}
              </Suspense>
            </div>
          )}
        </FirstRows>
      )}
      {(needs.length > 0 || questions.length === 0) && (
        <ListStates
          source={agents}
          skeleton={<SkeletonRows count={2} height={48} />}
          isEmpty={() => needs.length === 0}
          empty={
            <Empty>
              {yesWaits ? 'Nothing else waits' : 'Nothing waits'} for you. Questions, sign-ins, numbers to correct and
              work that is stuck without you appear here, longest waiting first.
            </Empty>
          }
        >
          {() => (
            <FirstRows rows={needs} first={10} what="of what needs you">
              {(shown) => (
                <ul aria-label="What needs you" className={questions.length > 0 ? 'border-t border-line' : undefined}>
                  {shown.map((need) => (
                    <NeedRow key={need.key} need={need} />
                  ))}
                </ul>
              )}
            </FirstRows>
          )}
        </ListStates>
      )}
    </Card>
  );
}

/** What waits, and what was answered while this page is open: it stays where it stood, so that nothing jumps under a second press. */
function useQuestions() {
  const [opened] = useState(() => Date.now());
  const { pending, ended } = useSplitApprovals();
  const answered = ended.filter(({ resolvedAt }) => resolvedAt !== null && Date.parse(resolvedAt) >= opened);
  const shown = [...pending, ...answered].sort((a, b) => a.requestedAt.localeCompare(b.requestedAt));
  return { pending, shown };
}

function NeedRow({ need: { look, wire, title, text, since, act } }: { need: Need }) {
  return (
    <li data-need={wire} className="flex items-center gap-3 border-b border-line px-3 py-2 last:border-b-0">
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-2">
          <Status look={look} wire={wire} />
          <span className="min-w-0 truncate font-medium">{title}</span>
          {since !== null && (
            <span className="shrink-0 text-meta text-faint">
              <Elapsed since={since} />
            </span>
          )}
        </p>
        {text !== '' && <p className="line-clamp-3 break-words text-muted">{text}</p>}
      </div>
      <Button onClick={act.run} aria-label={`${act.word}: ${title}`}>
        {act.word}
      </Button>
    </li>
  );
}

/**
 * What needs the person now besides questions, from all parts of Gantry, as one list, longest waiting first. A part that cannot be read (not set up
 * here) has no needs. `bots`: those that this page shows.
 */
function useNeeds(bots: readonly PlacedBot[]): readonly Need[] {
  const { queries } = useServices();
  const lead = useLead();
  const open = useOpenBot('home');
  const now = useNow();
  const approvals = usePendingApprovals();
  const several = useFloors().length > 1;
  const { steps } = useWaiting();
  const campaigns = useQuery(queries.campaigns).data?.campaigns ?? [];
  const deliveries = useQuery(queries.deliveries).data?.deliveries ?? [];
  const parts = usePartNeeds();
  return inOrder([
    ...botNeeds(bots, approvals, several, open),
    ...(steps === 0 ? [] : stepNeeds(campaigns, lead)),
    ...lostNeeds(deliveries, bots, now, lead, open),
    ...parts,
  ]);
}
