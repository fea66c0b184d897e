/** The four states of every list: loading, empty, error (last good data kept and dimmed), full. */
import type { ReactNode } from 'react';
import { AppError } from '../../contracts/common/errors.ts';
import { Button } from './button.tsx';
import { Problem } from './problem.tsx';

/** What a list needs to know of a query; react-query's result has this shape. */
export interface ListSource<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly failureCount: number;
  readonly errorUpdateCount: number;
  refetch(): unknown;
}

export function SkeletonRows({ count, height = 28 }: { count: number; height?: number }) {
  const widths = ['w-3/5', 'w-4/5', 'w-1/2', 'w-2/3'];
  return (
    <div aria-hidden="true" data-state="loading">
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows without identity that never change places
        <div key={index} className="flex items-center px-3" style={{ height }}>
          <div className={`h-2.5 rounded-full bg-raised ${widths[index % widths.length]}`} />
        </div>
      ))}
    </div>
  );
}

export function Empty({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <div data-state="empty" className="flex flex-col items-start gap-2 p-3 text-muted">
      <p>{children}</p>
      {action}
    </div>
  );
}

export function ListStates<T>({
  source,
  skeleton,
  isEmpty,
  empty,
  children,
  fill = false,
  told = false,
}: {
  source: ListSource<T>;
  skeleton: ReactNode;
  isEmpty: (data: T) => boolean;
  empty: ReactNode;
  children: (data: T) => ReactNode;
  /** The list fills the height of its container and scrolls inside it. */
  fill?: boolean;
  /** Its problem is shown elsewhere. */
  told?: boolean;
}) {
  const failed = source.error !== null && source.error !== undefined;
  // What is not there will not be there in a moment either: trying again is for what may pass.
  const passes = !(source.error instanceof AppError && source.error.code === 'not_found');
  const problem = failed && !told && (
    <Problem
      error={source.error}
      failures={source.errorUpdateCount - 1}
      onRetry={passes ? () => void source.refetch() : undefined}
    />
  );
  if (source.data === undefined) return failed ? problem : skeleton;
  return (
    <>
      {problem}
      <div
        data-stale={failed ? 'true' : undefined}
        className={`${failed ? 'opacity-60' : ''} ${fill ? 'flex min-h-0 min-w-0 flex-1 flex-col' : ''}`}
      >
        {isEmpty(source.data) ? empty : children(source.data)}
      </div>
    </>
  );
}

/** In place of a thing that is not there, or not there yet, because the list that it would be in is not. */
export function NotThere({
  source,
  label,
  onBack,
  children,
}: {
  source: ListSource<readonly unknown[]>;
  /** Of the way back. */
  label: string;
  onBack: () => void;
  /** What may have become of it. */
  children: ReactNode;
}) {
  return (
    <ListStates
      source={source}
      skeleton={<SkeletonRows count={6} />}
      isEmpty={() => true}
      empty={<Empty action={<Button onClick={onBack}>{label}</Button>}>{children}</Empty>}
    >
      {() => null}
    </ListStates>
  );
}
