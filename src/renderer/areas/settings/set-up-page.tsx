/** The first steps, for whoever skipped one and returns to it. */
import { useNavigate } from '@tanstack/react-router';
import { useHere } from '../../app/computers.tsx';
import { useTeamDialogs } from '../factory/use-team-dialogs.tsx';
import { SetUp } from '../home/set-up.tsx';
import { useDemoTeam } from '../home/use-demo-team.ts';

export function SetUpPage() {
  const navigate = useNavigate();
  const here = useHere();
  const demoTeam = useDemoTeam();
  const { setAsk, setDemo, dialogs } = useTeamDialogs(() => void navigate({ to: '/floor' }));
  return (
    <>
      <SetUp
        title="Set-up"
        demoTeam={demoTeam}
        onDemo={() => (demoTeam === null ? setDemo(true) : setAsk({ verb: 'up', team: demoTeam, place: here }))}
      />
      {dialogs}
    </>
  );
}
