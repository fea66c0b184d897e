/** A server's state in words: its status, its number of tools, the last check; and the one action that fixes it. */
import { useQueryClient } from '@tanstack/react-query';
import { ExternalLink } from 'lucide-react';
import type { AttachedServer } from '../../../contracts/tool-server/servers.ts';
import { Button } from '../../ui/button.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Ago } from '../../ui/now.tsx';
import { Status, serverStatus } from '../../ui/status.tsx';
import { useToolServices } from './use-tool-services.ts';

export function ServerHealth({
  server,
  count,
  brief = false,
}: {
  /** Null: Gantry's own. */
  server: AttachedServer | null;
  /** Of Gantry's own. */
  count?: number | undefined;
  /** One line, cut where it is too long. */
  brief?: boolean;
}) {
  const wire = server?.status ?? 'own';
  const tools = server === null ? count : server.toolCount;
  return (
    <span
      data-health={wire}
      className={`flex min-w-0 max-w-full items-center gap-x-1.5 text-meta text-muted ${brief ? '' : 'flex-wrap'}`}
    >
      <Status look={serverStatus[wire]} wire={wire} />
      {tools !== undefined && (wire === 'own' || wire === 'connected' || tools > 0) && (
        <span className="shrink-0 tabular-nums">· {countWords(tools, 'tool')}</span>
      )}
      {brief && server?.status === 'error' && server.error !== null ? (
        <span className="min-w-0 truncate" title={server.error}>
          · {server.error.split('\n', 1)[0]}
        </span>
      ) : server !== null && server.lastListedAt !== null && server.status !== 'disabled' ? (
        <span className="min-w-0 truncate">
          · listed <Ago at={server.lastListedAt} />
        </span>
      ) : null}
    </span>
  );
}

/** The page of a provider, or nothing: what a stranger's server names as its address may be anything. */
function signInAddress(server: AttachedServer): string | null {
  if (server.status !== 'needs_reauth' || server.authorizeUrl === null) return null;
  return URL.canParse(server.authorizeUrl) && /^https?:$/.test(new URL(server.authorizeUrl).protocol)
    ? server.authorizeUrl
    : null;
}

/** Sign in where that is missing; connect again after an error. Else nothing. */
export function ServerRemedy({
  server,
  onFailure,
  primary = false,
}: {
  server: AttachedServer;
  onFailure: (error: unknown) => void;
  primary?: boolean;
}) {
  const reconnect = useReconnect(server, onFailure);
  const address = signInAddress(server);
  if (address !== null) {
    return (
      <a
        href={address}
        target="_blank"
        rel="noopener noreferrer"
        aria-label={`Sign in to ${server.name}`}
        className={`inline-flex h-7 items-center gap-1.5 rounded-control px-2.5 whitespace-nowrap pointer-coarse:h-10 ${primary ? 'bg-accent font-medium text-on-accent hover:brightness-110' : 'border border-line bg-raised hover:border-line-strong'}`}
      >
        Sign in
        <ExternalLink className="size-3" aria-hidden="true" />
      </a>
    );
  }
  if (server.status !== 'error' && server.status !== 'needs_reauth') return null;
  return (
    <Button onClick={reconnect} aria-label={`Reconnect ${server.name}`}>
      Reconnect
    </Button>
  );
}

/** Shows at once that it is under way, and then what the server says of it. */
export function useReconnect(server: AttachedServer, onFailure: (error: unknown) => void): () => void {
  const { api } = useToolServices();
  const put = usePutServer();
  return () => {
    onFailure(null);
    put({ ...server, status: 'connecting', error: null });
    api.tools
      .reconnectServer({ params: { id: server.id } })
      .then(put)
      .catch((error: unknown) => {
        put(server);
        onFailure(error);
      });
  };
}

/** What is known of a server from its own answer, before the list is read again. */
export function usePutServer(): (server: AttachedServer) => void {
  const { keys } = useToolServices();
  const client = useQueryClient();
  return (server) => {
    // An answer that is under way is older than this.
    void client.cancelQueries({ queryKey: keys.toolServers });
    client.setQueryData<readonly AttachedServer[]>(keys.toolServers, (old) => {
      if (old === undefined) return old;
      return old.some((one) => one.id === server.id)
        ? old.map((one) => (one.id === server.id ? server : one))
        : [...old, server];
    });
    void client.invalidateQueries({ queryKey: keys.toolServers });
  };
}
