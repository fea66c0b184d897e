/**
 * Models: which ones can be asked, over which wire, at which price, and the one loop over them. No SDK is loaded before the first
 * request, so that a start without hosted bots pays nothing for them. Must not know bots or tools.
 */

import type { Clock } from '../../kit/clock/clock.ts';
import type { Tx } from '../../kit/store/store.ts';
import { noTelemetry, providerName, type Telemetry } from '../../kit/telemetry/telemetry.ts';
import type { Base } from '../base/base.ts';
import { askAnthropic } from './anthropic.ts';
import {
  type AskWire,
  type Endpoint,
  type EndpointFacts,
  type Found,
  findEndpoint,
  listEndpoints,
  type Target,
} from './endpoints.ts';
import { faultOf } from './faults.ts';
import { askGoogle } from './google.ts';
import { type LoopDeps, runTurn, type Turn, type TurnEnd, type TurnHooks, type TurnLimits } from './loop.ts';
import type { ModelPort, Usage, Wire } from './model.ts';
import { askOpenAi } from './openai.ts';
import { askOpenAiResponses } from './openai-responses.ts';
import { costOf, createPriceOf, type Price } from './prices.ts';
import { recordSpend, type Spend, type SpendSum, sumSpend } from './spend.ts';
import { type ComputerUseSettings, known, type ToolsetForm, toolsetForm } from './toolsets/which.ts';

export { modelMigrations } from './migrations.ts';
export { freshTokens, type SpendSum, sumSpendByAgent, sumSpendByDay, unpricedModels } from './spend.ts';
export { createStoredModels } from './stored-models.ts';
export type { ComputerUseSettings } from './toolsets/which.ts';

/** `models` of settings.json. */
export interface ModelSettings {
  readonly endpoints?: Readonly<Record<string, Endpoint>> | undefined;
  readonly prices?: Readonly<Record<string, Price>> | undefined;
  readonly limits?: (Partial<TurnLimits> & { readonly dailyUsd?: number | null | undefined }) | undefined;
  readonly maxOutputTokens?: number | undefined;
}

/** A model that uses a computer, and in which form it is offered the toolsets. */
interface ComputerModel {
  readonly name: string;
  readonly target: Target;
  readonly form: ToolsetForm;
}

export interface Models {
  /** The address of this model, or the setting that is missing. */
  find(model: string): Found;
  /** The same for computer use; null: the one that the settings name, otherwise the first known one that is available. */
  findForComputer(model: string | null): ComputerModel | Exclude<Found, { target: Target }>;
  /** Where can be asked, for `doctor`. */
  endpoints(): readonly EndpointFacts[];
  /** Whether its price is known. */
  priced(model: string): boolean;
  /** Records the cost of a request, millionths of a dollar; null: the price is unknown. */
  record(tx: Tx, request: Omit<Spend, 'microUsd'>): number | null;
  /**
   * Records a request that another program made and counted, once by its id. `microUsd` null: the price list decides. False where it is recorded
   * already.
   */
  note(tx: Tx, request: Spend): boolean;
  /** Told of each request once it is durable. */
  onSpent(listener: (agentId: string) => void): () => void;
  /** Spend of a bot (null: all) since `from`; with a run, only of that one. */
  spent(tx: Pick<Tx, 'get'>, agentId: string | null, since: number, runId?: string | null): SpendSum;
  readonly limits: TurnLimits;
  /** Dollars a bot may spend a day (UTC); null: no limit. */
  readonly dailyUsd: number | null;
  /** Longest answer, tokens, where the wire requires one. */
  readonly maxOutputTokens: number;
  run(target: Target, turn: Omit<Turn, 'wire' | 'model'>, hooks: TurnHooks): Promise<TurnEnd>;
}

export interface ModelsDeps extends Pick<Base, 'clock' | 'timers'> {
  readonly settings?: ModelSettings | undefined;
  /** `computerUse` of settings.json. */
  readonly computerUse?: ComputerUseSettings | undefined;
  /** Gantry's own environment: the keys are in it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly random: () => number;
  /** Told of each request in the transaction that writes it down. */
  readonly spent?: (tx: Tx, spend: Spend) => void;
  /** Traces turns and the requests in them; absent: none. */
  readonly telemetry?: Telemetry | undefined;
}

const defaults = {
  limits: { steps: 60, tokens: 2_000_000, minutes: 30, usd: null } satisfies TurnLimits,
  maxOutputTokens: 16_000,
};

