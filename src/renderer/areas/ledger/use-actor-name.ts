/** The name of an actor of the ledger. */
import { useQuery } from '@tanstack/react-query';
import { useBots } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';

/** Who an actor is: "you", a bot's address, else the id as it stands. */
export function useActorName(): (actor: string) => string {
  const { queries } = useServices();
  const me = useQuery(queries.session).data?.user;
  const bots = useBots();
  return (actor) => (actor === me ? 'you' : (bots.find((one) => one.id === actor)?.address ?? actor));
}
