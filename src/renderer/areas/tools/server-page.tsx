/** One server: its state and problems, its address, what its list leaves out, its tools, and the person's actions. */

import { useQueryClient } from '@tanstack/react-query';
import { Pencil, RefreshCw, Unplug } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { AttachedServer } from '../../../contracts/tool-server/servers.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Fact } from '../../ui/fact.tsx';
import { type ListSource, NotThere } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { EnabledSwitch } from '../../ui/switch.tsx';
import { Trouble } from '../../ui/trouble.tsx';
import { useAct } from '../../ui/use-act.ts';
import { ServerDialog } from './server-dialog.tsx';
import { ServerHealth, ServerRemedy, usePutServer, useReconnect } from './server-health.tsx';
import { type ToolGroup, whereOf } from './tool-words.ts';
import { useToolServices } from './use-tool-services.ts';

export function ServerPage({
  name,
  group,
  source,
  onBack,
  onGone,
  onRenamed,
  tools,
}: {
  /** As the address has it. */
  name: string;
  /** Null: not known, or not known yet. */
  group: ToolGroup | null;
  source: ListSource<readonly AttachedServer[]>;
  onBack: () => void;
  onGone: () => void;
  onRenamed: (name: string) => void;
  tools: ReactNode;
}) {
  return (
    <>
      <OpenBar back="Back to all tools" onBack={onBack} title={group?.name ?? name} />
      {group === null ? (
        <NotThere source={source} label="Show all tools" onBack={onBack}>
          No server named {name}. It may have been detached or renamed.
        </NotThere>
      ) : (
        <>
          {group.server === null ? (
            <p className="shrink-0 border-b border-line p-3 text-muted">{group.about}</p>
          ) : (
            <Attached server={group.server} onGone={onGone} onRenamed={onRenamed} />
          )}
          {tools}
        </>
      )}
    </>
  );
}

function Attached({
  server,
  onGone,
  onRenamed,
}: {
  server: AttachedServer;
  onGone: () => void;
  onRenamed: (name: string) => void;
}) {
  const { api } = useToolServices();
  const put = usePutServer();
  const [open, setOpen] = useState<'change' | 'detach' | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const reconnect = useReconnect(server, setFailure);
  const enable = useAct(async () => {
    setFailure(null);
    put(await api.tools.changeAttachedServer({ params: { id: server.id }, body: { enabled: !server.enabled } }));
  });
  const { transport } = server;
  const names = Object.keys((transport.type === 'stdio' ? transport.env : transport.headers) ?? {});
  const trouble = failure ?? enable.failure;
  return (
    <section aria-label={`Server ${server.name}`} className="flex shrink-0 flex-col gap-3 border-b border-line p-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <ServerHealth server={server} />
        <div className="flex flex-wrap items-center gap-2 sm:ml-auto">
          <ServerRemedy server={server} onFailure={setFailure} primary />
          {server.enabled && server.status !== 'error' && server.status !== 'needs_reauth' && (
            <Button icon={RefreshCw} kind="quiet" disabled={server.status === 'connecting'} onClick={reconnect}>
              Reconnect
            </Button>
          )}
          <Button icon={Pencil} kind="quiet" onClick={() => setOpen('change')}>
            Change
          </Button>
          <Button icon={Unplug} kind="danger" onClick={() => setOpen('detach')}>
            Detach
          </Button>
          <EnabledSwitch on={server.enabled} disabled={enable.busy} onChange={() => enable.run()} />
        </div>
      </div>
      {trouble !== null && <Problem error={trouble} />}
      {server.error !== null && (
        <Trouble of="server" needsPerson={server.status === 'needs_reauth'}>
          {server.error}
        </Trouble>
      )}
      <dl className="flex max-w-[760px] flex-col gap-1">
        <Fact name={transport.type === 'stdio' ? 'Program' : 'Address'}>
          <span className="font-mono text-code wrap-anywhere">{whereOf(transport)}</span>
        </Fact>
        {names.length > 0 && (
          <Fact name={transport.type === 'stdio' ? 'Variables' : 'Headers'}>
            <span className="font-mono text-code wrap-anywhere">{names.join(', ')}</span>{' '}
            <span className="text-faint">values hidden</span>
          </Fact>
        )}
        {transport.type === 'stdio' && transport.cwd !== undefined && (
          <Fact name="Folder">
            <span className="font-mono text-code wrap-anywhere">{transport.cwd}</span>
          </Fact>
        )}
        {server.pid !== null && (
          <Fact name="Process">
            <span className="tabular-nums">{server.pid}</span>
          </Fact>
        )}
        <Fact name="Call timeout">
          <span className="tabular-nums">{server.timeoutMs / 1000} s</span>
        </Fact>
        <Fact name="Attached">
          <Ago at={server.createdAt} />
        </Fact>
      </dl>
      {server.problems.length > 0 && <ListProblems problems={server.problems} />}
      {open === 'change' && (
        <ServerDialog
          server={server}
          onClose={() => setOpen(null)}
          onDone={(changed) => {
            setOpen(null);
            if (changed.name !== server.name) onRenamed(changed.name);
          }}
        />
      )}
      {open === 'detach' && <DetachDialog server={server} onClose={() => setOpen(null)} onGone={onGone} />}
    </section>
  );
}

function ListProblems({ problems }: { problems: readonly string[] }) {
  return (
    <details open={problems.length <= 5 || undefined}>
      <summary className="w-fit rounded-control font-medium pointer-coarse:py-2">
        Problems with its tool list ({problems.length})
      </summary>
      <ul className="mt-1 max-h-60 list-disc overflow-y-auto pl-5 text-muted">
        {problems.map((problem) => (
          <li key={problem} className="wrap-anywhere">
            {problem}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Asks before a server is removed, and says what goes with it. */
function DetachDialog({
  server,
  onClose,
  onGone,
}: {
  server: AttachedServer;
  onClose: () => void;
  onGone: () => void;
}) {
  const { api, keys } = useToolServices();
  const client = useQueryClient();
  const { transport } = server;
  const secrets =
    transport.type === 'stdio'
      ? Object.keys(transport.env ?? {}).length > 0
      : Object.keys(transport.headers ?? {}).length > 0 || transport.oauth !== undefined;
  return (
    <ConfirmDialog
      title={`Detach ${server.name}?`}
      description="This cannot be undone; you can attach it again."
      label="Detach"
      onClose={onClose}
      act={async () => {
        await api.tools.detachServer({ params: { id: server.id } });
        void client.cancelQueries({ queryKey: keys.toolServers });
        client.setQueryData<readonly AttachedServer[]>(keys.toolServers, (old) =>
          old?.filter((one) => one.id !== server.id),
        );
        void client.invalidateQueries({ queryKey: keys.toolServers });
        onGone();
      }}
    >
      <ul className="list-disc pl-5">
        <li>
          {server.toolCount === 0
            ? 'It has no tools to remove.'
            : `Removes ${countWords(server.toolCount, 'tool')} from every client and bot: all that begin with “${server.name}.”`}
        </li>
        <li>Ends its running calls.</li>
        {server.pid !== null && <li>Ends its program (process {server.pid}).</li>}
        {secrets && <li>Deletes its secrets from this computer.</li>}
        {transport.type === 'http' && transport.oauth !== undefined && <li>Deletes its sign-in.</li>}
      </ul>
    </ConfirmDialog>
  );
}
