/** A titled box on a page. */
import { type ReactNode, useId } from 'react';

export function Card({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="overflow-hidden rounded-panel border border-line bg-panel">
      <header className="flex h-9 items-center gap-2 border-b border-line px-3">
        <h2 id={id} className="font-semibold">
          {title}
        </h2>
        {aside !== undefined && <span className="ml-auto inline-flex text-meta text-muted">{aside}</span>}
      </header>
      {children}
    </section>
  );
}
