/** All sessions or all deployments, newest first, by page. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { BackLink } from '../../base/place-frame.tsx';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Command, shortId } from '../../ui/copy.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAct } from '../../ui/use-act.ts';
import type { LinkKind } from './queries.ts';
import { useQueueServices } from './use-queue-services.ts';

const words = {
  sessions: {
    title: 'Sessions',
    about:
      'A session groups tasks that belong together, such as those of one build: you see them on one page and filter by it. Programs create sessions and name them in their tasks.',
    sample: 'Make a sample session',
    body: '{"title":"nightly build"}',
  },
  deployments: {
    title: 'Deployments',
    about:
      'A deployment says what tasks are for, such as a service and its stage: you see what was done for it on one page. Programs create deployments and name them in their tasks.',
    sample: 'Make a sample deployment',
    body: '{"name":"shop in production"}',
  },
} as const;

export function SessionsPage() {
  return <LinksPage kind="sessions" />;
}

export function DeploymentsPage() {
  return <LinksPage kind="deployments" />;
}

function LinksPage({ kind }: { kind: LinkKind }) {
  const { queries } = useQueueServices();
  const { cursor } = useSearch({ strict: false }) as { cursor?: string };
  const navigate = useNavigate();
  const links = useQuery(queries.workLinks(kind, cursor));
  const { title, about, body } = words[kind];
  const go = (next: string | undefined) => void navigate({ to: '.', search: { cursor: next } });
  return (
    <main className="flex min-h-0 min-w-0 flex-1 flex-col overflow-y-auto">
      <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line bg-panel px-3 pointer-coarse:h-12">
        <BackLink to="/queue" label="Back to the queue" />
        <h1 className="text-title font-semibold">{title}</h1>
      </header>
      <ListStates
        source={links}
        skeleton={<SkeletonRows count={8} />}
        isEmpty={(data) => data.links.length === 0 && cursor === undefined}
        empty={
          <Empty action={<Sample kind={kind} />}>
            {about} With a key that has the scope <code className="font-mono text-code">work</code> in a file:
            <span className="mt-2 block">
              <Command
                text={`curl -s -H "Authorization: Bearer $(cat key)" -H 'content-type: application/json' ${window.location.origin}/beta/${kind} -d '${body}'`}
              />
            </span>
          </Empty>
        }
      >
        {(data) => (
          <>
            <ul onKeyDown={moveByArrows}>
              {data.links.map((link) => (
                <li key={link.id}>
                  <Link
                    to={kind === 'sessions' ? '/queue/sessions/$id' : '/queue/deployments/$id'}
                    params={{ id: link.id }}
                    data-row="true"
                    className="flex h-7 min-w-0 items-center gap-3 px-3 hover:bg-raised pointer-coarse:h-11"
                  >
                    <span className="min-w-0 flex-1 truncate">{link.name ?? 'Untitled'}</span>
                    <span className="shrink-0 font-mono text-meta text-muted">{shortId(link.id)}</span>
                    <span className="w-20 shrink-0 text-right text-meta text-muted">
                      <Ago at={link.created_at} />
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
            <nav aria-label={`Pages of ${title.toLowerCase()}`} className="flex gap-2 p-3">
              {cursor !== undefined && <Button onClick={() => go(undefined)}>Newest</Button>}
              {data.next_cursor !== null && <Button onClick={() => go(data.next_cursor ?? undefined)}>Older</Button>}
            </nav>
          </>
        )}
      </ListStates>
    </main>
  );
}

/** One with a task, which any worker can run. */
function Sample({ kind }: { kind: LinkKind }) {
  const { api } = useQueueServices();
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const make = useAct(async () => {
    if (kind === 'sessions') {
      const { id } = await api.queue.createWorkSession({ body: { title: 'Sample session' } });
      await api.queue.createTask({ body: { session_id: id, payload: samplePayload } });
      await navigate({ to: '/queue/sessions/$id', params: { id } });
    } else {
      const { id } = await api.queue.createDeployment({ body: { name: 'Sample deployment' } });
      await api.queue.createTask({ body: { deployment_id: id, payload: samplePayload } });
      await navigate({ to: '/queue/deployments/$id', params: { id } });
    }
    void queryClient.invalidateQueries({ queryKey: ['queue', kind] });
  });
  return (
    <>
      <Button disabled={make.busy} onClick={() => make.run()}>
        {words[kind].sample}
      </Button>
      {make.failure !== null && <Problem error={make.failure} />}
    </>
  );
}

const samplePayload = { command: 'echo Hello from the queue' };
