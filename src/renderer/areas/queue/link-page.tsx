/** A session or a deployment: what it is, and the tasks that belong to it. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useCallback } from 'react';
import { AppError } from '../../../contracts/common/errors.ts';
import { BackLink } from '../../base/place-frame.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextView } from '../../ui/text-view.tsx';
import type { LinkKind } from './queries.ts';
import { HandIn } from './queue-page.tsx';
import { TaskBrowser } from './task-browser.tsx';
import { useQueueServices } from './use-queue-services.ts';

const noun = { sessions: 'Session', deployments: 'Deployment' } as const;
const listName = { sessions: 'Sessions', deployments: 'Deployments' } as const;
const listOf = { sessions: '/queue/sessions', deployments: '/queue/deployments' } as const;

export function SessionPage() {
  return <LinkPage kind="sessions" />;
}

export function DeploymentPage() {
  return <LinkPage kind="deployments" />;
}

function LinkPage({ kind }: { kind: LinkKind }) {
  const { id = '' } = useParams({ strict: false });
  const { queries } = useQueueServices();
  const navigate = useNavigate();
  const link = useQuery(queries.workLink(kind, id));
  const back = useCallback(() => void navigate({ to: '/queue' }), [navigate]);
  // Nothing can be in it, nor be handed in to it.
  if (link.error instanceof AppError && link.error.code === 'not_found') {
    return (
      <main className="flex min-h-0 min-w-0 flex-1 flex-col overflow-y-auto">
        <LinkHeader kind={kind} title={noun[kind]} />
        <Problem error={link.error} />
      </main>
    );
  }
  const none = Object.keys(link.data?.metadata ?? {}).length === 0;
  return (
    <TaskBrowser
      of={{ kind, id }}
      onBack={back}
      header={(handIn) => (
        <>
          <LinkHeader kind={kind} title={link.data?.name ?? noun[kind]}>
            <HandIn onClick={handIn} />
          </LinkHeader>
          <ListStates source={link} skeleton={<SkeletonRows count={3} />} isEmpty={() => false} empty={null}>
            {(data) => (
              <div className="flex flex-col gap-2 p-3">
                <dl className="flex flex-col gap-1">
                  <Fact name="Created">
                    <Ago at={data.created_at} />
                  </Fact>
                  <Fact name="Id">
                    <ShortId id={data.id} />
                  </Fact>
                  {!none && (
                    <Fact name="Metadata">
                      <TextView text={JSON.stringify(data.metadata, null, 2)} label="Metadata" maxLines={8} />
                    </Fact>
                  )}
                </dl>
              </div>
            )}
          </ListStates>
        </>
      )}
      empty={(handIn) => (
        <Empty action={<HandIn onClick={handIn} quiet />}>
          Tasks added with its id (
          <code className="font-mono text-code">{kind === 'sessions' ? 'session_id' : 'deployment_id'}</code>) appear
          here.
        </Empty>
      )}
    />
  );
}

function LinkHeader({ kind, title, children }: { kind: LinkKind; title: string; children?: ReactNode }) {
  return (
    <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line bg-panel px-3 pointer-coarse:h-12">
      <BackLink to="/queue" label="Back to the queue" />
      <Link to={listOf[kind]} className="shrink-0 rounded-control text-muted hover:text-ink hover:underline">
        {listName[kind]}
      </Link>
      <span aria-hidden="true" className="text-faint">
        /
      </span>
      <h1 className="min-w-0 flex-1 truncate text-title font-semibold" title={title}>
        {title}
      </h1>
      {children}
    </header>
  );
}
