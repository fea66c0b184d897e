/**
 * Separate runs of a hosted bot, in a conversation of their own, such as a job of a rule: each waits until the bot is free. Must not know turns.
 */
import type { Gate } from '../harness/harness.ts';
import { type AloneEnd, type AloneOrder, runAlone } from './alone.ts';
import type { HostedDeps } from './deps.ts';
import { stricter } from './spec.ts';
import { type BotParts, present } from './turns.ts';

export const onJob = 'on a job of a rule';

export function createSeparateRuns(
  deps: HostedDeps,
  parts: BotParts & {
    readonly gate: () => Gate;
    readonly gateListeners: Set<() => void>;
  },
) {
  const { work, shown, watch, gate, gateListeners, openGate, closing } = parts;

  /** A message may have come between the check of the gate and the run. */
  function freed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!gate().open && !closing.aborted && !signal.aborted) return;
        gateListeners.delete(look);
        signal.removeEventListener('abort', look);
        resolve();
      };
      gateListeners.add(look);
      signal.addEventListener('abort', look);
      look();
    });
  }

  async function run(order: AloneOrder): Promise<AloneEnd> {
    const failed = (error: string): AloneEnd => ({ status: 'failed', output: null, error, usage: null });
    await freed(AbortSignal.any([order.signal, closing]));
    if (closing.aborted || order.signal.aborted)
      return { ...failed('The run was stopped before it started.'), status: 'cancelled' };
    const spec = parts.spec();
    const found = deps.models.find(spec.model);
    if ('problem' in found) return failed(`${found.problem.fact} ${found.problem.action}`);
    const abort = new AbortController();
    const over = runAlone(
      deps,
      {
        ...order,
        spec,
        target: found.target,
        mode: stricter(spec.mode, order.mode),
        limits: { ...deps.models.limits, ...present(spec.limits) },
        signal: AbortSignal.any([order.signal, abort.signal]),
      },
      watch,
    ).catch((error: unknown) => {
      deps.log.warn(`A run of ${spec.address} failed.`, { error: String(error) });
      return failed(`The run failed: ${error instanceof Error ? error.message : String(error)}`);
    });
    work.alone = { abort, over };
    shown.show('working', onJob, 'run.begin');
    const end = await over;
    work.alone = null;
    if (!closing.aborted) shown.show('idle', null, `run.${end.status}`);
    openGate();
    return end;
  }

  return { run };
}
