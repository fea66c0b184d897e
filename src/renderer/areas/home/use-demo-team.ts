/** Name of the demo team where it is in the workspace already; else null. */
import { useQuery } from '@tanstack/react-query';
import { useServices } from '../../app/services.tsx';

export function useDemoTeam(): string | null {
  const { queries } = useServices();
  const teams = useQuery(queries.teams).data?.teams;
  const isSample = useQuery(queries.workspace).data?.demo === true;
  return isSample ? (teams?.find((team) => team.name === 'demo')?.name ?? null) : null;
}
