/** Asks before a server is removed, and says what goes with it. */
import { useQueryClient } from '@tanstack/react-query';
import type { AttachedServer } from '../../../contracts/tool-server/servers.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { countWords } from '../../ui/count-words.ts';
import { useToolServices } from './use-tool-services.ts';

export function DetachDialog({
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
