/** What a run uses and where that ends it: its steps, and the money that its model costs. Must not know what a step does. */
import type { Ids } from '../../../kit/ids/ids.ts';
import type { Models } from '../../models/index.ts';
import { type Course, type Ending, failed } from './course.ts';
import type { Journal } from './journal.ts';
import type { ModelAnswered } from './planner-port.ts';
import { patchRun } from './records.ts';

/** A longer text of a model is cut. Characters. */
export const maxResultLength = 20_000;
/** Share of the budget at which the run warns. */
const warnAt = 0.8;

export function createRunLimits(
  {
    journal,
    spent,
    ids,
    course,
  }: {
    readonly journal: Pick<Journal, 'write'>;
    /** Records the cost of a request, millionths of a dollar; null: its price is unknown. */
    readonly spent: Models['record'];
    readonly ids: Pick<Ids, 'next'>;
    readonly course: Pick<Course, 'between'>;
  },
  order: {
    readonly runId: string;
    readonly maxSteps: number;
    /** Null: no limit. */
    readonly maxMicroUsd: number | null;
    readonly caller: { readonly userId: string };
  },
) {
  const { runId } = order;
  let steps = 0;
  let microUsd = 0;
  let warned = false;
  let stepOpen = false;
  let limit: 'max_steps' | 'max_cost' | null = null;

  /** False: no further step is allowed. */
  async function beginStep(): Promise<boolean> {
    await course.between();
    await endStep();
    if (steps >= order.maxSteps) limit = 'max_steps';
    if (order.maxMicroUsd !== null && microUsd >= order.maxMicroUsd) limit = 'max_cost';
    if (limit !== null) return false;
    await journal.write(runId, ({ tx, event }) => {
      patchRun(tx, runId, { steps: steps + 1 });
      event({ type: 'step.started', message: `Step ${steps + 1}.`, data: { step: steps + 1 } });
    });
    steps += 1;
    stepOpen = true;
    return true;
  }

  async function endStep(): Promise<void> {
    if (!stepOpen) return;
    stepOpen = false;
    await journal.write(runId, ({ tx, event }) => {
      patchRun(tx, runId, {});
      event({ type: 'step.completed', message: `Step ${steps} is done.`, data: { step: steps } });
    });
  }

  async function answered({ wire, model, text, calls, usage }: ModelAnswered): Promise<void> {
    await journal.write(runId, ({ tx, at, event }) => {
      const row = patchRun(tx, runId, {});
      const cost = spent(tx, {
        id: ids.next('spend'),
        at,
        agentId: `computer-use:${order.caller.userId}`,
        runId,
        wire,
        model,
        usage,
      });
      microUsd += cost ?? 0;
      const input = usage.input + usage.cachedInput + usage.cacheWrite;
      patchRun(tx, runId, {
        input_tokens: row.input_tokens + input,
        output_tokens: row.output_tokens + usage.output,
        micro_usd: row.micro_usd === null || cost === null ? null : row.micro_usd + cost,
      });
      const cents = cost === null ? null : cost / 1_000_000;
      event({
        type: 'model.response',
        message: text.slice(0, 500),
        data: {
          model,
          text: text.slice(0, maxResultLength),
          actions: calls,
          input_tokens: input,
          output_tokens: usage.output,
          cost_usd: cents,
        },
      });
      if (order.maxMicroUsd === null || warned || microUsd < order.maxMicroUsd * warnAt) return;
      warned = true;
      const share = Math.round((microUsd / order.maxMicroUsd) * 100);
      event({
        type: 'budget.warning',
        message: `${share} % of the cost limit is spent.`,
        data: { spent_usd: microUsd / 1_000_000, max_cost_usd: order.maxMicroUsd / 1_000_000 },
      });
    });
  }

  function limited(text: string | null): Ending {
    const reason = limit ?? 'max_steps';
    const message =
      reason === 'max_steps' ? `The run used all ${order.maxSteps} steps.` : 'The run reached its cost limit.';
    return failed(reason, { code: reason, message }, text);
  }

  return { steps: () => steps, beginStep, endStep, answered, limited };
}
