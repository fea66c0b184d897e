/** Beside the panes: the focused bot and the reason for its state, its deliveries, and events of the whole floor. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Tabs } from 'radix-ui';
import { type Agent, limitWords } from '../../../contracts/factory/agent.ts';
import { BotStatus } from '../../base/bot-status.tsx';
import { useServices } from '../../base/services.tsx';
import { useDeliveryText } from '../../base/use-delivery-text.ts';
import { ShortId } from '../../ui/copy.tsx';
import { DeliveryRow } from '../../ui/delivery-row.tsx';
import { Fact } from '../../ui/fact.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { costOf, tokensOf } from '../../ui/money.ts';
import { Ago, Elapsed } from '../../ui/now.tsx';
import { WhyLine } from '../../ui/why-line.tsx';
import { BotChanges } from './changes/bot-changes.tsx';
import { EventFeed } from './event-feed.tsx';
import { GoOn } from './go-on.tsx';
import { SandboxSection } from './sandbox-section.tsx';
import { Threads } from './threads.tsx';

const tab =
  'h-[39px] flex-1 truncate border-b-2 border-transparent text-muted data-[state=active]:border-accent data-[state=active]:text-ink';

export function Inspector({
  agent,
  agents,
  onBeside,
}: {
  agent: Agent | null;
  agents: readonly Agent[];
  /** Shows changes and files beside the pane instead. */
  onBeside: () => void;
}) {
  return (
    <Tabs.Root defaultValue="events" className="flex min-h-0 flex-1 flex-col bg-panel">
      <Tabs.List aria-label="Inspector" className="flex shrink-0 border-b border-line">
        <Tabs.Trigger value="events" className={tab}>
          Events
        </Tabs.Trigger>
        <Tabs.Trigger value="threads" className={tab}>
          Threads
        </Tabs.Trigger>
        <Tabs.Trigger value="bot" className={tab}>
          {agent?.name ?? 'Bot'}
        </Tabs.Trigger>
        <Tabs.Trigger value="changes" className={tab}>
          Changes
        </Tabs.Trigger>
      </Tabs.List>
      <Tabs.Content value="events" className="flex min-h-0 flex-1 flex-col">
        <EventFeed agents={agents} />
      </Tabs.Content>
      <Tabs.Content value="threads" className="flex min-h-0 flex-1 flex-col">
        <Threads agents={agents} />
      </Tabs.Content>
      <Tabs.Content value="bot" className="min-h-0 flex-1 overflow-y-auto">
        {agent === null ? <Empty>Choose a bot to see the reason for its state.</Empty> : <BotDetails agent={agent} />}
      </Tabs.Content>
      <Tabs.Content value="changes" className="flex min-h-0 flex-1 flex-col">
        {agent === null ? (
          <Empty>Choose a bot to see the changes on its branch.</Empty>
        ) : (
          <BotChanges key={agent.id} agent={agent} onWide={onBeside} />
        )}
      </Tabs.Content>
    </Tabs.Root>
  );
}

/** What it used, and what holds it, with the way out. */
function Spent({ agentId }: { agentId: string }) {
  const { queries } = useServices();
  const spending = useQuery({ ...queries.spending, staleTime: 0 }).data;
  const used = spending?.bots.find((bot) => bot.agentId === agentId);
  const hold = spending?.holds.find((one) => one.agentId === agentId);
  return (
    <>
      {used !== undefined && used.month.requests > 0 && (
        <Fact name="Usage">
          <span className="tabular-nums">
            {costOf(used.today)} today, {costOf(used.month)} this month
          </span>
          <p className="text-meta text-muted">{tokensOf(used.month)}</p>
        </Fact>
      )}
      {hold !== undefined && (
        <Fact name="On hold">
          <span className="flex flex-wrap items-center gap-2">
            <GoOn hold={hold} />
            {hold.kind === 'budget' && (
              <Link to="/settings/usage" className="text-accent hover:underline">
                Raise the limit
              </Link>
            )}
          </span>
        </Fact>
      )}
    </>
  );
}

