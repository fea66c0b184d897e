/** One approved app: what it may do, which events of the person's bots it receives, and how to end either. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { EdgeApp, EdgeSubscription } from '../../../contracts/edge/routes.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { Empty, type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { scopeWords } from '../../ui/scope-words.ts';
import { edgeStatus, Status } from '../../ui/status.tsx';
import { argumentWords } from './connector-words.ts';
import { useConnectorServices } from './use-connector-services.ts';

export function AppPage({
  id,
  source,
  onBack,
}: {
  id: string;
  source: ListSource<readonly EdgeApp[]>;
  onBack: () => void;
}) {
  const app = source.data?.find(({ clientId }) => clientId === id);
  return (
    <>
      <OpenBar back="Back to all connectors" onBack={onBack} title={app?.clientName ?? 'App'} />
      <ListStates
        source={source}
        skeleton={<SkeletonRows count={6} />}
        isEmpty={() => app === undefined}
        empty={
          <Empty action={<Button onClick={onBack}>Show all connectors</Button>}>
            This app has no access. Its key may have been revoked.
          </Empty>
        }
      >
        {() => app !== undefined && <Body app={app} />}
      </ListStates>
    </>
  );
}

function Body({ app }: { app: EdgeApp }) {
  const { api, keys, queries } = useConnectorServices();
  const client = useQueryClient();
  const titles = useQuery(queries.eventCatalog).data ?? [];
  const [ending, setEnding] = useState<EdgeSubscription | null>(null);
  const titleOf = (event: string) => titles.find((one) => one.event === event)?.title ?? event;
  return (
    <div className="min-w-0">
      <section aria-label={`App ${app.clientName}`} className="border-b border-line p-3">
        <dl className="flex max-w-[760px] flex-col gap-1">
          <Fact name="Approved">
            <Ago at={app.approvedAt} />
          </Fact>
          <Fact name="Permissions">
            {app.scopes.length === 0 ? (
              <span className="text-muted">none</span>
            ) : (
              app.scopes.map((scope) => (
                <span key={scope} title={scope} className="block">
                  {(scopeWords as Readonly<Record<string, string>>)[scope] ?? scope}
                </span>
              ))
            )}
          </Fact>
          <Fact name="Id">
            <ShortId id={app.clientId} />
          </Fact>
        </dl>
        <p className="mt-2 max-w-[640px] text-muted">
          {app.clientId.startsWith('key:')
            ? 'To remove its access, revoke its key under Settings, API keys.'
            : 'To remove its access, revoke the grant at your sign-in provider.'}
        </p>
      </section>
      {app.subscriptions.length === 0 ? (
        <Empty>This app has no subscriptions.</Empty>
      ) : (
        <ul aria-label="Subscriptions" onKeyDown={moveByArrows}>
          {app.subscriptions.map((one) => (
            <Row key={one.id} subscription={one} title={titleOf(one.event)} onEnd={() => setEnding(one)} />
          ))}
        </ul>
      )}
      {ending !== null && (
        <ConfirmDialog
          title={`End ${titleOf(ending.event)} for ${app.clientName}?`}
          description="This cannot be undone; the app can subscribe again while it has access."
          label="End"
          onClose={() => setEnding(null)}
          act={async () => {
            await api.edge.endEdgeSubscription({ params: { id: ending.id } });
            await client.invalidateQueries({ queryKey: keys.edgeApps });
          }}
        >
          <ul className="list-disc pl-5">
            <li>Gantry tells the app once, at {ending.callbackHost}.</li>
            <li>No more events are sent. Those still waiting are dropped.</li>
          </ul>
        </ConfirmDialog>
      )}
    </div>
  );
}

function Row({ subscription, title, onEnd }: { subscription: EdgeSubscription; title: string; onEnd: () => void }) {
  const nameOf = useNameOfBot();
  const { event, server, callbackHost, status, lastDeliveryAt, refreshBefore } = subscription;
  const words = argumentWords(subscription.arguments);
  const about = server === 'agents' ? 'all your bots' : nameOf(server.replace(/^bots\//, ''));
  return (
    <li className="grid min-h-12 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 border-b border-line px-3 py-1 sm:grid-cols-[minmax(0,1fr)_128px_176px_auto]">
      <span className="min-w-0">
        <span className="block truncate font-medium" title={event}>
          {title}
        </span>
        <span className="block truncate text-meta text-muted">
          from {about}
          {words === null ? '' : ` · ${words}`} · to {callbackHost}
        </span>
      </span>
      <span className="flex flex-wrap items-center gap-x-3 max-sm:order-last max-sm:col-span-full sm:contents">
        <Status look={edgeStatus[status]} wire={status} />
        <span className="text-meta text-muted tabular-nums sm:text-right">
          {lastDeliveryAt === null ? (
            'nothing sent yet'
          ) : (
            <>
              sent <Ago at={lastDeliveryAt} />
            </>
          )}
          <span className="block max-sm:inline max-sm:pl-2">
            until{' '}
            {new Date(refreshBefore).toLocaleString(undefined, {
              month: 'short',
              day: 'numeric',
              hour: '2-digit',
              minute: '2-digit',
            })}
          </span>
        </span>
      </span>
      <Button kind="danger" data-row="true" onClick={onEnd} aria-label={`End ${title}`}>
        End
      </Button>
    </li>
  );
}
