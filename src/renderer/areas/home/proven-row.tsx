/** A step of a run that was proven since the person last looked, and what its bot changed for it while that lies in the bot's worktree. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { useBots } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { later } from '../../ui/later.ts';
import { Ago } from '../../ui/now.tsx';
import { nodeStatus, StatusIcon } from '../../ui/status.tsx';
import { diffWords, sizeOf } from '../floor/runs/quick-rows.ts';
import { useOpenBot } from '../floor/use-open-bot.ts';

const DiffSheet = lazy(later(() => import('./diff-sheet.tsx').then((module) => ({ default: module.DiffSheet }))));

export interface ProvenStep {
  /** Of the newest proof. */
  readonly at: string;
  readonly dagId: string;
  readonly nodeId: string;
  readonly title: string;
  /** What was proven, in the order in which it was. */
  readonly lines: readonly string[];
}

export function ProvenRow({ proven: { at, dagId, nodeId, title, lines } }: { proven: ProvenStep }) {
  const { queries, computer } = useServices();
  const openBot = useOpenBot('home');
  const [open, setOpen] = useState(false);
  const page = useQuery(queries.node(dagId, nodeId)).data;
  const card = page?.card;
  const bot = useBots().find(({ address, place }) => address === card?.assignee && (place.scope ?? null) === computer);
  // A step that was done in a worktree keeps its diff under this name; without one there is nothing to ask for.
  const kept = card === undefined ? null : `${card.stepId}-${card.attempt}.diff`;
  const changed = page?.files.some(({ name }) => name === kept) === true;
  const diff = useQuery({ ...queries.diff(bot?.id ?? ''), enabled: bot !== undefined && changed, retry: false });
  // The bot may have gone on to other work: each step has a branch of its own.
  const ofStep = card === undefined ? null : `--${card.stepId}-${nodeId.slice(-6).toLowerCase()}`;
  const shows = ofStep !== null && diff.data?.branch.endsWith(ofStep) === true && diff.data.files.length > 0;
  return (
    <li className="flex items-center gap-1 pr-3 hover:bg-raised">
      <Link
        to="/work"
        search={{ dag: dagId, node: nodeId, view: 'graph' }}
        className="flex h-8 min-w-0 flex-1 items-center gap-2 pl-3 pointer-coarse:h-10"
      >
        <span className="text-proven">
          <StatusIcon look={nodeStatus.done} />
        </span>
        <span className="min-w-0 flex-1 truncate">
          {title} <span className="text-muted">· {lines.join(', ')}</span>
        </span>
        <span className="shrink-0 text-meta text-faint">
          <Ago at={at} />
        </span>
      </Link>
      {shows && diff.data !== undefined && (
        <Button kind="quiet" onClick={() => setOpen(true)}>
          <span className="tabular-nums">{diffWords(sizeOf(diff.data.files))}</span>
          <span className="sr-only">, changes for {title}</span>
        </Button>
      )}
      <Suspense>
        {open && (
          <DiffSheet
            title={title}
            source={diff}
            onPane={bot === undefined ? undefined : () => openBot(bot)}
            onClose={() => setOpen(false)}
          />
        )}
      </Suspense>
    </li>
  );
}
