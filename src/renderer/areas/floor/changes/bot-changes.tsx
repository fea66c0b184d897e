/** A bot's changes on its own branch, beside its pane: the files, the diff, and the three ways to end it, each with its plan first. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Columns2, GitBranch } from 'lucide-react';
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { AppError } from '../../../../contracts/common/errors.ts';
import type { Agent } from '../../../../contracts/factory/agent.ts';
import type { WorktreeDiff, WorktreeEnd, WorktreeEnding } from '../../../../contracts/factory/worktree-routes.ts';
import type { FactoryApi } from '../../../base/data/api.ts';
import { useServices } from '../../../base/services.tsx';
import { useOfferUndo } from '../../../base/undo.ts';
import { Button, IconButton } from '../../../ui/button.tsx';
import { diffRows } from '../../../ui/diff/diff-rows.ts';
import { later } from '../../../ui/later.ts';
import { Empty, ListStates, SkeletonRows } from '../../../ui/list-states.tsx';
import { PlanDialog } from '../../../ui/plan-dialog.tsx';
import { TextField } from '../../../ui/text-field.tsx';
import { visibleText } from '../../../ui/visible-text.ts';
import { AskToResolve } from '../runs/ask-to-resolve.tsx';
import { type QuickRow, rowOfBot, titleOf } from '../runs/quick-rows.ts';
import { useQuickRuns } from '../runs/quick-runs.ts';
import { CommentedDiff, SendComments, useComments } from './commented-diff.tsx';
import { rowAt } from './row-at.ts';

const EndRunDialog = lazy(
  later(() => import('../runs/end-run-dialog.tsx').then((module) => ({ default: module.EndRunDialog }))),
);

export function BotChanges({
  agent,
  at = null,
  onFile,
  onWide,
}: {
  agent: Agent;
  /** A file, and a line of it, to show. */
  at?: FilePlace | null;
  /** Opens a file as a whole. */
  onFile?: (path: string) => void;
  /** Shows it where there is more room. */
  onWide?: () => void;
}) {
  const { queries } = useServices();
  // A bot works between two events too: what it changed is read again whenever it is looked at.
  const diff = useQuery({ ...queries.diff(agent.id), staleTime: 0 });
  const none = diff.data === undefined && diff.error instanceof AppError && diff.error.code === 'not_found';
  if (none) {
    return (
      <Empty>
        {agent.name} works in the team’s folder, without a branch of its own. Set <code>worktree: true</code> in the
        team file to see its changes here.
      </Empty>
    );
  }
  return (
    <ListStates source={diff} skeleton={<SkeletonRows count={6} />} isEmpty={() => false} empty={null} fill>
      {(data) => <Changes agent={agent} diff={data} at={at} onFile={onFile} onWide={onWide} />}
    </ListStates>
  );
}

interface FilePlace {
  readonly file: string;
  readonly line: number | null;
}

function Changes({
  agent,
  diff,
  at,
  onFile,
  onWide,
}: {
  agent: Agent;
  diff: WorktreeDiff;
  at: FilePlace | null;
  onFile: ((path: string) => void) | undefined;
  onWide: (() => void) | undefined;
}) {
  const [end, setEnd] = useState<WorktreeEnd | null>(null);
  const run = useRunOf(agent);
  const rows = useMemo(() => diffRows(diff.patch), [diff.patch]);
  const comments = useComments(agent.id);
  const [goTo, setGoTo] = useState<{ readonly row: number } | null>(null);
  const goToFile = useCallback(
    (path: string, line: number | null = null): void => {
      const row = rowAt(rows, path, line) ?? rowAt(rows, path, null);
      if (row !== null) setGoTo({ row });
    },
    [rows],
  );
  const { file, line } = at ?? { file: null, line: null };
  const shown = useRef('');
  useEffect(() => {
    const wanted = `${file}:${line}`;
    // Once: a reader who moved on is not called back by the next change.
    if (file === null || shown.current === wanted) return;
    shown.current = wanted;
    goToFile(file, line);
  }, [file, line, goToFile]);
  const nothing = diff.files.length === 0 && diff.ahead === 0;
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-2 p-3">
      <p className="flex items-center gap-1.5" title={`${diff.path}\nfrom ${diff.base}`}>
        <GitBranch className="size-3.5 shrink-0 text-muted" aria-hidden="true" />
        <span className="min-w-0 flex-1 truncate font-mono text-code">{diff.branch}</span>
        {onWide !== undefined && (
          <IconButton label="Show changes and files beside the pane" onClick={onWide}>
            <Columns2 aria-hidden="true" />
          </IconButton>
        )}
      </p>
      <p className="text-meta text-muted tabular-nums">
        {diff.ahead} {diff.ahead === 1 ? 'commit' : 'commits'} ahead
        {diff.behind > 0 && `, ${diff.behind} behind`}
        {diff.into !== null && ` of ${diff.into}`}
        {diff.uncommitted > 0 && `, ${diff.uncommitted} uncommitted`}
      </p>
      {nothing ? (
        <>
          <p className="text-muted">No changes yet.</p>
          <SendComments agent={agent} comments={comments} rows={rows} />
        </>
      ) : (
        <>
          <div className="flex flex-wrap gap-1.5">
            <Button
              kind={comments.kept.comments.length === 0 ? 'primary' : 'plain'}
              disabled={diff.into === null}
              onClick={() => setEnd('merge')}
            >
              Merge
            </Button>
            <Button onClick={() => setEnd('keep')}>Keep</Button>
            <Button kind="danger" onClick={() => setEnd('discard')}>
              Discard
            </Button>
          </div>
          <ul aria-label="Changed files" className="max-h-40 shrink-0 overflow-y-auto">
            {diff.files.map((file) => (
              <li key={file.path} data-change={file.change}>
                <button
                  type="button"
                  className="flex w-full gap-2 rounded-control px-1 text-left text-meta hover:bg-raised pointer-coarse:py-2"
                  title={file.from === null ? visibleText(file.path) : `was ${visibleText(file.from)}`}
                  onClick={() => goToFile(file.path)}
                >
                  <span className="w-14 shrink-0 text-muted">{file.change}</span>
                  <span className="min-w-0 flex-1 truncate font-mono">{visibleText(file.path)}</span>
                  <span className="shrink-0 text-muted tabular-nums">
                    {file.added === null ? 'binary' : `+${file.added} −${file.removed ?? 0}`}
                  </span>
                </button>
              </li>
            ))}
          </ul>
          <CommentedDiff agent={agent} rows={rows} comments={comments} goTo={goTo} onFile={onFile} />
          {diff.cut && <p className="text-meta text-muted">The diff is cut off here. See the rest in {diff.path}.</p>}
        </>
      )}
      {end !== null && run === undefined && (
        <EndDialog agent={agent} diff={diff} end={end} onClose={() => setEnd(null)} />
      )}
      {end !== null && run !== undefined && (
        <Suspense>
          <EndRunDialog row={run} title={titleOf(run)} first={outcomes[end]} onClose={() => setEnd(null)} />
        </Suspense>
      )}
    </div>
  );
}

