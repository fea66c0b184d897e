/** Campaigns, newest first: how much is done, how many steps wait for a person. */
import { useQuery } from '@tanstack/react-query';
import { Hand, Play } from 'lucide-react';
import type { CampaignSummary } from '../../../contracts/factory/board.ts';
import { useServices } from '../../base/services.tsx';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { DoneBar } from '../../ui/proven-bar.tsx';

export function CampaignList({
  selected,
  onOpen,
  onStart,
}: {
  selected: string | null;
  onOpen: (campaign: CampaignSummary) => void;
  onStart: () => void;
}) {
  const { queries } = useServices();
  const campaigns = useQuery(queries.campaigns);
  return (
    <section aria-label="Campaigns" className="flex min-h-0 flex-1 flex-col bg-panel">
      <div className="flex h-10 shrink-0 items-center justify-between gap-2 border-b border-line px-3">
        <h2 className="font-semibold">Campaigns</h2>
        <span className="text-meta text-muted tabular-nums">{campaigns.data?.campaigns.length ?? ''}</span>
      </div>
      <ListStates
        source={campaigns}
        skeleton={<SkeletonRows count={4} height={52} />}
        isEmpty={(data) => data.campaigns.length === 0}
        empty={
          <Empty
            action={
              <Button icon={Play} kind="primary" onClick={onStart}>
                Start a run
              </Button>
            }
          >
            Your campaigns appear here, each with a board of its steps. Start a run from a template, or use{' '}
            <code>gantry workflows run</code>.
          </Empty>
        }
      >
        {(data) => (
          <ul className="min-h-0 flex-1 overflow-y-auto" onKeyDown={moveByArrows}>
            {data.campaigns.map((campaign) => (
              <li key={campaign.id}>
                <button
                  type="button"
                  data-row="true"
                  data-campaign={campaign.id}
                  aria-current={campaign.id === selected ? 'true' : undefined}
                  onClick={() => onOpen(campaign)}
                  title={campaign.intent}
                  className="flex w-full min-w-0 flex-col px-3 py-2 text-left hover:bg-raised aria-[current]:bg-selected"
                >
                  <span className="flex w-full items-center gap-2">
                    <span className="min-w-0 flex-1 truncate font-medium">{campaign.title}</span>
                    {campaign.needsYou > 0 && (
                      <span className="inline-flex shrink-0 items-center gap-1 text-meta text-need tabular-nums">
                        <Hand className="size-3.5" aria-hidden="true" />
                        {campaign.needsYou}
                        <span className="sr-only"> need you</span>
                      </span>
                    )}
                  </span>
                  <span className="flex w-full items-center justify-between gap-2 text-meta">
                    {campaign.total === 0 ? (
                      <span className="text-faint">no runs yet</span>
                    ) : (
                      <DoneBar done={campaign.proven} total={campaign.total} />
                    )}
                    {campaign.status === 'finished' && <span className="text-faint">finished</span>}
                    {campaign.status === 'paused' && <span className="text-faint">paused</span>}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </ListStates>
    </section>
  );
}
