/** The deliveries of the last messages to a bot. */
import { useQuery } from '@tanstack/react-query';
import type { HarnessName } from '../../../contracts/factory/agent.ts';
import { useServices } from '../../base/services.tsx';
import { useDeliveryText } from '../../base/use-delivery-text.ts';
import { DeliveryRow } from '../../ui/delivery-row.tsx';

/** Shown above the composer; the rest is in the inspector. */
const shownRows = 3;

export function LastDeliveries({ agentId, harness }: { agentId: string; harness: HarnessName | undefined }) {
  const { queries } = useServices();
  const { data } = useQuery(queries.deliveriesOf(agentId));
  const textOf = useDeliveryText(data?.deliveries);
  const rows = (data?.deliveries ?? []).slice(0, shownRows).reverse();
  // Its height never changes, so that a new delivery does not move the terminal above.
  return (
    <ul
      aria-label="Last deliveries"
      aria-live="polite"
      className="flex h-[76px] shrink-0 flex-col justify-end border-t border-line bg-panel pt-1"
    >
      {rows.length === 0 && <li className="px-3 pb-2 text-meta text-faint">No messages to this bot yet.</li>}
      {rows.map((delivery) => (
        <DeliveryRow key={delivery.id} delivery={delivery} harness={harness} text={textOf(delivery)} />
      ))}
    </ul>
  );
}