/** For a bot of a run from a prompt the same decision is the outcome of its run, which Home waits for. */
function useRunOf({ id, team }: Agent): QuickRow | undefined {
  const { queries } = useServices();
  const teams = useQuery(queries.teams).data?.teams ?? [];
  const isOfRun = teams.some(({ name, title }) => name === team && title !== undefined);
  const runs = useQuickRuns(isOfRun).data?.runs ?? [];
  return rowOfBot(runs, id);
}

const outcomes = { merge: 'merged', keep: 'kept', discard: 'discarded' } as const;

const ends: Readonly<Record<WorktreeEnd, { title: string; about: string; button: string }>> = {
  merge: { title: 'Merge the work of', about: 'Its branch is merged into yours.', button: 'Merge' },
  keep: { title: 'Keep the work of', about: 'The branch stays; the bot gets a new one.', button: 'Keep' },
  discard: {
    title: 'Discard the work of',
    about: 'The bot gets a new branch. Unmerged work is set aside, never deleted.',
    button: 'Discard',
  },
};

function EndDialog({
  agent,
  diff,
  end,
  onClose,
}: {
  agent: Agent;
  diff: WorktreeDiff;
  end: WorktreeEnd;
  onClose: () => void;
}) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const offerUndo = useOfferUndo();
  const [message, setMessage] = useState('');
  const { title, about, button } = ends[end];
  const asksCommit = end !== 'discard' && diff.uncommitted > 0;
  const commit = asksCommit && message.trim() !== '' ? message.trim() : undefined;
  return (
    <PlanDialog
      title={`${title} ${agent.name}`}
      description={`${about} Nothing has happened yet.`}
      // What a bot at work refuses is possible once it is idle.
      planKey={['worktree', agent.id, end, diff.head, commit !== undefined, agent.state]}
      readPlan={async () => {
        const answer = await callEnd(api.factory, end, agent.id, commit, true);
        if (!('dryRun' in answer)) throw new Error('The server acted on a dry run.');
        return answer.plan;
      }}
      label={(plan) => `${button} ${plan.commits} ${plan.commits === 1 ? 'commit' : 'commits'}`}
      idle={button}
      awaits={asksCommit && commit === undefined ? 'Write a commit message to see what will happen.' : null}
      danger={end === 'discard'}
      focusAct={!asksCommit}
      act={async () => {
        const answer = await callEnd(api.factory, end, agent.id, commit, false);
        const again = () => client.invalidateQueries({ queryKey: keys.diff(agent.id) });
        await again();
        const keptAs = 'done' in answer ? answer.done.keptAs : null;
        if (end !== 'discard' || keptAs === null) return;
        offerUndo(`Discarded the work of ${agent.name}`, async () => {
          await api.factory.restoreWorktree({ params: { id: agent.id }, body: { keptAs } });
          await again();
        });
      }}
      onClose={onClose}
      mend={(error) => <AskToResolve error={error} bot={agent.address} name={agent.name} onSent={onClose} />}
      fields={
        asksCommit && (
          <TextField
            label="Commit message"
            required
            description={`Commits ${diff.uncommitted} uncommitted ${diff.uncommitted === 1 ? 'file' : 'files'} first.`}
            value={message}
            onChange={setMessage}
          />
        )
      }
      shown={(plan: WorktreeEnding) => (
        <ol className="list-decimal pl-5">
          {plan.steps.map((step) => (
            <li key={step} className="break-words">
              {step}
            </li>
          ))}
        </ol>
      )}
    />
  );
}

function callEnd(factory: FactoryApi, end: WorktreeEnd, id: string, commit: string | undefined, dryRun: boolean) {
  const params = { id };
  const dry = dryRun ? { dryRun } : {};
  const first = commit === undefined ? {} : { commit };
  switch (end) {
    case 'merge':
      return factory.mergeWorktree({ params, body: { ...first, ...dry } });
    case 'keep':
      return factory.keepWorktree({ params, body: { ...first, ...dry } });
    case 'discard':
      return factory.discardWorktree({ params, body: dry });
  }
}
