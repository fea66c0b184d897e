/**
 * One turn of a hosted bot, from a message to its end: the loop over the model, kept line by line, with its tools, and its pauses while the model's
 * service is unavailable. Must not know queues, gates or panes.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { HostedMode } from '../../contracts/factory/team-file.ts';
import { pause } from '../../kit/clock/timers.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Target } from '../models/endpoints.ts';
import type { TurnEnd, TurnHooks, TurnLimits, Used } from '../models/loop.ts';
import type { FaultKind, ToolCall, ToolResult, Usage } from '../models/model.ts';
import { createActing } from './acting.ts';
import { messagesOf } from './conversation.ts';
import type { HostedDeps, NodeRef } from './deps.ts';
import { systemFor } from './instructions.ts';
import type { HostedSpec } from './spec.ts';
import { addLine, dropTurn, insertTurn, lastLines, moveTurn, type TurnRecord } from './store.ts';
import { createTurnEnd } from './turn-end.ts';

interface TurnOrder {
  readonly record: TurnRecord;
  readonly text: string;
  readonly spec: HostedSpec;
  readonly mode: HostedMode;
  readonly target: Target;
  readonly limits: TurnLimits;
}

export interface TurnEvents {
  /** The model has taken the message. */
  accepted(): void;
  /** It waits for the model's service; null: it continues. */
  waiting(wait: { readonly why: string; readonly person: boolean } | null): void;
  /** A person is asked; null: no more. */
  asking(title: string | null): void;
  /** The model or a tool has answered; `call`: what the model asks for next. */
  acted(call: ToolCall | null): void;
}

/** Why no model took a message. */
export interface NotTaken {
  readonly kind: FaultKind;
  readonly message: string;
  readonly retryAt: number | null;
}

export type TurnOutcome =
  /** The model never took the message: no trace of it remains. */
  | { readonly how: 'not_taken'; readonly fault: NotTaken }
  | { readonly how: 'done' | 'refused' | 'limit' | 'stopped' | 'failed'; readonly reason: string | null };

export interface RunningTurn {
  readonly record: TurnRecord;
  /** Rejects only for faults of our own; the turn then stays open in its rows. */
  readonly outcome: Promise<TurnOutcome>;
  /** Approvals that it waits for. */
  approvals(): readonly string[];
  /** A request to its model is under way; its own timeout ends it. */
  isAsking(): boolean;
  stop(why: string): void;
  /** Leaves everything as it is, to be found as interrupted. */
  abandon(): void;
}

