/** What the bot of a pane asks a person, below its terminal: one question at a time, longest waiting first. */
import { useQuery } from '@tanstack/react-query';
import { type RefObject, useMemo, useRef, useState } from 'react';
import type { Approval } from '../../../contracts/approvals/approval.ts';
import type { Action } from '../../base/actions.ts';
import { MoreQuestions, QuestionCard } from '../../base/question-card.tsx';
import { useAddActions, useServices } from '../../base/services.tsx';
import { Kbd } from '../../ui/kbd.tsx';
import { useOfNow } from '../../ui/now.tsx';

/** An answered question stays as one line for so long, ms: a person whose answer came second reads who was first. */
const answeredShown = 20_000;

export function PaneQuestions({
  questions,
  name,
  active,
  onFocus,
}: {
  questions: readonly Approval[];
  name: string;
  /** The pane that keys act on. */
  active: boolean;
  onFocus: () => void;
}) {
  const { queries } = useServices();
  const all = useQuery(queries.approvals).data?.approvals ?? [];
  const [answered, setAnswered] = useState<string | null>(null);
  const last = all.find((one) => one.id === answered && one.state === 'resolved');
  const fresh = useOfNow((now) => last !== undefined && now - Date.parse(last.resolvedAt ?? '') < answeredShown);
  const staying = fresh ? last : undefined;
  const first = questions[0];
  const shown = first ?? staying;
  const box = useRef<HTMLElement>(null);
  const reachable = active && first !== undefined;
  useQuestionKey(reachable, box);
  if (shown === undefined) return null;
  return (
    <section
      ref={box}
      aria-label={`What ${name} asks`}
      className="max-h-[70%] shrink-0 overflow-y-auto border-t border-line bg-window p-2"
    >
      {first !== undefined && staying !== undefined && <QuestionCard key={staying.id} approval={staying} />}
      <QuestionCard
        key={shown.id}
        approval={shown}
        selected={active}
        keys={reachable ? { what: `the question of ${name}`, group: 'Pane' } : undefined}
        heading="h2"
        onFocus={onFocus}
        onAnswering={() => setAnswered(shown.id)}
      />
      <p className="flex flex-wrap items-center gap-x-4 px-1 text-meta text-muted tabular-nums [&>*]:pt-1.5">
        <MoreQuestions count={questions.length - 1} />
        {/* Its room is kept in a pane that is not the active one: a press there makes it active, and nothing may move under the pointer. */}
        {first !== undefined && (
          <span className={`pointer-coarse:hidden ${reachable ? '' : 'invisible'}`}>
            <Kbd keys={toQuestion} /> goes from the terminal to the question
          </span>
        )}
      </p>
    </section>
  );
}

const toQuestion = 'Ctrl Shift A';

/** In a terminal a letter is typed into the program: a key leads out of it, to the card that letters answer. */
function useQuestionKey(there: boolean, box: RefObject<HTMLElement | null>): void {
  const actions = useMemo<readonly Action[]>(
    () =>
      there
        ? [
            {
              id: 'to-question',
              title: 'Go to the question of the pane',
              group: 'Pane',
              keys: toQuestion,
              changes: false,
              run: () => box.current?.querySelector<HTMLElement>('[data-keys]')?.focus(),
            },
          ]
        : [],
    [there, box],
  );
  useAddActions(actions);
}
