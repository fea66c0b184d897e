/** How far long work is: what is under way, how much of it is done, and for how long where nobody knows how much there is. */
import { countWords, type WorkProgress } from '../../contracts/common/work-progress.ts';
import { Elapsed } from './now.tsx';
import { ProgressBar } from './progress-bar.tsx';

export function WorkProgressLine({ progress }: { progress: WorkProgress }) {
  const { what, done, total, startedAt } = progress;
  return (
    <p data-progress="true" className="flex min-w-0 flex-wrap items-center gap-x-2 text-muted">
      <span className="min-w-0 truncate" title={what}>
        {what}
      </span>
      {total === null ? (
        <span className="shrink-0 text-faint tabular-nums">
          <Elapsed since={startedAt} />
        </span>
      ) : (
        <>
          <ProgressBar done={done} total={total} label={what} />
          <span className="shrink-0 tabular-nums">{countWords(progress)}</span>
        </>
      )}
    </p>
  );
}
