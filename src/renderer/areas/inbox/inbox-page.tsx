/** The inbox: every question that waits for a person, longest waiting first; below, the answered and ended ones. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Approval } from '../../../contracts/approvals/approval.ts';
import { visibleLine } from '../../../contracts/approvals/visible.ts';
import type { Action } from '../../base/actions.ts';
import { useSplitApprovals } from '../../base/approvals.ts';
import { useBots } from '../../base/floors.tsx';
import { QuestionCard } from '../../base/question-card.tsx';
import { FindAndGroup, SelectionBar, Tick, TickAll, useSelection, useTickKey } from '../../base/selection.tsx';
import { useAddActions, useServices } from '../../base/services.tsx';
import { filterAction } from '../../base/way-back.ts';
import { wholeWords } from '../../ui/approval-words.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { WindowRows } from '../../ui/window-rows.tsx';
import type { Decision } from './answer-many.ts';
import { AnswerManyDialog } from './answer-many-dialog.tsx';
import { type Grouping, groupings, groupQuestions, matchesText } from './inbox-rows.ts';
import { News } from './news.tsx';
import { type OfferedRule, RuleOffers } from './rule-offers.tsx';
import { useLinkedQuestion } from './use-linked-question.ts';

/** A heading, or a question below it. */
type Row =
  | { readonly key: string; readonly group: string; readonly waiting: readonly string[] }
  | { readonly key: string; readonly approval: Approval };

/** The questions that are answered together. */
interface Many {
  readonly decision: Decision;
  readonly approvals: readonly Approval[];
  readonly rule?: OfferedRule;
}

/** Of most rows, until they are measured, px. */
const heights = { group: 28, question: 190, answered: 28 } as const;

