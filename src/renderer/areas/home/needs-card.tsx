/** Everything that needs the person now, one list from all parts, longest waiting first. */
import { useQuery } from '@tanstack/react-query';
import type { PlacedBot } from '../../base/data/places.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { FirstRows } from '../../ui/first-rows.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Elapsed } from '../../ui/now.tsx';
import { Status } from '../../ui/status.tsx';
import type { Need } from './need.ts';
import { useNeeds } from './use-needs.ts';

/** `quiet`: nothing is said while nothing waits. */
export function NeedsCard({ bots, quiet = false }: { bots: readonly PlacedBot[]; quiet?: boolean }) {
  const { queries } = useServices();
  const agents = useQuery(queries.agents);
  const needs = useNeeds(bots);
  if (quiet && needs.length === 0) return null;
  return (
    <Card
      title="Needs you"
      aside={needs.length === 0 ? undefined : <span className="tabular-nums">{needs.length}</span>}
    >
      <ListStates
        source={agents}
        skeleton={<SkeletonRows count={2} height={48} />}
        isEmpty={() => needs.length === 0}
        empty={
          <Empty>
            Nothing waits for you. Approvals, sign-ins, numbers to correct and work that is stuck without you appear
            here, longest waiting first.
          </Empty>
        }
      >
        {() => (
          <FirstRows rows={needs} first={10} what="of what needs you">
            {(shown) => (
              <ul aria-label="What needs you">
                {shown.map((need) => (
                  <NeedRow key={need.key} need={need} />
                ))}
              </ul>
            )}
          </FirstRows>
        )}
      </ListStates>
    </Card>
  );
}

function NeedRow({ need: { look, wire, title, text, code, since, act } }: { need: Need }) {
  return (
    <li data-need={wire} className="flex items-center gap-3 border-b border-line px-3 py-2 last:border-b-0">
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-2">
          <Status look={look} wire={wire} />
          <span className="min-w-0 truncate font-medium">{title}</span>
          {since !== null && (
            <span className="shrink-0 text-meta text-faint">
              <Elapsed since={since} />
            </span>
          )}
        </p>
        {text !== '' && (
          <p
            className={
              code === true ? 'truncate font-mono text-code text-muted' : 'line-clamp-3 break-words text-muted'
            }
          >
            {text}
          </p>
        )}
      </div>
      <Button onClick={act.run} aria-label={`${act.word}: ${title}`}>
        {act.word}
      </Button>
    </li>
  );
}
