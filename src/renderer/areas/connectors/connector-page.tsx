/** One connector: its state and problems, its address and sign-in, its subscriptions, and the events it offers. */
import { useQuery } from '@tanstack/react-query';
import { LogOut, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { Connector } from '../../../contracts/connectors/connector.ts';
import type { ConnectorEvents } from '../../../contracts/connectors/subscription.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Fact } from '../../ui/fact.tsx';
import { ListStates, NotThere, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { EnabledSwitch } from '../../ui/switch.tsx';
import { Trouble } from '../../ui/trouble.tsx';
import { useAct } from '../../ui/use-act.ts';
import { ConnectorDialog } from './connector-dialog.tsx';
import { ConnectorHealth, ConnectorRemedy, signInAddress } from './connector-health.tsx';
import { authWords } from './connector-words.ts';
import { OfferedEvents } from './offered-events.tsx';
import { useConnectorServices, usePutConnector } from './use-connector-services.ts';
import type { WithinConnector } from './within.ts';

export function ConnectorPage({ id, connector, source, go, onBack }: WithinConnector) {
  const { queries } = useConnectorServices();
  const events = useQuery({ ...queries.connectorEvents(id), enabled: connector !== undefined });
  return (
    <>
      <OpenBar back="Back to all connectors" onBack={onBack} title={connector?.name ?? 'Connector'} />
      {connector === undefined ? (
        <NotThere source={source} label="Show all connectors" onBack={onBack}>
          This connector was not found. It may have been removed.
        </NotThere>
      ) : (
        // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
        <div className="min-w-0" onKeyDown={moveByArrows}>
          <About connector={connector} events={events.data} onGone={() => go({})} />
          <ListStates
            source={events}
            skeleton={<SkeletonRows count={6} height={48} />}
            isEmpty={() => false}
            empty={null}
          >
            {(data) => <OfferedEvents connector={connector} events={data} go={go} />}
          </ListStates>
        </div>
      )}
    </>
  );
}

function About({
  connector,
  events,
  onGone,
}: {
  connector: Connector;
  events: ConnectorEvents | undefined;
  onGone: () => void;
}) {
  const { api } = useConnectorServices();
  const put = usePutConnector();
  const [open, setOpen] = useState<'change' | 'remove' | 'disable' | 'sign-out' | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const { id, name, auth, status, error } = connector;
  const enable = useAct(async (enabled: boolean) => {
    setFailure(null);
    put(await api.connectors.changeConnector({ params: { id }, body: { enabled } }));
  });
  const trouble = failure ?? enable.failure;
  const listened = connector.subscriptionCount;
  return (
    <section aria-label={`Connector ${name}`} className="flex flex-col gap-3 border-b border-line p-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <ConnectorHealth connector={connector} />
        <div className="flex flex-wrap items-center gap-2 sm:ml-auto">
          <ConnectorRemedy connector={connector} onFailure={setFailure} primary />
          {auth.type === 'oauth' && status === 'connected' && (
            <Button icon={LogOut} kind="quiet" onClick={() => setOpen('sign-out')}>
              Sign out
            </Button>
          )}
          <Button icon={Pencil} kind="quiet" onClick={() => setOpen('change')}>
            Change
          </Button>
          <Button icon={Trash2} kind="danger" onClick={() => setOpen('remove')}>
            Remove
          </Button>
          <EnabledSwitch
            on={connector.enabled}
            disabled={enable.busy}
            onChange={() => (connector.enabled && listened > 0 ? setOpen('disable') : enable.run(!connector.enabled))}
          />
        </div>
      </div>
      {trouble !== null && <Problem error={trouble} />}
      {error !== null && (
        <Trouble of="connector" needsPerson={status === 'needs_reauth'}>
          {signInAddress(connector) !== null
            ? 'Sign in on the service’s page. Gantry then connects.'
            : status === 'needs_reauth' && auth.type === 'api_key'
              ? 'The service rejected this key. Choose Change to enter another.'
              : error}
        </Trouble>
      )}
      <dl className="flex max-w-[760px] flex-col gap-1">
        <Fact name="Address">
          <span className="font-mono text-code wrap-anywhere">{connector.url}</span>
        </Fact>
        <Fact name="Authentication">
          {auth.type === 'oauth' || (auth.type === 'none' && status === 'needs_reauth') ? (
            <SignIn id={id} status={status} />
          ) : (
            <Known auth={auth} />
          )}
        </Fact>
        <Fact name="Added">
          <Ago at={connector.createdAt} />
        </Fact>
      </dl>
      {open === 'change' && (
        <ConnectorDialog connector={connector} onClose={() => setOpen(null)} onDone={() => setOpen(null)} />
      )}
      {open === 'sign-out' && (
        <ConfirmDialog
          title={`Sign out of ${name}?`}
          description="You can sign in again. Its subscriptions resume then."
          label="Sign out"
          onClose={() => setOpen(null)}
          act={async () => {
            await api.connectors.revokeConnectorSignIn({ params: { id } });
            put(await api.connectors.readConnector({ params: { id } }));
          }}
        >
          <ul className="list-disc pl-5">
            <li>Gantry forgets the sign-in and asks the provider to revoke it, if the provider supports that.</li>
            {listened > 0 && (
              <li>
                {listened === 1
                  ? 'Its subscription receives no events until then.'
                  : `Its ${listened} subscriptions receive no events until then.`}
              </li>
            )}
            <li>Its tools cannot be called until then.</li>
          </ul>
        </ConfirmDialog>
      )}
      {(open === 'remove' || open === 'disable') && (
        <ConfirmDialog
          title={open === 'remove' ? `Remove ${name}?` : `Disable ${name}?`}
          description={
            open === 'remove'
              ? 'This cannot be undone; you can connect it again.'
              : 'Its subscriptions end and are not restored when you enable it again.'
          }
          label={open === 'remove' ? 'Remove' : 'Disable'}
          onClose={() => setOpen(null)}
          act={async () => {
            if (open === 'disable') {
              put(await api.connectors.changeConnector({ params: { id }, body: { enabled: false } }));
              return;
            }
            await api.connectors.removeConnector({ params: { id } });
            put(connector, true);
            onGone();
          }}
        >
          <Ends connector={connector} events={events} removes={open === 'remove'} />
        </ConfirmDialog>
      )}
    </section>
  );
}

/** What goes with it, in full. */
function Ends({
  connector,
  events,
  removes,
}: {
  connector: Connector;
  events: ConnectorEvents | undefined;
  removes: boolean;
}) {
  const subscriptions = events?.subscriptions ?? [];
  return (
    <ul className="list-disc pl-5">
      <li>
        {connector.subscriptionCount === 0
          ? 'It has no subscriptions to end.'
          : `Ends ${countWords(connector.subscriptionCount, 'subscription')}${subscriptions.length === 0 ? '' : `: ${subscriptions.map(({ name }) => name).join(', ')}`}.`}
      </li>
      {connector.subscriptionCount > 0 && (
        <li>
          Their rules are deleted and jobs that have not started are cancelled. Tickets and past jobs stay readable.
        </li>
      )}
      {connector.toolCount > 0 && <li>Its {countWords(connector.toolCount, 'tool')} can no longer be called.</li>}
      {removes && connector.auth.type === 'oauth' && <li>Its sign-in is revoked and deleted from this computer.</li>}
      {removes && connector.auth.type === 'api_key' && <li>Its key is deleted from this computer.</li>}
    </ul>
  );
}

function Known({ auth }: { auth: Connector['auth'] }) {
  if (auth.type !== 'api_key')
    return <span className="text-muted">none: anyone who can reach the service can use it</span>;
  return (
    <>
      {authWords.api_key}, in <span className="font-mono text-code">{auth.header ?? 'Authorization'}</span>{' '}
      <span className="text-faint">value hidden</span>
    </>
  );
}

function SignIn({ id, status }: { id: string; status: Connector['status'] }) {
  const { queries } = useConnectorServices();
  const { data } = useQuery({
    ...queries.connectorSignIn(id),
    queryKey: [...queries.connectorSignIn(id).queryKey, status],
  });
  if (data === undefined) return <span className="text-faint">…</span>;
  if (data.status === 'not_asked') return <span className="text-muted">not requested yet</span>;
  if (data.status === 'needs_reauth') return <span className="text-muted">signed out</span>;
  return (
    <>
      {data.issuer === null ? 'signed in' : <span className="wrap-anywhere">signed in at {data.issuer}</span>}
      {data.scopes.length > 0 && <span className="text-muted"> for {data.scopes.join(', ')}</span>}
    </>
  );
}
