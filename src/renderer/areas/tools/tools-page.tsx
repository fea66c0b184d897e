/** Tools: the servers they come from with their health, what each can do, and a way to try each one. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Action } from '../../base/actions.ts';
import { PlaceFrame } from '../../base/place-frame.tsx';
import { useAddActions } from '../../base/services.tsx';
import { useNarrow } from '../../base/use-narrow.ts';
import { backAction, filterAction, stepOut } from '../../base/way-back.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/copy.tsx';
import { groupOf, toolsMark } from './queries.ts';
import type { ToolsSearch } from './search.ts';
import { ServerDialog } from './server-dialog.tsx';
import { ServerList } from './server-list.tsx';
import { ServerPage } from './server-page.tsx';
import { ToolList } from './tool-list.tsx';
import { ToolPage } from './tool-page.tsx';
import { groupsOf, noneWords } from './tool-words.ts';
import { useToolServices } from './use-tool-services.ts';

export function ToolsPage() {
  const { computer, keys, queries } = useToolServices();
  const search = useSearch({ from: '/tools' });
  const navigate = useNavigate();
  const narrow = useNarrow();
  const client = useQueryClient();
  const page = useRef<HTMLDivElement>(null);
  const [attaching, setAttaching] = useState(false);
  const servers = useQuery(queries.toolServers);
  const tools = useQuery(queries.tools);

  // The long list is read again when a server's part of it may have changed, not each time the servers are looked at.
  const mark = servers.data === undefined ? null : toolsMark(servers.data);
  const marked = useRef(mark);
  useEffect(() => {
    if (marked.current !== null && mark !== null && marked.current !== mark) {
      void client.invalidateQueries({ queryKey: keys.tools });
    }
    marked.current = mark;
  }, [client, keys, mark]);

  const go = useCallback(
    (change: Partial<ToolsSearch>, replace = false) =>
      void navigate({ to: '/tools', search: (old) => ({ ...old, ...change }), replace }),
    [navigate],
  );
  const { server, tool } = search;
  /** One step out, with the focus where it was. */
  const back = useCallback(() => {
    const step = stepOut(page, go);
    if (tool !== undefined) step({ tool: undefined }, 'tool', tool);
    else step({ server: undefined, filter: undefined }, 'server', server);
  }, [go, server, tool]);
  const attach = useCallback(() => setAttaching(true), []);

  const actions = useMemo<readonly Action[]>(
    () => [
      { id: 'attach-server', title: 'Attach a tool server', group: 'Tools', keys: 'n', run: attach },
      filterAction(page, 'Filter tools'),
      backAction(page, tool !== undefined || server !== undefined ? back : null),
    ],
    [attach, back, server, tool],
  );
  useAddActions(actions);

  const groups = groupsOf(servers.data ?? []);
  const group = groups.find((one) => one.key === server) ?? null;
  const openTool = (name: string) => go({ tool: name });
  const shown = (key: string | null) => ({
    source: tools,
    group: key,
    filter: search.filter ?? '',
    onFilter: (filter: string) => go({ filter: filter === '' ? undefined : filter }, true),
    onOpen: openTool,
  });
  const chosen = tools.data?.find((one) => one.name === tool);
  const list = (
    <ServerList
      source={servers}
      tools={tools.data}
      selected={(chosen === undefined ? server : groupOf(chosen)) ?? null}
      onOpen={(key) => go({ server: key, tool: undefined, filter: undefined })}
      onAttach={attach}
    />
  );
  const main =
    tool !== undefined ? (
      <ToolPage
        key={`${computer} ${tool}`}
        name={tool}
        tool={chosen}
        source={tools}
        group={groups.find((one) => chosen !== undefined && one.key === groupOf(chosen)) ?? null}
        onBack={back}
        onServer={(key) => go({ server: key, tool: undefined, filter: undefined })}
      />
    ) : server !== undefined ? (
      <ServerPage
        key={server}
        name={server}
        group={group}
        source={servers}
        onBack={back}
        onGone={() => go({ server: undefined })}
        onRenamed={(name) => go({ server: name }, true)}
        tools={<ToolList {...shown(server)} none={noneWords(group)} />}
      />
    ) : null;
  return (
    <>
      <PlaceFrame
        title="Tools"
        label="Tool servers"
        page={page}
        action={
          <Button
            icon={Plus}
            kind={tool === undefined && server === undefined ? 'primary' : 'plain'}
            onClick={attach}
            aria-keyshortcuts="n"
          >
            Attach a server
          </Button>
        }
        list={list}
        open={main}
      >
        {!narrow && <ConnectClient />}
        <ToolList {...shown(null)} none="No tools available." />
        {narrow && <ConnectClient />}
      </PlaceFrame>
      {attaching && (
        <ServerDialog
          server={null}
          onClose={() => setAttaching(false)}
          onDone={(made) => {
            setAttaching(false);
            go({ server: made.name, tool: undefined, filter: undefined });
          }}
        />
      )}
    </>
  );
}

/** How to connect a person's program to these tools: the address, and the command that prints its configuration. */
function ConnectClient() {
  return (
    <section
      aria-labelledby="connect-client"
      className="flex shrink-0 flex-wrap items-center gap-x-6 gap-y-2 border-line bg-panel px-3 py-2 max-sm:border-t sm:border-b"
    >
      <div className="min-w-52 flex-1">
        <h2 id="connect-client" className="font-semibold">
          Connect a client
        </h2>
        <p className="text-muted">
          Every MCP client can use these tools. The command prints what to paste into yours, with its key.
        </p>
      </div>
      <dl className="flex min-w-0 flex-col gap-1">
        <div className="grid grid-cols-[64px_minmax(0,1fr)] items-center gap-2">
          <dt className="text-muted">Command</dt>
          <dd className="min-w-0">
            <Command text="npx gantry tools connect" />
          </dd>
        </div>
        <div className="grid grid-cols-[64px_minmax(0,1fr)] items-center gap-2">
          <dt className="text-muted">Address</dt>
          <dd className="min-w-0">
            <Command text={`${window.location.origin}/mcp/server?names=safe`} />
          </dd>
        </div>
      </dl>
    </section>
  );
}
