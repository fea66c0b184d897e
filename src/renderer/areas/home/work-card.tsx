/** On Home: the work under way and how much of it is done, with a button to start something. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Play } from 'lucide-react';
import { useHere } from '../../base/computers.tsx';
import { useFloors } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { DoneBar } from '../../ui/proven-bar.tsx';

/** Shown here; the rest is under Work. */
const shownRows = 5;

export function WorkCard() {
  const { queries } = useServices();
  const navigate = useNavigate();
  const campaigns = useQuery(queries.campaigns);
  const here = useHere();
  const several = useFloors().length > 1;
  return (
    <Card title={several ? `Work on ${here.name}` : 'Work'}>
      <ListStates
        source={campaigns}
        skeleton={<SkeletonRows count={2} height={36} />}
        isEmpty={(data) => data.campaigns.length === 0}
        empty={<Empty>A run turns an intent into steps that bots carry out and prove. Its board appears here.</Empty>}
      >
        {(data) => (
          <ul>
            {data.campaigns.slice(0, shownRows).map((campaign) => (
              <li key={campaign.id}>
                <Link
                  to="/work"
                  search={{ campaign: campaign.id }}
                  title={campaign.intent}
                  className="flex h-9 items-center gap-3 px-3 hover:bg-raised pointer-coarse:h-11"
                >
                  <span className="min-w-0 flex-1 truncate font-medium">{campaign.title}</span>
                  {campaign.needsYou > 0 && (
                    <span className="shrink-0 text-meta text-need tabular-nums">
                      {campaign.needsYou} {campaign.needsYou === 1 ? 'needs' : 'need'} you
                    </span>
                  )}
                  <span className="shrink-0 text-meta text-faint">
                    {campaign.total === 0 ? 'no runs yet' : <DoneBar done={campaign.proven} total={campaign.total} />}
                  </span>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </ListStates>
      <div className="border-t border-line p-2">
        <Button onClick={() => void navigate({ to: '/work', search: { start: '' } })}>
          <Play className="size-3.5" aria-hidden="true" />
          Run a template
        </Button>
      </div>
    </Card>
  );
}