export function InboxPage() {
  const { queries } = useServices();
  const approvals = useQuery(queries.approvals);
  const page = useRef<HTMLElement>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  /** Answered while this page is open: they stay where they stood, so that nothing jumps under a second key press. */
  const [kept, setKept] = useState<readonly string[]>([]);
  const keep = (ids: readonly string[]) => setKept((old) => [...old, ...ids.filter((id) => !old.includes(id))]);
  /** A question that was over when a link led to it: drawn among those that wait, until another is chosen. */
  const [over, setOver] = useState<string | null>(null);
  const [text, setText] = useState('');
  const [grouping, setGrouping] = useState<Grouping>('none');
  const [many, setMany] = useState<Many | null>(null);
  const bots = useBots();
  const byId = useMemo(() => new Map(bots.map((bot) => [bot.id, bot])), [bots]);
  const askerOf = (agentId: string | null) => byId.get(agentId ?? '');

  const all = approvals.data?.approvals ?? [];
  const split = useSplitApprovals();
  const matching = (list: readonly Approval[]) => list.filter((one) => matchesText(one, text, askerOf));
  const [pending, ended] = [matching(split.pending), matching(split.ended)];
  const waits = new Set(pending.map(({ id }) => id));
  const staying = kept.flatMap((id) => all.find((one) => one.id === id) ?? []);
  const open = [...pending, ...staying.filter(({ id }) => !waits.has(id))].sort((a, b) =>
    a.requestedAt.localeCompare(b.requestedAt),
  );
  const groups = groupQuestions(open, grouping, askerOf);
  const rows = groups.flatMap(({ name, rows: list }): Row[] => [
    ...(name === '' ? [] : [{ key: `group ${name}`, group: name, waiting: idsOf(list).filter((id) => waits.has(id)) }]),
    ...list.map((approval) => ({ key: approval.id, approval })),
  ]);
  /** In the order in which they stand. */
  const order = groups.flatMap(({ rows: list }) => idsOf(list)).filter((id) => waits.has(id));
  const selected = order.find((id) => id === chosen) ?? order[0] ?? null;
  const about = pending.find((one) => one.id === selected);
  const detail = about === undefined ? '' : wholeWords(about);
  const selection = useSelection(idsOf(pending));
  const chosenMany = pending.filter(({ id }) => selection.chosen.includes(id));
  const earlier = ended.filter((one) => !kept.includes(one.id));
  useLinkedQuestion(page, approvals.data === undefined || approvals.isFetching ? null : idsOf(all), (id) => {
    setText('');
    keep([id]);
    setChosen(id);
    setOver(split.pending.some((one) => one.id === id) ? null : id);
  });

  /** Gets the focus as soon as it is drawn. */
  const toFocus = useRef<string | null>(null);
  useEffect(() => {
    if (toFocus.current !== selected || selected === null) return;
    toFocus.current = null;
    page.current?.querySelector<HTMLElement>(`[data-approval="${selected}"]`)?.focus();
  }, [selected]);
  const placed = useRef<readonly string[]>([]);
  placed.current = order;

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
      const next = placed.current[placed.current.indexOf(selected ?? '') + by];
      if (next === undefined) card()?.focus();
      else {
        toFocus.current = next;
        setChosen(next);
      }
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
      filter,
    ];
  }, [selected, detail]);
  useAddActions(actions);
  useTickKey('Inbox', 'Select or deselect the row', selected);

  const questionOf = (approval: Approval) => (
    <QuestionCard
      approval={approval}
      selected={approval.id === selected}
      onFocus={() => setChosen(approval.id)}
      onAnswering={() => keep([approval.id])}
    />
  );
  const rowOf = (row: Row) => {
    if (!('approval' in row)) {
      return (
        <h3 className="flex items-center gap-2 text-muted">
          {row.waiting.length > 1 && <TickAll selection={selection} ids={row.waiting} label={row.group} />}
          {row.group} <span className="tabular-nums">{row.waiting.length}</span>
        </h3>
      );
    }
    const { approval } = row;
    return (
      <div data-ticks={approval.id} className="flex min-w-0 items-start gap-2">
        {open.length > 1 &&
          (waits.has(approval.id) ? (
            <Tick selection={selection} id={approval.id} label={visibleLine(approval.title)} className="mt-3.5" />
          ) : (
            // An answered one stays where it stood.
            <span aria-hidden="true" className="size-4 shrink-0 pointer-coarse:size-6" />
          ))}
        <div className="min-w-0 flex-1">{questionOf(approval)}</div>
      </div>
    );
  };

  return (
    <main ref={page} data-scroll-box="true" className="min-w-0 flex-1 overflow-y-auto">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the cards inside */}
      <div className="mx-auto flex max-w-[760px] flex-col gap-4 p-4 sm:p-6" onKeyDown={moveByArrows}>
        <div className="flex flex-wrap items-center gap-2">
          <h1 className="mr-auto text-page font-semibold">Inbox</h1>
          {all.length > 1 && (
            <FindAndGroup
              label="Search the inbox"
              hint="Search ( / )"
              text={text}
              onText={setText}
              groupLabel="Group questions"
              grouping={grouping}
              groupings={groupings}
              onGrouping={setGrouping}
            />
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
                <RuleOffers
                  pending={pending}
                  onOffer={({ rule, approvals: covered }) => setMany({ decision: 'approve', approvals: covered, rule })}
                />
                {open.length === 0 && (
                  <p className="px-[13px] text-muted">
                    {text === '' || split.pending.length === 0 ? 'Nothing waits for you.' : 'No question matches.'}
                  </p>
                )}
                <WindowRows
                  rows={rows}
                  keyOf={({ key }) => key}
                  label="Questions"
                  height={(row) =>
                    'group' in row ? heights.group : waits.has(row.key) ? heights.question : heights.answered
                  }
                  gap={12}
                  keep={rows.findIndex(({ key }) => key === (over !== null && over === chosen ? over : selected))}
                >
                  {rowOf}
                </WindowRows>
                <SelectionBar selection={selection} label="Selected questions">
                  <Button onClick={() => setMany({ decision: 'reject', approvals: chosenMany })}>Reject…</Button>
                  <Button onClick={() => setMany({ decision: 'approve', approvals: chosenMany })}>Approve…</Button>
                </SelectionBar>
              </section>
            </div>
          )}
        </ListStates>
        <News text={text} byKind={grouping === 'kind'} />
        {earlier.length > 0 && (
          <section aria-label="Earlier">
            <h2 className="pb-1 font-semibold">Earlier</h2>
            <WindowRows rows={earlier} keyOf={({ id }) => id} label="Earlier questions" height={() => heights.answered}>
              {questionOf}
            </WindowRows>
          </section>
        )}
      </div>
      {many !== null && (
        <AnswerManyDialog
          {...many}
          onAnswering={() => {
            keep(idsOf(many.approvals));
            selection.clear();
          }}
          onClose={() => setMany(null)}
        />
      )}
    </main>
  );
}

const idsOf = (list: readonly Approval[]): string[] => list.map(({ id }) => id);
