/** The servers that tools come from: Gantry's own, then the attached ones with their health and the one action that fixes it. */
import { type ReactNode, useState } from 'react';
import type { AttachedServer } from '../../../contracts/tool-server/servers.ts';
import type { ToolInfo } from '../../../contracts/tool-server/tools.ts';
import { PlaceRow, placeRowHeight } from '../../base/place-frame.tsx';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { groupOf } from './queries.ts';
import { ServerHealth, ServerRemedy } from './server-health.tsx';
import { groupsOf, type ToolGroup } from './tool-words.ts';

export function ServerList({
  source,
  tools,
  selected,
  onOpen,
  onAttach,
}: {
  source: ListSource<readonly AttachedServer[]>;
  tools: readonly ToolInfo[] | undefined;
  selected: string | null;
  onOpen: (key: string) => void;
  onAttach: () => void;
}) {
  const [failure, setFailure] = useState<unknown>(null);
  const row = (group: ToolGroup) => (
    <ServerRow
      key={group.key}
      group={group}
      count={tools?.filter((tool) => groupOf(tool) === group.key).length}
      selected={group.key === selected}
      onOpen={() => onOpen(group.key)}
      onFailure={setFailure}
    />
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
    <div onKeyDown={moveByArrows}>
      <ul className="py-1">{groupsOf([]).map(row)}</ul>
      <h2 className="border-t border-line px-3 pt-2 text-meta text-muted">Attached</h2>
      {failure !== null && <Problem error={failure} />}
      <ListStates
        source={source}
        skeleton={<SkeletonRows count={2} height={placeRowHeight} />}
        isEmpty={(servers) => servers.length === 0}
        empty={
          <Empty action={<Button onClick={onAttach}>Attach a server</Button>}>
            Tool servers that you attach, such as one for GitHub or your database, appear here.
          </Empty>
        }
      >
        {(servers) => (
          <ul className="py-1">
            {groupsOf(servers)
              .filter((one) => one.server !== null)
              .map(row)}
          </ul>
        )}
      </ListStates>
    </div>
  );
}

function ServerRow({
  group,
  count,
  selected,
  onOpen,
  onFailure,
}: {
  group: ToolGroup;
  count: number | undefined;
  selected: boolean;
  onOpen: () => void;
  onFailure: (error: unknown) => void;
}): ReactNode {
  return (
    <PlaceRow
      mark={{ 'data-server': group.key }}
      selected={selected}
      onOpen={onOpen}
      aside={group.server === null ? undefined : <ServerRemedy server={group.server} onFailure={onFailure} />}
    >
      <span className="w-full truncate font-medium" title={group.about}>
        {group.name}
      </span>
      <ServerHealth server={group.server} count={count} brief />
    </PlaceRow>
  );
}
