/** The place beside the pane: a column where there is room, else a sheet over it. What is in it is loaded when it is first opened. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useMemo } from 'react';
import type { Action } from '../../../base/actions.ts';
import type { PlacedBot } from '../../../base/data/places.ts';
import { OnComputer, useAddActions } from '../../../base/services.tsx';
import { later } from '../../../ui/later.ts';
import { Sheet } from '../../../ui/sheet.tsx';
import type { FloorLook } from '../search.ts';

const Beside = lazy(later(async () => ({ default: (await import('./beside.tsx')).Beside })));

/** What is shown beside the focused pane, as the address says it. */
export function useBeside() {
  const { look } = useSearch({ from: '/floor' });
  const navigate = useNavigate();
  const show = useCallback(
    (next: FloorLook | undefined) =>
      void navigate({ to: '/floor', search: (old) => ({ ...old, look: next, file: undefined, line: undefined }) }),
    [navigate],
  );
  const actions = useMemo<readonly Action[]>(
    () => [
      {
        id: 'changes',
        title: 'Show the changes of the bot beside its pane',
        group: 'Pane',
        run: () => show('changes'),
      },
      { id: 'files', title: 'Show the files of the bot beside its pane', group: 'Pane', run: () => show('files') },
    ],
    [show],
  );
  useAddActions(actions);
  return { look, show };
}

export function BesideColumn({
  agent,
  look,
  tight,
  onClose,
}: {
  agent: PlacedBot;
  look: FloorLook;
  tight: boolean;
  onClose: () => void;
}) {
  const inside = (
    <OnComputer computer={agent.place.scope}>
      <Suspense>
        <Beside key={agent.id} agent={agent} look={look} />
      </Suspense>
    </OnComputer>
  );
  const title = `Work of ${agent.name}`;
  return tight ? (
    <Sheet open wide onOpenChange={(open) => !open && onClose()} title={title}>
      {inside}
    </Sheet>
  ) : (
    <aside aria-label={title} className="flex w-[38vw] max-w-3xl shrink-0 flex-col border-l border-line">
      {inside}
    </aside>
  );
}
