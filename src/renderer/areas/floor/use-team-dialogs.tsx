/** The dialogs about teams of a page: a team that starts gets panes on the floor, and the demo is started once it was added. */
import { lazy, Suspense, useState } from 'react';
import { useHere } from '../../base/computers.tsx';
import { useBots } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { later } from '../../ui/later.ts';
import type { TeamAsk } from './team-dialog.tsx';

/** Loaded with the first press: nobody who only looks at Home or the floor needs them. */
const AdoptDialog = lazy(later(() => import('./adopt-dialog.tsx').then((module) => ({ default: module.AdoptDialog }))));
const DemoDialog = lazy(later(() => import('./demo-dialog.tsx').then((module) => ({ default: module.DemoDialog }))));
const TeamDialog = lazy(later(() => import('./team-dialog.tsx').then((module) => ({ default: module.TeamDialog }))));

/** Most panes that open automatically when a team starts. */
const openedWithTeam = 4;

export function useTeamDialogs(onStarted?: () => void) {
  const { paneRequests } = useServices();
  const bots = useBots();
  const here = useHere();
  const [ask, setAsk] = useState<TeamAsk | null>(null);
  const [demo, setDemo] = useState(false);
  const [adopt, setAdopt] = useState(false);
  const dialogs = (
    <Suspense>
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
    </Suspense>
  );
  return { setAsk, setDemo, setAdopt, dialogs };
}