/** Faults that pass, or that a person resolves: the turn waits, since nothing has to be repeated. */
const waitsFor: readonly FaultKind[] = ['limit', 'overloaded', 'unreachable', 'key', 'unknown_model'];
/** Pauses where the service named no time; then the turn fails. Milliseconds. */
export const pausesMs = [60_000, 5 * 60_000, 15 * 60_000, 15 * 60_000];
/** How much of a conversation is read back for the model, lines. */
const linesRead = 2000;
/** Between two looks at a budget that is used up. */
const budgetPauseMs = 1000;
/** How often a bot is reminded that its step is not done yet. */
const maxNudges = 2;
export function startTurn(deps: HostedDeps, order: TurnOrder, events: TurnEvents): RunningTurn {
  const { store, clock } = deps;
  const { record, spec, target } = order;
  const abort = new AbortController();
  const node: NodeRef | null =
    record.duty === null || record.dagId === null || record.nodeId === null
      ? null
      : { dagId: record.dagId, nodeId: record.nodeId };
  const source =
    node === null
      ? { kind: 'message' as const, ref: record.deliveryId }
      : { kind: 'workflow' as const, ref: `${node.dagId}/${node.nodeId}` };
  let accepted = false;
  let abandoned = false;
  let stopReason: string | null = null;
  let place: { folder: string; env: Readonly<Record<string, string>> } = { folder: '', env: {} };
  let isAsking = false;
  const acting = createActing(deps, {
    runId: record.id,
    spec,
    mode: order.mode,
    target,
    node,
    place: () => place,
    withheld: new Set(),
    asking: events.asking,
  });

  const ending = createTurnEnd(deps, { record, spec, node, usage: acting.usage });

  const begin = () =>
    store.write((tx) => {
      insertTurn(tx, record);
      addLine(tx, record.agentId, record.id, record.startedAt, { kind: 'user', text: order.text });
    });

  const callTool = async (call: ToolCall, signal: AbortSignal): Promise<ToolResult> => {
    isAsking = false;
    events.acted(call);
    const result = await acting.call(call, signal);
    events.acted(null);
    isAsking = true;
    if (!result.isError && (call.name === 'node.done' || call.name === 'node.fail')) ending.report();
    return result;
  };

  /** A budget that is used up ends the turn in a moment; until then, or until a person gives more, nothing is asked. */
  const untilItMay = async (ref: NodeRef): Promise<boolean> => {
    while (!(await deps.nodes.mayAsk(ref))) {
      if (abort.signal.aborted) return false;
      await pause(deps.timers, budgetPauseMs, abort.signal);
    }
    return true;
  };

  const hooks: TurnHooks = {
    ...(node !== null && { step: () => untilItMay(node) }),
    started() {
      if (accepted) return;
      accepted = true;
      store
        .write((tx) => {
          moveTurn(tx, record.id, 'running', null, null);
          deps.runs.begin(tx, { id: record.id, botId: record.agentId, source, at: record.startedAt });
        })
        .catch((error: unknown) => deps.log.warn('The start of a turn could not be saved.', { error: String(error) }));
      events.accepted();
    },
    answered(message, usage) {
      events.acted(null);
      return store.write((tx) => keepAnswer(tx, message, usage));
    },
    call: callTool,
    result: (result) => store.write((tx) => keepResult(tx, result)),
    waiting: (reason) => {
      if (accepted) events.waiting(reason === null ? null : { why: reason, person: false });
    },
    idleMs: acting.idleMs,
  };

  const keepAnswer = (tx: Tx, message: Parameters<TurnHooks['answered']>[0], usage: Usage): number | null => {
    addLine(tx, record.agentId, record.id, clock.now(), { kind: 'assistant', message });
    return acting.spent(tx, usage);
  };

  const keepResult = (tx: Tx, result: ToolResult) => {
    addLine(tx, record.agentId, record.id, clock.now(), { kind: 'result', result });
    acting.told(tx, result);
  };

  const ask = async (used: Used): Promise<TurnEnd> => {
    const messages = messagesOf(await store.read((tx) => lastLines(tx, record.agentId, linesRead)));
    acting.reset();
    isAsking = true;
    try {
      return await deps.models.run(
        target,
        {
          system: systemFor({ ...spec, folder: place.folder }, order.mode, node === null ? 'message' : 'step'),
          messages,
          tools: acting.offers(),
          maxOutputTokens: deps.models.maxOutputTokens,
          limits: order.limits,
          used,
          signal: abort.signal,
        },
        hooks,
      );
    } finally {
      isAsking = false;
    }
  };

  /** Asks until the turn ends, also over the times in which the service cannot be had. */
  const askThrough = async (from: Used): Promise<TurnEnd> => {
    let used = from;
    for (let waits = 0; ; waits += 1) {
      const end = await ask(used);
      const { fault } = end;
      if (fault === null || !accepted || !waitsFor.includes(fault.kind)) return end;
      const pauseMs = pausesMs[waits];
      if (pauseMs === undefined) return end;
      used = end.used;
      const until = fault.retryAt ?? clock.now() + pauseMs;
      const person = fault.kind === 'key' || fault.kind === 'unknown_model';
      const why = `${fault.message} It continues at ${new Date(until).toISOString()}.`;
      await store.write((tx) => moveTurn(tx, record.id, 'waiting', why, null));
      events.waiting({ why, person });
      if (!abort.signal.aborted) await pause(deps.timers, Math.max(0, until - clock.now()), abort.signal);
      if (abandoned) return end;
      await store.write((tx) => moveTurn(tx, record.id, 'running', null, null));
      events.waiting(null);
    }
  };

  /** Runs until the model stops talking; a bot whose step is not done is reminded. */
  const askToTheEnd = async (): Promise<TurnEnd> => {
    let used: Used = { steps: 0, tokens: 0, activeMs: 0, microUsd: 0 };
    for (let nudges = 0; ; nudges += 1) {
      const end = await askThrough(used);
      if (node === null || ending.isReported() || end.how !== 'done' || nudges >= maxNudges) return end;
      const missing = await ending.byText(node, end.text);
      if (missing === null) return end;
      used = end.used;
      await store.write((tx) => addLine(tx, record.agentId, record.id, clock.now(), { kind: 'user', text: missing }));
    }
  };

  const run = async (): Promise<TurnOutcome> => {
    try {
      place = { folder: await deps.folderOf(spec), env: await deps.envOf(spec) };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { how: 'not_taken', fault: { kind: 'invalid', message: `${error.fact} ${error.action}`, retryAt: null } };
    }
    await begin();
    const end = await askToTheEnd();
    if (abandoned) {
      // Its rows stay as they are, to be found at the next start.
      const fault = { kind: 'stopped' as const, message: 'Gantry is stopping.', retryAt: null };
      return accepted ? { how: 'stopped', reason: null } : { how: 'not_taken', fault };
    }
    if (!accepted) {
      // Refused before it was taken: the message goes back into its queue as if it had never been tried.
      await store.write((tx) => dropTurn(tx, record.id));
      const fault = end.fault ?? { kind: 'stopped' as const, message: stopReason ?? 'It was stopped.', retryAt: null };
      return { how: 'not_taken', fault };
    }
    return ending.finish(end, stopReason);
  };

  return {
    record,
    outcome: run(),
    approvals: acting.approvals,
    isAsking: () => isAsking,
    stop(why) {
      stopReason ??= why;
      abort.abort();
    },
    abandon() {
      abandoned = true;
      abort.abort();
    },
  };
}
