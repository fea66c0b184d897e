/** What connectors use of the factory: bots by name, tickets, runs and their records. Each is narrowed to the few members that connectors need. */
import type { Ids } from '../../kit/ids/ids.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { AgentRunWriter } from '../../runtime-server/agent-runs/agent-runs.ts';
import { createConnectorBots } from '../../runtime-server/agents/connector-bots.ts';
import { createExecutor, type ExecutorDeps } from '../../runtime-server/agents/executor.ts';
import type { Registry } from '../../runtime-server/agents/registry.ts';
import type { FactoryPort } from '../../runtime-server/connectors/ports.ts';
import { type BotEvents, nameOf } from '../../runtime-server/events/bot-events.ts';
import type { Models, SpendSum } from '../../runtime-server/models/index.ts';
import { createConnectorTickets } from '../../runtime-server/tickets/connector-tickets.ts';
import type { TicketWriter } from '../../runtime-server/tickets/tickets.ts';
import type { WorkTraces } from './deps.ts';

export function createConnectorPort(
  deps: ExecutorDeps & {
    readonly workspace: string;
    readonly ids: Ids;
    readonly ledger: Ledger;
    readonly registry: Pick<Registry, 'members'>;
    readonly tickets: TicketWriter;
    readonly agentRuns: AgentRunWriter;
    readonly events: BotEvents;
    readonly hosted: { readonly models: Pick<Models, 'spent'> };
    readonly tell: (botId: string, text: string, key: string) => Promise<void>;
    readonly traces?: Pick<WorkTraces, 'ofJob' | 'within'> | undefined;
  },
): FactoryPort {
  const { registry, agentRuns, traces } = deps;
  const executor = createExecutor(deps);
  const findName = (id: string) => {
    const member = registry.find(id);
    return member === null ? null : nameOf(member);
  };
  return {
    executor:
      traces === undefined
        ? executor
        : { ...executor, run: (order) => traces.within(traces.ofJob(order.jobId), () => executor.run(order)) },
    bots: { ...createConnectorBots(deps), unenforceable: executor.unenforceable },
    tickets: createConnectorTickets({ ...deps, nameOf: findName }),
    runs: {
      reported(tx, { id, botId }) {
        // Search without a start time: the clock may have jumped since the run began.
        return usageOf(deps.hosted.models.spent(tx, botId, 0, id));
      },
      begin: (tx, { id, botId, jobId, at }) =>
        agentRuns.begin(tx, { id, botId, source: { kind: 'automation', ref: jobId }, at }),
      end(tx, id, end) {
        const botId = agentRuns.end(tx, id, end);
        if (botId === null) return;
        // Names the run and its outcome, not its content: the notice leaves this computer.
        const title = `A job of a rule: ${end.status}`;
        deps.events.emit(tx, botId, {
          type: 'agent.run.completed',
          id,
          data: { runId: id, status: end.status, title },
        });
      },
    },
  };
}

/** Usage as a run's record shows it; cents only where the price of every request is known. */
export function usageOf({ requests, input, output, microUsd, unpriced }: SpendSum): Record<string, number> | null {
  if (requests === 0) return null;
  return { inputTokens: input, outputTokens: output, ...(unpriced === 0 && { cents: microUsd / 10_000 }) };
}