function BotDetails({ agent }: { agent: Agent }) {
  const { queries } = useServices();
  const explain = useQuery({ ...queries.explain(agent.id), staleTime: 0 });
  const why = useQuery(queries.why(agent.id));
  const deliveries = useQuery(queries.deliveriesOf(agent.id));
  const textOf = useDeliveryText(deliveries.data?.deliveries);
  return (
    <div className="flex flex-col gap-4 py-3">
      <dl className="flex flex-col gap-1 px-3">
        <Fact name="State">
          <BotStatus bot={agent} />
          {agent.stateReason !== null && <p className="text-muted">{agent.stateReason}</p>}
          {why.data !== undefined && <WhyLine sentence={why.data.sentence} />}
        </Fact>
        <Fact name="For">
          <Elapsed since={agent.since} />
        </Fact>
        <Fact name="Address">
          <span className="font-mono text-code">{agent.address}</span>
        </Fact>
        {agent.role !== null && <Fact name="Role">{agent.role}</Fact>}
        <Fact name="Runs as">
          {agent.binding.type}
          {agent.binding.harness !== undefined && `, ${agent.binding.harness}`}
        </Fact>
        {agent.account !== undefined && <Fact name="Account">{agent.account}</Fact>}
        {agent.sandbox !== undefined && (
          <Fact name="Sandbox">
            {agent.sandbox}
            <p className="text-muted">
              Of your files it sees only its folder, its program, its sign-in and what its team file names.
            </p>
          </Fact>
        )}
        {agent.caps !== undefined && (
          <Fact name="Limits">
            {agent.caps.map((cap) => (
              <p key={cap.what}>{limitWords(cap)}</p>
            ))}
          </Fact>
        )}
        {agent.refused !== undefined && (
          <Fact name="Refused">
            {agent.refused.map(({ destination, why, times }) => (
              <p key={`${destination} ${why}`} className="break-words">
                {destination ?? 'A connection'}
                <span className="text-muted">
                  {times > 1 && `, ${times} times`}: {why}
                </span>
              </p>
            ))}
          </Fact>
        )}
        <Spent agentId={agent.id} />
        <Fact name="Queue">{agent.queueDepth === 0 ? 'empty' : `${agent.queueDepth} waiting`}</Fact>
        {agent.pane !== null && (
          <Fact name="Pane">
            <ShortId id={agent.pane.id} />
          </Fact>
        )}
        <Fact name="Id">
          <ShortId id={agent.id} />
        </Fact>
      </dl>
      {agent.binding.type === 'terminal' && agent.runner === 'local' && <SandboxSection agent={agent} />}
      <section aria-label="Deliveries">
        <h2 className="px-3 pb-1 font-semibold">Deliveries</h2>
        <ListStates
          source={deliveries}
          skeleton={<SkeletonRows count={3} height={24} />}
          isEmpty={(data) => data.deliveries.length === 0}
          empty={<Empty>Messages to this bot and their deliveries appear here. Write one below its pane.</Empty>}
        >
          {(data) => (
            <ul>
              {data.deliveries.map((delivery) => (
                <DeliveryRow
                  key={delivery.id}
                  delivery={delivery}
                  harness={agent.binding.harness}
                  text={textOf(delivery)}
                />
              ))}
            </ul>
          )}
        </ListStates>
      </section>
      <section aria-label="Why this state">
        <h2 className="px-3 pb-1 font-semibold">Why this state</h2>
        <ListStates
          source={explain}
          skeleton={<SkeletonRows count={3} height={24} />}
          isEmpty={(data) => data.steps.length === 0}
          empty={<Empty>No evidence yet: the bot is not running.</Empty>}
        >
          {(data) => (
            <>
              <p className="px-3 pb-1 text-meta text-muted">{data.ruleset}</p>
              <ol className="flex flex-col gap-1.5 px-3">
                {data.steps.toReversed().map((step) => (
                  <li key={`${step.at} ${step.rule} ${step.claim}`} className="text-meta">
                    <p className={step.decided ? '' : 'text-muted'}>
                      {step.claim}
                      <span className="float-right text-faint">
                        <Ago at={step.at} />
                      </span>
                    </p>
                    <p className="font-mono break-words text-muted">
                      {step.source} · {step.rule} · {step.evidence}
                    </p>
                  </li>
                ))}
              </ol>
            </>
          )}
        </ListStates>
      </section>
    </div>
  );
}
