/** What filing a form would do and cost, from the server's own dry run. */
import { Info } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { fieldWord } from './registration-form.ts';

export interface FilingPlan {
  readonly kind: '10dlc' | 'toll_free';
  readonly fees: readonly { readonly what: string; readonly amount: string }[];
  readonly messageFlow: string;
  readonly optInUrl: string;
  readonly corrects: boolean;
  readonly changes: readonly string[];
  readonly warnings: readonly { readonly field: string | null; readonly text: string }[];
}

/** `registered`: the number already texts and continues to. */
export function PlanShown({ plan, registered }: { plan: FilingPlan; registered: boolean }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    box.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  return (
    <section
      ref={box}
      aria-label="What filing does"
      data-plan="registration"
      className="flex flex-col gap-2 rounded-panel border border-line bg-panel p-3"
    >
      <p>
        {registered
          ? correctionSays(plan.changes)
          : plan.corrects
            ? 'The filed form is corrected in place and goes back into review.'
            : plan.kind === 'toll_free'
              ? 'The form is filed for toll-free verification.'
              : plan.fees.length === 0
                ? 'The business and its campaign are already registered. The number joins them.'
                : 'The form is filed with the registry of carriers; the campaign follows automatically.'}
      </p>
      {plan.warnings.length > 0 && (
        <ul aria-label="What carriers often refuse" className="flex flex-col gap-1">
          {plan.warnings.map(({ field, text }) => (
            <li key={`${field} ${text}`} className="flex gap-2">
              <Info className="mt-0.5 size-3.5 shrink-0 text-muted" aria-hidden="true" />
              <span className="min-w-0 break-words">
                {text}
                {field !== null && <span className="text-muted"> ({fieldWord(field)})</span>}
              </span>
            </li>
          ))}
        </ul>
      )}
      {plan.fees.length === 0 ? (
        <p className="text-muted">It costs nothing.</p>
      ) : (
        <table className="w-full max-w-[420px]">
          <caption className="pb-1 text-left text-meta text-muted">Carrier fees</caption>
          <tbody>
            {plan.fees.map(({ what, amount }) => (
              <tr key={what} className="border-t border-line">
                <th scope="row" className="py-1 text-left font-normal">
                  {what}
                </th>
                <td className="py-1 text-right whitespace-nowrap tabular-nums">{amount}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <details>
        <summary className="w-fit rounded-control text-muted">How people opt in, as the reviewers read it</summary>
        <p className="pt-1 break-words whitespace-pre-wrap text-muted">{plan.messageFlow}</p>
        <p className="pt-1 text-meta break-words text-muted">{plan.optInUrl}</p>
      </details>
    </section>
  );
}

function correctionSays(changes: readonly string[]): string {
  if (changes.length === 0) return 'Nothing differs from what is registered.';
  const words = [...new Set(changes.map(fieldWord))].join(', ');
  return `The carriers get these changes: ${words}. The number keeps sending texts, and the current registration holds until they accept them. Other numbers of the same business change too.`;
}
