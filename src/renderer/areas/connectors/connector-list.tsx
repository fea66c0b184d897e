/** Services that events come from, with their health; below them, the approved apps that receive the person's own events. */
import { useState } from 'react';
import { byName } from '../../../contracts/common/by-name.ts';
import type { Connector } from '../../../contracts/connectors/connector.ts';
import type { EdgeApp } from '../../../contracts/edge/routes.ts';
import { PlaceRow, placeRowHeight } from '../../base/place-frame.tsx';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/copy.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Empty, type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { ConnectorHealth, ConnectorRemedy } from './connector-health.tsx';
import type { Go } from './within.ts';

export function ConnectorList({
  connectors,
  apps,
  selected,
  go,
  onConnect,
}: {
  connectors: ListSource<readonly Connector[]>;
  apps: ListSource<readonly EdgeApp[]>;
  selected: { readonly connector: string | null; readonly app: string | null };
  go: Go;
  onConnect: () => void;
}) {
  const [failure, setFailure] = useState<unknown>(null);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
    <div onKeyDown={moveByArrows}>
      {failure !== null && <Problem error={failure} />}
      <h2 className="px-3 pt-2 text-meta text-muted">Services</h2>
      <ListStates
        source={connectors}
        skeleton={<SkeletonRows count={3} height={placeRowHeight} />}
        isEmpty={(list) => list.length === 0}
        empty={
          <Empty action={<Button onClick={onConnect}>Connect a service</Button>}>
            Services that you connect appear here, such as an issue tracker. Their events become work for your bots.
          </Empty>
        }
      >
        {(list) => (
          <ul className="py-1">
            {list
              .toSorted((a, b) => byName(a.name, b.name))
              .map((one) => (
                <PlaceRow
                  key={one.id}
                  mark={{ 'data-connector': one.name }}
                  selected={one.id === selected.connector}
                  onOpen={() => go({ connector: one.id })}
                  aside={<ConnectorRemedy connector={one} onFailure={setFailure} />}
                >
                  <span className="w-full truncate font-medium" title={one.url}>
                    {one.name}
                  </span>
                  <ConnectorHealth connector={one} brief />
                </PlaceRow>
              ))}
          </ul>
        )}
      </ListStates>
      <h2 className="border-t border-line px-3 pt-2 text-meta text-muted">Apps</h2>
      <ListStates
        source={apps}
        skeleton={<SkeletonRows count={1} height={placeRowHeight} />}
        isEmpty={(list) => list.length === 0}
        empty={
          <Empty action={<Command text="npx gantry tools approve my-app" />}>
            Apps that you approve to follow your bots’ events appear here. Approve one with this command:
          </Empty>
        }
      >
        {(list) => (
          <ul className="py-1">
            {list.map((app) => (
              <PlaceRow
                key={app.clientId}
                mark={{ 'data-app': app.clientId }}
                selected={app.clientId === selected.app}
                onOpen={() => go({ app: app.clientId })}
              >
                <span className="w-full truncate font-medium">{app.clientName}</span>
                <span className="text-meta text-muted tabular-nums">
                  {countWords(app.subscriptions.length, 'subscription')}
                </span>
              </PlaceRow>
            ))}
          </ul>
        )}
      </ListStates>
    </div>
  );
}