const noComputerModel = {
  fact: 'No model is set for computer use.',
  action:
    'Name one in settings.json as computerUse.model, for example "anthropic/claude-sonnet-5-5", or in options.model of the run; its key comes from the environment, or from Settings > Set-up.',
};

const wires: Readonly<Record<Wire, AskWire>> = { anthropic: askAnthropic, openai: askOpenAi, google: askGoogle };

export function createModels(deps: ModelsDeps): Models {
  const { settings = {}, clock, timers, random, telemetry = noTelemetry } = deps;
  const given = Object.fromEntries(Object.entries(settings.limits ?? {}).filter(([, value]) => value !== undefined));
  const priceOf = createPriceOf(settings.prices);
  const find = (model: string) => findEndpoint(model, deps.env, settings.endpoints);
  const forComputer = (name: string): ComputerModel | Exclude<Found, { target: Target }> => {
    const found = find(name);
    if (!('target' in found)) return found;
    return { name, target: found.target, form: toolsetForm(name, found.target, deps.computerUse) };
  };
  const listeners = new Set<(agentId: string) => void>();
  const keep = (tx: Tx, spend: Spend): boolean => {
    if (!recordSpend(tx, spend)) return false;
    deps.spent?.(tx, spend);
    tx.afterCommit(() => {
      for (const listener of listeners) listener(spend.agentId);
    });
    return true;
  };
  const { dailyUsd = null, ...limits } = { ...defaults.limits, ...given } as TurnLimits & { dailyUsd?: number | null };
  return {
    find,
    findForComputer(model) {
      const named = model ?? deps.computerUse?.model;
      if (named !== undefined) return forComputer(named);
      for (const { wire, defaultModel } of known) {
        const found = forComputer(`${wire}/${defaultModel}`);
        if ('target' in found && found.form === 'native') return found;
      }
      return { problem: noComputerModel };
    },
    endpoints: () => listEndpoints(deps.env, settings.endpoints),
    priced: (model) => priceOf(model) !== null,
    record(tx, request) {
      const microUsd = costOf(request.usage, priceOf(request.model));
      keep(tx, { ...request, microUsd });
      return microUsd;
    },
    note: (tx, request) =>
      keep(tx, { ...request, microUsd: request.microUsd ?? costOf(request.usage, priceOf(request.model)) }),
    onSpent(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    spent: sumSpend,
    limits,
    dailyUsd,
    maxOutputTokens: settings.maxOutputTokens ?? defaults.maxOutputTokens,
    run(target, turn, hooks) {
      // Only one of OpenAI's two wires has its own toolset.
      const native = (turn.toolsets?.length ?? 0) > 0;
      const ask = target.wire === 'openai' && native ? askOpenAiResponses : wires[target.wire];
      const port = createPort(ask, target, { clock, telemetry });
      const loop: LoopDeps = { port, clock, timers, random };
      const attributes = { 'gen_ai.operation.name': 'invoke_agent', ...modelOf(target) };
      return telemetry.span({ name: 'invoke_agent', kind: 'internal', attributes }, () =>
        runTurn(loop, { ...turn, wire: target.wire, model: target.model }, hooks),
      );
    },
  };
}

/** One request to a model, over any wire: errors become a {@link ModelFault}. Must not know a vendor. */
function createPort(
  askWire: AskWire,
  target: Target,
  { clock, telemetry }: { readonly clock: Pick<Clock, 'now'>; readonly telemetry: Telemetry },
): ModelPort {
  const attributes = { 'gen_ai.operation.name': 'chat', ...modelOf(target) };
  return {
    ask: (ask) =>
      telemetry.span({ name: `chat ${target.model}`, kind: 'client', attributes }, async (span) => {
        let started = false;
        const onStart = () => {
          started = true;
          ask.onStart();
        };
        try {
          const answer = await askWire(target, { ...ask, onStart });
          if (answer.usage !== null) span?.set(usageOf(answer.usage));
          return answer;
        } catch (error) {
          const secret = target.key;
          const fault = faultOf(error, { clock, signal: ask.signal, started, where: target.where, secret });
          span?.set({ 'error.type': fault.kind });
          throw fault;
        }
      }),
  };
}

const modelOf = ({ wire, model }: Target) => ({
  'gen_ai.provider.name': providerName(wire),
  'gen_ai.request.model': model,
});

const usageOf = ({ input, cachedInput, cacheWrite, output }: Usage) => ({
  'gen_ai.usage.input_tokens': input + cachedInput + cacheWrite,
  'gen_ai.usage.output_tokens': output,
});
