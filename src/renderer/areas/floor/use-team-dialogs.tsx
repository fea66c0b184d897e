/** The dialogs about teams of a page: a team that starts gets panes on the floor, and the demo is started once it was added. */
import { useState } from 'react';
import { useHere } from '../../base/computers.tsx';
import { useBots } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { AdoptDialog } from './adopt-dialog.tsx';
import { DemoDialog } from './demo-dialog.tsx';
import { type TeamAsk, TeamDialog } from './team-dialog.tsx';

/** Most panes that open by themselves when a team starts. */
const openedWithTeam = 4;

export function useTeamDialogs(onStarted?: () => void) {
  const { paneRequests } = useServices();
  const bots = useBots();
  const here = useHere();
  const [ask, setAsk] = useState<TeamAsk | null>(null);
  const [demo, setDemo] = useState(false);
  const [adopt, setAdopt] = useState(false);
  const dialogs = (
    <>
      {ask !== null && (
        <TeamDialog
          ask={ask}
          onClose={() => setAsk(null)}
          onStarted={(addresses) => {
            for (const address of addresses.slice(0, openedWithTeam)) {
              const one = bots.find((bot) => bot.address === address && bot.place.id === ask.place.id);
              if (one !== undefined)
                paneRequests.add({ botId: one.id, paneId: null, originView: 'floor', split: true });
            }
            onStarted?.();
          }}
        />
      )}
      {adopt && <AdoptDialog onClose={() => setAdopt(false)} onAdopted={() => onStarted?.()} />}
      {demo && (
        <DemoDialog
          onClose={() => setDemo(false)}
          onAdded={(team) => {
            setDemo(false);
            setAsk({ verb: 'up', team, place: here });
          }}
        />
      )}
    </>
  );
  return { setAsk, setDemo, setAdopt, dialogs };
}
