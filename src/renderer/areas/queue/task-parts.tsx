/** Small parts of a task for rows and the inspector. */
import { Link } from '@tanstack/react-router';
import type { Task } from '../../../contracts/work-queue/task.ts';
import { shortId } from '../../ui/copy.tsx';
import { Ago, formatElapsed, useExact, useNow, useOfNow } from '../../ui/now.tsx';
import { Status, taskStatus } from '../../ui/status.tsx';
import type { LinkKind } from './queries.ts';
import { isOver, leaseWords, waitsSince } from './task-words.ts';

export function TaskStatus({ task }: { task: Task }) {
  return <Status look={taskStatus(task, useNow())} wire={task.status} />;
}

/** How long it waits or is open; of what is over, how long ago it ended. */
export function TaskAge({ task }: { task: Task }) {
  const since = task.status === 'queued' ? waitsSince(task) : Date.parse(task.created_at);
  const at = new Date(since).toISOString();
  const title = useExact(at);
  const age = useOfNow((now) =>
    task.status === 'queued' && since > now && task.not_before !== null
      ? `in ${formatElapsed(since - now)}`
      : formatElapsed(now - since),
  );
  if (isOver(task)) {
    return (
      <>
        ended <Ago at={task.updated_at} />
      </>
    );
  }
  return (
    <time dateTime={at} title={title} className="tabular-nums">
      {age}
    </time>
  );
}

export function LeaseLeft({ task }: { task: Task }) {
  const now = useNow();
  if (task.lease_expires_at === null || isOver(task)) return null;
  const title = `Until ${new Date(task.lease_expires_at).toLocaleString(undefined, { timeStyle: 'medium' })}, unless its worker renews it`;
  return (
    <time dateTime={task.lease_expires_at} title={title} className="whitespace-nowrap text-muted tabular-nums">
      {leaseWords(task.lease_expires_at, now)}
    </time>
  );
}

export function LinkTo({ kind, id, name }: { kind: LinkKind; id: string; name: string | undefined }) {
  const named = name !== undefined && name !== '';
  return (
    <Link
      to={kind === 'sessions' ? '/queue/sessions/$id' : '/queue/deployments/$id'}
      params={{ id }}
      title={id}
      className={`rounded-control text-accent hover:underline ${named ? '' : 'font-mono text-meta'}`}
    >
      {named ? name : shortId(id)}
    </Link>
  );
}
