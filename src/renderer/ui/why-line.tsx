/** Why something is as it is: the same sentence as `gantry why` prints. */
import { CornerDownRight } from 'lucide-react';

export function WhyLine({ sentence }: { sentence: string }) {
  return (
    <p data-why="true" className="flex gap-1.5 break-words text-muted">
      <CornerDownRight className="mt-[3px] size-3.5 shrink-0 text-faint" aria-hidden="true" />
      <span className="min-w-0">
        <span className="sr-only">Why: </span>
        {sentence}
      </span>
    </p>
  );
}
