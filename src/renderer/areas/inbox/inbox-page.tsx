/** The inbox: every question that waits for a person, longest waiting first; below, the answered and ended ones. */
import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import type { Approval } from '../../../contracts/approvals/approval.ts';
import type { Action } from '../../base/actions.ts';

import { splitApprovals, useLaterEnds } from '../../base/approvals.ts';
import { Asker } from '../../base/asker.tsx';
import { useAddActions, useServices } from '../../base/services.tsx';
import { useAnswerApproval } from '../../base/use-answer-approval.ts';
import { ApprovalCard } from '../../ui/approval-card.tsx';
import { wholeWords } from '../../ui/approval-words.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { useNow } from '../../ui/now.tsx';
import { News } from './news.tsx';

export function InboxPage() {
  const { queries } = useServices();
  const approvals = useQuery(queries.approvals);
  const me = useQuery(queries.session).data?.user;
  const answer = useAnswerApproval();
  const now = useNow();
  const page = useRef<HTMLElement>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  /** Answered while this page is open: they stay where they stood, so that nothing jumps under a second key press. */
  const [kept, setKept] = useState<readonly string[]>([]);

  const all = approvals.data?.approvals ?? [];
  useLaterEnds(all, now);
  const { pending, ended } = splitApprovals(all, now);
  const selected = pending.find((one) => one.id === chosen)?.id ?? pending[0]?.id ?? null;
  const staying = kept.flatMap((id) => all.find((one) => one.id === id) ?? []);
  const open = [...pending, ...staying.filter((one) => !pending.includes(one))].sort((a, b) =>
    a.requestedAt.localeCompare(b.requestedAt),
  );
  const about = pending.find((one) => one.id === selected);
  const detail = about === undefined ? '' : wholeWords(about);
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
    if (selected === null) return [];
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
    ];
  }, [selected, detail]);
  useAddActions(actions);

  const cardOf = (approval: Approval) => (
    <ApprovalCard
      key={approval.id}
      approval={approval}
      me={me}
      who={<Asker approval={approval} />}
      selected={approval.id === selected}
      onFocus={() => setChosen(approval.id)}
      onAnswer={async (decision, note) => {
        setKept((ids) => (ids.includes(approval.id) ? ids : [...ids, approval.id]));
        await answer(approval, decision, note);
      }}
    />
  );

  return (
    <main ref={page} className="min-w-0 flex-1 overflow-y-auto">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the cards inside */}
      <div className="mx-auto flex max-w-[760px] flex-col gap-4 p-4 sm:p-6" onKeyDown={moveByArrows}>
        <h1 className="text-page font-semibold">Inbox</h1>
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
                {open.length === 0 ? <p className="px-[13px] text-muted">Nothing waits for you.</p> : open.map(cardOf)}
              </section>
            </div>
          )}
        </ListStates>
        <News />
        {earlier.length > 0 && (
          <section aria-label="Earlier">
            <h2 className="pb-1 font-semibold">Earlier</h2>
            {earlier.map(cardOf)}
          </section>
        )}
      </div>
    </main>
  );
}
