/** The server's plan of a run: its steps in order and who does each. */
import { useEffect, useRef } from 'react';
import type { RunPlan as Answer } from '../../../contracts/factory/workflow.ts';
import { assigneeWords } from './node-card.tsx';

export function RunPlan({ plan, opens }: { plan: Answer['plan']; opens: string | null }) {
  const shown = useRef<HTMLElement>(null);
  // It comes below a form that may be longer than the dialog.
  useEffect(() => {
    shown.current?.scrollIntoView({ block: 'start' });
  }, []);
  return (
    <section ref={shown} aria-label="Plan" className="border-t border-line pt-3">
      <h3 className="pb-1 font-semibold">This is what will happen</h3>
      {opens !== null && <p className="text-muted">Creates the campaign “{opens}”.</p>}
      <ol className="flex flex-col gap-1 pt-1">
        {plan.nodes.map((node, index) => (
          <li key={node.nodeId} data-plan={node.stepId} className="grid grid-cols-[24px_1fr_auto] gap-2">
            <span className="text-right text-faint tabular-nums">{index + 1}</span>
            <span className="min-w-0 break-words">{node.title}</span>
            <span className="text-muted">{assigneeWords(node.executor)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
