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
            No such app is let in now. Its key may have been revoked.
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
          <Fact name="Let in">
            <Ago at={app.approvedAt} />
          </Fact>
          <Fact name="May">
            {app.scopes.length === 0 ? (
              <span className="text-muted">nothing</span>
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
            ? 'To keep it out altogether, revoke its key in the settings under API keys.'
            : 'To keep it out altogether, end at your sign-in provider what you granted it.'}
        </p>
      </section>
      {app.subscriptions.length === 0 ? (
        <Empty>It is subscribed to nothing now.</Empty>
      ) : (
        <ul aria-label="What it is told" onKeyDown={moveByArrows}>
          {app.subscriptions.map((one) => (
            <Row key={one.id} subscription={one} title={titleOf(one.event)} onEnd={() => setEnding(one)} />
          ))}
        </ul>
      )}
      {ending !== null && (
        <ConfirmDialog
          title={`End ${titleOf(ending.event)} for ${app.clientName}?`}
          description="It cannot be taken back; the app may ask again while it is let in."
          label="End"
          onClose={() => setEnding(null)}
          act={async () => {
            await api.edge.endEdgeSubscription({ params: { id: ending.id } });
            await client.invalidateQueries({ queryKey: keys.edgeApps });
          }}
        >
          <ul className="list-disc pl-5">
            <li>It is told once, at {ending.callbackHost}, that you ended it.</li>
            <li>Nothing more is sent of it; what waits is dropped.</li>
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
          of {about}
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
