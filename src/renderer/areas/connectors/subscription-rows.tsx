/** Subscriptions as rows: the event, its bot and its state; below one that does not listen, what to do. */
import type { Subscription } from '../../../contracts/connectors/subscription.ts';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { countWords } from '../../ui/count-words.ts';
import { Ago } from '../../ui/now.tsx';
import { Status, subscriptionStatus } from '../../ui/status.tsx';
import { adviceOf, argumentWords } from './connector-words.ts';

export function SubscriptionRows({
  subscriptions,
  connectorName,
  onOpen,
}: {
  subscriptions: readonly Subscription[];
  /** Said where rows of several stand together. */
  connectorName?: (id: string) => string;
  onOpen: (subscription: Subscription) => void;
}) {
  const nameOf = useNameOfBot();
  return (
    <ul>
      {subscriptions.map((one) => {
        const words = argumentWords(one.arguments);
        const advice = adviceOf(one);
        return (
          <li key={one.id} className="border-b border-line">
            <button
              type="button"
              data-row="true"
              data-subscription={one.id}
              onClick={() => onOpen(one)}
              className="grid min-h-12 w-full grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 px-3 py-1 text-left hover:bg-raised sm:grid-cols-[minmax(0,1fr)_minmax(0,160px)_112px_120px]"
            >
              <span className="min-w-0">
                <span className="block truncate font-mono text-code">{one.name}</span>
                <span className="block truncate text-meta text-muted" title={words ?? undefined}>
                  {connectorName !== undefined && `${connectorName(one.connectorId)}${words === null ? '' : ' · '}`}
                  {words ?? (connectorName === undefined ? 'all events' : '')}
                </span>
              </span>
              <span className="min-w-0 truncate text-muted max-sm:hidden" title="The bot that handles it">
                {nameOf(one.botId)}
              </span>
              <Status look={subscriptionStatus[one.status]} wire={one.status} />
              <span className="text-right text-meta text-muted tabular-nums max-sm:hidden">
                {one.eventCount === 0 || one.lastEventAt === null ? (
                  'no events yet'
                ) : (
                  <>
                    {countWords(one.eventCount, 'event')} · <Ago at={one.lastEventAt} />
                  </>
                )}
              </span>
              {advice !== null && (
                <span className="col-span-full min-w-0 pb-0.5 text-meta break-words text-muted">
                  {one.error !== null && <span className="text-ink">{one.error.message}</span>} {advice}
                </span>
              )}
            </button>
          </li>
        );
      })}
    </ul>
  );
}
