/**
 * Carries out the tool calls of a hosted bot's model, with their records and cost, both for a turn of its conversation and for a separate run. Must
 * not know how the conversation is kept.
 */
import type { HostedMode } from '../../contracts/factory/team-file.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Target } from '../models/endpoints.ts';
import type { ToolCall, ToolOffer, ToolResult, Usage } from '../models/model.ts';
import { type ToolCaller, type ToolInfo, type ToolOutcome, toolCalled } from '../tool-server/index.ts';
import type { HostedDeps, NodeRef } from './deps.ts';
import type { HostedSpec } from './spec.ts';

interface ActingOrder {
  readonly runId: string;
  readonly spec: HostedSpec;
  readonly mode: HostedMode;
  readonly target: Target;
  readonly node: NodeRef | null;
  /** The folder of its tools, and the environment of its commands. */
  readonly place: () => { readonly folder: string; readonly env: Readonly<Record<string, string>> };
  /** Tools that it has not got. */
  readonly withheld: ReadonlySet<string>;
  /** A person is asked; null: no more. */
  asking(title: string | null): void;
}

interface Acting {
  offers(): ToolOffer[];
  call(call: ToolCall, signal: AbortSignal): Promise<ToolResult>;
  /** Tells the ledger of the last call, in the operation that keeps its result. */
  told(tx: Tx, result: ToolResult): void;
  /** Writes down what an answer cost, millionths of a dollar; null: not known. */
  spent(tx: Tx, usage: Usage): number | null;
  /** Of all answers so far, in the format of run records. */
  usage(): Record<string, number>;
  /** Milliseconds spent waiting for a person, since {@link Acting.reset}. */
  idleMs(): number;
  reset(): void;
  /** Approvals that it waits for. */
  approvals(): readonly string[];
}

export function createActing(deps: HostedDeps, order: ActingOrder): Acting {
  const { clock } = deps;
  const { runId, spec, node, target } = order;
  let lastTool: ToolOutcome | null = null;
  let asked: string | null = null;
  let askedSince: number | null = null;
  let askedMs = 0;
  const sum = { inputTokens: 0, outputTokens: 0, microUsd: 0, unpriced: 0 };

  return {
    offers: () => offersOf(deps.tools.list({ onNode: node !== null }).filter(({ name }) => !order.withheld.has(name))),
    async call(call, signal) {
      const answer = (text: string, isError: boolean) => ({ callId: call.id, name: call.name, text, isError });
      if (call.problem !== undefined) return answer(call.problem, true);
      if (order.withheld.has(call.name)) return answer(`There is no tool "${call.name}" here.`, true);
      const { folder, env } = order.place();
      const caller: ToolCaller = {
        bot: { agentId: spec.agentId, address: spec.address },
        client: `bot:${spec.agentId}`,
        actor: spec.agentId,
        surface: 'hosted',
        mode: order.mode,
        root: folder,
        checkout: spec.worktree ? spec.folder : deps.workspace,
        workspace: deps.workspace,
        env,
        signal,
        patienceMs: null,
        runId,
        dagId: node?.dagId,
        nodeId: node?.nodeId,
      };
      const outcome = await deps.tools.call(call.name, call.input, caller, {
        asking(question) {
          asked = question?.id ?? null;
          if (question !== null) askedSince = clock.monotonic();
          else if (askedSince !== null) {
            askedMs += clock.monotonic() - askedSince;
            askedSince = null;
          }
          order.asking(question?.title ?? null);
        },
      });
      lastTool = outcome;
      return answer(outcome.text, outcome.isError);
    },
    told(tx, result) {
      const outcome = lastTool;
      lastTool = null;
      const told = outcome === null ? null : toolCalled(result.name, outcome);
      if (told === null) return;
      deps.ledger.append(tx, {
        type: told.type,
        actor: spec.agentId,
        surface: 'hosted',
        subject: `agent:${spec.agentId}`,
        body: { ...told.body, runId },
      });
    },
    spent(tx, usage) {
      const { wire, model } = target;
      const { agentId } = spec;
      const id = deps.ids.next('spend');
      const microUsd = deps.models.record(tx, { id, at: clock.now(), agentId, runId, wire, model, usage });
      sum.inputTokens += usage.input + usage.cachedInput + usage.cacheWrite;
      sum.outputTokens += usage.output;
      sum.microUsd += microUsd ?? 0;
      sum.unpriced += microUsd === null ? 1 : 0;
      return microUsd;
    },
    usage: () => ({
      inputTokens: sum.inputTokens,
      outputTokens: sum.outputTokens,
      ...(sum.unpriced === 0 && { cents: sum.microUsd / 10_000 }),
    }),
    idleMs: () => askedMs + (askedSince === null ? 0 : clock.monotonic() - askedSince),
    reset() {
      askedMs = 0;
    },
    approvals: () => (asked === null ? [] : [asked]),
  };
}

/** The most tools a model is offered: some accept no more tools and no longer names, and refuse the whole request otherwise. */
const maxOffered = 128;
const offerable = /^[A-Za-z0-9_.-]{1,64}$/;

function offersOf(tools: readonly ToolInfo[]): ToolOffer[] {
  const own = tools.filter((tool) => tool.server === null);
  const attached = tools.filter((tool) => tool.server !== null && offerable.test(tool.name));
  return [...own, ...attached]
    .slice(0, maxOffered)
    .map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema }));
}
