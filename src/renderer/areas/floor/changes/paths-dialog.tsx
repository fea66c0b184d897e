/** The files that a pane names in what it shows now, to open one with keys alone. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { moveByArrows } from '../../../ui/arrow-rows.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { Empty, ListStates, SkeletonRows } from '../../../ui/list-states.tsx';
import type { PaneHandle } from '../pane-terminal.tsx';

export function PathsDialog({
  name,
  pane,
  onClose,
}: {
  name: string;
  pane: Pick<PaneHandle, 'paths' | 'openPath'>;
  onClose: () => void;
}) {
  const list = useRef<HTMLUListElement>(null);
  const paths = useQuery({ queryKey: ['paths-in-sight', name], queryFn: pane.paths, gcTime: 0, staleTime: 0 });
  const some = paths.data !== undefined && paths.data.length > 0;
  useEffect(() => {
    if (some) list.current?.querySelector<HTMLElement>('[data-row]')?.focus();
  }, [some]);
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Files named by ${name}`}
      description="Files of the bot that its pane shows by name, the newest first. Scroll the pane back to find earlier ones."
    >
      <ListStates
        source={paths}
        skeleton={<SkeletonRows count={3} />}
        isEmpty={(found) => found.length === 0}
        empty={<Empty>The pane names no file of this bot now.</Empty>}
      >
        {(found) => (
          <ul ref={list} aria-label="Files" onKeyDown={moveByArrows}>
            {found.map((one) => (
              <li key={`${one.path}:${one.line}`}>
                <button
                  type="button"
                  data-row="true"
                  onClick={() => {
                    onClose();
                    pane.openPath(one);
                  }}
                  className="flex min-h-7 w-full items-center rounded-control px-2 text-left font-mono text-code hover:bg-raised pointer-coarse:min-h-11"
                >
                  <span className="min-w-0 wrap-anywhere">
                    {one.path}
                    {one.line !== null && <span className="text-muted">:{one.line}</span>}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </ListStates>
    </Dialog>
  );
}
