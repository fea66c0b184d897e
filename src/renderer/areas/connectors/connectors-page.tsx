/** Connectors: services whose events become work for bots, and other people's apps that receive the person's own events. */
import { useQueries, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { AppError } from '../../../contracts/common/errors.ts';
import type { Connector } from '../../../contracts/connectors/connector.ts';
import type { Action } from '../../base/actions.ts';
import { OpenBar, PlaceFrame } from '../../base/place-frame.tsx';
import { useAddActions } from '../../base/services.tsx';
import { backAction, stepOut } from '../../base/way-back.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { AppPage } from './app-page.tsx';
import { ConnectorDialog } from './connector-dialog.tsx';
import { ConnectorList } from './connector-list.tsx';
import { ConnectorPage } from './connector-page.tsx';
import { JobPage } from './job-page.tsx';
import type { ConnectorsSearch } from './search.ts';
import { SubscribePage } from './subscribe-page.tsx';
import { SubscriptionPage } from './subscription-page.tsx';
import { SubscriptionRows } from './subscription-rows.tsx';
import { TrySample } from './try-sample.tsx';
import { useConnectorServices } from './use-connector-services.ts';
import type { Go } from './within.ts';

const nowhere: ConnectorsSearch = {
  connector: undefined,
  event: undefined,
  sub: undefined,
  part: undefined,
  state: undefined,
  run: undefined,
  app: undefined,
  cursor: undefined,
};

export function ConnectorsPage() {
  const { computer, queries } = useConnectorServices();
  const search = useSearch({ from: '/connectors' });
  const { connector, event, sub, run, app } = search;
  const navigate = useNavigate();
  const page = useRef<HTMLDivElement>(null);
  const [connecting, setConnecting] = useState(false);
  const connectors = useQuery(queries.connectors);
  const apps = useQuery(queries.edgeApps);

  const go = useCallback<Go>(
    (to, replace = false) =>
      void navigate({ to: '/connectors', search: (old) => ({ ...old, ...nowhere, ...to }), replace }),
    [navigate],
  );
  /** One step out, with the focus where it was. */
  const back = useCallback(() => {
    const step = stepOut(page, go);
    if (run !== undefined) step({ connector, sub, part: 'runs' }, 'run', run);
    else if (sub !== undefined) step({ connector }, 'subscription', sub);
    else if (event !== undefined) step({ connector }, 'event', event);
    else if (app !== undefined) step({}, 'app', app);
    else step({}, 'connector', connectors.data?.find(({ id }) => id === connector)?.name);
  }, [go, run, sub, event, app, connector, connectors.data]);
  const connect = useCallback(() => setConnecting(true), []);
  const inside = connector !== undefined || run !== undefined || app !== undefined;

  const actions = useMemo<readonly Action[]>(
    () => [
      { id: 'connect-service', title: 'Connect a service', group: 'Connectors', keys: 'n', run: connect },
      ...(connectors.data ?? []).map(
        ({ id, name }): Action => ({
          id: `open-connector-${id}`,
          title: `Open connector ${name}`,
          group: 'Connectors',
          run: () => go({ connector: id }),
        }),
      ),
      backAction(page, inside ? back : null),
    ],
    [back, connect, connectors.data, go, inside],
  );
  useAddActions(actions);

  const one = connectors.data?.find(({ id }) => id === connector);
  const within = { id: connector ?? '', connector: one, source: connectors, go, onBack: back };
  const open =
    app !== undefined ? (
      <AppPage key={app} id={app} source={apps} onBack={back} />
    ) : connector === undefined ? (
      run === undefined ? null : (
        <FindJob key={`${computer} ${run}`} job={run} go={go} onBack={back} />
      )
    ) : run !== undefined && sub !== undefined ? (
      <JobPage key={`${computer} ${run}`} {...within} sub={sub} job={run} />
    ) : sub !== undefined ? (
      <SubscriptionPage key={`${computer} ${sub}`} {...within} sub={sub} search={search} />
    ) : event !== undefined ? (
      <SubscribePage key={`${computer} ${connector} ${event}`} {...within} event={event} />
    ) : (
      <ConnectorPage key={`${computer} ${connector}`} {...within} />
    );
  return (
    <>
      <PlaceFrame
        title="Connectors"
        page={page}
        action={
          <Button icon={Plus} kind={inside ? 'plain' : 'primary'} onClick={connect} aria-keyshortcuts="n">
            Connect
          </Button>
        }
        list={
          <ConnectorList
            connectors={connectors}
            apps={apps}
            selected={{ connector: connector ?? null, app: app ?? null }}
            go={go}
            onConnect={connect}
          />
        }
        open={open}
      >
        <AllSubscriptions source={connectors} go={go} />
      </PlaceFrame>
      {connecting && (
        <ConnectorDialog
          connector={null}
          onClose={() => setConnecting(false)}
          onDone={(made) => {
            setConnecting(false);
            go({ connector: made.id });
          }}
        />
      )}
    </>
  );
}

/** The subscriptions of all connectors; those that need the person come first. */
function AllSubscriptions({ source, go }: { source: ListSource<readonly Connector[]>; go: Go }) {
  const { queries } = useConnectorServices();
  const connectors = source.data ?? [];
  const listened = connectors.filter(({ subscriptionCount }) => subscriptionCount > 0);
  const lists = useQueries({ queries: listened.map(({ id }) => queries.connectorEvents(id)) });
  const all = lists.flatMap(({ data }) => data?.subscriptions ?? []);
  const failed = lists.find(({ error }) => error !== null);
  const needs = (status: string): number => Number(status !== 'needs_reauth') + Number(status === 'active');
  const skeleton = <SkeletonRows count={3} height={48} />;
  return (
    <section aria-label="Subscriptions" className="min-w-0" onKeyDown={moveByArrows}>
      <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line bg-panel px-3 max-sm:border-t pointer-coarse:h-12">
        <h2 className="min-w-0 flex-1 truncate font-semibold">Subscriptions</h2>
      </header>
      <ListStates
        // Its problem is shown beside the list of services.
        told
        source={source}
        skeleton={skeleton}
        isEmpty={() => listened.length === 0}
        empty={
          <div data-state="empty" className="flex max-w-[640px] flex-col gap-3 p-3 text-muted">
            <p>
              {connectors.length === 0
                ? 'Connect a service, then choose an event and the bot that handles it. Each event opens one ticket for the bot. A rule can also run the bot, with only the permissions that you allow.'
                : 'No subscriptions yet. Open a service and choose one of its events.'}
            </p>
            {connectors.length === 0 && <TrySample go={go} />}
          </div>
        }
      >
        {() => (
          <>
            {failed !== undefined && (
              <Problem
                error={failed.error}
                failures={failed.errorUpdateCount - 1}
                onRetry={() => void failed.refetch()}
              />
            )}
            {all.length === 0 && failed === undefined ? (
              skeleton
            ) : (
              <SubscriptionRows
                subscriptions={all.toSorted((a, b) => needs(a.status) - needs(b.status))}
                connectorName={(id) => connectors.find((one) => one.id === id)?.name ?? ''}
                onOpen={(one) => go({ connector: one.connectorId, sub: one.id })}
              />
            )}
          </>
        )}
      </ListStates>
    </section>
  );
}

/** Opens a job of which only the id is known, as from its question in the inbox. */
function FindJob({ job, go, onBack }: { job: string; go: Go; onBack: () => void }) {
  const { queries } = useConnectorServices();
  const found = useQuery(queries.jobPlace(job));
  const { data, error } = found;
  useEffect(() => {
    if (data !== undefined) go({ connector: data.connectorId, sub: data.subscriptionId, run: job }, true);
  }, [data, go, job]);
  const gone = error instanceof AppError && error.code === 'not_found';
  return (
    <>
      <OpenBar back="Back to all connectors" onBack={onBack} title="Job" />
      {gone ? (
        <Empty action={<Button onClick={onBack}>Show all connectors</Button>}>
          This job was not found on this computer. Its service may have been removed.
        </Empty>
      ) : (
        <ListStates fill source={found} skeleton={<SkeletonRows count={8} />} isEmpty={() => false} empty={null}>
          {() => null}
        </ListStates>
      )}
    </>
  );
}
