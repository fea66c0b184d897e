/** A diff to read, over Home: what a bot changed, also when its work has long been merged, kept or discarded. */
import { X } from 'lucide-react';
import type { WorktreeDiff } from '../../../contracts/factory/worktree-routes.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { Empty, type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { visibleText } from '../../ui/visible-text.ts';
import { diffWords, sizeOf } from '../floor/runs/quick-rows.ts';

type Diff = Pick<WorktreeDiff, 'branch' | 'files' | 'patch' | 'cut'>;

export function DiffSheet({
  title,
  source,
  onPane,
  onClose,
}: {
  title: string;
  source: ListSource<Diff>;
  /** Opens the pane of its bot; undefined once the bot is gone. */
  onPane?: (() => void) | undefined;
  onClose: () => void;
}) {
  return (
    <Sheet open wide title={`Changes: ${title}`} onOpenChange={(open) => !open && onClose()}>
      <header className="flex items-center gap-2 border-b border-line px-3 py-2">
        <h2 className="min-w-0 flex-1 truncate text-title font-semibold">{title}</h2>
        {onPane !== undefined && <Button onClick={onPane}>Open pane</Button>}
        <IconButton label="Close" shortcut="Esc" onClick={onClose}>
          <X aria-hidden="true" />
        </IconButton>
      </header>
      <ListStates
        source={source}
        skeleton={<SkeletonRows count={6} />}
        isEmpty={({ files }) => files.length === 0}
        empty={<Empty>No changes here.</Empty>}
        fill
      >
        {({ branch, files, patch, cut }) => (
          <div className="flex min-h-0 flex-1 flex-col gap-2 p-3">
            <p className="flex gap-3 text-meta text-muted">
              <span className="min-w-0 truncate font-mono">{visibleText(branch)}</span>
              <span className="shrink-0 tabular-nums">{diffWords(sizeOf(files))}</span>
            </p>
            <TextView text={patch} label={`What changed: ${title}`} diff fill />
            {cut && <p className="text-meta text-muted">The diff is cut off here.</p>}
          </div>
        )}
      </ListStates>
    </Sheet>
  );
}
