/** A service's subscriptions, the other events it offers, and ended subscriptions whose jobs can still be read. */
import { CircleX } from 'lucide-react';
import type { Connector } from '../../../contracts/connectors/connector.ts';
import type { ConnectorEvents } from '../../../contracts/connectors/subscription.ts';
import { SubscriptionRows } from './subscription-rows.tsx';
import type { Go } from './within.ts';

export function OfferedEvents({ connector, events, go }: { connector: Connector; events: ConnectorEvents; go: Go }) {
  const { subscriptions, archivedSubscriptions } = events;
  const open = (sub: string, part?: 'runs') =>
    go({ connector: connector.id, sub, ...(part === undefined ? {} : { part }) });
  return (
    <>
      {subscriptions.length > 0 && (
        <section aria-labelledby="listened-for">
          <Heading id="listened-for" count={subscriptions.length}>
            Subscriptions
          </Heading>
          <SubscriptionRows subscriptions={subscriptions} onOpen={(one) => open(one.id)} />
        </section>
      )}
      <section aria-labelledby="offered">
        <Heading
          id="offered"
          count={connector.enabled && events.supported && events.error === null ? events.events.length : null}
        >
          Available events
        </Heading>
        {!connector.enabled ? (
          <p className="p-3 text-muted">This connector is disabled. Enable it to list its events.</p>
        ) : events.error?.needsReauth === true || connector.status === 'needs_reauth' ? (
          <p className="p-3 text-muted">
            Events appear here once{' '}
            {connector.auth.type === 'api_key' ? 'the service accepts the key' : 'you have signed in'}.
          </p>
        ) : events.error !== null && events.error.message === connector.error ? (
          <p className="p-3 text-muted">Events appear here once the server answers. Gantry keeps trying.</p>
        ) : events.error !== null ? (
          <p data-state="error" className="flex gap-2 p-3">
            <CircleX className="mt-0.5 size-4 shrink-0 text-fail" aria-hidden="true" />
            <span className="min-w-0 break-words">
              {events.error.message} <span className="text-muted">Gantry keeps trying.</span>
            </span>
          </p>
        ) : !events.supported ? (
          <p className="p-3 text-muted">This service offers tools but no events. Its tools are on the Tools page.</p>
        ) : events.events.length === 0 ? (
          <p className="p-3 text-muted">This service offers you no events at the moment.</p>
        ) : (
          <ul>
            {events.events.map((one) => {
              const posts = one.delivery.includes('webhook');
              return (
                <li key={one.name} className="border-b border-line">
                  <button
                    type="button"
                    data-row="true"
                    data-event={one.name}
                    aria-disabled={!posts}
                    onClick={() => posts && go({ connector: connector.id, event: one.name })}
                    className="flex min-h-9 w-full min-w-0 items-center gap-x-3 px-3 py-1 text-left hover:bg-raised max-sm:flex-wrap pointer-coarse:min-h-11"
                  >
                    <span
                      className="min-w-0 shrink-0 truncate font-mono text-code max-sm:w-full sm:w-56"
                      title={one.name}
                    >
                      {one.name}
                    </span>
                    <span className="min-w-0 flex-1 truncate text-muted max-sm:text-meta" title={one.description}>
                      {posts ? one.description?.split('\n', 1)[0] : 'This event cannot be subscribed to.'}
                    </span>
                    {posts && <span className="shrink-0 text-meta text-accent max-sm:hidden">Subscribe a bot</span>}
                  </button>
                </li>
              );
            })}
          </ul>
        )}
      </section>
      {archivedSubscriptions.length > 0 && (
        <section aria-labelledby="archived">
          <Heading id="archived" count={archivedSubscriptions.length}>
            Ended subscriptions
          </Heading>
          <ul>
            {archivedSubscriptions.map((one) => (
              <li key={one.id} className="border-b border-line">
                <button
                  type="button"
                  data-row="true"
                  data-subscription={one.id}
                  onClick={() => open(one.id, 'runs')}
                  className="flex min-h-9 w-full items-center px-3 py-1 text-left font-mono text-code text-muted hover:bg-raised pointer-coarse:min-h-11"
                >
                  {one.name}
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Heading({ id, count, children }: { id: string; count: number | null; children: string }) {
  return (
    <h2 id={id} className="flex h-8 items-center gap-2 border-b border-line bg-panel px-3 text-meta text-muted">
      {children}
      {count !== null && <span className="ml-auto tabular-nums">{count}</span>}
    </h2>
  );
}
