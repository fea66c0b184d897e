/** The first steps, for whoever skipped one and returns to it. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useHere } from '../../app/computers.tsx';
import { useBots } from '../../app/floors.tsx';
import { useServices } from '../../app/services.tsx';
import { useTeamDialogs } from '../factory/use-team-dialogs.tsx';
import { SetUp } from '../home/set-up.tsx';
import { useDemoTeam } from '../home/use-demo-team.ts';

export function SetUpPage() {
  const { queries } = useServices();
  const navigate = useNavigate();
  const here = useHere();
  const teams = useQuery(queries.teams).data?.teams ?? [];
  const bots = useBots();
  const demoTeam = useDemoTeam();
  const { setAsk, setDemo, dialogs } = useTeamDialogs(() => void navigate({ to: '/floor' }));
  return (
    <>
      <SetUp
        title="Set-up"
        demoTeam={demoTeam}
        // The sample's team is there from the start; it was watched once a bot of it ran.
        hasTeam={demoTeam === null ? teams.length > 0 : bots.some(({ state }) => state !== 'offline')}
        onDemo={() => (demoTeam === null ? setDemo(true) : setAsk({ verb: 'up', team: demoTeam, place: here }))}
      />
      {dialogs}
    </>
  );
}
