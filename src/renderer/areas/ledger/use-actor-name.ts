/** The name of an actor of the ledger. */
import { useQuery } from '@tanstack/react-query';
import type { LedgerRow } from '../../../contracts/factory/work-engine/ledger.ts';
import { useServices } from '../../base/services.tsx';

/** Who did it: "you", a bot's address, else the id as it stands. */
export function useActorName(): (row: LedgerRow) => string {
  const { queries } = useServices();
  const me = useQuery(queries.session).data?.user;
  return ({ actor, names }) => (actor === me ? 'you' : (names?.actor ?? actor));
}
