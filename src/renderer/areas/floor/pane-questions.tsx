/** What the bot of a pane asks a person, below its terminal: one question at a time, longest waiting first. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Approval } from '../../../contracts/approvals/approval.ts';
import { QuestionCard } from '../../base/question-card.tsx';
import { useServices } from '../../base/services.tsx';
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
  if (shown === undefined) return null;
  return (
    <section
      aria-label={`What ${name} asks`}
      className="max-h-[70%] shrink-0 overflow-y-auto border-t border-line bg-window p-2"
    >
      {first !== undefined && staying !== undefined && <QuestionCard key={staying.id} approval={staying} />}
      <QuestionCard
        key={shown.id}
        approval={shown}
        selected={active}
        keys={active && first !== undefined ? { what: `the question of ${name}`, group: 'Pane' } : undefined}
        heading="h2"
        onFocus={onFocus}
        onAnswering={() => setAnswered(shown.id)}
      />
      {questions.length > 1 && (
        <p className="px-1 pt-1.5 text-meta text-muted tabular-nums">
          {questions.length - 1} more {questions.length === 2 ? 'question' : 'questions'} after this one
        </p>
      )}
    </section>
  );
}
