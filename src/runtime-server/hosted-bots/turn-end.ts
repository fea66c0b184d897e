/**
 * How a turn ends: its last text is the result of its step, its run is closed, its answer goes to the thread, and a step that was not reported is given
 * up. Must not know models.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { TurnEnd } from '../models/loop.ts';
import type { HostedDeps, NodeRef } from './deps.ts';
import type { HostedSpec } from './spec.ts';
import { moveTurn, type TurnRecord, type TurnStatus } from './store.ts';

const maxOutputLength = 20_000;

export function createTurnEnd(
  deps: Pick<HostedDeps, 'store' | 'clock' | 'log' | 'nodes' | 'runs' | 'reply'>,
  turn: {
    readonly record: TurnRecord;
    readonly spec: HostedSpec;
    readonly node: NodeRef | null;
    readonly usage: () => Record<string, number>;
  },
) {
  const { store, clock } = deps;
  const { record, spec, node } = turn;
  let reported = false;

  return {
    byText,
    finish,
    isReported: () => reported,
    /** The bot has reported how its step ended. */
    report(): void {
      reported = true;
    },
  };

  /** The last text counts as the result of a step. Returns what is still missing, or null. */
  async function byText(ref: NodeRef, text: string): Promise<string | null> {
    if (record.duty === 'review') {
      return 'From Gantry\n\nYou were asked for a verdict: call node.done to accept the step, or node.fail with the reason to reject it.';
    }
    try {
      await deps.nodes.done(ref, spec.address, { output: text.slice(0, maxOutputLength) });
      reported = true;
      return null;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return `From Gantry\n\nThe step is not done. ${error.fact} Call node.proof for each line, then node.done; or give the step up with node.fail.`;
    }
  }

  async function finish(end: TurnEnd, stopReason: string | null) {
    const how = end.how === 'fault' ? ('failed' as const) : end.how;
    const reason = how === 'stopped' ? (stopReason ?? end.reason) : end.reason;
    const status: TurnStatus = how;
    const at = clock.now();
    const error = how === 'done' ? null : reason;
    await store.write((tx) => {
      moveTurn(tx, record.id, status, reason, at);
      deps.runs.end(tx, record.id, {
        status: how === 'done' ? 'completed' : how === 'stopped' ? 'cancelled' : 'failed',
        at,
        usage: turn.usage(),
        output: end.text === '' ? null : end.text.slice(0, maxOutputLength),
        error,
      });
    });
    if (record.threadId !== null) await tell(record.threadId, answerOf(how, end.text, reason));
    if (node !== null && !reported) await giveUp(node, how, end.text, reason);
    return { how, reason };
  }

  async function tell(threadId: string, text: string): Promise<void> {
    await deps.reply(spec, threadId, text, `turn:${record.id}`).catch((error: unknown) => {
      deps.log.warn(`The answer of ${spec.address} could not be posted to its thread.`, {
        threadId,
        error: String(error),
      });
    });
  }

  async function giveUp(ref: NodeRef, how: TurnEnd['how'] | 'failed', text: string, reason: string | null) {
    const why = how === 'done' ? `It ended without a report. It said: ${text.slice(-1000)}` : (reason ?? how);
    await deps.nodes.fail(ref, spec.address, why).catch((error: unknown) => {
      // The node may have moved in between: cancelled, timed out, taken over.
      if (!(error instanceof AppError))
        deps.log.warn(`${spec.address} could not give up its step.`, { ...ref, error: String(error) });
    });
  }
}

function answerOf(how: string, text: string, reason: string | null): string {
  if (how === 'done') return text === '' ? '(It ended without an answer.)' : text;
  if (how === 'refused') return text === '' ? `(${reason ?? 'The model declined.'})` : text;
  const ended = `(It did not finish: ${reason ?? how})`;
  return text === '' ? ended : `${text}\n\n${ended}`;
}
