/** The first steps, for people who skipped one and return to it. */
import { useNavigate } from '@tanstack/react-router';
import { useHere } from '../../base/computers.tsx';
import { useTeamDialogs } from '../floor/use-team-dialogs.tsx';
import { SetUp } from '../set-up/set-up.tsx';
import { useDemoTeam } from '../set-up/use-demo-team.ts';

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
