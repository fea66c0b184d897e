/** What the first steps know about teams: the demo team's name, and whether the person has watched a team. */
import { useQuery } from '@tanstack/react-query';
import { useBots } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';

/** Name of the demo team where it is in the workspace already; else null. */
export function useDemoTeam(): string | null {
  const { queries } = useServices();
  const teams = useQuery(queries.teams).data?.teams;
  const isSample = useQuery(queries.workspace).data?.demo === true;
  return isSample ? (teams?.find((team) => team.name === 'demo')?.name ?? null) : null;
}

/**
 * Whether there is a team to watch. The sample's is there from the start: it was watched once a bot of it ran. One that waits for its
 * person's yes, or whose file is wrong, is none yet.
 */
export function useHasTeam(): boolean {
  const { queries } = useServices();
  const teams = useQuery(queries.teams).data?.teams ?? [];
  const bots = useBots();
  const demoTeam = useDemoTeam();
  return demoTeam === null
    ? teams.length > 0
    : bots.some(({ state, address }) => state !== 'offline' && isOf(address, demoTeam));
}

/** Whether bots work for the person beside the sample: a new run of theirs, in whatever folder. */
export function useHasOwnBots(): boolean {
  const bots = useBots();
  const demoTeam = useDemoTeam();
  return demoTeam !== null && bots.some(({ address }) => !isOf(address, demoTeam));
}

const isOf = (address: string, team: string): boolean => address.endsWith(`@${team}`);
