/** A connector's state in words, and the one action that fixes it. */
import { ExternalLink } from 'lucide-react';
import type { Connector } from '../../../contracts/connectors/connector.ts';
import { Button } from '../../ui/button.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Status, serverStatus } from '../../ui/status.tsx';
import { useConnectorServices, usePutConnector } from './use-connector-services.ts';

export function ConnectorHealth({ connector, brief = false }: { connector: Connector; brief?: boolean }) {
  const { status, error, subscriptionCount, toolCount } = connector;
  const words =
    status === 'error' && error !== null
      ? error.split('\n', 1)[0]
      : [
          ...(subscriptionCount === 0 && status !== 'connected' ? [] : [countWords(subscriptionCount, 'subscription')]),
          ...(toolCount === 0 || brief ? [] : [countWords(toolCount, 'tool')]),
        ].join(' · ');
  return (
    <span
      data-health={status}
      className={`flex min-w-0 max-w-full items-center gap-x-1.5 text-meta text-muted ${brief ? '' : 'flex-wrap'}`}
    >
      <Status look={serverStatus[status]} wire={status} />
      {words !== '' && (status !== 'error' || brief) && (
        <span className="min-w-0 truncate tabular-nums" title={words}>
          · {words}
        </span>
      )}
    </span>
  );
}

/** The page of a provider, or nothing: what a stranger's server names as its address may be anything. */
export function signInAddress({ status, auth, authorizeUrl }: Connector): string | null {
  // A person who chose a key needs another key, not a sign-in.
  if (status !== 'needs_reauth' || auth.type === 'api_key' || authorizeUrl === null) return null;
  return URL.canParse(authorizeUrl) && /^https?:$/.test(new URL(authorizeUrl).protocol) ? authorizeUrl : null;
}

/** Sign in where that is missing; connect again after an error. Else nothing. */
export function ConnectorRemedy({
  connector,
  onFailure,
  primary = false,
}: {
  connector: Connector;
  onFailure: (error: unknown) => void;
  primary?: boolean;
}) {
  const { api } = useConnectorServices();
  const put = usePutConnector();
  const { id, name, status } = connector;
  const address = signInAddress(connector);
  if (address !== null) {
    return (
      <a
        href={address}
        target="_blank"
        rel="noopener noreferrer"
        aria-label={`Sign in to ${name}`}
        className={`inline-flex h-7 items-center gap-1.5 rounded-control px-2.5 whitespace-nowrap pointer-coarse:h-10 ${primary ? 'bg-accent font-medium text-on-accent hover:brightness-110' : 'border border-line bg-raised hover:border-line-strong'}`}
      >
        Sign in
        <ExternalLink className="size-3" aria-hidden="true" />
      </a>
    );
  }
  if (status !== 'error' && status !== 'needs_reauth') return null;
  async function again(): Promise<void> {
    onFailure(null);
    put({ ...connector, status: 'connecting', error: null });
    try {
      // A connector is an attached server: one row, one connection.
      await api.tools.reconnectServer({ params: { id } });
      put(await api.connectors.readConnector({ params: { id } }));
    } catch (error) {
      put(connector);
      onFailure(error);
    }
  }
  return (
    <Button onClick={() => void again()} aria-label={`Reconnect ${name}`}>
      Reconnect
    </Button>
  );
}
