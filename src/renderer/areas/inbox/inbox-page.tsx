/** The inbox: every question that waits for a person, longest waiting first; below, the answered and ended ones. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import type { Approval } from '../../../contracts/approvals/approval.ts';
import { visibleLine } from '../../../contracts/approvals/visible.ts';
import type { Action } from '../../base/actions.ts';
import { splitApprovals, useLaterEnds } from '../../base/approvals.ts';
import { useBots } from '../../base/floors.tsx';
import { QuestionCard } from '../../base/question-card.tsx';
import { useAddActions, useServices } from '../../base/services.tsx';
import { filterAction } from '../../base/way-back.ts';
import { wholeWords } from '../../ui/approval-words.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { useNow } from '../../ui/now.tsx';
import type { Decision } from './answer-many.ts';
import { AnswerManyDialog } from './answer-many-dialog.tsx';
import { type Grouping, groupings, groupQuestions, matchesText } from './inbox-rows.ts';
import { News } from './news.tsx';

export function InboxPage() {
  const { queries } = useServices();
  const approvals = useQuery(queries.approvals);
  const now = useNow();
  const page = useRef<HTMLElement>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  /** Answered while this page is open: they stay where they stood, so that nothing jumps under a second key press. */
  const [kept, setKept] = useState<readonly string[]>([]);
  const keep = (ids: readonly string[]) => setKept((old) => [...old, ...ids.filter((id) => !old.includes(id))]);
  const [text, setText] = useState('');
  const [grouping, setGrouping] = useState<Grouping>('none');
  const [ticked, setTicked] = useState<readonly string[]>([]);
  /** The questions that are answered together. */
  const [many, setMany] = useState<{ readonly decision: Decision; readonly approvals: readonly Approval[] } | null>(
    null,
  );
  const bots = useBots();
  const askerOf = (agentId: string | null) => bots.find((one) => one.id === agentId);

  const all = approvals.data?.approvals ?? [];
  useLaterEnds(all, now);
  const split = splitApprovals(all, now);
  const matching = (list: readonly Approval[]) => list.filter((one) => matchesText(one, text, askerOf));
  const [pending, ended] = [matching(split.pending), matching(split.ended)];
  const selected = pending.find((one) => one.id === chosen)?.id ?? pending[0]?.id ?? null;
  const staying = kept.flatMap((id) => all.find((one) => one.id === id) ?? []);
  const open = [...pending, ...staying.filter((one) => !pending.includes(one))].sort((a, b) =>
    a.requestedAt.localeCompare(b.requestedAt),
  );
  const about = pending.find((one) => one.id === selected);
  const detail = about === undefined ? '' : wholeWords(about);
  const groups = groupQuestions(open, grouping, askerOf);
  const chosenMany = pending.filter(({ id }) => ticked.includes(id));
  const tick = (ids: readonly string[], on: boolean) =>
    setTicked((old) => [...old.filter((id) => !ids.includes(id)), ...(on ? ids : [])]);
  const earlier = ended.filter((one) => !kept.includes(one.id));

  const actions = useMemo<readonly Action[]>(() => {
    const card = (): HTMLElement | null =>
      page.current?.querySelector<HTMLElement>(`[data-approval="${selected}"]`) ?? null;
    const press = (decision: string) => (): void => {
      // With the focus on another row, what would be answered is not what the person looks at.
      const focus = document.activeElement;
      const row = focus?.closest<HTMLElement>('[data-approval]') ?? focus?.closest<HTMLElement>('[data-row]') ?? null;
      if (row !== null && row.dataset.approval !== selected) return;
      card()?.querySelector<HTMLButtonElement>(`[data-decide="${decision}"]`)?.click();
    };
    const step = (by: 1 | -1) => (): void => {
      const cards = [...(page.current?.querySelectorAll<HTMLElement>('[data-row][data-approval]') ?? [])];
      const at = cards.findIndex((one) => one.dataset.approval === selected);
      (cards[at + by] ?? cards[at])?.focus();
    };
    const filter = filterAction(page, 'Search the inbox');
    if (selected === null) return [filter];
    const answer = { group: 'Inbox', changes: 'at once' } as const;
    return [
      { ...answer, id: 'approve', title: 'Approve selected', keys: 'a', detail, run: press('approve') },
      { ...answer, id: 'reject', title: 'Reject selected', keys: 'r', detail, run: press('reject') },
      {
        id: 'note',
        title: 'Add a note to the answer',
        group: 'Inbox',
        changes: false,
        keys: 'n',
        run: () => card()?.querySelector<HTMLInputElement>('[data-note]')?.focus(),
      },
      { id: 'next-approval', title: 'Next approval', group: 'Inbox', changes: false, keys: 'j', run: step(1) },
      { id: 'previous-approval', title: 'Previous approval', group: 'Inbox', changes: false, keys: 'k', run: step(-1) },
      {
        id: 'back-to-card',
        title: 'Back to the approval',
        group: 'Inbox',
        keys: 'Esc',
        hidden: true,
        run: () => card()?.focus(),
      },
      {
        id: 'tick',
        title: 'Select or deselect the question',
        group: 'Inbox',
        changes: false,
        keys: 'x',
        run: () => page.current?.querySelector<HTMLInputElement>(`[data-tick="${selected}"]`)?.click(),
      },
      filter,
    ];
  }, [selected, detail]);
  useAddActions(actions);

  const cardOf = (approval: Approval) => (
    <div key={approval.id} className="flex min-w-0 items-start gap-2">
      {open.length > 1 &&
        (split.pending.includes(approval) ? (
          <input
            type="checkbox"
            data-tick={approval.id}
            aria-label={`Select ${visibleLine(approval.title)}`}
            checked={ticked.includes(approval.id)}
            onChange={(event) => tick([approval.id], event.target.checked)}
            className="mt-3.5 size-4 shrink-0 accent-accent pointer-coarse:size-6"
          />
        ) : (
          // An answered one stays where it stood.
          <span aria-hidden="true" className="size-4 shrink-0 pointer-coarse:size-6" />
        ))}
      <div className="min-w-0 flex-1">{questionOf(approval)}</div>
    </div>
  );
  const questionOf = (approval: Approval) => (
    <QuestionCard
      approval={approval}
      selected={approval.id === selected}
      onFocus={() => setChosen(approval.id)}
      onAnswering={() => keep([approval.id])}
    />
  );

  return (
    <main ref={page} className="min-w-0 flex-1 overflow-y-auto">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the cards inside */}
      <div className="mx-auto flex max-w-[760px] flex-col gap-4 p-4 sm:p-6" onKeyDown={moveByArrows}>
        <div className="flex flex-wrap items-center gap-2">
          <h1 className="mr-auto text-page font-semibold">Inbox</h1>
          {all.length > 1 && (
            <>
              <input
                type="search"
                data-filter="true"
                value={text}
                onChange={(event) => setText(event.target.value)}
                aria-label="Search the inbox"
                placeholder="Search ( / )"
                className="h-7 w-44 min-w-0 rounded-control border border-line bg-window px-2 max-sm:flex-1 pointer-coarse:h-10"
              />
              <select
                aria-label="Group questions"
                value={grouping}
                onChange={(event) => setGrouping(event.target.value as Grouping)}
                className="h-7 rounded-control border border-line bg-raised px-1.5 pointer-coarse:h-10"
              >
                {Object.entries(groupings).map(([key, word]) => (
                  <option key={key} value={key}>
                    {word}
                  </option>
                ))}
              </select>
            </>
          )}
        </div>
        <ListStates
          source={approvals}
          skeleton={<SkeletonRows count={3} height={96} />}
          isEmpty={(data) => data.approvals.length === 0}
          empty={
            <Empty>
              {approvals.data?.waits ?? 'Nothing waits for you.'} When a bot asks for permission or a step reaches a
              gate, you answer it here, with the exact command in view.
            </Empty>
          }
        >
          {(data) => (
            <div className="flex flex-col gap-4">
              {data.waits !== undefined && <p className="text-muted">{data.waits}</p>}
              <section aria-label="Waiting for you" className="flex flex-col gap-3">
                <h2 className="flex gap-2 font-semibold">
                  Waiting for you
                  <span className="font-normal text-muted tabular-nums">{pending.length}</span>
                </h2>
                {chosenMany.length > 0 && (
                  <div
                    role="toolbar"
                    aria-label="Selected questions"
                    className="sticky top-0 z-10 flex flex-wrap items-center gap-2 rounded-panel border border-line bg-raised px-3 py-1.5"
                  >
                    <span className="mr-auto tabular-nums">{chosenMany.length} selected</span>
                    <Button kind="quiet" onClick={() => setTicked([])}>
                      Clear
                    </Button>
                    <Button onClick={() => setMany({ decision: 'reject', approvals: chosenMany })}>Reject…</Button>
                    <Button onClick={() => setMany({ decision: 'approve', approvals: chosenMany })}>Approve…</Button>
                  </div>
                )}
                {open.length === 0 && (
                  <p className="px-[13px] text-muted">
                    {text === '' || split.pending.length === 0 ? 'Nothing waits for you.' : 'No question matches.'}
                  </p>
                )}
                {groups.map(({ name, approvals: list }) => (
                  <Group
                    key={name}
                    name={name}
                    waiting={list.filter((one) => pending.includes(one)).map(({ id }) => id)}
                    ticked={ticked}
                    onTick={tick}
                  >
                    {list.map(cardOf)}
                  </Group>
                ))}
              </section>
            </div>
          )}
        </ListStates>
        <News />
        {earlier.length > 0 && (
          <section aria-label="Earlier">
            <h2 className="pb-1 font-semibold">Earlier</h2>
            {earlier.map((one) => (
              <div key={one.id}>{questionOf(one)}</div>
            ))}
          </section>
        )}
      </div>
      {many !== null && (
        <AnswerManyDialog
          {...many}
          onAnswering={() => {
            keep(many.approvals.map(({ id }) => id));
            setTicked([]);
          }}
          onClose={() => setMany(null)}
        />
      )}
    </main>
  );
}

/** Questions below the name that they share, with one tick for all that wait; without a name: only the questions. */
function Group({
  name,
  waiting,
  ticked,
  onTick,
  children,
}: {
  name: string;
  waiting: readonly string[];
  ticked: readonly string[];
  onTick: (ids: readonly string[], on: boolean) => void;
  children: ReactNode;
}) {
  if (name === '') return children;
  return (
    <section aria-label={name} className="flex min-w-0 flex-col gap-3">
      <h3 className="flex items-center gap-2 text-muted">
        {waiting.length > 1 && (
          <input
            type="checkbox"
            aria-label={`Select all of ${name}`}
            checked={waiting.every((id) => ticked.includes(id))}
            onChange={(event) => onTick(waiting, event.target.checked)}
            className="size-4 accent-accent pointer-coarse:size-6"
          />
        )}
        {name} <span className="tabular-nums">{waiting.length}</span>
      </h3>
      {children}
    </section>
  );
}
