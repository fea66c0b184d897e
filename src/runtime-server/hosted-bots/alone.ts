/**
 * A separate run of a hosted bot: its conversation begins and ends with it, and it answers to no thread or step. The caller keeps its record; what
 * its tools did and what it cost is written as for every turn.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { HostedMode } from '../../contracts/factory/team-file.ts';
import type { Target } from '../models/endpoints.ts';
import type { TurnLimits } from '../models/loop.ts';
import { createActing } from './acting.ts';
import type { HostedDeps } from './deps.ts';
import { systemFor } from './instructions.ts';
import type { HostedSpec } from './spec.ts';
import { reportTools } from './tools.ts';
import type { TurnEvents } from './turn.ts';

export interface AloneOrder {
  readonly runId: string;
  readonly text: string;
  readonly mode: HostedMode;
  /** Without the time in which a person is waited for. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly waits?: ((forPerson: boolean) => void) | undefined;
}

export interface AloneEnd {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly output: string | null;
  readonly error: string | null;
  readonly usage: Readonly<Record<string, number>> | null;
}

const maxOutputLength = 20_000;
/** How long a service that takes no more requests for now is waited for. */
const limitPatienceMs = 60_000;

/** Never throws for errors of the model, its service or its tools. */
export async function runAlone(
  deps: HostedDeps,
  order: AloneOrder & { readonly spec: HostedSpec; readonly target: Target; readonly limits: TurnLimits },
  events: Pick<TurnEvents, 'waiting' | 'asking'>,
): Promise<AloneEnd> {
  const { spec, target } = order;
  let place: { folder: string; env: Readonly<Record<string, string>> };
  try {
    place = { folder: await deps.folderOf(spec), env: await deps.envOf(spec) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { status: 'failed', output: null, error: `${error.fact} ${error.action}`, usage: null };
  }
  const acting = createActing(deps, {
    runId: order.runId,
    spec,
    mode: order.mode,
    target,
    node: null,
    place: () => place,
    // Content from outside must not be able to make it write to others.
    withheld: reportTools,
    asking(title) {
      order.waits?.(title !== null);
      events.asking(title);
    },
  });
  const end = await deps.models.run(
    target,
    {
      system: systemFor({ ...spec, folder: place.folder }, order.mode, 'alone'),
      messages: [{ role: 'user', text: order.text }],
      tools: acting.offers(),
      maxOutputTokens: deps.models.maxOutputTokens,
      limits: { ...order.limits, minutes: Math.min(order.limits.minutes, order.timeoutMs / 60_000) },
      limitPatienceMs,
      used: { steps: 0, tokens: 0, activeMs: 0, microUsd: 0 },
      signal: order.signal,
    },
    {
      started() {},
      answered: (_message, usage) => deps.store.write((tx) => acting.spent(tx, usage)),
      call: (call, signal) => acting.call(call, signal),
      result: (result) => deps.store.write((tx) => acting.told(tx, result)),
      waiting: (why) => events.waiting(why === null ? null : { why, person: false }),
      idleMs: acting.idleMs,
    },
  );
  const output = end.text === '' ? null : end.text.slice(0, maxOutputLength);
  const usage = acting.usage();
  if (end.how === 'done') return { status: 'completed', output, error: null, usage };
  const status = end.how === 'stopped' ? 'cancelled' : 'failed';
  return { status, output, error: end.reason ?? end.how, usage };
}
