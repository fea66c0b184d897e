/** On Home: the runs and bots at work, each with what it is on, how much of that is proven, and for how long. */
import { useQuery } from '@tanstack/react-query';
import { usePendingApprovals } from '../../base/approvals.ts';
import { BotStatus } from '../../base/bot-status.tsx';
import { useComputerName } from '../../base/computers.tsx';
import type { PlacedBot } from '../../base/data/places.ts';
import { isLive } from '../../base/is-live.ts';
import { useServices } from '../../base/services.tsx';
import { useDeliveryText } from '../../base/use-delivery-text.ts';
import { Card } from '../../ui/card.tsx';
import { FirstRows } from '../../ui/first-rows.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Elapsed } from '../../ui/now.tsx';
import { ProvenBar } from '../../ui/proven-bar.tsx';
import { underWayRows } from '../floor/runs/quick-rows.ts';
import { useQuickRuns } from '../floor/runs/quick-runs.ts';
import { useOpenBot } from '../floor/use-open-bot.ts';
import { QuickRunList } from './quick-run-list.tsx';

/** On something now: a bot that is idle runs, and is not at work. */
const isBusy = (agent: PlacedBot): boolean =>
  isLive(agent) && ['starting', 'working', 'checking'].includes(agent.state);

export function UnderWayCard({ bots }: { bots: readonly PlacedBot[] }) {
  const { queries } = useServices();
  const agents = useQuery(queries.agents);
  const openBot = useOpenBot('home');
  const runs = useQuickRuns().data?.runs ?? [];
  const started = underWayRows(runs);
  const ofRuns = new Set(runs.flatMap((run) => run.bots.map(({ agentId }) => agentId)));
  // A bot with a question stands above, as its question.
  const asking = new Set(usePendingApprovals().map(({ agentId }) => agentId));
  const busy = bots.filter((bot) => isBusy(bot) && !ofRuns.has(bot.id) && !asking.has(bot.id));
  const count = busy.length + started.length;
  const deliveries = useQuery(queries.deliveries).data?.deliveries;
  // What still waits for it is nothing that it is on.
  const last = busy.map((bot) => deliveries?.find(({ to, state }) => to === bot.address && state !== 'queued'));
  const wordsOf = useDeliveryText(last.filter((one) => one !== undefined));
  const onWhat = (bot: PlacedBot): string | null => {
    if (bot.currentNode !== null) return bot.currentNode.title;
    const delivery = last[busy.indexOf(bot)];
    return delivery === undefined ? null : wordsOf(delivery);
  };
  return (
    <Card title="Under way" aside={count === 0 ? undefined : <span className="tabular-nums">{count}</span>}>
      <ListStates
        source={agents}
        skeleton={<SkeletonRows count={4} />}
        isEmpty={() => count === 0}
        empty={
          <Empty>
            {bots.some(isLive)
              ? 'No bot is working. Start a new run above, or send a bot a message.'
              : 'No bot is running. Start a new run above, or a team.'}
          </Empty>
        }
      >
        {() => (
          <>
            {started.length > 0 && (
              <div className={busy.length > 0 ? 'border-b border-line' : undefined}>
                <QuickRunList rows={started} label="Runs under way" first={10} what="runs under way" />
              </div>
            )}
            <FirstRows rows={busy} first={10} what="bots at work">
              {(shown) =>
                shown.length > 0 && (
                  <ul aria-label="Bots at work">
                    {shown.map((agent) => (
                      <RunRow key={agent.id} agent={agent} what={onWhat(agent)} onOpen={openBot} />
                    ))}
                  </ul>
                )
              }
            </FirstRows>
          </>
        )}
      </ListStates>
    </Card>
  );
}

function RunRow({
  agent,
  what,
  onOpen,
}: {
  agent: PlacedBot;
  what: string | null;
  onOpen: (agent: PlacedBot) => void;
}) {
  const computer = useComputerName(agent);
  const about = what ?? agent.role;
  return (
    <li>
      <button
        type="button"
        onClick={() => onOpen(agent)}
        className="flex min-h-8 w-full flex-wrap items-center gap-x-3 px-3 py-1 text-left hover:bg-raised pointer-coarse:min-h-10"
      >
        <span className="w-24 shrink-0">
          <BotStatus bot={agent} />
        </span>
        <span className="min-w-0 shrink-0 truncate font-medium max-sm:flex-1 sm:w-44">
          {agent.address}
          {computer !== null && <span className="font-normal text-muted"> · {computer}</span>}
        </span>
        <span className="min-w-0 flex-1 truncate text-muted max-sm:order-last max-sm:basis-full">{about}</span>
        {agent.proof.total > 0 && (
          <span className="shrink-0 text-meta max-sm:hidden">
            <ProvenBar proven={agent.proof.proven} total={agent.proof.total} />
          </span>
        )}
        {agent.queueDepth > 0 && <span className="shrink-0 text-meta text-muted">{agent.queueDepth} queued</span>}
        <span className="w-14 shrink-0 text-right text-meta text-faint">
          <Elapsed since={agent.since} />
        </span>
      </button>
    </li>
  );
}
