/** An event's data as its ticket has it: somebody else's words, shown unchanged. */
import { useQuery } from '@tanstack/react-query';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { useConnectorServices } from './use-connector-services.ts';

export function TicketData({ id }: { id: string }) {
  const { queries } = useConnectorServices();
  const ticket = useQuery(queries.ticket(id));
  return (
    <ListStates source={ticket} skeleton={<SkeletonRows count={2} />} isEmpty={() => false} empty={null}>
      {(data) => <TextView text={JSON.stringify(data.data, null, 2)} label="Event data" maxLines={12} wrap />}
    </ListStates>
  );
}
